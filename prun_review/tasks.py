"""The records of a wave run: what a ``parallel/`` directory asks for, and what became of it.  Pure.

The words are those of ``cpo``: a *manifest* holds *waves*, a wave *tasks*.  ``manifest.py`` reads them,
``waves.py`` decides what may start, ``wavedocument.py`` makes the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prun_review.written import Check, Claim, Patch

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a manifest or a task file."""

    level: str
    """``error``: nothing is run; ``warning``: told and gone on."""
    code: str
    """A stable word: ``missing-field``, ``cycle``, ``unknown-dependency``, ``scope-overlap``..."""
    file: str
    """Relative to the directory, with forward slashes."""
    line: int | None
    """From 1; None where it is about the file as a whole, or about one that is not there."""
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.level}: [{self.code}] {self.text}"


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that a task may change: ``config/urls.py``, or one part of it."""

    pattern: str
    """As :mod:`prun_review.patterns` takes it, braces expanded."""
    symbol: str = ""
    """``Class.method`` behind ``::``; empty: the whole file."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a task may touch."""

    create: tuple[str, ...] = ()
    """Patterns, braces expanded."""
    modify: tuple[Target, ...] = ()
    boundary: tuple[str, ...] = ()
    """Patterns of what it must not touch, whatever the others say."""

    @property
    def stated(self) -> bool:
        """Whether anything is said of what it may touch; if not, all but the boundary is."""
        return bool(self.create or self.modify)


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work for one coding agent."""

    id: str
    """As the manifest has it (``task-001-users``)."""
    wave: int
    agent: str = ""
    """As written, with or without plugin prefix: ``python-experts:django-expert``."""
    title: str = ""
    component: str = ""
    deps: tuple[str, ...] = ()
    """Ids of the manifest, sorted; short ones are resolved."""
    scope: Scope = field(default_factory=Scope)
    contracts: tuple[str, ...] = ()
    """Files below the directory that it is to keep to."""
    skills: tuple[str, ...] = ()
    task_file: str = ""
    """Relative to the directory; empty where there is none."""
    prompt_file: str = ""
    """The prompt that is there, relative to the directory; empty: it is built."""
    prompt: str = ""
    """The whole text that the agent is given."""
    executor: str = ""
    """Its own wish (manifest or frontmatter); empty: configuration or command line decides."""
    access: str = ""
    """``write`` (default) or ``full``; empty: configuration decides."""
    verify: tuple[str, ...] = ()
    """Commands that the harness runs on its change."""
    timeout: float = 0.0
    """Seconds; 0: the run's."""

    @property
    def short(self) -> str:
        """``task-001`` of ``task-001-users``; the id itself where it has no number."""
        parts = self.id.split("-")
        numbered = len(parts) > 1 and parts[1].isdecimal()
        return "-".join(parts[:2]) if numbered else self.id


@dataclass(frozen=True, slots=True)
class Wave:
    """Tasks that may run side by side."""

    number: int
    tasks: tuple[Task, ...]
    validation: str = ""
    """A shell command, or a bare Python expression of old; run on the integrated whole."""
    panel: tuple[str, ...] = ()
    """Panels that review its changes before the next wave starts, as arguments of pytest."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of a ``parallel/`` directory."""

    directory: str
    """Relative to the trusted root, with forward slashes; ``.`` for the root itself."""
    waves: tuple[Wave, ...]
    spec: str = ""
    """``tech_spec_id``."""
    name: str = ""
    technology: str = ""
    variant: str = ""
    """``A``, ``B``, ``C``, ``D`` or ``none`` (tasks without a manifest)."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """``prd`` and ``tech_spec``: paths as written."""
    digest: str = ""
    """sha256 over all that decides what is asked: manifest, task files, prompts, context, contracts."""
    jobs: int = 0
    """What it wishes to run at once; 0: it does not say."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All of them, in wave order."""
        return tuple(task for wave in self.waves for task in wave.tasks)


# --- what became of it ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change that could not be put onto what was accepted before it."""

    task: str
    """Whose change it is."""
    paths: tuple[str, ...]
    """The files that clash, sorted."""
    text: str = ""
    """The clashing places as git shows them, masked; at most 20,000 characters."""
    onto: str = ""
    """SHA of the commit with all that was accepted: what the task is opened again on."""
    others: tuple[str, ...] = ()
    """Ids of the accepted tasks that touched the same files, in the order they were accepted."""


@dataclass(frozen=True, slots=True)
class Integration:
    """All accepted changes of a run put together, and what was run on the whole."""

    status: str
    """``whole``: everything is in it and every check passed; ``conflicts``: some change is not in it;
    ``failed``: a check did not pass, or something else went wrong."""
    branch: str = ""
    """Its name in the run's own object store."""
    head: str = ""
    """SHA of its last commit."""
    conflicts: tuple[Conflict, ...] = ()
    """Those that were not settled."""
    checks: tuple[Check, ...] = ()
    """Validations and the project's own tests, run on the whole."""
    applied: str = ""
    """The branch of the user's repository that it was fetched into; empty where it was not."""
    message: str = ""
    onto: str = ""
    """SHA of the commit that it was put onto."""
    wrong: tuple[str, ...] = ()
    """What speaks against it beside conflicts and checks, in words; each also stands in the message."""
    unrun: tuple[str, ...] = ()
    """What was not run or not looked at on the whole, in words."""


@dataclass(frozen=True, slots=True)
class Redone:
    """A task that was done again while a run was integrated, since its change clashed."""

    task: str
    onto: str
    """SHA of the user's commit that the run was put onto."""
    base: str
    """SHA of the commit that it was done again on."""
    asked: str
    """sha256 over the task as it was then."""
    unit: str
    """Slug of its unit directory in the run."""
    status: str
    """``succeeded`` or ``failed``."""
    reason: str = ""
    message: str = ""
    executor: str = ""
    vendor: str = ""
    attempts: int = 0
    seconds: float = 0.0
    patch: Patch | None = None


PENDING, RUNNING, SUCCEEDED, FAILED, SKIPPED, NOT_RUN = (
    *("pending", "running", "succeeded", "failed"),
    *("skipped", "not-run"),
)
TERMINAL = frozenset({SUCCEEDED, FAILED, SKIPPED, NOT_RUN})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one task."""

    task: str
    status: str = PENDING
    """``pending``, ``running``, ``succeeded``, ``failed``, ``skipped`` (a dependency did not succeed) or
    ``not-run`` (the run ended, or was told not to, before it)."""
    reason: str = ""
    """Stable code: ``ok``, ``timeout``, ``no-marker``, ``says-incomplete``, ``contradicted``, ``breach``,
    ``verify``, ``conflict``, ``dependency``, ``validation``, ``panel``, ``stopped``, ``not-selected``..."""
    message: str = ""
    executor: str = ""
    vendor: str = ""
    unit: str = ""
    """Slug of its unit directory in the run; of the last one, where it was opened again."""
    attempts: int = 0
    reopened: int = 0
    """How often a conflict opened it again."""
    seconds: float = 0.0
    marker: bool = False
    """``.claude-task-complete`` lay in its copy."""
    claim: Claim | None = None
    patch: Patch | None = None
    checks: tuple[Check, ...] = ()
    commit: str = ""
    """SHA of the integration commit that holds its change; empty until it is accepted."""
    conflict: Conflict | None = None
    """The last one that opened it again, or ended it; None where there was none."""
    asked: str = ""
    """sha256 over the task as it was when it was dispatched; empty before."""
    notes: tuple[str, ...] = ()
    """What its worker says of files and its copy does not bear out, in words; no failure."""


@dataclass(frozen=True, slots=True)
class Review:
    """A panel run over changes of a wave."""

    run: str
    """Its run id; empty where it could not be begun."""
    panels: tuple[str, ...]
    authors: tuple[str, ...]
    """Vendors that wrote what it reviewed."""
    tasks: tuple[str, ...]
    outcome: str
    """PASS, FAIL or INCOMPLETE."""
    line: str
    """The verdict in one line."""
    findings: tuple[str, ...] = ()
    """The first of those that block: severity, ``file:line`` and title."""
    report: str = ""
    """Its report, relative to the trusted root; empty where there is none."""


@dataclass(frozen=True, slots=True)
class WaveOutcome:
    """What became of one wave."""

    number: int
    status: str = PENDING
    """``pending``, ``running``, ``succeeded``, ``failed``, ``skipped`` or ``not-run``."""
    reason: str = ""
    base: str = ""
    """SHA of the commit that its tasks start from."""
    head: str = ""
    """SHA of the commit with its accepted changes so far; empty until they are put together."""
    validation: Check | None = None
    """None where the wave names none, or it was not reached."""
    reviews: tuple[Review, ...] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """A wave run as it stands: everything that decides what may happen next."""

    manifest: Manifest
    outcomes: Mapping[str, Outcome]
    """By task id; every task has one."""
    waves: Mapping[int, WaveOutcome]
    """By number; every wave has one."""
    base: str = ""
    """SHA of the commit that the run starts from."""
    stopped: str = ""
    """Why it ended early, in words."""
    reopen: int = 1
    """How often a conflict may open one task again."""
