"""The records that flow through a review: frozen, JSON-able, without behaviour beyond look-ups.

Change makes a new record (``dataclasses.replace``).  Absence is a value with a reason, so a failed
unit is a :class:`Result` with a status and a reason code, never ``None``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prun_review.policy import SEVERITIES as _SEVERITIES
from prun_review.policy import Policy
from prun_review.written import Check, Claim, Patch

SEVERITIES = _SEVERITIES
"""From the least to the most severe."""

CATEGORIES = (
    "security",
    "correctness",
    "concurrency",
    "resource",
    "error-handling",
    "performance",
    "api",
    "maintainability",
    "style",
    "other",
)

GROUNDINGS = ("unchecked", "exact", "moved", "line-only", "unlocated", "ungrounded")
"""How a finding stands to the reviewed tree; see :mod:`prun_review.grounding`."""


PLACEMENTS = ("added", "deleted", "context", "outside", "pre-existing")
"""Where a finding stands in a reviewed change; see :mod:`prun_review.placement`."""

MAX_DIFF = 60_000
"""Characters of a diff in one prompt: about 20,000 tokens."""

_SHOWN = 60
"""Characters of a title in a ``repr``."""
_LISTED = 2
"""Findings in the ``repr`` of several: the lines that pytest shows of it are cut in their middle."""


def severity_rank(severity: str) -> int:
    """0 for ``info`` up to 4 for ``critical``; ``ValueError`` for any other word."""
    return SEVERITIES.index(severity)


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file."""

    file: str
    line: int | None = None
    """First line, counted from 1."""
    end_line: int | None = None
    """Last line, inclusive."""


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One reported defect."""

    title: str
    """One line that names the defect."""
    detail: str = ""
    """Why it is a defect, in prose."""
    file: str | None = None
    """Path relative to the root of the reviewed tree, with forward slashes."""
    line: int | None = None
    """First line, counted from 1."""
    end_line: int | None = None
    """Last line, inclusive; at least ``line``."""
    severity: str = "medium"
    """One of :data:`SEVERITIES`."""
    category: str = "other"
    """One of :data:`CATEGORIES`."""
    confidence: float | None = None
    """The reviewer's own probability that it is real, 0 to 1."""
    quote: str | None = None
    """The offending source text, verbatim; grounding searches it in ``file``."""
    suggestion: str | None = None
    """How to mend it."""
    rule: str | None = None
    """Rule id of an analyser (``F821``, ``B307``)."""
    lineage: str | None = None
    """Lineage of the rule where it is not the executor's own (ruff's ``S608`` is bandit's)."""
    id: str = ""
    """``<unit slug>#<n>`` once judged; empty before."""
    grounding: str = "unchecked"
    """One of :data:`GROUNDINGS`."""
    note: str = ""
    """What grounding or salvage did to it, for people."""
    side: str | None = None
    """In a change: ``new`` (the head) or ``old`` (the base, at the old path) is where ``file``,
    ``line`` and ``quote`` belong; None where nothing was said or no change is reviewed."""
    cause: Place | None = None
    """In a change: what of it makes this place wrong, where the defect itself stands elsewhere."""
    placement: str = ""
    """One of :data:`PLACEMENTS`, set by the harness and never by the reviewer; empty where no change
    is reviewed, or where the finding has no place."""
    caused: bool = False
    """``cause`` lies inside a hunk of the change."""
    beside: bool = False
    """Proven to be none of the change's doing: reported, and never gated on."""
    mapped: Place | None = None
    """Of a finding on the old side: its place in the head's coordinates, for comparing."""

    def __repr__(self) -> str:
        """``<Finding critical src/auth/login.py:6 'SQL injection...'>``: what a failing assertion shows."""
        return f"<Finding {_brief(self)}>"

    @property
    def grounded(self) -> bool:
        """False only where the tree was looked at and does not hold what the finding says."""
        return self.grounding != "ungrounded"


def _inert(text: str) -> str:
    """Foreign text without anything that a terminal would act upon."""
    return repr(text)[1:-1]


def _brief(finding: Finding) -> str:
    place = "no place" if finding.file is None else _inert(finding.file)
    line = "" if finding.file is None or finding.line is None else f":{finding.line}"
    title = finding.title if len(finding.title) <= _SHOWN else f"{finding.title[:_SHOWN]}..."
    return f"{_inert(finding.severity)} {place}{line} {title!r}"


class Findings(tuple[Finding, ...]):
    """The findings of one result, in the order reported."""

    __slots__ = ()

    def __repr__(self) -> str:
        """``<3 findings: high src/a.py:6 'SQL injection'; low src/b.py:9 'Unused import'; ...>``."""
        told = "; ".join([*map(_brief, self[:_LISTED]), *["..."] * (len(self) > _LISTED)])
        return f"<{len(self)} {'finding' if len(self) == 1 else 'findings'}{': ' * bool(self)}{told}>"

    def at_least(self, severity: str) -> Findings:
        """Those of this severity or worse; ``ValueError`` for an unknown word."""
        least = severity_rank(severity)
        return Findings(f for f in self if severity_rank(f.severity) >= least)


@dataclass(frozen=True, slots=True)
class Score:
    """One cell of a choice's score table."""

    option: str
    criterion: str
    score: int
    """1 (worst) to 5 (best)."""
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer to a design question."""

    option: str
    """The option chosen: the first of ``ranking``."""
    ranking: tuple[str, ...]
    """All options, best first."""
    scores: tuple[Score, ...]
    confidence: float | None = None
    would_change_mind: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an executor says of findings that others reported."""

    word: str
    """One of the contract's options."""
    reason: str
    """Why, in prose."""
    evidence: Finding
    """The place and the quote that prove it, grounded like any finding; its title is empty."""
    severity: str | None = None
    """With ``confirm``: how severe it is in the examiner's eyes."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Text of others that a prompt shows as data, between random markers."""

    label: str
    """Our own words for it: ``CLAIM``, ``FINDING A``."""
    text: str
    quotes: tuple[str, ...] = ()
    """The quotes that ``text`` shows whole, that of the finding itself first."""
    side: str = ""
    """The side of a change that it is about; empty: the tree as it is."""
    told: tuple[str, ...] = ()
    """Ids of the findings that ``text`` tells, that of the claim itself first; the others whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """One web page that a research answer stands on."""

    url: str
    status: int | None
    """HTTP status of the fetch; None where no answer came."""
    via: str
    """How it was fetched: the tool's or service's name."""


@dataclass(frozen=True, slots=True)
class Header:
    """The prun return contract's header lines."""

    conclusion: str
    files: str
    open_items: str
    verification: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What an executor answered, as far as the contract could take it."""

    header: Header
    verdict: str | None = None
    """``approve``, ``comment`` or ``request-changes`` for findings; None for other kinds."""
    examined: tuple[str, ...] = ()
    """The files the executor says it read."""
    findings: Findings = field(default_factory=Findings)
    choice: Choice | None = None
    opinion: Opinion | None = None
    """Where findings of others were examined."""
    sources: tuple[Source, ...] = ()
    """Where the contract asks for sources: every page that was fetched, blocked ones included."""
    body: str = ""
    """The prose of a ``prose`` answer, or what stood beside the payload."""
    claim: Claim | None = None
    """Where code was written: what the worker says of it."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The form a valid answer has."""

    kind: str = "findings"
    """``findings``, ``choice``, ``prose``, ``change`` (code is written), ``task`` (the same, as ``cpo`` asks
    for it) or ``examination`` (the second wave's own); more through the hook ``prun_contracts``."""
    options: tuple[str, ...] = ()
    """For ``choice``: the options, two or more.  For ``examination``: the words of the answer."""
    criteria: tuple[str, ...] = ()
    """For ``choice``: what each option is scored on."""
    sources: bool = False
    """The answer also lists the web pages that it stands on, with the HTTP status of each."""
    change: bool = False
    """It is about a change: for ``findings`` each also says side and cause, for ``examination`` the
    evidence says its side."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which an answer breaks its contract, or one thing salvage gave up."""

    code: str
    """A stable word: ``not-json``, ``duplicate-key``, ``schema``, ``approve-beside-critical``..."""
    where: str
    """JSON pointer or header name; empty for the whole answer."""
    text: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.where}: {self.text}" if self.where else f"[{self.code}] {self.text}"


@dataclass(frozen=True, slots=True)
class Brief:
    """What a probe asks, with everything filled in: plain data, ready to dispatch."""

    prompt: str
    contract: Contract = field(default_factory=Contract)
    reads: tuple[str, ...] = ()
    """Patterns relative to the root of the reviewed tree; empty means the whole tree."""
    access: str = "read"
    """``read``, ``run`` or ``full``; with ``write`` ``write`` or ``full``."""
    timeout: float = 900.0
    """Seconds of wall time for one attempt."""
    needs: tuple[str, ...] = ()
    """What its executor must provide (``mcp:gmail``), as executor tables declare it."""
    scope: str = "tree"
    """``tree``: the reviewed tree as it is; ``diff``: what a change does (``--prun-base``)."""
    max_diff: int = MAX_DIFF
    """With ``diff``: characters of the diff that one prompt holds; over it the case is split by file."""
    exhibits: tuple[Exhibit, ...] = ()
    """What others said and the prompt is about."""
    mode: str = "review"
    """``review``: the worker only looks; ``write``: it changes a throwaway copy of the tree."""
    writes: tuple[str, ...] = ()
    """With ``write``: patterns of what it may touch; empty: anything."""
    spares: tuple[str, ...] = ()
    """With ``write``: patterns of what it must not touch, whatever ``writes`` says."""
    verify: tuple[str, ...] = ()
    """With ``write``: shell commands that the harness runs on base and patch."""
    creates: tuple[str, ...] = ()
    """With contract ``task``: patterns of files that must be made, one of them at least."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Case x executor (x repeat): one piece of work, one pytest item."""

    id: str
    """The pytest node id."""
    slug: str
    """``[A-Za-z0-9_-]+``, unique in the run: directory name and prun unit id."""
    case: str
    """Node id without the executor (and repeat): what panels are compared on."""
    folder: str
    """The panels folder that the gate judges, relative to the trusted root."""
    executor: str
    brief: Brief
    place: str = ""
    """``file:line`` of the probe."""
    repeat: int = 1
    files: tuple[str, ...] = ()
    """What ``brief.reads`` names in the reviewed tree, sorted; with scope ``diff`` the changed files
    of this unit (a deleted one under the name that it had)."""
    inlined: tuple[str, ...] = ()
    """With scope ``diff``: those of ``files`` whose diff the prompt holds."""
    coverage: float = 0.0
    """The least share of ``files`` that the answer must have examined, 0 to 1; 0: any one file."""
    fingerprint: str = ""
    """sha256 over question, executor, model, effort and the content it is about."""


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A case, or a case x executor, that was not put to anybody, and why."""

    id: str
    case: str
    folder: str
    executor: str
    reason: str
    """``skipped``, ``contract`` (the executor cannot answer this kind) or ``brief`` (broken)."""
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run will dispatch, in plan order; written before the first dispatch."""

    units: tuple[Unit, ...]
    not_asked: tuple[NotAsked, ...] = ()
    partial: str = ""
    """Why the plan is less than what was collected (``1 of 3 units, -k``), or empty."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the executor says it used; None where it does not say."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended, as its shim saw it."""

    code: int | None
    """Exit status; negative for a signal, as in :mod:`subprocess`; None if it never started."""
    ended_by: str = ""
    """Empty: by itself.  ``timeout``, ``cancelled``, ``output`` (wrote too much), ``lost`` (its shim died),
    ``spawn`` (it never started), or what ``Process.stop`` was told: ``stall``, ``startup``, ``finished``,
    a reason code."""
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an executor's output says, before the contract is looked at."""

    status: str
    """``answered`` or ``failed``."""
    reason: str = "ok"
    """Reason code of a failure (``rate-limited``, ``not-logged-in``, ``no-answer``...)."""
    message: str = ""
    retry_after: float | None = None
    """Seconds that the vendor says to wait before asking again, where it says so."""
    payload: Any = None
    """Native structured output (parsed JSON), or None."""
    text: str = ""
    """Final message where there is no native payload."""
    usage: Usage = field(default_factory=Usage)
    suppressed: tuple[Finding, ...] = ()
    """What in-code comments told an analyser to hide: listed, never obeyed silently."""
    findings: Findings | None = None
    """An analyser's own findings, already records: judged by grounding only, whatever the contract
    asks of a payload.  None: look at ``payload`` and ``text``.  Where they are given, ``text`` is
    the conclusion in one line."""
    examined: tuple[str, ...] = ()
    """With ``findings``: the files that the analyser went through, relative to the tree's root."""
    touched: tuple[str, ...] | None = None
    """What its tool events name, as text: paths that were opened, commands that were run and what these
    printed.  None where the program tells nothing of its tools."""


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The judged outcome of a unit.  ``status`` says whether there is an answer to rely on."""

    unit: str
    slug: str
    case: str
    folder: str
    executor: str
    status: str
    """``valid``; ``broken`` (answered, contract violated); ``failed`` (no answer); ``not-run``."""
    reason: str = "ok"
    """Stable code: ``ok``, ``contract``, ``timeout``, ``cancelled``, ``no-answer``..."""
    message: str = ""
    repeat: int = 1
    answer: Answer | None = None
    violations: tuple[Violation, ...] = ()
    salvage: tuple[Violation, ...] = ()
    """What was mended or given up to keep the rest; ``lost-finding`` entries forbid PASS."""
    usage: Usage = field(default_factory=Usage)
    attempts: int = 0
    """Dispatches made for it: the first, retries and the re-ask."""
    retried: tuple[str, ...] = ()
    """Reason codes of the attempts that failed and were made again, in order."""
    seconds: float = 0.0
    suppressed: tuple[Finding, ...] = ()
    fingerprint: str = ""
    patch: Patch | None = None
    """Where code was written: what the copy held beyond its base, whatever the answer says."""
    checks: tuple[Check, ...] = ()
    """What the harness ran on it, in the order of ``Brief.verify``."""
    marker: bool = False
    """Where code was written: ``.claude-task-complete`` lay in the copy."""

    def __repr__(self) -> str:
        """``<Result valid panels/probe_x.py::probe[codex] 2 findings>``, or why there is none."""
        said = f"({_inert(self.reason)})"
        if self.answer:
            said = f"{len(self.findings)} {'finding' if len(self.findings) == 1 else 'findings'}"
            said = f"chose {self.choice.option!r}" if self.choice else said
        return f"<Result {_inert(self.status)} {_inert(self.unit)} {said}>"

    @property
    def ok(self) -> bool:
        """True when the contract is kept."""
        return self.status == "valid"

    @property
    def findings(self) -> Findings:
        """The findings, empty where there is no answer: look at :attr:`ok` first."""
        return self.answer.findings if self.answer else Findings()

    @property
    def choice(self) -> Choice | None:
        """The choice made, for a ``choice`` contract."""
        return self.answer.choice if self.answer else None

    @property
    def text(self) -> str:
        """The prose of the answer."""
        return self.answer.body if self.answer else ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two findings of two panels, or one alone.  ``left`` and ``right`` are indices."""

    left: int | None
    right: int | None
    outcome: str
    """``match``, ``uncertain`` or ``alone``."""
    score: float
    """Text similarity, 0 to 1."""
    reason: str
    """One line that a person understands."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the gate decided as it did."""

    code: str
    text: str
    outcome: str = "INCOMPLETE"
    """What this reason alone leads to: ``FAIL``, ``INCOMPLETE`` or ``PASS`` (a remark)."""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """PASS, FAIL or INCOMPLETE, with coded reasons."""

    outcome: str
    reasons: tuple[Reason, ...] = ()
    folders: Mapping[str, str] = field(default_factory=dict)
    """Panels folder -> PASS, FAIL, INCOMPLETE or NOT ASKED (report-mode folders: ``report: X``)."""
    counts: Mapping[str, int] = field(default_factory=dict)
    line: str = ""
    """The verdict as one line, remarks included: ``PASS (1 high accepted by Ada)``."""


@dataclass(frozen=True, slots=True)
class ExecutorInfo:
    """What a run records of an executor it used."""

    name: str
    vendor: str
    lineage: str
    paid: bool
    identity: str = ""
    contracts: tuple[str, ...] = ()
    where: str = ""
    """``configured``, ``PATH`` or a package name; why it is missing where it is."""
    version: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """Which tree was reviewed."""

    commit: str = ""
    """SHA of HEAD, or empty."""
    tree: str = ""
    """SHA of the reviewed tree object."""
    dirty: bool = False
    """The tree holds uncommitted changes of tracked files."""
    files: int = 0
    excluded: tuple[str, ...] = ()
    """Patterns and kinds that were left out."""
    notes: tuple[str, ...] = ()
    """What was not taken and why: links that leave the tree, submodules, untracked files."""
    base: str = ""
    """With ``--prun-base``: SHA of the commit that the change goes to; else empty, as the next two."""
    merge_base: str = ""
    """SHA of the commit that the change starts from: what the head is compared with."""
    head: str = ""
    """SHA of the head commit; with ``dirty`` the work tree on top of it."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of the reviewed change, as a run records it."""

    path: str
    """Its name in the head; of a deleted file the name that it had."""
    old_path: str = ""
    """Its name in the base; empty for an added file."""
    status: str = "modified"
    """``added``, ``deleted``, ``modified`` or ``renamed``."""
    kind: str = "text"
    """``text``, ``link``, ``binary``, ``lfs``, ``submodule``, ``mode`` (only its mode changed),
    ``masked`` (only masked text differs), ``withheld`` (never sent) or ``excluded`` (no part of the
    reviewed tree; the note says by what)."""
    added: int = 0
    """Lines."""
    deleted: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a named person answers for, as the trusted root's file says."""

    kind: str
    """``review-change``: a change of the review itself; ``outage``: an executor that is away; ``finding``:
    a finding that does not gate."""
    subject: str
    """The digest that the report printed, the executor's name, or the fingerprint of the finding."""
    by: str
    reason: str
    until: str = ""
    """The last day on which it counts, ``YYYY-MM-DD`` in UTC; empty: without an end."""
    expired: bool = False
    """``until`` was over when the run began: it is listed, and counts for nothing."""
    case: str = ""
    """Of a finding: the case that it was found in."""
    finding: Finding | None = None
    """Of a finding: what of it was written down, to know it again in other words; its severity is the
    highest that is accepted."""
    also: tuple[Finding, ...] = ()
    """Of a finding: the same defect in the words of others who held it."""
    commit: str = ""
    """Of a finding: SHA of the commit that its place is of; empty where that is not known."""
    note: str = ""
    """What became of its file since: ``renamed from src/old.py``."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A blocker of an earlier run on the same head that this run does not hold."""

    run: str
    """Id of the run that found it first."""
    finding: str
    """Its id there."""
    severity: str
    title: str
    place: str
    """``file:line``, or empty."""
    outcome: str
    """What it led to there: ``FAIL`` or ``INCOMPLETE``."""
    folder: str = ""
    """The panels folder that it stood in."""
    members: tuple[Finding, ...] = ()
    """The findings as they were reported there, to tell whether this run holds it again."""
    case: str = ""
    """The case that it was found in; empty of a run that did not record it, as the next two."""
    kind: str = ""
    """Its class there; see :data:`prun_review.consensus.CLASSES`."""
    examined: str = ""
    """What an examination came to there: ``confirmed``, ``refuted``, ``unresolved``; empty: none."""


@dataclass(frozen=True, slots=True)
class Known:
    """A finding of the baseline: known before this run, and no reason to block."""

    fingerprint: str
    case: str
    folder: str
    """The panels folder that it stood in."""
    finding: Finding
    """The finding that spoke for it; its path is that of this run's tree, its severity that of the group, and
    its grounding tells what became of its quote: ``exact`` it stands there once, ``moved`` several times,
    ``ungrounded`` no more."""
    note: str = ""
    """What became of its file since: ``renamed from src/old.py``."""
    also: tuple[Finding, ...] = ()
    """The same defect in the words of others who held it, placed alike."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """All that the verdict and the reports need beside the plan and the results."""

    run_id: str
    started: float
    """Seconds since the epoch."""
    finished: float | None = None
    version: str = ""
    """Of prun_review."""
    executors: tuple[ExecutorInfo, ...] = ()
    gate: Policy = field(default_factory=Policy)
    folders: Mapping[str, Policy] = field(default_factory=dict)
    """Policy by panels folder, resolved for every folder of the plan."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Option -> value as text."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Option -> where its value came from."""
    revision: Revision = field(default_factory=Revision)
    integrity: tuple[Reason, ...] = ()
    """What happened to the snapshot and the repository during the run."""
    doubts: tuple[Reason, ...] = ()
    """What was known before the first dispatch and speaks against green."""
    stopped: str = ""
    """Why the run ended early (``-x``, ``interrupted``), or empty."""
    items_failed: int = 0
    """Probes whose own assertions failed."""
    unreported: tuple[str, ...] = ()
    """Planned units that no pytest report spoke of."""
    replay_of: str = ""
    """Run id whose stored answers were judged again."""
    resumed_from: tuple[str, ...] = ()
    """Run ids from which results of the same fingerprint were taken over."""
    budget: str = ""
    """The budget of the run in words, and what of it was spent; empty where there is none."""
    change: tuple[ChangedFile, ...] = ()
    """All files of the reviewed change, sorted; empty also where no change is reviewed."""
    alters: tuple[str, ...] = ()
    """Files of the change that change the review itself: panels, conftest, policy, configuration."""
    alters_paths: tuple[str, ...] = ()
    """Those of ``alters`` that are in ``change``, under the :attr:`ChangedFile.path` that they have there."""
    alters_digest: str = ""
    """sha256 over what ``alters`` became: what a person accepts."""
    acceptances: tuple[Acceptance, ...] = ()
    """All of the trusted root's file, expired ones too."""
    carried: tuple[Carried, ...] = ()
    """Blockers of ``--prun-previous``."""
    masked: tuple[str, ...] = ()
    """``file:line kind`` of places in changed files that are masked as secrets, on either side, sorted;
    50 at most."""
    profile: str = "trusted"
    """``trusted`` or ``untrusted``."""
    cross_examine: str = "off"
    """``off``, ``gate`` or ``all``: what of the findings was put before the other vendor."""
    baseline: str = ""
    """The baseline file as it was named; empty where there is none."""
    known: tuple[Known, ...] = ()
    """All entries of the baseline."""
    authors: tuple[str, ...] = ()
    """Who wrote what is reviewed, as named: vendors, lineages or executors; empty: nobody says."""
    authors_kin: tuple[str, ...] = ()
    """Vendors and lineages of the executors that ``authors`` names, used in the run or not."""
