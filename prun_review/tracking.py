"""Which defects of one time are those of another: by name, else by what they say.  Pure.

A name (:mod:`prun_review.fingerprints`) that is equal is enough where it holds a quote.  What is left
over is compared by the matcher, with what stands in the same file only, and only a ``match`` of one code
(:mod:`prun_review.sameness`) counts: what may be the same is not the same.  Defects of different cases
are never one.

One to one: each wording of an earlier defect stands for one place of the later time, and in other words
one defect for one, and for none once it was found by name: so two new defects never hide behind one old
one.  Nothing here depends on the order of its arguments but for ties.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prun_review.fingerprints import core, name
from prun_review.folding import level
from prun_review.matching import crosscheck
from prun_review.model import Finding, Pair
from prun_review.sameness import HERE, NEAR, REPEATED, far, one_defect, one_place, stays

BY_NAME = "same fingerprint"


@dataclass(frozen=True, slots=True)
class Defect:
    """One defect as one time tells it."""

    case: str
    wordings: tuple[Finding, ...]
    """What is said of it, the lead first."""
    severity: str = ""
    """The highest held; empty where severities are not looked at."""
    names: tuple[str, ...] = ()
    """Names that it had when it was stored, beside those that its wordings have now."""
    comparable: bool = True
    """Whether its words may be compared; else only its names are looked at."""
    several: bool = False
    """Of a later one: it may be more than one defect, so each wording must be found by itself.  What is
    new must not hide behind what is not."""
    standing: bool = False
    """Of an earlier one: its grounding tells what became of its quote in the later tree."""
    before: bool = False
    """Of an earlier one: it was there before the change that the later time reviews, so what that change
    added is none of it."""
    unproven: bool = False
    """Of an earlier one: the tree did not hold it, so it is only what the tree does not hold either."""
    same_tree: bool = False
    """Of an earlier one: the later time looks at the very same tree, where nothing has moved."""


class Track(NamedTuple):
    """How a later defect was found among the earlier ones."""

    old: int
    """Place among the earlier ones."""
    how: str
    """One line that a person understands."""


@dataclass(frozen=True, slots=True)
class Tracks:
    """Later defects laid against earlier ones; indices are those of the arguments."""

    found: Mapping[int, Track] = field(default_factory=dict)
    """Later -> the earlier one that it is."""
    above: Mapping[int, Track] = field(default_factory=dict)
    """Later -> the earlier one that it is, but more severe than that one was."""
    seen: Mapping[int, int] = field(default_factory=dict)
    """Earlier ones that are there still, more severe or not -> a later one that they are."""
    perhaps: Mapping[int, Track] = field(default_factory=dict)
    """Later ones that are neither -> an earlier one, not seen either, that it may be."""


class _Wording(NamedTuple):
    """One wording of an earlier defect."""

    line: int
    old: int
    number: int
    """Which of its wordings."""
    reach: int
    """Lines within which a later finding of its name is the same; -1: anywhere in the file."""

    def may_be(self, spot: _Spot) -> bool:
        """Whether a spot lies within its reach, as far as their lines are known."""
        return self.reach < 0 or not (self.line and spot.line) or abs(self.line - spot.line) <= self.reach


_At = tuple[int, int]
"""Which defect, and which of its wordings."""


class _Spot(NamedTuple):
    """Later defects of one name on one line: one place, whoever told it."""

    line: int
    news: tuple[_At, ...]
    level: int
    """Of the most severe of them."""


_Key = tuple[str, str]
"""Case and name."""


def track(old: Sequence[Defect], new: Sequence[Defect]) -> Tracks:
    """Find each of ``new`` among ``old``.

    One that is more severe than the earlier one is ``above``, never ``found``; an earlier one without a
    severity takes any.  5,000 of either take about a second where most names are equal.
    """
    parts = [(j, part) for j, defect in enumerate(new) for part in _parts(defect)]
    book = _Book(old, [part for _, part in parts])
    book.by_name()
    book.by_words()
    return _joined(book, parts)


def _parts(defect: Defect) -> list[Defect]:
    """What is looked for one by one.  What an examiner took for more severe than all who hold it is so in
    each of them."""
    if not defect.several:
        return [defect]
    worse = all(level(f.severity) < level(defect.severity) for f in defect.wordings)
    return [
        replace(defect, wordings=(f,), severity=defect.severity if worse else f.severity, several=False)
        for f in defect.wordings
    ]


def _joined(book: _Book, parts: Sequence[tuple[int, Defect]]) -> Tracks:
    """What was found of the later defects by what was found of their parts; the most severe one speaks for
    all."""
    owners = [j for j, _ in parts]
    of: dict[int, list[int]] = {}
    for n in sorted(range(len(parts)), key=lambda n: -level(parts[n][1].severity)):
        of.setdefault(owners[n], []).append(n)
    found: dict[int, Track] = {}
    above: dict[int, Track] = {}
    perhaps: dict[int, Track] = {}
    for j, numbers in sorted(of.items()):
        there = [book.found[n] for n in numbers if n in book.found]
        worse = [book.above[n] for n in numbers if n in book.above and n not in book.found]
        if len(there) == len(numbers):
            found[j] = there[0]
        elif len(there) + len(worse) == len(numbers):
            above[j] = worse[0]
        elif maybe := [book.perhaps[n] for n in numbers if n in book.perhaps]:
            perhaps[j] = maybe[0]
    either = [*book.above.items(), *book.found.items()]
    seen = {**{t.old: owners[n] for n, t in either}, **{i: owners[n] for i, n in book.seen.items()}}
    return Tracks(found, above, seen, {j: t for j, t in perhaps.items() if t.old not in seen})


class _Book:
    def __init__(self, old: Sequence[Defect], new: Sequence[Defect]) -> None:
        self.old, self.new = old, new
        cases = {d.case for d in old} & {d.case for d in new}
        self.old_cores = [_distinct(d.case, _cores(d, cases)) for d in old]
        self.new_cores = [_cores(d, cases) for d in new]
        self.added = [any(f.placement == "added" and f.grounded for f in d.wordings) for d in new]
        self.found: dict[int, Track] = {}
        self.above: dict[int, Track] = {}
        self.perhaps: dict[int, Track] = {}
        self.seen: dict[int, int] = {}
        self.used: dict[tuple[int, int], Finding] = {}
        """Wordings of earlier defects -> the later finding that each stands for."""

    # --- by name --------------------------------------------------------------------------------

    def by_name(self) -> None:
        wordings: dict[_Key, list[_Wording]] = {}
        for i, (defect, cores) in enumerate(zip(self.old, self.old_cores, strict=True)):
            for n, kept in enumerate(cores):
                names = {name(defect.case, kept), *(defect.names if n == 0 else ())}
                for one in names:
                    told = _Wording(kept.line or 0, i, n, _reach(defect, kept))
                    wordings.setdefault((defect.case, one), []).append(told)
        places: dict[_Key, dict[int, set[_At]]] = {}
        for j, (defect, cores) in enumerate(zip(self.new, self.new_cores, strict=True)):
            named = [(name(defect.case, kept), n) for n, kept in enumerate(cores)]
            named += [(one, 0) for one in defect.names if cores]
            for one, n in named:
                if (defect.case, one) in wordings:
                    spots = places.setdefault((defect.case, one), {})
                    spots.setdefault(cores[n].line or 0, set()).add((j, n))
        for key in sorted(places):
            found = [
                _Spot(line, tuple(sorted(news)), max(level(self.new[j].severity) for j, _ in news))
                for line, news in places[key].items()
            ]
            self._assign(sorted(wordings[key]), found)

    def _assign(self, wordings: Sequence[_Wording], spots: Sequence[_Spot]) -> None:
        """Wordings and spots of one name: on their lines first; then the most severe first, in order."""
        free = [w for w in wordings if (w.old, w.number) not in self.used]
        there = {w.line: w for w in reversed(free)}
        rest = []
        for spot in spots:
            held = there.get(spot.line)
            if held and self._covers(held.old, spot.level) and self._fitting(held, spot):
                self._take(held, spot)
            else:
                rest.append(spot)
        by_level: dict[int, list[_Wording]] = {}
        for wording in reversed(free):
            if (wording.old, wording.number) not in self.used:
                by_level.setdefault(self._level(wording.old), []).append(wording)
        worse = []
        for spot in sorted(rest, key=lambda s: (-s.level, s.line)):
            fit = next(
                (w for n in sorted(by_level) if n >= spot.level for w in self._first(by_level[n], spot)), None
            )
            if fit is None:
                worse.append(spot)
            else:
                self._take(fit, spot)
        left = sorted((w for held in by_level.values() for w in held), reverse=True)
        for spot in sorted(worse):
            for wording in self._first(left, spot):
                news = self._use(wording, spot)
                self.above |= {j: Track(wording.old, BY_NAME) for j in news if j not in self.above}

    def _first(self, wordings: list[_Wording], spot: _Spot) -> Iterator[_Wording]:
        """The last one that fits a spot, taken out; none where none does."""
        for at in reversed(range(len(wordings))):
            if wordings[at].may_be(spot) and self._fitting(wordings[at], spot):
                yield wordings.pop(at)
                return

    def _fitting(self, wording: _Wording, spot: _Spot) -> list[int]:
        """Those of a spot that may be what the wording tells."""
        kept, earlier = self.old_cores[wording.old][wording.number], self.old[wording.old]
        return [
            j
            for j, n in spot.news
            if not (earlier.unproven and self.new[j].comparable)
            and one_place(kept, self.new_cores[j][n])
            and wording.may_be(spot)
            and self._at_one_place(wording, self.new_cores[j][n])
            and not (self.added[j] and _copied(earlier, kept, self.new_cores[j][n]))
        ]

    def _at_one_place(self, wording: _Wording, new: Finding) -> bool:
        """Whether no other wording of one place stands for another place already."""
        cores = self.old_cores[wording.old]
        mine = cores[wording.number]
        others = [(kept, self.used.get((wording.old, n))) for n, kept in enumerate(cores)]
        return not any(
            found and kept.file == mine.file and far(found, new) and not far(kept, mine)
            for kept, found in others
        )

    def _use(self, wording: _Wording, spot: _Spot) -> list[int]:
        """Let a wording stand for a spot: those of it that may be what the wording tells."""
        news = self._fitting(wording, spot)
        at = dict(spot.news)
        self.used[wording.old, wording.number] = self.new_cores[news[0]][at[news[0]]]
        return news

    def _take(self, wording: _Wording, spot: _Spot) -> None:
        news = self._use(wording, spot)
        self.seen.setdefault(wording.old, news[0])
        for j in news:
            self.found.setdefault(j, Track(wording.old, BY_NAME))

    # --- by words -------------------------------------------------------------------------------

    def by_words(self) -> None:
        """A finding is compared with those of its file; a match elsewhere there is none."""
        named = {i for i, _ in self.used}
        lefts: dict[_Key, list[_At]] = {}
        for i, defect in enumerate(self.old):
            for n, kept in enumerate(self.old_cores[i]):
                if defect.comparable and i not in named:
                    lefts.setdefault((defect.case, kept.file or ""), []).append((i, n))
        rights: dict[_Key, list[_At]] = {}
        for j, defect in enumerate(self.new):
            for n, kept in enumerate(self.new_cores[j]):
                if defect.comparable and j not in self.found:
                    rights.setdefault((defect.case, kept.file or ""), []).append((j, n))
        alike = [m for key in lefts.keys() & rights.keys() for m in self._alike(lefts[key], rights[key])]
        taken: dict[int, int] = {}
        for outcome, _, i, j, why in sorted(alike):
            if outcome != "match" or taken.setdefault(i, j) != j:
                self.perhaps.setdefault(j, Track(i, f"perhaps the same: {why}"))
                continue
            track = Track(i, f"told in other words: {why}")
            self.seen.setdefault(i, j)
            if self._covers(i, level(self.new[j].severity)):
                self.found.setdefault(j, track)
            else:
                self.above.setdefault(j, track)

    def _alike(self, left: Sequence[_At], right: Sequence[_At]) -> Iterator[tuple[str, float, int, int, str]]:
        """What the matcher finds alike: outcome, score, earlier and later defect, and why.

        Where it matches what is not one defect, it is asked again with those kept apart: else the known
        one would not be found beside a new one that sounds more like it.
        """
        olds = [self.old_cores[i][n] for i, n in left]
        news = [self.new_cores[j][n] for j, n in right]
        places = {id(f): at for at, f in (*zip(left, olds, strict=True), *zip(right, news, strict=True))}

        def one(old: Finding, new: Finding) -> bool:
            (i, _), (j, _) = places[id(old)], places[id(new)]
            earlier = self.old[i]
            barred = earlier.before and self.added[j]
            return not barred and one_defect(old, new, standing=earlier.standing)

        def kept_apart(old: Finding, new: Finding) -> bool | None:
            return None if one(old, new) else False

        pairs = _both(crosscheck(olds, news))
        refused = [p for p in pairs if p.outcome == "match" and not one(olds[p.left], news[p.right])]
        if refused:
            pairs = [p for p in pairs if p.outcome != "match"]
            pairs += [p._replace(outcome="uncertain") for p in refused]
            pairs += [p for p in _both(crosscheck(olds, news, same=kept_apart)) if p.outcome == "match"]
        for p in pairs:
            yield p.outcome, -p.score, left[p.left][0], right[p.right][0], p.reason

    def _level(self, old: int) -> int:
        severity = self.old[old].severity
        return level(severity) if severity else level("critical") + 1

    def _covers(self, old: int, wanted: int) -> bool:
        return self._level(old) >= wanted


def _distinct(case: str, cores: Sequence[Finding]) -> tuple[Finding, ...]:
    """Each wording once for each place: one that is told twice of one stands for one all the same."""
    found: list[tuple[str, Finding]] = []
    for kept in cores:
        mine = name(case, kept)
        if not any(mine == other and not far(kept, one) for other, one in found):
            found.append((mine, kept))
    return tuple(kept for _, kept in found)


def _cores(defect: Defect, cases: Collection[str]) -> tuple[Finding, ...]:
    """None of a defect of a case that the other side does not have."""
    if defect.case not in cases:
        return ()
    return tuple(replace(core(f), grounding=f.grounding) for f in defect.wordings)


def _reach(old: Defect, kept: Finding) -> int:
    """See :class:`_Wording`; of one name both sides quote as many lines."""
    if not (old.same_tree or stays(kept, standing=old.standing)):
        return -1
    return NEAR + (kept.quote or "").count("\n")


def _copied(old: Defect, kept: Finding, new: Finding) -> bool:
    """Whether code that a change added may be a copy of the earlier one, which stands still: what quotes
    nothing cannot show that it was moved."""
    if not kept.quote:
        return old.before or far(kept, new)
    repeated = kept.grounding in (REPEATED, HERE)
    return old.standing and repeated and (old.before or kept.line != new.line)


class _Both(NamedTuple):
    """A pair of which both sides are there."""

    left: int
    right: int
    outcome: str
    score: float
    reason: str


def _both(pairs: Sequence[Pair]) -> list[_Both]:
    return [
        _Both(p.left, p.right, p.outcome, p.score, p.reason)
        for p in pairs
        if p.left is not None and p.right is not None and p.outcome != "alone"
    ]
