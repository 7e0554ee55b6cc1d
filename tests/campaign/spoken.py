"""The model of an examination: what counts of its answers, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prun_review.model import ExecutorInfo, Finding, Opinion, RunFacts
from prun_review.rulings import Examination, Question
from tests.campaign.whose import independent, writers


@dataclass
class Heard:
    """Every question of an examination, with the answers that are to be relied on."""

    infos: Mapping[str, ExecutorInfo]
    authors: set[str] = field(default_factory=set)
    """Examiners that wrote what is reviewed."""
    said: list[tuple[Question, dict[str, Opinion]]] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)
    """Question -> the words of all answers to it, proven or not; of a broken one "cannot-tell"."""

    def pair(self, left: str, right: str) -> str:
        """``match``, ``distinct``, or empty where two findings were not settled."""
        for question, opinions in self.said:
            if question.kind == "same" and {question.left, question.right} == {left, right}:
                names = sorted(opinions)
                for word, outcome in (("yes", "match"), ("no", "distinct")):
                    agree = [n for n in names if opinions[n].word == word]
                    other = [n for n in names if opinions[n].word not in (word, "cannot-tell")]
                    if word == "yes" and set(agree) <= self.authors:
                        continue
                    if not other and any(self._free(a, b) for a in agree for b in agree):
                        return outcome
        return ""

    def claims(self, findings: Sequence[Finding]) -> list[tuple[str, str, str]] | None:
        """Who said what of a claim about one of these findings, and how severe it is in its eyes; None
        where nobody was asked."""
        ids = {f.id for f in findings}
        for question, opinions in self.said:
            if question.kind == "claim" and question.left in ids:
                return [(n, o.word, o.severity or question.severity) for n, o in opinions.items()]
        return None

    def left_open(self, findings: Sequence[Finding]) -> bool:
        """Whether somebody who was asked about one of these and answered does not refute it."""
        ids = {f.id for f in findings}
        asked = next((q.id for q, _ in self.said if q.kind == "claim" and q.left in ids), "")
        return any(word != "refute" for word in self.words.get(asked, ()))

    def _free(self, one: str, other: str) -> bool:
        return independent(one, other, self.infos)


def hear(examination: Examination, facts: RunFacts) -> Heard:
    """What is to be relied on: one valid answer of a planned unit, with a quote that the tree holds."""
    names = {u.executor for u in examination.plan.units}
    heard = Heard({e.name: e for e in facts.executors}, writers(names, facts))
    for question in examination.questions:
        opinions = {}
        for unit in examination.plan.units:
            if unit.case != question.id:
                continue
            fitting = [
                r
                for r in examination.results
                if (r.unit, r.slug, r.case, r.folder, r.executor, r.repeat)
                == (unit.id, unit.slug, unit.case, unit.folder, unit.executor, unit.repeat)
                and not (unit.fingerprint and r.fingerprint and unit.fingerprint != r.fingerprint)
            ]
            if len(fitting) != 1:
                continue
            result = fitting[0]
            opinion = result.answer.opinion if result.answer else None
            if result.status == "valid" and opinion and result.violations:
                heard.words.setdefault(question.id, []).append("cannot-tell")
            if result.status != "valid" or result.violations or opinion is None:
                continue
            heard.words.setdefault(question.id, []).append(opinion.word)
            if opinion.evidence.grounding in ("exact", "moved"):
                opinions[unit.executor] = opinion
        heard.said.append((question, opinions))
    return heard
