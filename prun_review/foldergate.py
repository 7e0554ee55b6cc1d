"""The reasons of one panels folder: its units, its cases, its findings, its choices, what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from prun_review.answers import doubts, trouble
from prun_review.changegate import accepted, reviewed
from prun_review.choices import Ballots
from prun_review.consensus import Group
from prun_review.folders import Folder
from prun_review.independence import dependence, known
from prun_review.model import Reason, RunFacts
from prun_review.policy import quorum_of
from prun_review.verdict import number, short, some, tally

COMPARED = ("consensus", "contested", "uncertain", "single")
"""The classes of findings that the executors were compared on."""

WORTH = (
    "one vendor's word is an opinion: about 1 in 8 findings of a single reviewer is wrong, "
    "and 56 % of real defects are found by one model only"
)
"""What a verdict of one vendor is worth."""


def reasons(folder: Folder, facts: RunFacts) -> list[Reason]:
    """All that speaks against green in a folder, and every remark on what it lets pass."""
    rows = []
    if folder.name not in facts.folders:
        rows.append(("unknown-folder", f"no policy is recorded for {folder.name!r}", "INCOMPLETE"))
    rows += _unit_reasons(folder)
    rows += _corroboration(folder)
    rows += _finding_reasons(folder)
    rows += _expired(folder)
    rows += _agreement(folder)
    rows += _choices(folder)
    rows += _left_out(folder, reviewed(facts))
    return [Reason(code, text, outcome, folder.name) for code, text, outcome in rows]


_Row = tuple[str, str, str]
"""Code, text, outcome."""

_SAID = {
    "missing-result": "without a result",
    "contract": "broke the return contract",
    "not-run": "not run",
    "lost-finding": "with a finding that could not be read",
    "unknown-status": "of an unknown status",
    "unknown-severity": "with a finding of unknown severity",
}
"""Code -> what befell units, in words that fit one and many."""


def _unit_reasons(folder: Folder) -> list[_Row]:
    """One reason per code and executor: twelve units with one cause are one cause."""
    bad: dict[tuple[str, str], dict[str, str]] = {}
    for unit in folder.units:
        if unit.id in folder.outages.units:
            continue
        result = folder.result(unit)
        code, message = trouble(unit, result)
        found = [(code, message)] if code else doubts(result) if result else []
        for code, message in found:
            bad.setdefault((code, unit.executor), {}).setdefault(unit.slug, message)
    rows = []
    for (code, executor), units in bad.items():
        asked = sum(u.executor == executor for u in folder.units)
        said = _SAID.get(code, f"failed ({code.partition(':')[2]})")
        message = next((m for m in units.values() if m), "")
        text = f"{executor}: {len(units)} of {number(asked, 'unit')} {said}: {some(units)}"
        rows.append((code, f"{text}; {short(message)}" if message else text, "INCOMPLETE"))
    return rows


def _corroboration(folder: Folder) -> list[_Row]:
    """Cases that fewer independent executors answered than the quorum, together by who answered them."""
    if quorum_of(folder.policy) < 2 and not folder.authors.words:  # that nobody answered, the units say
        return []
    asked = folder.asked()
    alone: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for case, answered in folder.answered().items():
        few = len(folder.voices(answered)) < folder.quorum(asked[case])
        if few and case not in folder.outages.whole:
            alone.setdefault((asked[case], answered), []).append(case)
    return [_too_few(folder, *who, cases) for who, cases in alone.items()]


def _too_few(folder: Folder, everyone: Sequence[str], answered: Sequence[str], cases: Sequence[str]) -> _Row:
    text = (
        f"{number(len(cases), 'case')} answered by {len(answered)} of {number(len(everyone), 'executor')} "
        f"asked ({', '.join(answered) or 'nobody'} of {', '.join(everyone)}): {some(cases)}"
    )
    have, need = len(folder.voices(answered)), folder.quorum(everyone)
    others = folder.authors.others(answered)
    text += folder.authors.disowned(answered)
    if folder.authors.words and not have:
        return "author-only", f"{text}; nobody else answered", "INCOMPLETE"
    if have > 1:
        text += f"; {have} of them are independent of each other, and the quorum is {need}"
        return "quorum", text, "INCOMPLETE"
    if len(everyone) < 2:
        text += f"; only {everyone[0]} was asked, and {WORTH}"
    elif len(others) > 1:
        first, second = (known(name, folder.executors) for name in others[:2])
        text += f"; {dependence(first, second)}"
    elif len(others) < len(answered):
        text += f", and the quorum is {need}"
    return "one-vendor", text, "INCOMPLETE"


# --- findings -----------------------------------------------------------------------------------

_PASSED = {
    "known": "known in the baseline",
    "not-reproduced": "that came back in too few answers: reproducibility = {reproducibility:g}",
    "refuted": "refuted by another vendor",
    "tolerated": "nobody settled, tolerated: {limits}",
    "off": "not gated: block = {block}",
    "beside": "beside the change: reported only",
}
"""Remark -> what is said of the findings that it lets pass."""


def _finding_reasons(folder: Folder) -> list[_Row]:
    decisions = folder.decisions()
    rows = [(d.code, describe(d.group), d.outcome) for d in decisions if d.outcome]
    passed = [d for d in decisions if not d.outcome and d.grave]
    by: dict[str, list[str]] = {}
    for one in passed:
        if one.code == "accepted":
            person = accepted(folder.settled.accepted[one.group.id])
            by.setdefault(person, []).append(one.group.severity)
    rows += [("accepted", f"{tally(held)} {person}", "PASS") for person, held in by.items()]
    policy = {f.name: getattr(folder.policy, f.name) for f in fields(folder.policy)}
    for code, words in _PASSED.items():
        those = [one for one in passed if one.code == code]
        if those:
            held = [one.group.severity for one in those]
            keys = sorted({one.keys[-1] for one in those if one.code == "tolerated"})
            policy["limits"] = ", ".join(f"{key} = {policy[key]}" for key in keys)
            rows.append((code, f"{tally(held)} {words.format(**policy)}", "PASS"))
    return rows


def describe(group: Group) -> str:
    """A finding in one line: severity, title, place and why its class."""
    return f"{headline(group)}; {group.reason}"


def headline(group: Group) -> str:
    """Severity, title and place of a finding."""
    first = group.lead
    place = f"{first.file}:{first.line}" if first.file and first.line else first.file or "no place"
    place += " (old side)" if first.file and first.side == "old" else ""
    return f"{group.severity}: {short(first.title)} ({place})"


def _expired(folder: Folder) -> list[_Row]:
    """Findings that a person answered for until a day that is over."""
    gone: dict[str, list[str]] = {}
    for group in folder.groups:
        if group.id in folder.settled.expired:
            title = short(group.lead.title, 60)
            gone.setdefault(accepted(folder.settled.expired[group.id]), []).append(
                f"{group.severity} {title}"
            )
    return [("acceptance-expired", f"{by}, which is over: {some(held)}", "PASS") for by, held in gone.items()]


# --- agreement ----------------------------------------------------------------------------------


def concord(folder: Folder) -> tuple[int, int]:
    """How many findings independent executors hold together, and how many single voices there are.

    An uncertain pair is two voices, and one that another vendor refuted is one.  What is not compared,
    or is taken out by the change, a person or the baseline, is not counted.
    """
    both = others = 0
    for group in folder.groups:
        known_before = group.id in folder.settled.known or group.id in folder.settled.accepted
        if group.beside or known_before or group.kind not in COMPARED:
            continue
        if group.kind == "consensus" or (group.kind == "contested" and group.examined != "refuted"):
            both += 1
        else:
            others += 2 if group.kind == "uncertain" else 1
    return both, others


def _agreement(folder: Folder) -> list[_Row]:
    """Where the executors agree on less than the policy asks, by counts."""
    least = folder.policy.min_agreement
    both, others = concord(folder)
    votes = [b for b in folder.votes().values() if b.votes]
    alike = sum(not b.dissent for b in votes)
    rows = []
    for part, whole, what in (
        (2 * both, 2 * both + others, f"{both} findings held together, {others} by one voice each"),
        (alike, len(votes), f"{alike} of {number(len(votes), 'choice')} without dissent"),
    ):
        if whole and part / whole < least:
            text = f"{what}: an agreement of {part / whole:.2f}, and min_agreement = {least:g}"
            rows.append(("low-agreement", text, "INCOMPLETE"))
    return rows


def _choices(folder: Folder) -> list[_Row]:
    """Choice questions that are not decided as the policy asks, and dissent where it lets that pass."""
    need = folder.policy.choices
    rows = []
    for case, counted in folder.votes().items():
        said = ", ".join(f"{name} says {vote or 'several'}" for name, vote in counted.votes.items())
        if not _decided(counted, need):
            text = f"no {need} choice in {case}: {said or 'nobody chose'}"
            rows.append(("choice-open", text, "INCOMPLETE"))
        elif counted.dissent:
            rows.append(("dissent", f"no common choice in {case}: {said}", "PASS"))
    return rows


def _decided(counted: Ballots, need: str) -> bool:
    """By voice: one whose answers are divided chose nothing, and is still one of those that were asked."""
    if need == "report":
        return True
    if need == "majority":
        chose = sum(option == counted.winner for _, option in counted.voices)
        return counted.winner is not None and 2 * chose > len(counted.voices)
    return counted.winner is not None and not counted.dissent


def _left_out(folder: Folder, changed: bool) -> list[_Row]:
    """What was not asked: a skip mark, a contract and a need that others meet are decisions, anything
    else is a hole."""
    asked = {u.case for u in folder.units}
    rows: list[_Row] = []
    for reason in sorted({n.reason for n in folder.not_asked}):
        those = [n for n in folder.not_asked if n.reason == reason]
        if reason == "needs":  # the others of the case have what the brief needs: that is routing
            routed = [n for n in those if n.case in asked]
            if routed:
                told = f"{some([n.id for n in routed])}: {short(routed[0].text)}"
                rows.append(("needs", f"{len(routed)} not asked, others have what it needs: {told}", "PASS"))
            those = [n for n in those if n.case not in asked]
            if not those:
                continue
        text = f"{some([n.id for n in those])}: {short(those[0].text) or reason}"
        if reason == "skipped":
            rows.append(("skipped", f"{len(those)} skipped: {text}", "PASS"))
        elif reason == "untouched" and changed:
            rows.append(("untouched", f"{len(those)} untouched by the change: {text}", "PASS"))
        elif reason == "contract":
            nobody = list(dict.fromkeys(n.case for n in those if n.case not in asked))
            if nobody:
                rows.append(("not-asked", f"{len(nobody)} not asked of anybody: {some(nobody)}", "PASS"))
        else:
            code = "brief" if reason == "brief" else f"not-asked:{reason}"
            rows.append((code, f"{len(those)} could not be asked: {text}", "INCOMPLETE"))
    return rows
