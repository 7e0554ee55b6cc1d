"""The verdict: PASS, FAIL or INCOMPLETE, per panels folder, the worst decides.  Fails closed.

PASS is what is left when no reason speaks against it, and every reason has a stable code.  An
exception while deciding is no verdict: whoever calls :func:`decide` makes it INCOMPLETE.

Codes that lead to FAIL: ``consensus``; ``single-finding`` under the rule ``any``; ``carried`` where it
did before.
INCOMPLETE: ``missing-result failed:* contract not-run lost-finding unknown-status unknown-severity
unplanned-result duplicate-result duplicate-unit mismatch one-vendor quorum author-only contested uncertain
unresolved refuted ungrounded low-agreement choice-open brief not-asked:* unknown-folder unknown-class
unknown-case stopped unreported nothing-asked nothing-answered empty-change uncovered changes-review
carried``, those of ``RunFacts.integrity`` and of ``RunFacts.doubts``: ``several-merge-bases
previous-running previous-unknown``.
Remarks: ``partial accepted known not-reproduced refuted tolerated off beside dissent acceptance-expired
stale-baseline carried-settled skipped untouched not-asked needs probe-failed replay report-only ignored
outage masked authored``, and ``changes-review`` where a person answers for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from prun_review import changegate, foldergate
from prun_review.answers import Answers, lay, sound
from prun_review.authors import Authors, authors_of
from prun_review.consensus import Group
from prun_review.folders import Folder
from prun_review.model import Plan, Reason, Result, RunFacts, Verdict
from prun_review.outages import outages
from prun_review.settling import Settled, asked_about, settle
from prun_review.verdict import conclude, count, number, short, some, worst


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict is made of, laid out: results against the plan, findings against what is known."""

    facts: RunFacts
    plan: Plan
    answers: Answers
    folders: tuple[Folder, ...]
    """By name."""
    strays: tuple[str, ...] = ()
    """Cases with findings that the plan does not hold."""

    @property
    def settled(self) -> Settled:
        """What of the findings of the run is known or accepted."""
        return self.folders[0].settled if self.folders else Settled()


def decide(
    facts: RunFacts,
    plan: Plan,
    results: Sequence[Result],
    groups_by_case: Mapping[str, Sequence[Group]],
) -> Verdict:
    """The verdict over a whole run; a partial plan is a remark here (see :func:`for_gate_command`)."""
    return judge(gather(facts, plan, results, groups_by_case))


def judge(evidence: Evidence) -> Verdict:
    """The verdict over what was gathered."""
    facts, folders = evidence.facts, evidence.folders
    reasons = [*evidence.answers.refused, *_run_reasons(evidence)]
    for folder in folders:
        reasons.extend(foldergate.reasons(folder, facts))
    outcomes = {}
    for folder in folders:
        outcome = worst(r.outcome for r in reasons if r.folder == folder.name)
        if outcome == "PASS" and not folder.units:
            outcome = "NOT ASKED"
        outcomes[folder.name] = outcome if folder.decides else f"report: {outcome}"
    return conclude(reasons, outcomes, count(facts, evidence.plan, folders))


def for_gate_command(verdict: Verdict) -> Verdict:
    """The verdict as a gate without a session takes it: what was left out or red there is not green.

    A partial run is INCOMPLETE, and a probe whose own assertion failed (pytest's exit status showed
    that in the session) is FAIL.
    """
    harder = {"partial": "INCOMPLETE", "probe-failed": "FAIL"}
    reasons = [replace(r, outcome=worst((r.outcome, harder.get(r.code, r.outcome)))) for r in verdict.reasons]
    return conclude(reasons, verdict.folders, verdict.counts)


# --- the run as a whole -----------------------------------------------------------------------


def gather(
    facts: RunFacts,
    plan: Plan,
    results: Sequence[Result],
    groups_by_case: Mapping[str, Sequence[Group]],
) -> Evidence:
    """Lay everything out; the order of ``results`` does not matter."""
    answers = lay(plan, results)
    folders = tuple(folders_of(facts, plan, answers, groups_by_case))
    strays = tuple(sorted(set(groups_by_case) - {u.case for u in plan.units}))
    return Evidence(facts, plan, answers, folders, strays)


def folders_of(
    facts: RunFacts, plan: Plan, answers: Answers, groups_by_case: Mapping[str, Sequence[Group]]
) -> list[Folder]:
    """Every panels folder of the run, by name, with what its verdict depends on."""
    home = {unit.case: unit.folder for unit in reversed(plan.units)}
    names = sorted({*facts.folders, *home.values(), *(n.folder for n in plan.not_asked)})
    executors = {e.name: e for e in facts.executors}
    groups: dict[str, list[Group]] = {name: [] for name in names}
    for case in sorted(groups_by_case):
        if case in home:
            groups[home[case]].extend(groups_by_case[case])
    every = [group for held in groups.values() for group in held]
    settled = settle(facts, every, asked=asked_about(facts, plan, answers))
    authors = authors_of(facts)
    folders = []
    for name in names:
        units = tuple(u for u in plan.units if u.folder == name)
        folders.append(
            Folder(
                name,
                facts.folders.get(name, facts.gate),
                units,
                tuple(n for n in plan.not_asked if n.folder == name),
                answers,
                tuple(groups[name]),
                executors,
                outages(facts, units, answers, executors, authors),
                settled,
                authors,
            )
        )
    return folders


def _run_reasons(evidence: Evidence) -> list[Reason]:
    facts, plan, folders = evidence.facts, evidence.plan, evidence.folders
    reasons = [*facts.integrity, *facts.doubts]
    if facts.stopped:
        reasons.append(Reason("stopped", f"the run ended early: {facts.stopped}"))
    if facts.unreported:
        reasons.append(Reason("unreported", f"no report spoke of {some(facts.unreported)}"))
    for case in evidence.strays:
        reasons.append(Reason("unknown-case", f"findings of {case}, which is not in the plan"))
    reasons += changegate.reasons(facts, plan, folders)
    if plan.units and not any(f.decides and f.units for f in folders):
        reasons.append(Reason("report-only", "every folder asked is in report mode: nothing gates", "PASS"))
        if not any(sound(u, f.result(u)) for f in folders for u in f.units):
            reasons.append(Reason("nothing-answered", "no unit has an answer to rely on"))
    return reasons + _remarks(evidence)


def _remarks(evidence: Evidence) -> list[Reason]:
    """What a reader of the verdict must know and what is no reason against it."""
    facts, n = evidence.facts, evidence.facts.items_failed
    told = []
    if evidence.plan.partial:
        told.append(("partial", f"partial: {evidence.plan.partial}"))
    if facts.authors:
        told.append(("authored", _authored(evidence.folders, authors_of(facts))))
    if facts.replay_of:
        told.append(("replay", f"replay of {facts.replay_of}"))
    if n:
        text = f"{number(n, 'probe')} failed by {'its' if n == 1 else 'their'} own checks"
        told.append(("probe-failed", text))
    stale = evidence.settled.stale
    if stale:
        titles = some(short(k.finding.title, 60) for k in stale)
        told.append(
            ("stale-baseline", f"{len(stale)} known in the baseline and not found any more: {titles}")
        )
    return [Reason(code, text, "PASS") for code, text in told]


def _authored(folders: Sequence[Folder], authors: Authors) -> str:
    """Who wrote what is reviewed, and whose answers therefore count: a quorum of one is always said."""
    counting = [f for f in folders if f.decides] or folders
    cases = [(f, asked) for f in counting for asked in f.asked().values()]
    others = sorted(authors.others(name for _, asked in cases for name in asked))
    if not others:
        return f"{authors.named} wrote it: nobody else was asked"
    if len(others) == 1:
        return f"{authors.named} wrote it: {others[0]} alone counts"
    text = f"{authors.named} wrote it: {', '.join(others[:-1])} and {others[-1]} count"
    alone = sum(len(f.voices(asked)) == 1 for f, asked in cases)
    return f"{text}, in {alone} of {number(len(cases), 'case')} as one voice" if alone else text
