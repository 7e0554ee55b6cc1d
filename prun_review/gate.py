"""The verdict: PASS, FAIL or INCOMPLETE, per panels folder, the worst decides.  Fails closed.

PASS is what is left when no reason speaks against it, and every reason has a stable code.  An
exception while deciding is no verdict: whoever calls :func:`decide` makes it INCOMPLETE.

Codes that lead to FAIL: ``consensus``, and ``single-finding`` under the rule ``single``; ``carried``
where it did before.
INCOMPLETE: ``missing-result failed:* contract not-run lost-finding unknown-status unknown-severity
unplanned-result duplicate-result duplicate-unit mismatch one-vendor uncertain contested ungrounded
brief not-asked:* unknown-folder unknown-class unknown-case stopped unreported nothing-asked
nothing-answered empty-change uncovered changes-review carried``, those of ``RunFacts.integrity`` and of
``RunFacts.doubts``: ``several-merge-bases previous-running previous-unknown``.
Remarks: ``partial single tolerated beside dissent skipped untouched not-asked needs probe-failed replay
report-only ignored outage masked``, and ``changes-review`` where a person answers for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prun_review import changegate
from prun_review.answers import Answers, doubts, lay, sound, trouble
from prun_review.consensus import CLASSES, Group
from prun_review.folders import Folder, beside_severities, single_severities, tolerated_severities
from prun_review.independence import dependence, independent_among, known
from prun_review.model import Plan, Reason, Result, RunFacts, Unit, Verdict
from prun_review.outages import outages
from prun_review.verdict import conclude, count, number, short, some, tally, worst

WORTH = (
    "one vendor's word is an opinion: about 1 in 8 findings of a single reviewer is wrong, "
    "and 56 % of real defects are found by one model only"
)
"""What a verdict of one vendor is worth."""


def decide(
    facts: RunFacts,
    plan: Plan,
    results: Sequence[Result],
    groups_by_case: Mapping[str, Sequence[Group]],
) -> Verdict:
    """The verdict over a whole run; a partial plan is a remark here (see :func:`for_gate_command`)."""
    answers = lay(plan, results)
    folders = folders_of(facts, plan, answers, groups_by_case)
    reasons = [*answers.refused, *_run_reasons(facts, plan, folders, groups_by_case)]
    for folder in folders:
        reasons.extend(_folder_reasons(folder, facts))
    outcomes = {}
    for folder in folders:
        outcome = worst(r.outcome for r in reasons if r.folder == folder.name)
        if outcome == "PASS" and not folder.units:
            outcome = "NOT ASKED"
        outcomes[folder.name] = outcome if folder.decides else f"report: {outcome}"
    counts = count(facts, plan, folders)
    return conclude(reasons, outcomes, counts)


def for_gate_command(verdict: Verdict) -> Verdict:
    """The verdict as a gate without a session takes it: what was left out or red there is not green.

    A partial run is INCOMPLETE, and a probe whose own assertion failed (pytest's exit status showed
    that in the session) is FAIL.
    """
    harder = {"partial": "INCOMPLETE", "probe-failed": "FAIL"}
    reasons = [replace(r, outcome=worst((r.outcome, harder.get(r.code, r.outcome)))) for r in verdict.reasons]
    return conclude(reasons, verdict.folders, verdict.counts)


# --- the run as a whole -----------------------------------------------------------------------


def folders_of(
    facts: RunFacts, plan: Plan, answers: Answers, groups_by_case: Mapping[str, Sequence[Group]]
) -> list[Folder]:
    """Every panels folder of the run, by name, with what its verdict depends on."""
    home = {unit.case: unit.folder for unit in reversed(plan.units)}
    names = sorted({*facts.folders, *home.values(), *(n.folder for n in plan.not_asked)})
    executors = {e.name: e for e in facts.executors}
    folders = []
    for name in names:
        units = tuple(u for u in plan.units if u.folder == name)
        cases = [case for case in sorted(groups_by_case) if home.get(case) == name]
        folders.append(
            Folder(
                name,
                facts.folders.get(name, facts.gate),
                units,
                tuple(n for n in plan.not_asked if n.folder == name),
                answers,
                tuple(g for case in cases for g in groups_by_case[case]),
                executors,
                outages(facts, units, answers, executors),
            )
        )
    return folders


def _run_reasons(
    facts: RunFacts,
    plan: Plan,
    folders: Sequence[Folder],
    groups_by_case: Mapping[str, Sequence[Group]],
) -> list[Reason]:
    reasons = [*facts.integrity, *facts.doubts]
    if facts.stopped:
        reasons.append(Reason("stopped", f"the run ended early: {facts.stopped}"))
    if facts.unreported:
        reasons.append(Reason("unreported", f"no report spoke of {some(facts.unreported)}"))
    for case in sorted(set(groups_by_case) - {u.case for u in plan.units}):
        reasons.append(Reason("unknown-case", f"findings of {case}, which is not in the plan"))
    reasons += changegate.reasons(facts, plan, folders)
    if plan.units and not any(f.decides and f.units for f in folders):
        reasons.append(Reason("report-only", "every folder asked is in report mode: nothing gates", "PASS"))
        if not any(sound(u, f.result(u)) for f in folders for u in f.units):
            reasons.append(Reason("nothing-answered", "no unit has an answer to rely on"))
    if plan.partial:
        reasons.append(Reason("partial", f"partial: {plan.partial}", "PASS"))
    if facts.replay_of:
        reasons.append(Reason("replay", f"replay of {facts.replay_of}", "PASS"))
    if facts.items_failed:
        n = facts.items_failed
        text = f"{number(n, 'probe')} failed by {'its' if n == 1 else 'their'} own checks"
        reasons.append(Reason("probe-failed", text, "PASS"))
    return reasons


# --- one folder -------------------------------------------------------------------------------


def _folder_reasons(folder: Folder, facts: RunFacts) -> list[Reason]:
    reasons = []
    if folder.name not in facts.folders:
        reasons.append(("unknown-folder", f"no policy is recorded for {folder.name!r}", "INCOMPLETE"))
    reasons += _unit_reasons(folder)
    if folder.policy.rule != "single":
        reasons += _corroboration(folder)
    reasons += _finding_reasons(folder)
    reasons += _choice_remarks(folder)
    reasons += _left_out(folder, changegate.reviewed(facts))
    return [Reason(code, text, outcome, folder.name) for code, text, outcome in reasons]


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
    """Cases that fewer than two independent executors answered, together by who answered them."""
    asked: dict[str, list[Unit]] = {}
    for unit in folder.units:
        asked.setdefault(unit.case, []).append(unit)
    alone: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for case, units in asked.items():
        answered = tuple(dict.fromkeys(u.executor for u in units if sound(u, folder.result(u))))
        if not independent_among(answered, folder.executors) and case not in folder.outages.cases:
            everyone = tuple(dict.fromkeys(u.executor for u in units))
            alone.setdefault((everyone, answered), []).append(case)
    rows = []
    for (everyone, answered), cases in alone.items():
        n = len(cases)
        text = (
            f"{number(n, 'case')} answered by {len(answered)} of {number(len(everyone), 'executor')} asked "
            f"({', '.join(answered) or 'nobody'} of {', '.join(everyone)}): {some(cases)}"
        )
        if len(everyone) < 2:
            text += f"; only {everyone[0]} was asked, and {WORTH}"
        elif len(answered) > 1:
            first, second = (known(name, folder.executors) for name in answered[:2])
            text += f"; {dependence(first, second)}"
        rows.append(("one-vendor", text, "INCOMPLETE"))
    return rows


def _finding_reasons(folder: Folder) -> list[_Row]:
    rows = []
    for group in folder.groups:
        outcome = folder.blocks(group)
        if outcome:
            rows.append((_finding_code(group, outcome), _describe(group), outcome))
    held = single_severities([folder])
    if held:
        rows.append(("single", f"{tally(held)} held by one vendor only", "PASS"))
    passed = tolerated_severities([folder])
    if passed:
        text = f"{tally(passed)} below the blocking severity {folder.policy.block}"
        rows.append(("tolerated", text, "PASS"))
    reported = beside_severities([folder])
    if reported:
        rows.append(("beside", f"{tally(reported)} beside the change: reported only", "PASS"))
    return rows


def _finding_code(group: Group, outcome: str) -> str:
    if group.kind not in CLASSES:
        return "unknown-class"
    if outcome == "FAIL":
        return "consensus" if group.agreed else "single-finding"
    return group.kind


def _describe(group: Group) -> str:
    first = group.lead
    place = f"{first.file}:{first.line}" if first.file and first.line else first.file or "no place"
    place += " (old side)" if first.file and first.side == "old" else ""
    return f"{group.severity}: {short(first.title)} ({place}); {group.reason}"


def _choice_remarks(folder: Folder) -> list[_Row]:
    rows = []
    for case, counted in folder.votes().items():
        if counted.dissent:
            said = ", ".join(f"{name} says {vote or 'several'}" for name, vote in counted.votes.items())
            rows.append(("dissent", f"no common choice in {case}: {said}", "PASS"))
    return rows


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
