"""What befalls a run: lost, broken, stale and contradictory answers, and runs that ended badly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prun_review.fingerprints import fingerprint
from prun_review.model import (
    Acceptance,
    Answer,
    Carried,
    ChangedFile,
    NotAsked,
    Reason,
    Result,
    Revision,
    Violation,
)
from tests.campaign.phrases import NOISE, TOPICS
from tests.campaign.runs import FILES, HEADER, Draft, Run
from tests.campaign.tape import Tape

DIGEST = "sha256:" + "ab" * 32
"""Of what a change made of the review itself."""
REASONS = ("network", "timeout", "rate-limited", "no-answer", "fallback", "quota-exhausted", "stalled")


# --- one answer -------------------------------------------------------------------------------


def _lost(result: Result, status: str, reason: str) -> Result:
    said = f"{result.executor}: {reason}{NOISE}"
    return replace(result, status=status, reason=reason, message=said, answer=None)


def _broken(result: Result, *, silent: bool) -> Result:
    why = (Violation("not-json", "/findings", "a comma is missing"),)
    held = None if silent else result.answer
    return replace(result, status="broken", reason="contract", violations=why, answer=held)


def _salvaged(result: Result, code: str) -> Result:
    return replace(result, salvage=(Violation(code, "/findings/2", "could not be kept"),))


def _without_choice(result: Result) -> Result:
    said = result.answer
    return replace(result, answer=replace(said, choice=None) if said else Answer(HEADER))


ANSWERS: dict[str, Callable[[Result, Tape], Result]] = {
    "no answer": lambda r, t: _lost(r, "failed", t.pick(REASONS)),
    "not run": lambda r, t: _lost(r, "not-run", t.pick(("budget", "stopped", "quota-exhausted"))),
    "broken": lambda r, t: _broken(r, silent=not t.once_in(2)),
    "a status nobody knows": lambda r, t: replace(r, status=t.pick(("fine", "VALID", ""))),
    "valid with violations": lambda r, t: replace(r, violations=(Violation("schema", "/", "odd"),)),
    "valid without an answer": lambda r, t: replace(r, answer=None),
    "a lost finding": lambda r, t: _salvaged(r, "lost-finding"),
    "a lost line": lambda r, t: _salvaged(r, "bad-line"),
    "another executor's": lambda r, t: replace(r, executor=t.pick(("codex", "sonnet", "ruff", "gem"))),
    "another case's": lambda r, t: replace(r, case="panels/one/probe_q.py::probe_q[9]"),
    "another folder's": lambda r, t: replace(r, folder="panels/elsewhere"),
    "another slug's": lambda r, t: replace(r, slug=r.slug + "-x"),
    "another repeat's": lambda r, t: replace(r, repeat=r.repeat + 1),
    "last week's": lambda r, t: replace(r, fingerprint="stale"),
    "of no fingerprint": lambda r, t: replace(r, fingerprint=""),
    "without a choice": lambda r, t: _without_choice(r),
    "nothing examined": lambda r, t: replace(r, answer=Answer(HEADER, "comment", (), r.findings, r.choice)),
}
"""What can be wrong with one result; some of it is no harm, and must not be called one."""


def _some_answer(run: Run, draft: Draft) -> Run:
    tape = draft.tape
    at = tape.below(len(run.results))
    what = tape.pick(sorted(ANSWERS))
    changed = ANSWERS[what](run.results[at], tape)
    results = (*run.results[:at], changed, *run.results[at + 1 :])
    return _told(replace(run, results=results), f"{run.results[at].unit}: {what}")


def _missing(run: Run, draft: Draft) -> Run:
    at = draft.tape.below(len(run.results))
    gone = run.results[at]
    return _told(replace(run, results=(*run.results[:at], *run.results[at + 1 :])), f"{gone.unit}: missing")


def _dead(run: Run, draft: Draft) -> Run:
    """One vendor is away in the whole run."""
    tape = draft.tape
    name = tape.pick([r.executor for r in run.results])
    reason = tape.pick(REASONS)
    results = [_lost(r, "failed", reason) if r.executor == name else r for r in run.results]
    facts = run.facts
    if tape.once_in(2):  # and somebody answers for that
        until = Acceptance("outage", name, "Ada", "status page", "2026-12-05", expired=tape.once_in(3))
        facts = replace(facts, acceptances=(*facts.acceptances, until))
    return _told(replace(run, results=tuple(results), facts=facts), f"{name}: away ({reason})")


def _report_only(run: Run, draft: Draft) -> Run:
    """No folder gates; and perhaps nobody answered."""
    facts = run.facts
    policies = {name: replace(policy, mode="report") for name, policy in facts.folders.items()}
    silent = draft.tape.once_in(2)
    results = [_lost(r, "failed", "network") if silent else r for r in run.results]
    facts = replace(facts, folders=policies, gate=replace(facts.gate, mode="report"))
    return _told(replace(run, facts=facts, results=tuple(results)), "every folder is in report mode")


def _twice(run: Run, draft: Draft) -> Run:
    """Two results of one unit, the same or not."""
    one = draft.tape.pick(run.results)
    other = one if not draft.tape.once_in(2) else _lost(one, "failed", "network")
    return _told(replace(run, results=(*run.results, other)), f"{one.unit}: two results")


def _unplanned(run: Run, draft: Draft) -> Run:
    one = draft.tape.pick(run.results)
    extra = replace(one, unit=one.unit + "-extra", slug=one.slug + "-extra")
    return _told(replace(run, results=(*run.results, extra)), f"{extra.unit}: not planned")


def _planned_twice(run: Run, draft: Draft) -> Run:
    one = draft.tape.pick(run.plan.units)
    plan = replace(run.plan, units=(*run.plan.units, one))
    return _told(replace(run, plan=plan), f"{one.id}: twice in the plan")


# --- the run as a whole -----------------------------------------------------------------------


def _facts(what: str, **fields: object) -> Callable[[Run, Draft], Run]:
    def change(run: Run, draft: Draft) -> Run:
        return _told(replace(run, facts=replace(run.facts, **fields)), what)  # type: ignore[arg-type]

    return change


def _not_asked(run: Run, draft: Draft) -> Run:
    """A case, or one executor of a case, that nobody was asked."""
    tape = draft.tape
    reason = tape.pick(("skipped", "contract", "needs", "brief", "tired", "untouched"))
    unit = tape.pick(run.plan.units)
    case = unit.case if tape.once_in(2) else f"{unit.folder}/probe_z.py::probe_z"
    left_out = NotAsked(f"{case}-x", case, unit.folder, "ruff", reason, "says why")
    plan = replace(run.plan, not_asked=(*run.plan.not_asked, left_out))
    return _told(replace(run, plan=plan), f"{case}: not asked ({reason})")


def _nothing_asked(run: Run, draft: Draft) -> Run:
    """All of it was left out."""
    reason = draft.tape.pick(("skipped", "contract", "untouched", "brief"))
    left_out = tuple(
        NotAsked(case, case, folder, "", reason, "says why")
        for case, folder in dict.fromkeys((u.case, u.folder) for u in run.plan.units)
    )
    plan = replace(run.plan, units=(), not_asked=left_out if draft.tape.once_in(2) else ())
    return _told(replace(run, plan=plan, results=()), f"nothing asked ({reason})")


def _partial(run: Run, draft: Draft) -> Run:
    return _told(replace(run, plan=replace(run.plan, partial="1 of 3 units, -k")), "partial")


def _no_policy(run: Run, draft: Draft) -> Run:
    """A folder of the plan of which the run records no policy."""
    name = draft.tape.pick(sorted(run.facts.folders))
    kept = {k: v for k, v in run.facts.folders.items() if k != name}
    return _told(replace(run, facts=replace(run.facts, folders=kept)), f"no policy for {name}")


def _integrity(run: Run, draft: Draft) -> Run:
    outcome = draft.tape.pick(("INCOMPLETE", "PASS", "green"))
    reason = Reason("snapshot-changed", "src/auth.py changed", outcome)
    return _told(replace(run, facts=replace(run.facts, integrity=(reason,))), f"integrity: {outcome}")


def _unreported(run: Run, draft: Draft) -> Run:
    facts = replace(run.facts, unreported=(draft.tape.pick(run.plan.units).id,))
    return _told(replace(run, facts=facts), "a unit that no report spoke of")


def _carried(run: Run, draft: Draft) -> Run:
    """A blocker of an earlier run on the same head, which this one may hold again, or not."""
    tape = draft.tape
    units = [u for u in run.plan.units if u.brief.contract.kind == "findings"] or list(run.plan.units)
    case, topic, telling, severity = (
        tape.pick(draft.held)
        if draft.held and not tape.once_in(3)
        else (tape.pick(units).case, tape.pick(TOPICS), "same", "high")
    )
    first = replace(topic.same[0] if telling == "same" else topic.perhaps, severity=severity)
    folder = case.partition("/probe_")[0]
    outcome = tape.pick(("FAIL", "INCOMPLETE"))
    kind = tape.pick(("single", "single", "uncertain", "contested", "ungrounded", ""))
    examined = tape.pick(("", "", "unresolved", "refuted"))
    one = Carried("r1", "u#1", severity, first.title, "", outcome, folder, (first,), case, kind, examined)
    facts = replace(run.facts, carried=(one,))
    if tape.once_in(3):
        by = Acceptance(
            "finding", fingerprint(case, first), "Grace", "no defect", "", tape.once_in(4), case, first
        )
        facts = replace(facts, acceptances=(*facts.acceptances, by))
    return _told(replace(run, facts=facts), f"carried: {outcome} {severity} {first.title!r} of {case}")


ILLS: tuple[Callable[[Run, Draft], Run], ...] = (
    _some_answer, _some_answer, _some_answer, _some_answer, _some_answer, _missing, _dead, _dead, _twice,
    _unplanned, _planned_twice, _not_asked, _not_asked, _nothing_asked, _partial, _no_policy, _integrity,
    _unreported, _carried, _carried, _report_only,
    _facts("stopped early", stopped="-x"),
    _facts("interrupted", stopped="interrupted by Ctrl-C"),
    _facts("a probe failed by its own checks", items_failed=2),
    _facts("replayed", replay_of="20261128T120000Z-0000"),
    _facts("no executor is recorded", executors=()),
    _facts("a doubt", doubts=(Reason("previous-unknown", "the run before is not there"),)),
)  # fmt: skip


def befall(run: Run, draft: Draft) -> Run:
    """None to three ills, one after the other."""
    for _ in range(draft.tape.pick((0, 0, 0, 0, 1, 1, 1, 2, 3))):
        ill = draft.tape.pick(ILLS)
        needs_more = ill in (_some_answer, _missing, _dead, _twice, _unplanned)
        if (needs_more and not run.results) or not run.plan.units or not run.facts.folders:
            continue
        run = ill(run, draft)
    return run


def reviewed_change(run: Run, draft: Draft) -> Run:
    """The change that is reviewed: mostly of files that the units were about."""
    if not draft.changes:
        return run
    tape = draft.tape
    names = FILES[: tape.pick((4, 4, 3, 2, 1, 0))]
    kinds = ["text"] * 3 + ["binary", "mode", "withheld"]
    files = tuple(
        ChangedFile(
            name,
            tape.pick(("", name, "docs/old.md", "src/old.py")) if tape.once_in(3) else name,
            tape.pick(("modified", "added", "deleted", "renamed")),
            tape.pick(kinds) if tape.once_in(3) else "text",
            3,
            1,
        )
        for name in names
    )
    revision = Revision("c" * 40, "7" * 40, files=9, base="b" * 40, merge_base="a" * 40, head="c" * 40)
    facts = replace(run.facts, change=files, revision=revision)
    facts = replace(
        facts, gate=replace(facts.gate, uncovered=tape.pick(((), (), ("docs/**",), ("**",), ("docs/[",))))
    )
    if tape.once_in(4):
        alters = tape.pick((FILES[:1], ("panels/one/probe_q.py",), FILES[:2]))
        by = tape.pick((DIGEST, DIGEST[:-2] + "00", DIGEST))
        acceptance = Acceptance("review-change", by, "Ada", "asks more", expired=tape.once_in(3))
        facts = replace(
            facts,
            alters=alters,
            alters_paths=tuple(a for a in alters if a in names),
            alters_digest=tape.pick((DIGEST, DIGEST[7:], "")),
            acceptances=(*facts.acceptances, acceptance) if tape.once_in(2) else facts.acceptances,
        )
    if tape.once_in(5):
        facts = replace(facts, masked=("src/auth.py:3 key",))
    return _told(replace(run, facts=facts), f"a change of {len(files)} files")


def _told(run: Run, what: str) -> Run:
    return replace(run, ills=(*run.ills, what))
