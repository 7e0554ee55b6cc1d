"""The part of the run document that tells of the second wave: what was asked, and what it came to."""

from __future__ import annotations

from prun_review import views
from prun_review.answers import lay
from prun_review.authors import authors_of
from prun_review.findingviews import opinion
from prun_review.model import RunFacts
from prun_review.ruled import every_ruling, opinion_of
from prun_review.rulings import Examination, Question, Ruling
from prun_review.views import Row


def examination(facts: RunFacts, held: Examination) -> Row:
    """All questions with their rulings in the order asked, what was left out and why, and the units.

    ``answered`` counts the units with an answer to rely on.  What it used stands here, by executor, and
    in no other sum of the document.
    """
    answers = lay(held.plan, held.results)
    names = {u.executor: None for u in held.plan.units}
    executors = {n: e for n, e in views.executors_of(facts, held.plan).items() if n in names}
    answered = [u for u in held.plan.units if opinion_of(u, answers.by_unit.get(u.id))]
    return {
        "mode": facts.cross_examine,
        "asked": len(held.plan.units),
        "answered": len(answered),
        "questions": [_ruled(ruling) for ruling in every_ruling(held, authors_of(facts))],
        "left_out": [{**_named(left.question), "why": left.why} for left in held.left_out],
        "units": views.units(held.plan, answers, "missing"),
        "usage": views.usage(held.plan, answers, executors),
    }


def _named(question: Question) -> Row:
    return {
        "id": question.id,
        "kind": question.kind,
        "case": question.case,
        "left": question.left,
        "right": question.right,
        "severity": question.severity,
    }


def _ruled(ruling: Ruling) -> Row:
    return {
        **_named(ruling.question),
        "folder": ruling.question.folder,
        "outcome": ruling.outcome,
        "why": ruling.why,
        "opinions": [opinion(name, said) for name, said in ruling.opinions],
    }
