"""Cross-examination: what is put before other vendors once every panel has answered.  Pure.

Findings that may be one are asked about first, each pair of two executors that share neither vendor nor
lineage; then what one vendor holds alone, or two hold differently.  Asked is what a verdict hangs on (mode
``gate``) or everything (``all``), and never more than the limit, over all rounds.

:func:`ask` is called again when its questions are answered, since a pair that proves to be two defects
leaves each of them alone; in the end it asks nothing more.  ``review.py`` bounds the rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from prun_review import crossquestions
from prun_review.authors import Authors, authors_of
from prun_review.consensus import Crossing, Group
from prun_review.crossquestions import question_id
from prun_review.document import gather
from prun_review.folders import Folder, share
from prun_review.folding import Member, Same, highest, level
from prun_review.independence import dependence, known, rule_dependence
from prun_review.model import ExecutorInfo, Finding, Plan, Result, RunFacts, Unit
from prun_review.planning import slug_of
from prun_review.policy import rule_of
from prun_review.ruled import rulings_of
from prun_review.rulings import Examination, LeftOut, Question, Rulings
from prun_review.views import executors_of

MOST_EXAMINERS = 2
"""Of one claim."""
ROUNDS = 3
"""Most rounds of a run."""
NOBODY = "no independent executor to ask: a person settles it (prun-review accept)"
"""Why nobody was asked where nobody of the run could be told to examine either."""
_ANYBODY = Finding("")
"""Stands for what an examiner would report: its rules are its own."""


@dataclass(frozen=True, slots=True)
class Round:
    """What is to be asked next."""

    questions: tuple[Question, ...] = ()
    """New ones only, the most urgent first; empty when there is nothing left to ask."""
    units: tuple[Unit, ...] = ()
    """Those of ``questions``, in their order, without ``files``, ``inlined`` and ``fingerprint``."""
    left_out: tuple[LeftOut, ...] = ()
    """All that is not asked in this round nor was before: replaces that of an earlier round."""


def ask(
    facts: RunFacts,
    plan: Plan,
    results: Sequence[Result],
    examination: Examination,
    *,
    contracts: Mapping[str, frozenset[str]],
    mode: str,
    limit: int,
    same: Same | None = None,
) -> Round:
    """The next round of questions about the findings of ``results``, given what was asked before.

    ``contracts`` says which kinds the executors of the run can answer; ``mode`` is ``off``, ``gate`` or
    ``all``; ``limit`` counts the questions of all rounds.  The same inputs give the same questions with
    the same ids, whatever the order of the results.  Raises what ``same`` raises.
    """
    if mode == "off":
        return Round()
    hall = _Hall.open(facts, plan, results, examination, contracts, mode, same)
    wanted = sorted(hall.wanted(), key=_urgency)
    able = [w for w in wanted if w.examiners]
    doubtful = _ends(able)
    taken = [w for w in able if w.question.kind == "same" or not w.ends & doubtful]
    taken = taken[: max(0, limit - len(examination.questions))]
    chosen = {w.question.id for w in taken}
    # What a pair of this round touches has its turn once that is settled.
    later = _ends(taken)
    over = [
        w for w in able if w.question.id not in chosen and (w.question.kind == "same" or not w.ends & later)
    ]
    left_out = [LeftOut(w.question, _why(w.untold)) for w in wanted if not w.examiners]
    left_out += [LeftOut(w.question, f"over the limit of {limit}") for w in over]
    units = (unit for w in taken for unit in w.units(facts))
    return Round(tuple(w.question for w in taken), tuple(units), tuple(left_out))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A question that is not ruled on yet."""

    question: Question
    examiners: tuple[str, ...]
    """Who is asked; empty where nobody may be."""
    shown: tuple[Finding, ...]
    """What they are shown: of a pair both findings, the left one first; of a claim what is claimed, then
    what else its group holds."""
    ends: frozenset[str]
    """Ids of the findings that it is about: of a claim all of its group."""
    untold: tuple[str, ...] = ()
    """Where nobody may be asked: who of the run would have to examine for that; empty: nobody could."""

    def units(self, facts: RunFacts) -> Iterator[Unit]:
        """One for each examiner; the second of a pair sees it the other way round."""
        q = self.question
        for n, executor in enumerate(self.examiners):
            if q.kind == "same":
                brief = crossquestions.same_brief(facts, *(self.shown[::-1] if n else self.shown))
            else:
                brief = crossquestions.claim_brief(facts, self.shown, q.severity)
            unit_id = f"prun_review::examine[{q.id}-{executor}]"
            yield Unit(unit_id, slug_of(unit_id), q.id, q.folder, executor, brief)


def _ends(wanted: Sequence[_Wanted]) -> set[str]:
    """The findings of the pairs among them."""
    return {end for w in wanted if w.question.kind == "same" for end in w.ends}


def _why(untold: Sequence[str]) -> str:
    """Why nobody is asked: whom nobody told to examine, and how that is done."""
    if not untold:
        return NOBODY
    tables = ", ".join(f"[tool.prun_review.executor.{name}]" for name in untold)
    what = "does not examine" if len(untold) == 1 else "do not examine"
    return f'{" and ".join(untold)} {what}: add "examination" to the contracts of {tables}'


def _urgency(wanted: _Wanted) -> tuple[int, bool, str, str]:
    q = wanted.question
    return -level(q.severity), q.kind != "same", q.case, q.id


@dataclass(frozen=True)
class _Hall:
    """The findings of a run as the rulings left them, and who may be asked about them."""

    folders: Sequence[Folder]
    crossings: Mapping[str, Crossing]
    rulings: Rulings
    executors: Mapping[str, ExecutorInfo]
    examiners: Mapping[str, Sequence[str]]
    """Case -> who may be asked about it: who wrote it last, those that were asked the case itself first."""
    untold: Sequence[str]
    """Who answered in the run and could examine, but was not told to: no analysers."""
    mode: str
    authors: Authors
    """Who wrote what is reviewed: they are asked where there are too few others."""

    @classmethod
    def open(
        cls,
        facts: RunFacts,
        plan: Plan,
        results: Sequence[Result],
        examination: Examination,
        contracts: Mapping[str, frozenset[str]],
        mode: str,
        same: Same | None,
    ) -> _Hall:
        gathered = gather(facts, plan, results, same=same, examination=examination)
        executors = executors_of(facts, plan)
        asked: dict[str, set[str]] = {}
        for unit in plan.units:
            asked.setdefault(unit.case, set()).add(unit.executor)
        used = {unit.executor for unit in plan.units}
        authors = authors_of(facts)
        able = [n for n in executors if n in used and "examination" in contracts.get(n, ())]
        untold = [
            name
            for name, info in executors.items()
            if name in used
            and name not in able
            and (info.paid or set(contracts.get(name, ())) - {"findings"})
        ]
        return cls(
            gathered.evidence.folders,
            gathered.crossings,
            rulings_of(examination, authors),
            executors,
            {
                case: sorted(able, key=lambda n: (authors.wrote(n), n not in names))
                for case, names in asked.items()
            },
            untold,
            mode,
            authors,
        )

    def wanted(self) -> Iterator[_Wanted]:
        """Every question that is not ruled on yet, with its examiners."""
        for folder in self.folders:
            cases: dict[str, list[Group]] = {}
            for group in folder.groups:
                cases.setdefault(group.case, []).append(group)
            for case, groups in cases.items():
                yield from self._pairs(folder, case, groups)
                yield from self._claims(folder, groups)

    # --- pairs --------------------------------------------------------------------------------

    def _pairs(self, folder: Folder, case: str, groups: Sequence[Group]) -> Iterator[_Wanted]:
        home = {m.finding.id: (group, m) for group in groups for m in group.members}
        for pair in self.crossings[case].pairs:
            if pair.outcome != "uncertain" or not pair.independent or not pair.left or not pair.right:
                continue
            if frozenset((pair.left[1], pair.right[1])) in self.rulings.same:
                continue
            ends = [home[pair.left[1]], home[pair.right[1]]]
            sides = [(_severity(group, member), group, member) for group, member in ends]
            if not any(self._weighs(folder, group, severity) for severity, group, _ in sides):
                continue
            left, right = (member.finding for _, _, member in sides)
            severity = highest(severity for severity, _, _ in sides)
            question = Question(
                question_id("same", case, left.id, right.id),
                "same", case, folder.name, left.id, right.id, severity,
            )  # fmt: skip
            own = pair.left[0], pair.right[0]
            two = self._two(self.examiners[case], own)
            untold = () if two else self._two((*self.examiners[case], *self.untold), own)
            yield _Wanted(
                question, two, (left, right), frozenset((left.id, right.id)), self._silent(case, untold)
            )

    def _weighs(self, folder: Folder, group: Group, severity: str) -> bool:
        """Whether a finding of this severity counts in a doubt about it."""
        if not _open(folder, group):
            return False
        return self.mode == "all" or rule_of(folder.policy_of(group.case), severity) != "off"

    def _two(self, able: Sequence[str], own: tuple[str, str]) -> tuple[str, ...]:
        """Two of these that are independent of each other, the pair's own first; else nobody.

        Of two authors neither can fold the pair, so they are asked where there is nobody else.
        """
        names = sorted(able, key=lambda n: own.index(n) if n in own else len(own))
        free = [
            two
            for two in combinations(names, 2)
            if not dependence(*(known(name, self.executors) for name in two))
        ]
        return next((two for two in free if self.authors.others(two)), free[0] if free else ())

    def _silent(self, case: str, names: Sequence[str]) -> tuple[str, ...]:
        """Those of these that do not examine."""
        return tuple(name for name in names if name not in self.examiners[case])

    # --- claims -------------------------------------------------------------------------------

    def _claims(self, folder: Folder, groups: Sequence[Group]) -> Iterator[_Wanted]:
        for group in groups:
            ids = frozenset(m.finding.id for m in group.members)
            if group.kind not in ("single", "contested") or not _open(folder, group):
                continue
            if ids & self.rulings.claims.keys() or not any(c.times for c in group.came):
                continue
            if self.mode != "all" and rule_of(folder.policy_of(group.case), group.severity) != "consensus":
                continue
            heads = [m for m in group.members if m.finding.severity == group.severity]
            claimed = heads[0].finding
            told = (claimed, *(m.finding for m in group.members if m.finding is not claimed))
            question = Question(
                question_id("claim", group.case, claimed.id),
                "claim", group.case, folder.name, claimed.id, "", group.severity,
            )  # fmt: skip
            others = self._others(self.examiners[group.case], heads)[:MOST_EXAMINERS]
            untold = () if others else self._others(self.untold, heads)[:1]
            yield _Wanted(question, others, told, ids, untold)

    def _others(self, able: Sequence[str], heads: Sequence[Member]) -> tuple[str, ...]:
        """Who of these may examine what these members hold: independent of every one of them."""

        def free(name: str, member: Member) -> bool:
            infos = known(member.executor, self.executors), known(name, self.executors)
            return not rule_dependence(member.finding, _ANYBODY, *infos)

        return tuple(n for n in able if all(free(n, member) for member in heads))


def _open(folder: Folder, group: Group) -> bool:
    """Whether anything hangs on the group: not where somebody answers for it, or it does not count."""
    policy = folder.policy_of(group.case)
    return not (
        group.beside
        or group.kind == "ungrounded"
        or group.id in folder.settled.accepted
        or (group.id in folder.settled.known and policy.known == "pass")
        or share(group) < policy.reproducibility
    )


def _severity(group: Group, member: Member) -> str:
    """The highest severity that the executor of a member gives what its group holds."""
    return highest(m.finding.severity for m in group.members if m.executor == member.executor)
