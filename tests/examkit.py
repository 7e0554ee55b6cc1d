"""A second wave without processes: what examiners say, as results of the units that asked them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prun_review.crossexam import Round, ask
from prun_review.model import Answer, Brief, Contract, Exhibit, Finding, Opinion, Plan, Result, Unit
from prun_review.rulings import CLAIM, SAME, Examination, Question
from tests.gatekit import CASE, EXECUTORS, FOLDER, HEADER, facts, lost, result

ABLE: Mapping[str, frozenset[str]] = {
    name: frozenset({"findings", "examination"} if info.paid else {"findings"})
    for name, info in EXECUTORS.items()
}
"""Every agent can examine, no analyser can."""

Says = Callable[[Question, str], "Opinion | None"]
"""What an executor says to a question; None: it gives no answer."""


def opinion(word: str, severity: str | None = None, grounding: str = "exact") -> Opinion:
    """A word with a quote that stands so to the tree; ``confirm`` needs a severity."""
    quote = None if word == "cannot-tell" else "db.execute(sql + name)"
    proof = Finding(
        "", file="src/auth.py", line=12, quote=quote, grounding=grounding if quote else "unlocated"
    )
    return Opinion(word, f"the code shows it: {word}", proof, severity)


def confirm(severity: str) -> Opinion:
    """A proven confirmation."""
    return opinion("confirm", severity)


REFUTE = opinion("refute")
YES, NO = opinion("yes"), opinion("no")
CANNOT_TELL = opinion("cannot-tell")


def answer(of: Unit, said: Opinion | None, **fields: Any) -> Result:
    """The result of one examiner; without an opinion a failed one."""
    if said is None:
        return lost(of)
    return result(of, answer=Answer(HEADER, examined=("src/auth.py",), opinion=said), **fields)


def asked(question: Question, executor: str, also: Sequence[str] = ()) -> Unit:
    """A unit that puts a question to an executor; ``also`` are ids that it tells beside the claimed one."""
    options = SAME if question.kind == "same" else CLAIM
    exhibit = Exhibit("CLAIM", "Title: x", told=(question.left, *also))
    brief = Brief("Is it?", Contract("examination", options), exhibits=(exhibit,))
    name = f"prun_review::examine[{question.id}-{executor}]"
    slug = f"examine-{question.id}-{executor}"
    return Unit(name, slug, question.id, question.folder, executor, brief)


def claim(finding: str, severity: str = "critical", case: str = CASE) -> Question:
    """The question whether a finding holds."""
    return Question(f"x-claim-{finding}", "claim", case, FOLDER, finding, "", severity)


def pair(left: str, right: str, severity: str = "critical", case: str = CASE) -> Question:
    """The question whether two findings are one."""
    return Question(f"x-same-{left}-{right}", "same", case, FOLDER, left, right, severity)


def examined(*told: tuple[Question, Mapping[str, Opinion | None]], also: Sequence[str] = ()) -> Examination:
    """An examination in which executors said this, by name; ``also`` as in :func:`asked`."""
    units = [(asked(q, name, also), said) for q, says in told for name, said in says.items()]
    return Examination(
        tuple(q for q, _ in told),
        Plan(tuple(unit for unit, _ in units)),
        tuple(answer(unit, said) for unit, said in units),
    )


def following(before: Examination, found: Round, says: Says) -> Examination:
    """The examination with the answers to another round."""
    about = {q.id: q for q in found.questions}
    given = (answer(unit, says(about[unit.case], unit.executor)) for unit in found.units)
    return replace(
        before,
        questions=(*before.questions, *found.questions),
        plan=Plan((*before.plan.units, *found.units)),
        results=(*before.results, *given),
        left_out=found.left_out,
    )


def ask_of(
    units: Sequence[Unit], results: Sequence[Result], before: Examination | None = None, **more: Any
) -> Round:
    """What is asked next; ``facts`` and ``plan`` change these, all else goes to :func:`ask`."""
    options: dict[str, Any] = {"contracts": ABLE, "mode": "gate", "limit": 20, **more}
    run = facts(**options.pop("facts", {}))
    return ask(run, Plan(tuple(units)), results, before or Examination(), **options)
