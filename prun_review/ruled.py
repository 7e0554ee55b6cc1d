"""What the answers of a second wave come to: one ruling for every question that was asked.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prun_review.answers import lay, sound
from prun_review.authors import NOBODY, Authors
from prun_review.folding import highest
from prun_review.model import Opinion, Result, Unit
from prun_review.payload import one_line
from prun_review.rulings import CANNOT, PROVEN, Examination, Question, Ruling, Rulings

_SAYS = {
    "yes": "says yes, one fix would resolve both",
    "no": "says no, one fix would not resolve both",
    "confirm": "confirms it",
    "refute": "refutes it",
    CANNOT: "cannot tell",
}


_OWN = ", which counts for nothing: it wrote what is reviewed"

UNPROVEN = frozenset({"unproven", "coverage"})
"""Violations of an answer that says one thing, and has not shown it."""


def rulings_of(examination: Examination, authors: Authors = NOBODY) -> Rulings:
    """What every question that was asked came to, by what it is about; see :func:`every_ruling`."""
    same: dict[frozenset[str], Ruling] = {}
    claims: dict[str, Ruling] = {}
    for ruling in every_ruling(examination, authors):
        question = ruling.question
        if question.kind == "same":
            same[frozenset((question.left, question.right))] = ruling
        else:
            claims[question.left] = ruling
    return Rulings(same, claims)


def every_ruling(examination: Examination, authors: Authors = NOBODY) -> tuple[Ruling, ...]:
    """One ruling per question, in the order asked.  The order of the results does not matter.

    An answer counts where it is sound and proven.  Of a pair two must say the same; of a claim one
    proven "confirm" is enough, and it outweighs any "refute".  Refuted is what everybody refutes who
    gave an answer: who cannot tell leaves it open, and so does who confirms it without proof.  Who wrote
    what is reviewed refutes nothing by itself, and one of the two who fold a pair must be somebody else.
    """
    answers = lay(examination.plan, examination.results)
    asked: dict[str, list[tuple[Unit, Result | None]]] = {}
    for unit in examination.plan.units:
        asked.setdefault(unit.case, []).append((unit, answers.by_unit.get(unit.id)))
    return tuple(_ruling(q, asked.get(q.id, ()), authors) for q in examination.questions)


def opinion_of(unit: Unit, result: Result | None) -> Opinion | None:
    """What a unit of an examination says, where it has an answer to rely on."""
    if result is None or not sound(unit, result) or result.answer is None:
        return None
    said = result.answer.opinion
    return said if said is not None and said.word in unit.brief.contract.options else None


def _unsound(unit: Unit, result: Result | None) -> str:
    """The word of an answer that breaks its contract: it settles nothing, and may speak against settling.

    A "confirm" with a quote that is nowhere is no reason to believe the "refute" beside it.
    """
    if result is None or result.answer is None or opinion_of(unit, result):
        return ""
    said, proofs = result.answer.opinion, {violation.code for violation in result.violations}
    return said.word if said is not None and proofs <= UNPROVEN else CANNOT


def proven(opinion: Opinion) -> bool:
    """Whether it says something, with a quote that the reviewed tree holds."""
    return opinion.word != CANNOT and opinion.evidence.grounding in PROVEN


def _ruling(question: Question, asked: Sequence[tuple[Unit, Result | None]], authors: Authors) -> Ruling:
    opinions: dict[str, Opinion] = {}  # by executor: nobody is two
    told: list[str] = []
    for n, (unit, result) in enumerate(asked):
        said = opinion_of(unit, result)
        if said is not None:
            opinions[unit.executor] = said
        turned = " (its A is the right one)" if said and question.kind == "same" and n else ""
        own = said is not None and said.word == "refute" and authors.wrote(unit.executor)
        told.append(f"{unit.executor} {_told(said, result)}{turned}{_OWN if own else ''}")
    counted = {name: o for name, o in opinions.items() if proven(o)}
    said_of_it = [o.word for o in opinions.values()] + [w for one in asked if (w := _unsound(*one))]
    outcome = _outcome(question, counted, said_of_it, authors)
    given = [o.severity or question.severity for o in counted.values() if o.word == "confirm"]
    severity = highest(given) if outcome == "confirmed" else ""
    why = "; ".join(told) or "nobody was asked"
    shown = _told_of(u for u, _ in asked)
    wrote = tuple(u.executor for u, _ in asked if authors.wrote(u.executor))
    return Ruling(question, outcome, why, severity, tuple(opinions.items()), shown, wrote)


def _outcome(
    question: Question, counted: Mapping[str, Opinion], said: Sequence[str], authors: Authors
) -> str:
    """What proven opinions come to, among all words that were ``said``."""
    if question.kind == "same":
        outcome = _of_pair([o.word for o in counted.values()])
        return "unresolved" if outcome == "match" and not authors.others(counted) else outcome
    return _of_claim([o.word for n, o in counted.items() if o.word != "refute" or not authors.wrote(n)], said)


def _told_of(units: Iterable[Unit]) -> tuple[str, ...]:
    """The findings that each of the units tells."""
    every = [{name for exhibit in unit.brief.exhibits for name in exhibit.told} for unit in units]
    return tuple(sorted(set.intersection(*every))) if every else ()


def _told(said: Opinion | None, result: Result | None) -> str:
    if said is None:
        return f"gave no answer to rely on ({one_line(result.reason) if result else 'missing'})"
    told = _SAYS.get(said.word, f"says {said.word}")
    if said.word == "confirm" and said.severity:
        told += f" as {said.severity}"
    return told if said.word == CANNOT or proven(said) else f"{told}, without proof"


def _of_pair(words: Sequence[str]) -> str:
    if len(words) < 2 or len(set(words)) != 1:
        return "unresolved"
    return {"yes": "match", "no": "distinct"}.get(words[0], "unresolved")


def _of_claim(proved: Sequence[str], said: Sequence[str]) -> str:
    """What the words come to that are proven, among all that were said."""
    if "confirm" in proved:
        return "confirmed"
    return "refuted" if "refute" in proved and set(said) == {"refute"} else "unresolved"
