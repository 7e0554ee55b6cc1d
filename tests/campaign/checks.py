"""What is checked of every run: the verdict is one that the promise allows, and for its reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from prun_review import document
from prun_review import gate as decide
from prun_review.model import Result, RunFacts, Verdict
from tests.campaign.generate import told
from tests.campaign.phrases import TOPICS, said
from tests.campaign.promise import QUORUM, Said, promised
from tests.campaign.runs import Run

_OUTCOMES = ("PASS", "FAIL", "INCOMPLETE")


@dataclass
class Tally:
    """What a campaign saw."""

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    """Of reasons and of remarks, one for each run that has it."""
    open_readings: Counter[str] = field(default_factory=Counter)
    """Why a run had more than one allowed outcome."""

    def add(self, other: Tally) -> None:
        """Count what another part of the campaign saw."""
        self.runs += other.runs
        self.outcomes += other.outcomes
        self.codes += other.codes
        self.open_readings += other.open_readings

    def __str__(self) -> str:
        outcomes = ", ".join(f"{self.outcomes[o]} {o}" for o in _OUTCOMES)
        codes = ", ".join(f"{code} {n}" for code, n in sorted(self.codes.items()))
        why = ", ".join(f"{why} {n}" for why, n in self.open_readings.most_common()) or "none"
        return f"{self.runs} runs: {outcomes}\nreasons: {codes}\nmore than one outcome allowed: {why}"


IN_LINE = {
    "accepted": "accepted by",
    "known": "known in the baseline",
    "not-reproduced": "not reproduced",
    "refuted": "refuted by another vendor",
    "tolerated": "tolerated by policy",
    "off": "not gated by policy",
    "beside": "beside the change",
    "authored": " wrote it: ",
}
"""What lets a grave finding pass, and how the one line of the verdict says it."""

Gate = Callable[[Run], Verdict]
"""What is tested: a run to the verdict of ``prun-review gate``."""


def gate(run: Run) -> Verdict:
    """The verdict as a gate without a session gives it, by the steps of ``document.build``."""
    gathered = document.gather(run.facts, run.plan, run.results, examination=run.examination)
    return decide.for_gate_command(decide.judge(gathered.evidence))


def codes_of(verdict: Verdict) -> set[tuple[str, str, str]]:
    """Outcome, code and folder of every reason that is not green and decides."""
    reported = {name for name, outcome in verdict.folders.items() if outcome.startswith("report: ")}
    return {
        (r.outcome if r.outcome == "FAIL" else "INCOMPLETE", _code(r.code), r.folder)
        for r in verdict.reasons
        if r.outcome != "PASS" and r.folder not in reported
    }


def _code(code: str) -> str:
    return QUORUM if code == "quorum" else code


def check(run: Run, tally: Tally, judge: Gate = gate) -> Verdict:
    """``AssertionError`` with the run in words where the verdict is none that the promise allows."""
    verdict = judge(run)
    allowed = promised(run)
    found = codes_of(verdict)
    fitting = [one for one, _ in allowed if one.outcome == verdict.outcome and one.codes == found]
    if not fitting:
        raise AssertionError(_wrong(run, verdict, found, [one for one, _ in allowed]))
    if not any(all(IN_LINE[code] in verdict.line for code in one.remarks) for one in fitting):
        raise AssertionError(
            f"{verdict.line}\nsays nothing of one of {[sorted(s.remarks) for s in fitting]}\n{told(run)}"
        )
    tally.runs += 1
    tally.outcomes[verdict.outcome] += 1
    tally.codes.update({_plain(r.code, r.outcome) for r in verdict.reasons})
    if len({one.outcome for one, _ in allowed}) > 1:
        tally.open_readings.update({why for _, whys in allowed for why in whys})
    return verdict


def _plain(code: str, outcome: str) -> str:
    """``failed:*`` whatever the reason; a remark under its own name."""
    name = code.partition(":")[0] + (":*" if ":" in code else "")
    return f"({name})" if outcome == "PASS" else name


def _wrong(run: Run, verdict: Verdict, found: set[tuple[str, str, str]], allowed: Sequence[Said]) -> str:
    said = "\n  or ".join(dict.fromkeys(f"{s.outcome} {sorted(s.codes)}" for s in allowed))
    because = "\n".join(f"  {r.outcome} {r.code} {r.folder}: {r.text}" for r in verdict.reasons)
    return (
        f"the gate says {verdict.outcome} {sorted(found)}\nthe promise says {said}\n"
        f"{told(run)}\n{verdict.line}\n{because}"
    )


# --- what holds of every run besides ----------------------------------------------------------


def same_in_another_order(run: Run, verdict: Verdict, judge: Gate = gate) -> None:
    """The order of the results, and of the second wave's, decides nothing."""
    wave = replace(run.examination, results=run.examination.results[::-1])
    again = judge(replace(run, results=run.results[::-1], examination=wave))
    assert again == verdict, f"{again.line}\nin another order than\n{verdict.line}\n{told(run)}"


def told_in_the_line(run: Run, verdict: Verdict) -> None:
    """The line names every code that makes it INCOMPLETE, and what makes it FAIL."""
    line = verdict.line
    assert line.startswith(verdict.outcome)
    reported = {name for name, outcome in verdict.folders.items() if outcome.startswith("report: ")}
    deciding = [r for r in verdict.reasons if r.folder not in reported]
    missing = [r.code for r in deciding if r.outcome not in ("PASS", "FAIL") and r.code not in line]
    assert not missing, f"{missing} are not in {line}\n{told(run)}"
    assert verdict.outcome == "PASS" or "(" in line, f"why, says nobody: {line}\n{told(run)}"


def valid_document(run: Run, verdict: Verdict) -> None:
    """The document of a run holds that verdict, is JSON that UTF-8 can carry, and valid under its schema."""
    made = document.build(run.facts, run.plan, run.results, examination=run.examination)
    text = json.dumps(made, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode()) == made
    assert not document.validate(made), told(run)
    again = decide.for_gate_command(document.verdict_of(json.loads(text)))
    assert (again.outcome, codes_of(again)) == (verdict.outcome, codes_of(verdict)), told(run)


# --- a worse run is no greener ----------------------------------------------------------------


def without_an_answer(run: Run, at: int) -> Run | None:
    """The run without one of its answers; None where the answer contradicts the plan already."""
    planned = [r for r in run.results if _alone(run, r)]
    if not planned:
        return None
    gone = planned[at % len(planned)]
    return replace(run, results=tuple(r for r in run.results if r is not gone))


def _alone(run: Run, result: Result) -> bool:
    """Whether it is the one result of the one unit that it is of."""
    return (
        sum(r.unit == result.unit for r in run.results) == 1
        and [(u.slug, u.case, u.folder, u.executor, u.repeat) for u in run.plan.units if u.id == result.unit]
        == [(result.slug, result.case, result.folder, result.executor, result.repeat)]
        and all(u.fingerprint == result.fingerprint for u in run.plan.units if u.id == result.unit)
    )


def without_consent(run: Run, at: int) -> Run | None:
    """The run with every acceptance expired; None without one, or where agreement is counted.

    What is accepted is not compared, so the share on which executors agree may rise without it.
    """
    facts: RunFacts = run.facts
    counted = any(p.min_agreement for p in (facts.gate, *facts.folders.values()))
    if counted or not facts.acceptances:
        return None
    expired = tuple(replace(a, expired=True) for a in facts.acceptances)
    return replace(run, facts=replace(facts, acceptances=expired))


def without_baseline(run: Run, at: int) -> Run | None:
    """The run with an empty baseline; None without one, or where agreement is counted."""
    facts = run.facts
    counted = any(p.min_agreement for p in (facts.gate, *facts.folders.values()))
    return replace(run, facts=replace(facts, known=())) if facts.known and not counted else None


def with_a_finding(run: Run, at: int) -> Run | None:
    """The run with one more critical finding in one of its answers, of a topic that nobody told."""
    told_topics = {said(f)[0] for r in run.results for f in r.findings}
    told_topics |= {said(k.finding)[0] for k in run.facts.known}
    told_topics |= {said(a.finding)[0] for a in run.facts.acceptances if a.finding}
    told_topics |= {said(f)[0] for c in run.facts.carried for f in c.members}
    fresh = [t for t in TOPICS if t.name not in told_topics]
    units = {u.id: u for u in run.plan.units}
    able = [
        r
        for r in run.results
        if _alone(run, r)
        and r.status == "valid"
        and r.answer
        and units[r.unit].brief.contract.kind == "findings"
    ]
    if not fresh or not able:
        return None
    one = able[at % len(able)]
    assert one.answer is not None
    finding = replace(fresh[0].same[0], severity="critical", id=f"{one.slug}#99")
    answer = replace(one.answer, findings=type(one.answer.findings)((*one.answer.findings, finding)))
    results = tuple(replace(r, answer=answer) if r is one else r for r in run.results)
    return replace(run, results=results)


WORSE: tuple[Callable[[Run, int], Run | None], ...] = (
    without_an_answer,
    with_a_finding,
    without_consent,
    without_baseline,
)


def no_greener_when_worse(run: Run, verdict: Verdict, at: int, judge: Gate = gate) -> None:
    """What is lost, found or expired never turns a verdict green."""
    worse = WORSE[at % len(WORSE)](run, at)
    if worse is None or verdict.outcome == "PASS":
        return
    again = judge(worse)
    assert again.outcome != "PASS", (
        f"{WORSE[at % len(WORSE)].__name__} turns {verdict.line} into {again.line}\n{told(run)}"
    )
