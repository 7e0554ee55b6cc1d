"""The small Protocols that the engine talks through, and the records that cross them.

One implementation per file stands in ``process/``, ``executors/``, ``renderers/``, ``rundir.py`` and
``workspace.py``.  Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from prun_review.model import Answer, Brief, Contract, Exit, Plan, Reading, Result, Unit, Violation

if TYPE_CHECKING:
    from prun_review.redaction import Spot
    from prun_review.written import Check, Patch

# --- executors: build a command, read its output; they start nothing -------------------------


@dataclass(frozen=True, slots=True)
class Located:
    """A program that was found."""

    argv: tuple[str, ...]
    """What to put first: usually one absolute path."""
    where: str
    """``configured``, ``PATH`` or the package it came from."""
    beside: tuple[str, ...] = ()
    """Files that decide beside the program what it answers: the script of an interpreter, a set of rules.
    Their content belongs to its version."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that is not there, why, and what to do about it."""

    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """Where an attempt had the tree and its executor's directory: outputs may hold such paths."""

    tree: Path
    state: Path
    beside: Path | None = None
    """In a review of a change: the directory beside the tree."""


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt at one unit, as an executor sees it."""

    unit: Unit
    prompt: str
    """The whole prompt; goes to standard input, never into argv."""
    schema: Mapping[str, Any] | None
    """JSON Schema of the payload, or None for prose."""
    tree: Path
    """The snapshot of the reviewed tree, absolute, read-only."""
    out: Path
    """The attempt's own directory, absolute."""
    state: Path
    """A directory kept for this executor during the run (clean configuration homes)."""
    located: Located
    env: Mapping[str, str]
    """The surroundings' environment; an executor takes from it by name only what it needs."""
    former: Site | None = None
    """In a replay: where the attempt was made whose output is read."""
    beside: Path | None = None
    """In a review of a change: the read-only directory with ``CHANGE.diff``, ``CHANGED.tsv`` and the
    pre-images below ``base/``, absolute."""
    contained: bool = False
    """The worker runs in a mount namespace that holds only what the request names."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start for a request."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The complete environment of the child."""
    cwd: Path
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to write below ``Request.out`` first, by relative name."""
    outputs: tuple[str, ...] = ()
    """Files below ``Request.out`` to read afterwards, by relative name."""
    notice: str = ""
    """What a person must know once it runs; told once a run."""
    readable: tuple[Path, ...] = ()
    """Beside what the request names: what it needs of the disk when it runs contained, such as the rest
    of its installation."""
    writable: tuple[Path, ...] = ()
    """The same, to be written: a login that it refreshes."""


@dataclass(frozen=True, slots=True)
class Output:
    """What an attempt left behind, raw and capped."""

    exit: Exit
    stdout: bytes
    stderr: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    cut: str = ""
    """Says which bytes were kept where a stream was longer than the cap; else empty."""
    notes: tuple[str, ...] = ()
    """Outputs that were refused (a link, a FIFO), and what was cut from standard error."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """How a dispatch of an executor is watched while it runs."""

    startup: float = 0.0
    """Seconds within which it must have written something; 0 where it may be silent to its end."""
    stall: float | None = None
    """Seconds without growth of its output after which it counts as stalled; None: the run's
    setting, 0: never."""
    stagger: float = 0.0
    """Least seconds between two starts.  Above 0 the first dispatch of a run also starts alone and
    the others wait until it has written something: it refreshes the login and warms the home."""
    grace: float = 20.0
    """Seconds of silence that a finished answer gets before a worker that does not exit is ended."""


UNWATCHED = Supervision()
"""Nothing beyond the run's stall limit."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a dispatch that still runs has written so far."""

    sizes: Mapping[str, int]
    """Bytes by file name: ``tail``, ``stderr``, and the output files that are there."""
    stdout: bytes
    """The end of standard output, at most 64 KiB."""
    stderr: bytes
    """The end of standard error, at most 64 KiB."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What an executor reads from the output of a dispatch that still runs."""

    kind: str = ""
    """Empty: nothing.  ``finished``: the whole answer is there.  ``hopeless``: it will not come."""
    reason: str = ""
    """With ``hopeless``: the reason code."""


class Executor(Protocol):
    """What answers: a vendor's CLI, an analyser, any command."""

    name: str
    vendor: str
    """Who makes it."""
    lineage: str
    """Model family, or for an analyser the origin of its rules."""
    contracts: frozenset[str]
    """The contract kinds that it can answer."""
    paid: bool
    """True when a dispatch spends somebody's quota."""
    native: bool
    """True when it takes the schema itself and gives structured output."""
    limit: int | None
    """Most dispatches at once, or None."""
    identity: str
    """Model and effort, or rule selection: part of the fingerprint."""
    provides: frozenset[str]
    """What it has beyond answering (``mcp:gmail``), for briefs with ``needs``."""
    supervision: Supervision
    suffix: str
    """What the names of the files that it can look at end with; empty: any."""

    def locate(self, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        """Find the program; never below a ``forbidden`` directory or by a relative PATH entry."""

    def version_argv(self, located: Located) -> tuple[str, ...]:
        """The command that prints its version."""

    def login_argv(self, located: Located) -> tuple[str, ...] | None:
        """The CLI's own status command (exit 0 = logged in), or None where there is none."""

    def child_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """What of the surroundings' environment its child gets."""

    def command(self, request: Request) -> Command:
        """What to start; may raise ``BriefError`` for what it cannot do."""

    def sign(self, seen: Seen) -> Sign:
        """What the output so far says; called every second or so, and never raises."""

    def read(self, output: Output, request: Request) -> Reading:
        """Classify the output and find the answer in it; never raises on hostile output."""

    def exposes(self, brief: Brief, env: Mapping[str, str], *, contained: bool) -> tuple[str, ...]:
        """What hostile content could make a worker of it reach or run under this brief, one line each;
        empty where nothing secret is in reach.  The profile ``untrusted`` refuses what is not empty."""


# --- processes ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """A process to start, its streams on files."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: Path
    stdout: Path
    stderr: Path
    timeout: float
    """Seconds of wall time, by a monotonic clock."""
    tag: str = ""
    """Put into the child's environment as ``PRUN_DISPATCH`` so that its tree can be found."""
    max_output: int = 1 << 28
    """Bytes per stream after which the tree is ended and ``Exit.note`` says so."""


class Process(Protocol):
    """One started process tree."""

    pid: int

    def wait(self, timeout: float | None = None) -> Exit | None:
        """How it ended, once its whole tree is gone; None when ``timeout`` seconds passed first."""

    def stop(self, why: str = "cancelled") -> None:
        """End the tree; returns at once, :meth:`wait` tells when.  ``why`` becomes ``ended_by``."""


class Launcher(Protocol):
    """Starts process trees and guarantees their end."""

    def start(self, launch: Launch) -> Process:
        """Start it; ``LaunchError`` when that is impossible."""

    def close(self) -> None:
        """End whatever still runs, and itself."""


# --- the run directory, as the engine needs it ----------------------------------------------


class Store(Protocol):
    """Where a run is kept.  Everything is written atomically; ``result.json`` is written last."""

    path: Path

    def new_attempt(self, unit: Unit) -> Path:
        """A fresh private directory ``units/<slug>/<n>`` for the next attempt."""

    def record(self, out: Path, prompt: str, command: Command) -> Launch:
        """Write prompt, argv and input files into the attempt; the launch that belongs to it."""

    def look(self, out: Path, command: Command) -> Seen:
        """What the attempt has written so far; never raises."""

    def collect(
        self, out: Path, command: Command, exit: Exit, upto: Mapping[str, int] | None = None
    ) -> Output:
        """Read back what the attempt left, capped.  ``upto``: only so many bytes of each file count,
        because what came later was written by a worker that had been signalled."""

    def finish(self, result: Result) -> None:
        """Write the terminal result and its ledger entry; a second call for a unit is refused."""

    def append(self, event: str, **fields: Any) -> None:
        """One ledger line; ``fields`` are JSON-able."""

    def write_plan(self, plan: Plan) -> None:
        """Write ``plan.json``."""


# --- the reviewed tree ----------------------------------------------------------------------


class Reader(Protocol):
    """Reads files of the reviewed tree object."""

    def __call__(self, path: str) -> tuple[str, ...] | Missing:
        """The lines of a file (without line ends), or why it cannot be read."""


class Redactor(Protocol):
    """Masks the secrets of files before anybody reads them; :class:`prun_review.redaction.Masks`."""

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Every place that was masked so far, sorted."""

    def clean(self, blob: str) -> bool:
        """Whether the blob of that id is known to hold nothing to mask, so that it need not be read."""

    def __call__(self, name: str, blob: str, content: bytes) -> bytes:
        """The content of the file ``name`` as reviewers may see it: of the same length, with the same
        lines.  ``blob`` is its id, or empty.  ``UnsearchedError`` of :mod:`prun_review.redaction` where the
        search takes too long: such a file is shown to nobody."""


# --- code-writing units ---------------------------------------------------------------------


class Copy(Protocol):
    """A throwaway copy of the tree for one attempt."""

    path: Path
    """Its work tree: what the worker may write."""
    base: str
    """SHA of the commit that it was made of."""
    notes: tuple[str, ...]
    """What the worker must know of it, one line each: LFS pointers, submodules, files that are masked."""

    def harvest(self, unit: Unit) -> Patch:
        """What it holds beyond its base, with every breach of the unit's scope; ``change.patch`` is written
        beside the attempt.  Nothing that the worker left is executed.  ``TreeError`` where it cannot be
        read; :attr:`marker` is set before."""

    @property
    def marker(self) -> str | None:
        """The content of ``.claude-task-complete`` (at most 64 KiB); None where there is none."""

    def keep(self) -> str:
        """Leave it where it is for a person; the path."""

    def close(self) -> None:
        """Remove it, unless it is kept; a second call does nothing."""


class Workbench(Protocol):
    """Makes copies, and runs commands on what was written."""

    def open(self, unit: Unit, out: Path) -> Copy:
        """A fresh copy for the attempt ``out`` of a unit; ``TreeError`` where there is none to be had."""

    def check(self, patch: Patch, commands: Sequence[str], stop: Callable[[], str]) -> tuple[Check, ...]:
        """Run commands one after the other on a fresh copy of base and patch, contained where that is
        possible, all of them even where one fails.  ``stop()`` says why to end early, or nothing."""


# --- contracts ------------------------------------------------------------------------------


class ContractKind(Protocol):
    """One form of answer; the built-in ones stand in ``contract.py``."""

    kind: str

    def schema(self, contract: Contract) -> dict[str, Any] | None:
        """JSON Schema (draft 2020-12, strict subset) of the payload; None for prose."""

    def instructions(self, contract: Contract) -> str:
        """What the prompt says about the form of the answer."""

    def check(self, payload: Any, contract: Contract) -> list[Violation]:
        """Cross-field rules that a schema cannot say."""

    def answer(self, payload: Any, contract: Contract) -> Answer:
        """The record of a payload that is valid under the schema."""


# --- renderers ------------------------------------------------------------------------------


class Renderer(Protocol):
    """Turns the run document into text."""

    name: str
    suffix: str
    """File name ending with the dot, for ``report<suffix>``."""

    def __call__(self, document: Mapping[str, Any]) -> str:
        """The rendered document; nothing foreign in it is active."""


class Clock(Protocol):
    """Time, so that a test can hold it."""

    def monotonic(self) -> float:
        """Seconds that never jump."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""


SameFinding = Callable[[Any, Any], "bool | None"]
"""The hook ``prun_same_finding`` as a callable: True, False, or None for no opinion."""
