"""Whole runs as a tape says: a plan, what came back, what was found, under which policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from prun_review.model import (
    SEVERITIES,
    Answer,
    Brief,
    Choice,
    Finding,
    Findings,
    Header,
    Plan,
    Result,
    RunFacts,
    Unit,
    Usage,
)
from prun_review.policy import Policy
from prun_review.rulings import Examination
from tests.campaign.phrases import TOPICS, Topic, noisy
from tests.campaign.roster import BORROWED, FINDINGS, PANELS, QUESTION, RECORDED
from tests.campaign.tape import Tape

FOLDERS = ("panels/one", "panels/two", "panels/three")
HEADER = Header("read it all", "src", "none", "read line by line")
FILES = ("src/auth.py", "src/cache.py", "docs/guide.md", "src/store.py")
"""What a change may touch."""
RUN = RunFacts("20261129T120000Z-ab12", 1_796_000_000.0, 1_796_000_060.5, "0.1.0")


@dataclass(frozen=True)
class Run:
    """Everything that a verdict is made of."""

    facts: RunFacts
    plan: Plan
    results: tuple[Result, ...]
    examination: Examination = field(default_factory=Examination)
    ills: tuple[str, ...] = ()
    """What was done to it on purpose, in words."""


@dataclass
class Draft:
    """A run in the making."""

    tape: Tape
    changes: bool
    """A change is reviewed."""
    units: list[Unit] = field(default_factory=list)
    found: dict[str, list[Finding]] = field(default_factory=dict)
    """Unit id -> its findings in the order reported."""
    choices: dict[str, str] = field(default_factory=dict)
    held: list[tuple[str, Topic, str, str]] = field(default_factory=list)
    """Case, topic, telling and severity of what somebody holds: baselines are made of these."""


# --- who is asked what ------------------------------------------------------------------------


def _units(draft: Draft) -> None:
    tape = draft.tape
    panel = tape.pick(PANELS)
    folders = FOLDERS[: tape.pick((1, 1, 2, 3))]
    repeats = tape.pick((1, 1, 1, 1, 2, 3))
    for n in range(1, tape.pick((1, 1, 2, 2, 3, 4)) + 1):
        folder = tape.pick(folders)
        case = f"{folder}/probe_q.py::probe_q[{n}]"
        contract = QUESTION if tape.once_in(6) else FINDINGS
        names = panel if not tape.once_in(12) else panel[:-1] or panel
        files = _files(draft)
        for name in names:
            for repeat in range(1, repeats + 1):
                draft.units.append(_unit(case, folder, name, repeat, contract, files))


def _files(draft: Draft) -> tuple[str, ...]:
    """What a case is about, in the review of a change; empty: the tree."""
    if not draft.changes:
        return ()
    return draft.tape.pick((FILES, FILES, FILES, (), FILES[:2], FILES[2:]))


def _unit(
    case: str, folder: str, executor: str, repeat: int, contract: object, files: tuple[str, ...]
) -> Unit:
    assert contract in (QUESTION, FINDINGS)
    id = f"{case[:-1]}-{executor}]" + (f"#{repeat}" if repeat > 1 else "")
    slug = "".join(c if c.isalnum() else "-" for c in id)
    kind = QUESTION if contract is QUESTION else FINDINGS
    brief = Brief("Audit this.", kind, files, scope="diff" if files else "tree")
    return Unit(
        id, slug, case, folder, executor, brief, "p.py:5", repeat, files, fingerprint=f"f-{case}-{executor}"
    )


# --- what is found ----------------------------------------------------------------------------


def _found(draft: Draft) -> None:
    tape = draft.tape
    cases = list(dict.fromkeys(u.case for u in draft.units if u.brief.contract.kind == "findings"))
    events = tape.pick((0, 1, 1, 2, 3, 4)) if cases else 0
    told: set[tuple[str, str]] = set()
    for _ in range(events):
        case, topic = tape.pick(cases), tape.pick(TOPICS)
        if (case, topic.name) not in told:
            told.add((case, topic.name))
            _event(draft, case, topic)


def _event(draft: Draft, case: str, topic: Topic) -> None:
    """One topic in one case: who holds it, how surely the same, how severe, in which of its answers."""
    tape = draft.tape
    severity = tape.pick(("low", "medium", "high", "critical", "high", "critical", "info", "critical"))
    beside = draft.changes and tape.once_in(3)
    names = list(dict.fromkeys(u.executor for u in draft.units if u.case == case))
    first = tape.below(len(names))
    for name in names[first:] + names[:first]:
        telling = tape.pick(("", "same", "same", "perhaps")) if name != names[first] else "same"
        if not telling:
            continue
        mine = _shifted(tape, severity)
        draft.held.append((case, topic, telling, mine))
        own_beside = beside if not tape.once_in(6) else not beside and draft.changes
        units = [u for u in draft.units if u.case == case and u.executor == name]
        absent = tape.below(4) if len(units) > 1 else 0
        for n, unit in enumerate(units):
            if absent and n % len(units) < min(absent, len(units) - 1):
                continue
            draft.found.setdefault(unit.id, []).extend(
                _tellings(tape, unit, topic, telling, mine, own_beside)
            )


def _shifted(tape: Tape, severity: str) -> str:
    """This severity, or one near it, or far from it, or a word that nobody knows."""
    by = tape.pick((0, 0, 0, 0, 1, -1, -2, 2, None)) if tape.once_in(3) else 0
    if by is None:
        return "blocker" if tape.once_in(3) else severity
    return SEVERITIES[min(max(SEVERITIES.index(severity) + by, 0), len(SEVERITIES) - 1)]


_WAYS = ("",) * 16 + ("moved", "moved", "noise", "noise", "twice", "twice", "ungrounded", "both")
"""How one answer tells a topic: plainly, or in one of the other ways."""


def _tellings(
    tape: Tape, unit: Unit, topic: Topic, telling: str, severity: str, beside: bool
) -> list[Finding]:
    """What one answer says of a topic: once, or twice, perhaps with noise, perhaps not to be found."""
    first, second = topic.same if telling == "same" else (topic.perhaps, topic.perhaps)
    if tape.once_in(3):
        first, second = second, first
    grounding = "exact" if topic.same[0].file else "unlocated"
    rule = {"rule": "S608", "lineage": BORROWED[unit.executor] or None} if unit.executor in BORROWED else {}
    base = {"severity": severity, "grounding": grounding, "beside": beside, **rule}
    way = tape.pick(_WAYS)
    if way == "moved" and topic.same[0].file:
        base["grounding"] = tape.pick(("moved", "line-only", "unchecked"))
    one = replace(first, **base)  # type: ignore[arg-type]
    if way == "noise":
        return [noisy(one)]
    if way == "twice":
        return [one, replace(second, **base)]  # type: ignore[arg-type]
    if way == "ungrounded":
        return [replace(one, grounding="ungrounded", beside=False)]
    if way == "both":  # one telling that the tree holds, and one that it does not
        return [replace(one, grounding="ungrounded", beside=False), replace(second, **base)]  # type: ignore[arg-type]
    return [one]


def _choices(draft: Draft) -> None:
    """What is chosen: mostly all the same."""
    tape = draft.tape
    for case in dict.fromkeys(u.case for u in draft.units if u.brief.contract is QUESTION):
        unlike = tape.once_in(2)
        for unit in draft.units:
            if unit.case == case:
                options = QUESTION.options if unlike else QUESTION.options[:1]
                draft.choices[unit.id] = tape.pick(options)


# --- under which policy -----------------------------------------------------------------------

_RULES = ("", "", "", "consensus", "any", "off")


def _policy(tape: Tape) -> Policy:
    """The default for many; else some of the keys."""
    if not tape.once_in(2):
        return Policy()
    policy = Policy(
        rule=tape.pick(("consensus", "consensus", "consensus", "single")),
        block=tape.pick(("high", "high", "medium", "critical", "low", "hihg")),
        mode=tape.pick(("enforce",) * 7 + ("report",)),
        quorum=tape.pick((0, 0, 0, 0, 1, 2, 3)),
        contested=tape.pick((0, 0, 0, 1, -1)),
        unresolved=tape.pick((0, 0, 0, 1, 2, -1)),
        min_agreement=tape.pick((0.0, 0.0, 0.0, 0.5, 0.67)),
        reproducibility=tape.pick((0.0, 0.0, 0.5, 0.67)),
        known=tape.pick(("pass", "pass", "pass", "gate")),
        choices=tape.pick(("report", "report", "majority", "unanimous")),
    )
    if tape.once_in(2):
        rules = {word: tape.pick(_RULES) for word in ("critical", "high", "medium", "low", "info")}
        policy = replace(policy, **rules)  # type: ignore[arg-type]
    return policy


# --- together ---------------------------------------------------------------------------------


def answer(draft: Draft, unit: Unit, findings: Sequence[Finding] = ()) -> Result:
    """A valid result of a unit."""
    given = Findings(replace(f, id=f"{unit.slug}#{n}") for n, f in enumerate(findings, start=1))
    option = draft.choices.get(unit.id)
    choice = None
    if option:
        ranking = (option, *(o for o in QUESTION.options if o != option))
        choice = Choice(option, ranking, (), 0.5, "a benchmark")
    said = Answer(HEADER, "comment", unit.files or FILES, given, choice)
    return Result(
        unit.id, unit.slug, unit.case, unit.folder, unit.executor, "valid", repeat=unit.repeat, answer=said,
        usage=Usage(100, 0, 10, 0.5), attempts=1, seconds=2.0, fingerprint=unit.fingerprint,
    )  # fmt: skip


def sketch(tape: Tape) -> tuple[Draft, Run]:
    """A run that went well, whatever it found."""
    draft = Draft(tape, changes=tape.once_in(4))
    _units(draft)
    _found(draft)
    _choices(draft)
    base = _policy(tape)
    folders = sorted({u.folder for u in draft.units})
    policies = {name: _policy(tape) if tape.once_in(3) else base for name in folders}
    known = [RECORDED[n] for n in dict.fromkeys(u.executor for u in draft.units) if n in RECORDED]
    facts = replace(RUN, executors=tuple(known), gate=base, folders=policies)
    results = tuple(answer(draft, u, draft.found.get(u.id, ())) for u in draft.units)
    return draft, Run(facts, Plan(tuple(draft.units)), results)
