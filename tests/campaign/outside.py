"""The model of what stands outside findings: the run as a whole, a change, executors that are away, votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from prun_review.model import ChangedFile, ExecutorInfo, Result, RunFacts, Unit
from tests.campaign.runs import Run
from tests.campaign.whose import independent, most_independent, writers

Sound = Callable[[Unit], bool]

AWAY = (
    "rate-limited", "quota-exhausted", "not-logged-in", "refresh-token-race", "model-not-found",
    "over-capacity", "network", "stalled", "unknown",
)  # fmt: skip
"""What an outage looks like; a time limit is none, and neither is an answer that broke its contract."""


# --- the run as a whole -----------------------------------------------------------------------


def of_run(
    run: Run, folders: Sequence[tuple[bool, list[Unit]]], sound: Callable[[Unit], bool]
) -> Iterator[tuple[str, str]]:
    """Outcome and code of all that no folder decides; ``folders``: whether it decides, and its units."""
    facts = run.facts
    for reason in (*facts.integrity, *facts.doubts):
        if reason.outcome != "PASS":
            yield ("FAIL" if reason.outcome == "FAIL" else "INCOMPLETE"), reason.code
    if facts.stopped:
        yield "INCOMPLETE", "stopped"
    if facts.unreported:
        yield "INCOMPLETE", "unreported"
    deciding = [units for decides, units in folders if decides]
    if run.plan.units and not any(deciding) and not any(sound(u) for u in run.plan.units):
        yield "INCOMPLETE", "nothing-answered"
    if run.plan.partial:
        yield "INCOMPLETE", "partial"
    if facts.items_failed:
        yield "FAIL", "probe-failed"
    counting = deciding or [units for _, units in folders]
    yield from _change(run, [u for units in counting for u in units], sound)


def is_change(facts: RunFacts) -> bool:
    """Whether a change is reviewed."""
    return bool(facts.change or facts.revision.base or facts.revision.merge_base)


def _change(run: Run, units: Sequence[Unit], sound: Sound) -> Iterator[tuple[str, str]]:
    facts = run.facts
    if not is_change(facts):
        if not run.plan.units:
            yield "INCOMPLETE", "nothing-asked"
        return
    results = {r.unit: r for r in run.results}
    theirs = writers({u.executor for u in units}, facts)
    units = [u for u in units if u.executor not in theirs]  # who wrote it has not looked at it
    unseen = [f for f in facts.change if not _seen(f, units, results, sound) and not _excused(f, facts)]
    if not facts.change:
        yield "INCOMPLETE", "empty-change"
    elif not run.plan.units and (unseen or not any(n.reason == "untouched" for n in run.plan.not_asked)):
        yield "INCOMPLETE", "nothing-asked"
    if unseen:
        yield "INCOMPLETE", "uncovered"
    if facts.alters:
        digest = facts.alters_digest
        full = digest if digest.startswith("sha256:") else f"sha256:{digest}"
        by = [
            a for a in facts.acceptances if a.kind == "review-change" and not a.expired and a.subject == full
        ]
        if not digest or not by:
            yield "INCOMPLETE", "changes-review"


def _seen(file: ChangedFile, units: Sequence[Unit], results: Mapping[str, Result], sound: Sound) -> bool:
    """Whether a sound answer that was asked about a file says that it looked at it."""
    if file.kind not in ("text", "mode", "link"):
        return False
    for unit in units:
        asked = file.path in unit.files or (
            not unit.files and not unit.brief.reads and unit.brief.scope == "tree"
        )
        blind = file.status == "deleted" and unit.brief.scope != "diff"
        if not asked or blind or unit.brief.contract.kind != "findings" or not sound(unit):
            continue
        answer = results[unit.id].answer
        if answer and file.path in answer.examined:
            return True
    return False


def _excused(file: ChangedFile, facts: RunFacts) -> bool:
    """Whether nobody needs to look at it: by policy under both its names, or it changes the review."""
    if file.path in facts.alters_paths:
        return True
    names = [name for name in (file.path, file.old_path) if name]
    patterns = facts.gate.uncovered
    return all("**" in patterns or ("docs/**" in patterns and name.startswith("docs/")) for name in names)


# --- executors that are away ------------------------------------------------------------------


def away(
    facts: RunFacts,
    units: Sequence[Unit],
    results: Mapping[str, Result],
    sound: Sound,
    infos: Mapping[str, ExecutorInfo],
) -> tuple[set[str], set[str], set[str]]:
    """Units whose missing answer a person answers for, cases that stand on fewer voices for it, and those of
    them that need no quorum: who is away would have been a voice.

    Who wrote what is reviewed is no voice: it stands for nobody, and nobody waits for it.
    """
    accepted = {a.subject for a in facts.acceptances if a.kind == "outage" and not a.expired}
    excused: set[str] = set()
    alone: set[str] = set()
    whole: set[str] = set()
    for case in {u.case for u in units}:
        mine = [u for u in units if u.case == case]
        gone = [
            u
            for u in mine
            if u.executor in accepted
            and u.id in results
            and results[u.id].status in ("failed", "not-run")
            and results[u.id].reason in AWAY
        ]
        theirs = writers({u.executor for u in mine}, facts)
        answered = {u.executor for u in mine if sound(u)}
        missing = {u.executor for u in gone} - answered
        answered -= theirs
        if not gone or not _stands(answered, missing, infos):
            continue
        excused |= {u.id for u in gone}
        if missing and most_independent(answered, infos) < 2:
            alone.add(case)
            if _stands(answered, missing - theirs, infos) and missing - theirs:
                whole.add(case)
    return excused, alone, whole


def _stands(there: set[str], gone: set[str], infos: Mapping[str, ExecutorInfo]) -> bool:
    """Whether somebody is there who makes two voices with who is gone; no analyser stands for a vendor."""
    if not there or most_independent({*there, *gone}, infos) < 2:
        return False
    return _vendor(there, infos) or not _vendor(gone, infos)


def _vendor(names: set[str], infos: Mapping[str, ExecutorInfo]) -> bool:
    return any(name in infos and infos[name].paid for name in names)


# --- choices ----------------------------------------------------------------------------------


def voted(votes: Mapping[str, list[str]], infos: Mapping[str, ExecutorInfo]) -> tuple[bool, bool]:
    """Whether all say the same, and whether more than half of them do.

    Each executor has one vote, what it said most often; those that are not independent have one together,
    and none where they differ.
    """
    own = {name: _most(options) for name, options in votes.items()}
    blocs: list[set[str]] = []
    for name in own:
        mine = [b for b in blocs if any(not independent(name, other, infos) for other in b)]
        blocs = [b for b in blocs if b not in mine] + [{name}.union(*mine)]
    said = [{own[name] for name in bloc} for bloc in blocs]
    winner = _most([next(iter(options)) for options in said if len(options) == 1])
    most = 2 * sum(options == {winner} for options in said) > len(said)
    return bool(winner) and all(vote == winner for vote in own.values()), bool(winner) and most


def _most(options: Sequence[str]) -> str:
    """What is said more often than anything else, or nothing."""
    counted = {o: list(options).count(o) for o in options if o}
    best = [o for o, n in counted.items() if n == max(counted.values())]
    return best[0] if len(best) == 1 else ""
