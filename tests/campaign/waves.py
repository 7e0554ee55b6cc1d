"""Second waves as a tape says: questions about what is doubtful or alone, and answers of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prun_review.model import (
    Answer,
    Brief,
    Contract,
    ExecutorInfo,
    Exhibit,
    Finding,
    Opinion,
    Plan,
    Result,
    Unit,
    Violation,
)
from prun_review.rulings import CLAIM, SAME, Examination, LeftOut, Question
from tests.campaign.holders import Defect, corroborates, defects
from tests.campaign.laid import lay
from tests.campaign.oracle import Oracle
from tests.campaign.roster import RECORDED
from tests.campaign.runs import HEADER, Draft, Run
from tests.campaign.spoken import Heard, hear
from tests.campaign.tape import Tape
from tests.campaign.whose import independent

_FATES = ("",) * 12 + ("unproven", "line only", "failed", "missing", "violations", "stale", "other word")
"""What becomes of one answer of a second wave."""


def examine(run: Run, draft: Draft) -> Run:
    """The run with a second wave, mostly: pairs first, then what is left alone or held differently."""
    tape = draft.tape
    mode = tape.pick(("off", "gate", "gate", "all"))
    facts = replace(run.facts, cross_examine=mode)
    run = replace(run, facts=facts)
    if mode == "off" or facts.stopped or not run.plan.units:
        return run
    wave = _Wave(tape, run)
    wave.ask_pairs()
    for defect in wave.defects():
        wave.ask_claim(defect)
    return replace(run, examination=wave.examination)


class _Wave:
    """A second wave in the making."""

    def __init__(self, tape: Tape, run: Run) -> None:
        self.tape = tape
        self.run = run
        self.infos: dict[str, ExecutorInfo] = {e.name: e for e in run.facts.executors}
        self.laid = lay(run, Oracle(()))
        self.examination = Examination()

    def defects(self) -> list[Defect]:
        """What the cases hold, given what was answered so far."""
        heard: Heard = hear(self.examination, self.run.facts)
        found: list[Defect] = []
        for case in dict.fromkeys(u.case for u in self.run.plan.units):
            ids = dict.fromkeys(u.id for u in self.run.plan.units if u.case == case)
            results = [self.laid.of[i] for i in ids if i in self.laid.of]
            found += [d for d in defects(case, results, self.infos, heard, Oracle(())) if d.counted]
        return found

    def ask_pairs(self) -> None:
        """Every two independent holders of one topic whose tellings leave a doubt."""
        held = [(d.case, h) for d in self.defects() for h in d.holders]
        for n, (case, one) in enumerate(held):
            for its_case, other in held[n + 1 :]:
                near = case == its_case and one.topic == other.topic and one.telling != other.telling
                if near and corroborates(one, other, self.infos):
                    self._ask("same", case, one.findings[0].id, other.findings[0].id, self._two())

    def _two(self) -> list[str]:
        """Two examiners; seldom two that depend on each other."""
        names = self._examiners()
        pairs = [(a, b) for a in names for b in names if a < b]
        fine = [p for p in pairs if independent(*p, self.infos)]
        if self.tape.once_in(5):
            fine = [p for p in pairs if p not in fine] or fine
        return list(self.tape.pick(fine)) if fine else []

    def _examiners(self) -> list[str]:
        used = {u.executor for u in self.run.plan.units}
        return sorted(n for n in used if n in RECORDED and "examination" in RECORDED[n].contracts)

    def ask_claim(self, defect: Defect) -> None:
        """What is single or held differently is put before somebody else; seldom before a relative."""
        if defect.kind not in ("single", "contested"):
            return
        heads = {h.executor for h in defect.holders if h.severity == defect.severity}
        free = [n for n in self._examiners() if all(independent(n, h, self.infos) for h in heads)]
        names = free[: self.tape.pick((1, 2, 2))]
        if self.tape.once_in(8):
            names = [n for n in self._examiners() if n not in free][:1]
        self._ask("claim", defect.case, defect.findings[0].id, "", names, defect.severity, defect.findings)

    # --- one question

    def _ask(
        self,
        kind: str,
        case: str,
        left: str,
        right: str,
        names: Sequence[str],
        severity: str = "high",
        also: Sequence[Finding] = (),
    ) -> None:
        n = len(self.examination.questions) + len(self.examination.left_out) + 1
        folder = case.partition("/probe_")[0]
        question = Question(f"x-{n:012x}", kind, case, folder, left, right, severity)
        if not names or self.tape.once_in(6):
            why = "over the limit of 20" if names else "no independent executor to ask"
            left_out = (*self.examination.left_out, LeftOut(question, why))
            self.examination = replace(self.examination, left_out=left_out)
            return
        words = self.tape.pick(_WORDS[kind])
        told = tuple(f.id for f in also)
        units = [_unit(question, name, told) for name in names]
        results = [
            r
            for unit, word in zip(units, words, strict=False)
            if (r := self._answer(unit, word, severity)) is not None
        ]
        self.examination = replace(
            self.examination,
            questions=(*self.examination.questions, question),
            plan=Plan((*self.examination.plan.units, *units)),
            results=(*self.examination.results, *results),
        )

    def _answer(self, unit: Unit, word: str, severity: str) -> Result | None:
        tape = self.tape
        fate = tape.pick(_FATES)
        grounding = "moved" if tape.once_in(4) else "exact"
        quote: str | None = "if ready:"
        if fate == "missing":
            return None
        if fate == "unproven":
            grounding = "ungrounded"
        elif fate == "line only" or word == "cannot-tell":
            grounding, quote = "line-only", None
        evidence = Finding("", file="src/auth.py", line=3, quote=quote, grounding=grounding)
        given = (
            tape.pick((severity, severity, "medium", "critical", "low", "high"))
            if word == "confirm"
            else None
        )
        if given not in (None, "info", "low", "medium", "high", "critical"):
            given = "critical"
        opinion = Opinion("perhaps" if fate == "other word" else word, "because of that", evidence, given)
        result = Result(
            unit.id, unit.slug, unit.case, unit.folder, unit.executor, "valid",
            answer=Answer(HEADER, opinion=opinion), attempts=1, seconds=1.0, fingerprint=unit.fingerprint,
        )  # fmt: skip
        if fate == "failed":
            return replace(result, status="failed", reason="timeout", answer=None)
        if fate == "violations":
            return replace(result, violations=(Violation("schema", "/word", "odd"),))
        return replace(result, fingerprint="stale") if fate == "stale" else result


_WORDS = {
    "same": (
        ("yes", "yes"), ("no", "no"), ("no", "no"), ("yes", "no"), ("yes", "cannot-tell"),
        ("cannot-tell", "no"), ("no", "yes"), ("cannot-tell", "cannot-tell"),
    ),
    "claim": (
        ("confirm", "confirm"), ("refute", "refute"), ("refute", "refute"), ("confirm", "refute"),
        ("refute", "confirm"), ("cannot-tell", "cannot-tell"), ("cannot-tell", "refute"),
        ("confirm", "cannot-tell"),
    ),
}  # fmt: skip


def _unit(question: Question, executor: str, told: tuple[str, ...]) -> Unit:
    id = f"prun_review::examine[{question.id}-{executor}]"
    slug = "".join(c if c.isalnum() else "-" for c in id)
    options = SAME if question.kind == "same" else CLAIM
    exhibit = Exhibit("CLAIM", "What is said.", told=told)
    brief = Brief("Look.", Contract("examination", options), exhibits=(exhibit,))
    return Unit(id, slug, question.id, question.folder, executor, brief, fingerprint=f"f-{question.id}")
