"""What speaks against green in a review of a change: files nobody looked at, a change of the review
itself, blockers of earlier runs.  And what a person answers for, which is always said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from prun_review.answers import Answers
from prun_review.authors import authors_of
from prun_review.consensus import Group
from prun_review.covering import Cover
from prun_review.covering import cover as cover_files
from prun_review.folders import OPEN, Folder
from prun_review.folding import level
from prun_review.model import SEVERITIES, Acceptance, Carried, Finding, Plan, Reason, RunFacts
from prun_review.sameness import apart
from prun_review.settling import answered_for
from prun_review.tracking import Defect, track
from prun_review.verdict import number, short, some, tally, worst

ACCEPT = "prun-accept.toml"
"""The name of the trusted root's file where the run does not record another."""


def reviewed(facts: RunFacts) -> bool:
    """Whether a change was reviewed."""
    return bool(facts.revision.base or facts.revision.merge_base or facts.change)


def covers(facts: RunFacts, folders: Sequence[Folder]) -> tuple[Cover, ...]:
    """Who looked at each file of the change.

    A folder in report mode covers nothing, since what it finds never blocks: code moved to where only
    such a one looks is not reviewed.  Where no folder decides anything, all of them count.
    """
    counting = [f for f in folders if f.decides] or list(folders)
    units = [u for f in counting for u in f.units]
    answers = counting[0].answers if counting else Answers()
    return cover_files(facts, units, answers, authors_of(facts))


def reasons(facts: RunFacts, plan: Plan, folders: Sequence[Folder]) -> list[Reason]:
    """The reasons and remarks of the run as a whole that a change, a person or an earlier run makes."""
    found = []
    if reviewed(facts):
        looked = covers(facts, folders)
        found += [*_asked(facts, plan, looked), *_uncovered(looked)]
        found += [*_altered(facts), *_masked(facts)]
    elif not plan.units:
        found.append(_nothing())
    return [*found, *_outages(folders), *_carried(facts, folders)]


def _nothing() -> Reason:
    return Reason("nothing-asked", "no unit was asked, so nothing was reviewed")


def _asked(facts: RunFacts, plan: Plan, looked: Sequence[Cover]) -> list[Reason]:
    """Why nothing was asked, or that the policy let files pass unseen: a verdict that did not say it
    would claim more than was looked at."""
    if not facts.change:
        text = "base and head hold the same files: there is no change to review"
        return [Reason("empty-change", f"{text}; look at --prun-base and --prun-head")]
    ignored = [c for c in looked if c.ignored and not c.cases and not c.altering]
    of = number(len(looked), "changed file")
    if plan.units:
        text = f"{len(ignored)} of {of} looked at by nobody: ignored by gate.uncovered"
        return [Reason("ignored", text, "PASS")] if ignored else []
    # There were probes, and the change touches what none of them asks about: else no review was set up.
    if not any(n.reason == "untouched" for n in plan.not_asked) or any(c.missing for c in looked):
        return [_nothing()]
    if len(ignored) == len(looked):
        text = f"nothing asked: all {of} {'is' if len(looked) == 1 else 'are'} ignored by gate.uncovered"
    else:
        rest = len(looked) - len(ignored)
        text = (
            f"nothing asked: of {of} {rest} change the review itself and {len(ignored)} are ignored by policy"
        )
    return [Reason("ignored", text, "PASS")]


def _uncovered(looked: Sequence[Cover]) -> list[Reason]:
    missing = [c for c in looked if c.missing]
    if not missing:
        return []
    whys: dict[str, list[str]] = {}
    for one in missing:
        whys.setdefault(one.why, []).append(one.file.path)
    told = some((f"{some(names, 8)} ({why})" for why, names in whys.items()), 5)
    text = (
        f"{len(missing)} of {number(len(looked), 'changed file')} not covered by any answer: {told}; ask "
        "again where one was asked, let a probe look at them (its reads or changed() patterns), or name "
        "them in gate.uncovered"
    )
    return [Reason("uncovered", text)]


def _altered(facts: RunFacts) -> list[Reason]:
    if not facts.alters:
        return []
    digest = full(facts.alters_digest)
    files = f"{number(len(facts.alters), 'file')} of the review itself changed ({some(facts.alters, 8)})"
    by = next((a for a in valid(facts, "review-change") if digest and a.subject == digest), None)
    if by:
        return [Reason("changes-review", f"{files}, {accepted(by)}", "PASS")]
    name = facts.config.get("accept") or ACCEPT
    text = (
        f"{files}; who answers for that puts [[review-change]] with digest = "
        f'"{digest or "(none was recorded)"}", by and reason into {name} of the trusted root'
    )
    return [Reason("changes-review", text)]


MOST_MASKED = 50
"""Masked places that a run records."""


def _masked(facts: RunFacts) -> list[Reason]:
    """What looks like a secret is hidden from reviewers, whatever it is: never without a word."""
    n = len(facts.masked)
    if not n:
        return []
    least = "at least " if n >= MOST_MASKED else ""
    files = dict.fromkeys(place.rpartition(":")[0] for place in facts.masked)
    text = f"{least}{number(n, 'masked place')} in changed files ({some(files, 3)})"
    return [Reason("masked", text, "PASS")]


def full(digest: str) -> str:
    """A digest as a person accepts it: ``sha256:<64 hex>``; empty where there is none."""
    return digest if digest.startswith("sha256:") or not digest else f"sha256:{digest}"


def valid(facts: RunFacts, kind: str) -> list[Acceptance]:
    """The acceptances of a kind that count."""
    return [a for a in facts.acceptances if a.kind == kind and not a.expired]


def accepted(by: Acceptance) -> str:
    """``accepted by Ada until 2026-12-01``."""
    until = f" until {by.until}" if by.until else ""
    return f"accepted by {short(by.by, 60)}{until}"


def _outages(folders: Sequence[Folder]) -> list[Reason]:
    """One remark for each executor that is away: named with the person, wherever its answer is missing."""
    hit: dict[tuple[str, Acceptance], dict[str, str]] = {}
    for folder in folders:
        if folder.decides:
            for unit in folder.units:
                if unit.id in folder.outages.units:
                    by, why = folder.outages.units[unit.id]
                    hit.setdefault((unit.executor, by), {})[unit.id] = why
    found = []
    for (executor, by), units in hit.items():
        whys = ", ".join(dict.fromkeys(units.values()))
        text = f"{executor} away for {number(len(units), 'unit')} ({whys}), {accepted(by)}"
        found.append(Reason("outage", text, "PASS"))
    return found


def _carried(facts: RunFacts, folders: Sequence[Folder]) -> list[Reason]:
    """What an earlier run on this head held, and this one does not hold as hard.

    Only a group that itself leads to as much settles one, or a person, or an examination that refutes it
    as severe as it was where nobody had settled it: so a re-run is never milder than the run before.  In a
    folder that is in report mode now, it decides as little as anything else there.
    """
    found = []
    for one in open_carried(facts, folders):
        place = f" ({one.place})" if one.place else ""
        text = (
            f"{one.severity}: {short(one.title)}{place}; held by run {one.run} on this same head, and a run "
            "again that holds it less settles nothing: change the code, or let a person accept it"
        )
        outcome = worst((one.outcome, "INCOMPLETE"))
        found.append(Reason("carried", text, outcome, one.folder))
    hows: dict[tuple[str, str], list[str]] = {}
    for one, how in _fates(facts, folders):
        if how not in ("", HELD):
            hows.setdefault((one.folder, how), []).append(one.severity)
    for (folder, how), severities in hows.items():
        text = f"{tally(severities)} of an earlier run {how}"
        found.append(Reason("carried-settled", text, "PASS", folder))
    return found


def open_carried(facts: RunFacts, folders: Sequence[Folder]) -> list[Carried]:
    """The carried blockers that nothing in this run takes the place of, and nobody settled."""
    return [one for one, how in _fates(facts, folders) if not how]


HELD = "held"
"""What became of a carried blocker to which a finding of this run leads as well."""


def _fates(facts: RunFacts, folders: Sequence[Folder]) -> list[tuple[Carried, str]]:
    """What became of each carried blocker: :data:`HELD`, who settled it, or empty where it is open."""
    if not facts.carried:
        return []
    decisions = [d for folder in folders if folder.decides for d in folder.decisions()]
    blocking = [d for d in decisions if d.outcome and d.group.kind != "ungrounded"]
    refuted = [d for d in decisions if d.group.examined == "refuted"]
    every = {one: parts(one) for one in facts.carried}
    persons = answered_for(replace(facts, carried=tuple(part for found in every.values() for part in found)))

    def fate(one: Carried) -> str:
        if any(
            worst((d.outcome, one.outcome)) == d.outcome and again(one, _findings(d.group)) for d in blocking
        ):
            return HELD
        by = persons.get((one.run, one.finding))
        if by:
            return accepted(by)
        unsettled = one.outcome == "INCOMPLETE" and one.kind in OPEN and one.examined != "refuted"
        if unsettled and any(_as_severe(d.group, one) and again(one, _findings(d.group)) for d in refuted):
            return "refuted by another vendor in this run"
        return ""

    return [(one, _joined([fate(part) for part in every[one]])) for one in facts.carried]


def _joined(fates: Sequence[str]) -> str:
    """What became of a blocker by what became of its parts: open where one is, held where all are."""
    settled = dict.fromkeys(how for how in fates if how != HELD)
    return ", ".join(settled) if all(fates) and settled else HELD if all(fates) else ""


def parts(one: Carried) -> list[Carried]:
    """A blocker that may be more than one defect as each of them: none settles another."""
    if one.kind != "uncertain" and not apart(one.members):
        return [one]
    worse = all(level(f.severity) < level(one.severity) for f in one.members)  # as an examiner said
    return [
        replace(
            one, finding=f"{one.finding} {n}", severity=one.severity if worse else f.severity, members=(f,)
        )
        for n, f in enumerate(one.members, 1)
    ]


def _findings(group: Group) -> list[Finding]:
    return [member.finding for member in group.members]


def _as_severe(group: Group, one: Carried) -> bool:
    """Whether a ruling on a group may settle a carried blocker: told milder it is another claim, and what
    is critical, or of a word that nobody knows, is settled by no examiner."""
    return one.severity in SEVERITIES[:-1] and level(group.severity) >= level(one.severity)


def again(one: Carried, held: Iterable[Finding]) -> bool:
    """Whether one of these findings of the same tree is the carried one: by its name at its place, or of the
    same code in other words."""
    olds = [Defect("", (finding,), standing=True, same_tree=True) for finding in held]
    return bool(track(olds, [Defect("", one.members)]).found)
