"""A whole run from a tape, and the run in words."""

from __future__ import annotations

from hypothesis import strategies as st

from prun_review.model import Finding, Result, Unit
from prun_review.policy import Policy
from tests.campaign.ills import befall, reviewed_change
from tests.campaign.memory import remember
from tests.campaign.runs import Run, sketch
from tests.campaign.tape import LENGTH, Tape
from tests.campaign.waves import examine
from tests.campaign.written import signed


def made(content: bytes) -> Run:
    """The run of a tape."""
    tape = Tape(content)
    draft, run = sketch(tape)
    run = reviewed_change(run, draft)
    run = befall(run, draft)
    run = remember(run, draft)
    return signed(examine(run, draft), draft)


class Content(bytes):
    """The bytes of a tape, shown without the plainest end."""

    def __repr__(self) -> str:
        return f"Content.fromhex({self.rstrip(bytes(1)).hex()!r}).ljust({len(self)}, bytes(1))"


TAPES = st.binary(min_size=LENGTH, max_size=LENGTH).map(Content)
"""What hypothesis draws, and makes simpler where a check fails."""


# --- in words ---------------------------------------------------------------------------------


def told(run: Run) -> str:
    """The run as a person reads it."""
    facts = run.facts
    lines = ["executors: " + ", ".join(f"{e.name} ({e.vendor}/{e.lineage})" for e in facts.executors)]
    lines += [f"gate: {_policy(facts.gate)}"]
    lines += [f"{name}: {_policy(policy)}" for name, policy in facts.folders.items()]
    lines += [f"ill: {ill}" for ill in run.ills]
    lines += [f"changed: {f.path} (was {f.old_path!r}) {f.status} {f.kind}" for f in facts.change]
    results: dict[str, list[Result]] = {}
    for result in run.results:
        results.setdefault(result.unit, []).append(result)
    for unit in run.plan.units:
        lines.append(f"{unit.id}: {_results(results.pop(unit.id, []), unit)}")
    lines += [f"{id}, not planned: {_results(rest)}" for id, rest in results.items()]
    lines += _wave(run)
    return "\n".join(lines)


def _policy(policy: Policy) -> str:
    default = Policy()
    names = Policy.__dataclass_fields__
    changed = [f"{n}={getattr(policy, n)}" for n in names if getattr(policy, n) != getattr(default, n)]
    return ", ".join(changed) or "the default"


def _results(results: list[Result], unit: Unit | None = None) -> str:
    if not results:
        return "no result"
    return " AND ".join(_result(r) for r in results)


def _result(result: Result) -> str:
    said = [f"{result.status} ({result.reason})" if result.status != "valid" else "valid"]
    said += [_finding(f) for f in result.findings]
    said += [f"chose {result.choice.option}"] if result.choice else []
    said += [f"salvaged {v.code}" for v in result.salvage]
    return "; ".join(said)


def _finding(finding: Finding) -> str:
    marks = [finding.grounding] if finding.grounding != "exact" else []
    marks += ["beside"] if finding.beside else []
    marks += [f"rule of {finding.lineage}"] if finding.lineage else []
    mark = f" [{', '.join(marks)}]" if marks else ""
    return f"{finding.severity} {finding.title!r}{mark} as {finding.id}"


def _wave(run: Run) -> list[str]:
    wave = run.examination
    lines = []
    for question in wave.questions:
        units = [u for u in wave.plan.units if u.case == question.id]
        answers = {r.unit: r for r in wave.results}
        said = [f"{u.executor} {_opinion(answers.get(u.id))}" for u in units]
        lines.append(f"asked {question.kind} {question.left} {question.right}: {'; '.join(said)}")
    return lines + [f"not asked {o.question.kind} {o.question.left}: {o.why}" for o in wave.left_out]


def _opinion(result: Result | None) -> str:
    if result is None:
        return "no result"
    opinion = result.answer.opinion if result.answer else None
    if opinion is None:
        return result.status
    severity = f" as {opinion.severity}" if opinion.severity else ""
    stale = " (stale)" if result.fingerprint == "stale" else ""
    odd = " (with violations)" if result.violations else ""
    return f"{opinion.word}{severity} [{opinion.evidence.grounding}]{stale}{odd}"
