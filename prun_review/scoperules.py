"""What must hold between the scopes of tasks, and within one.  Pure.

Tasks of one wave work side by side, so nothing may be in the scope of two of them, but for different parts
of one file (``models.py::User`` and ``models.py::Order``).  A file is created once in all waves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from prun_review.manifestfields import Problems
from prun_review.scopes import clash, common, inside, neighbours
from prun_review.scopetext import BOUNDARY, CREATE, MODIFY, Entry
from prun_review.taskmaking import Joined

_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class _Stake:
    """One pattern of one task."""

    joined: Joined
    entry: Entry

    @property
    def file(self) -> str:
        return self.joined.task.task_file

    @property
    def shown(self) -> str:
        target = self.entry.target
        return f"{self.entry.kind} {target.pattern}{f'::{target.symbol}' if target.symbol else ''}"

    @property
    def exact(self) -> bool:
        """Whether it names one file."""
        return not _WILD & set(self.entry.target.pattern)


def check(joined: Sequence[Joined], problems: Problems) -> None:
    """Tell of every two scopes that get into each other's way, and of scopes against their own boundary."""
    stakes = [_Stake(each, entry) for each in joined if each.file for entry in each.file.entries]
    own = [stake for stake in stakes if stake.entry.kind != BOUNDARY]
    own.sort(key=lambda stake: stake.joined.task.wave)
    for _, wave in groupby(own, key=lambda stake: stake.joined.task.wave):
        held = list(wave)
        _side_by_side(held, problems)
        _parts(held, problems)
    _created([stake for stake in own if stake.entry.kind == CREATE], problems)
    for each in joined:
        _boundary([stake for stake in stakes if stake.joined is each], problems)


def _side_by_side(stakes: Sequence[_Stake], problems: Problems) -> None:
    """Two tasks of one wave."""
    for left, right in neighbours([stake.entry.target.pattern for stake in stakes]):
        one, other = stakes[left], stakes[right]
        if one.joined is other.joined:
            continue
        how = clash(one.entry.target, other.entry.target)
        if not how:
            continue
        both = {one.entry.kind, other.entry.kind}
        if how == "same" and both == {CREATE}:
            _tell_twice(one, other, problems)
            continue
        code = "scope-nested" if how == "nested" else "scope-overlap"
        remedy = "put the tasks into different waves, or give each its own files"
        if both == {MODIFY}:
            remedy += " (or its own parts: file.py::Class)"
        problems.error(code, other.file, other.entry.line, _beside(one, other, how), remedy)


def _parts(stakes: Sequence[_Stake], problems: Problems) -> None:
    """A warning for each file of which several tasks of a wave have parts: nobody looks at parts."""
    files: dict[str, list[_Stake]] = {}
    for stake in stakes:
        if stake.entry.target.symbol:
            files.setdefault(stake.entry.target.pattern, []).append(stake)
    for pattern, parts in files.items():
        ids = list(dict.fromkeys(stake.joined.task.id for stake in parts))
        if len(ids) > 1:
            more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
            told = (
                f"{', '.join(ids[:3])}{more} have parts of {pattern} in the same wave; whether each keeps to"
            )
            told += " its own is not looked at, only whether their changes can be put together"
            remedy = "put the tasks into different waves where that matters"
            last = parts[-1]
            problems.warning("scope-parts", last.file, last.entry.line, told, remedy)


def _beside(one: _Stake, other: _Stake, how: str) -> str:
    word = {"same": "is the same as", "nested": "holds or lies in", "overlap": "meets"}[how]
    name = common(one.entry.target.pattern, other.entry.target.pattern)
    example = f" (both name {name})" if how == "overlap" else ""
    place = f"{one.file}:{one.entry.line}"
    return f"{other.shown} {word} {one.shown} of {one.joined.task.id!r} in the same wave, at {place}{example}"


def _created(stakes: Sequence[_Stake], problems: Problems) -> None:
    """Two tasks of different waves that create; what only may be one file is a warning."""
    for left, right in neighbours([stake.entry.target.pattern for stake in stakes]):
        one, other = stakes[left], stakes[right]
        if one.joined.task.wave == other.joined.task.wave:
            continue
        if not (one.exact or other.exact or one.entry.target == other.entry.target):
            continue  # "tests/test_a*.py" and "tests/*_b.py" of different waves are hardly meant for one file
        how = clash(one.entry.target, other.entry.target)
        if how == "same" and one.exact:
            _tell_twice(one, other, problems)
        elif how:
            name = common(one.entry.target.pattern, other.entry.target.pattern)
            told = f"{other.shown} may create what {one.joined.task.id!r} creates ({one.shown}): {name}"
            problems.warning("created-twice", other.file, other.entry.line, told)


def _tell_twice(one: _Stake, other: _Stake, problems: Problems) -> None:
    place = f"{one.file}:{one.entry.line}"
    told = f"{other.entry.target.pattern} is created by {one.joined.task.id!r} too, at {place}"
    problems.error("created-twice", other.file, other.entry.line, told, "MODIFY it in a later wave")


def _boundary(stakes: Sequence[_Stake], problems: Problems) -> None:
    """A scope that its own boundary forbids whole.  One that is forbidden in part is only narrowed."""
    spared = [stake for stake in stakes if stake.entry.kind == BOUNDARY]
    for stake in stakes:
        for wall in spared if stake.entry.kind != BOUNDARY else ():
            if inside(stake.entry.target.pattern, wall.entry.target.pattern):
                told = f"{stake.shown} lies within its own {wall.shown}, at line {wall.entry.line}"
                problems.error("boundary", stake.file, stake.entry.line, told)
