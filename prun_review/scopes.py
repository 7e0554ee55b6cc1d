"""Whether two scopes can name the same file, and whether one lies inside the other.  Pure.

Patterns mean what :mod:`prun_review.patterns` says.  Where both have wildcards the question is put to
both at once, letter by letter, so that ``apps/*/models.py`` and ``apps/users/m*.py`` meet and
``a*.py`` and ``b*.py`` do not.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from prun_review.patterns import matcher
from prun_review.tasks import Target

MAX_EXPANDED = 500
"""Patterns that the braces of one may stand for."""
_STEPS = 4_000
"""Pairs of states that a comparison looks at before it gives up, on the safe side."""
_GROUP = re.compile(r"\{([^{}]+)\}")
_WILD = re.compile(r"[*?\[]")

_Test = Callable[[str], bool]


def expand(pattern: str) -> tuple[str, ...]:
    """What a pattern with braces stands for, none twice: ``a/{b,c}.py`` is ``a/b.py`` and ``a/c.py``.

    Braces nest; single ones (``{b}``) are dropped.  ``ValueError`` for more than :data:`MAX_EXPANDED`.
    """
    done: dict[str, None] = {}
    work = deque([pattern])
    while work:
        text = work.popleft()
        group = _GROUP.search(text)
        if not group:
            done[text] = None
            continue
        options = group[1].split(",")
        if len(options) + len(work) + len(done) > MAX_EXPANDED:
            raise ValueError(f"the braces of {pattern[:60]!r} stand for more than {MAX_EXPANDED} patterns")
        head, tail = text[: group.start()], text[group.end() :]
        work.extendleft(f"{head}{option.strip()}{tail}" for option in reversed(options))
    return tuple(done)


def head(pattern: str) -> str:
    """What every name that it matches begins with: all before its first wildcard."""
    found = _WILD.search(pattern)
    return pattern[: found.start()] if found else pattern


def neighbours(patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pairs of indexes, smaller one first, whose patterns may have a name in common as far as their
    :func:`head` tells."""
    order = sorted((head(normal(pattern)), index) for index, pattern in enumerate(patterns))
    for at, (begin, index) in enumerate(order):
        for other, second in order[at + 1 :]:
            if not other.startswith(begin):
                break
            yield (index, second) if index < second else (second, index)


def normal(pattern: str) -> str:
    """The pattern without ``./`` and doubled or trailing slashes."""
    return "/".join(part for part in pattern.split("/") if part not in ("", "."))


def common(one: str, other: str) -> str | None:
    """A name that both patterns match (of sets of letters the set), or None.

    What is no file by its looks (no dot in its last part, no wildcard) also stands for all below it.  Where
    telling takes too long: ``one``, on the safe side.
    """
    one, other = normal(one), normal(other)
    for folder, below in ((one, other), (other, one)):
        if below == folder or (not _WILD.search(folder) and below.startswith(f"{folder}/")):
            return _example(below)
    begins, ends = (head(one), head(other)), (_tail(one), _tail(other))
    if not (begins[0].startswith(begins[1]) or begins[1].startswith(begins[0])):
        return None
    if not (ends[0].endswith(ends[1]) or ends[1].endswith(ends[0])):
        return None
    for file, pattern in ((one, other), (other, one)):
        if not _WILD.search(file) and not _is_folder(file):
            return file if matcher((pattern,))(file) else None
    return _search(_machine(one), _machine(other), lambda left, right: left and right, one)


def inside(one: str, other: str) -> bool:
    """Whether all that ``one`` names is also named by ``other``; False where telling takes too long."""
    one, other = normal(one), normal(other)
    if _within(one, other):
        return True
    return _is_folder(one) and _within(f"{one}/**", other)


def clash(one: Target, other: Target) -> str:
    """How two targets get into each other's way, in one of the words ``same``, ``nested`` (one holds the
    other), ``overlap``; empty where they do not."""
    if common(one.pattern, other.pattern) is None:
        return ""
    if normal(one.pattern) == normal(other.pattern):
        left, right = one.symbol.split("."), other.symbol.split(".")
        if one.symbol == other.symbol:
            return "same"
        if not one.symbol or not other.symbol:
            return "nested"
        shorter = min(len(left), len(right))
        return "nested" if left[:shorter] == right[:shorter] else ""
    holds = inside(one.pattern, other.pattern) or inside(other.pattern, one.pattern)
    return "nested" if holds else "overlap"


def _tail(pattern: str) -> str:
    """What every name that it matches ends with: all behind its last wildcard."""
    return "" if _is_folder(pattern) else re.split(r"[*?\]]", pattern)[-1].lstrip("/")


def _example(pattern: str) -> str:
    return pattern.replace("**", "*").replace("*", "x").replace("?", "x")


def _is_folder(pattern: str) -> bool:
    last = pattern.rpartition("/")[2]
    return not _WILD.search(last) and "." not in last[1:]


def _within(one: str, other: str) -> bool:
    if not _WILD.search(one):
        literal = not _WILD.search(other)  # needs no expression
        return one == other or one.startswith(f"{other}/") if literal else matcher((other,))(one)
    machine = _machine(one, whole=False)
    # One name of it that is not among the other's is proof enough, and cheap to find.
    if not all(matcher((other,))(name) for name in _samples(one)):
        return False
    return _search(machine, _machine(other), lambda left, right: left and not right, one) is None


def _samples(pattern: str) -> tuple[str, ...]:
    if "[" in pattern:
        return ()
    plain = pattern.replace("**", "*").replace("?", "w")
    return (plain.replace("*", "w"), plain.replace("*", "zq"))


@dataclass(frozen=True, slots=True)
class _Machine:
    """A pattern as states and steps between them; it may be in several states at once."""

    steps: tuple[tuple[tuple[_Test, int], ...], ...]
    starts: frozenset[int]
    accepts: frozenset[int]
    letters: frozenset[str]
    """Letters that it tells from others; every other letter is treated alike."""

    def after(self, states: frozenset[int], letter: str) -> frozenset[int]:
        return frozenset(to for state in states for test, to in self.steps[state] if test(letter))


def _any(letter: str) -> bool:
    return letter != "/"


class _Making:
    """Builds a :class:`_Machine`, one reading of the pattern after the other."""

    def __init__(self) -> None:
        self.steps: list[list[tuple[_Test, int]]] = []
        self.letters = {"/"}

    def state(self) -> int:
        self.steps.append([])
        return len(self.steps) - 1

    def step(self, at: int, test: _Test, to: int | None = None) -> int:
        to = self.state() if to is None else to
        self.steps[at].append((test, to))
        return to

    def letter(self, at: int, letter: str) -> int:
        self.letters.add(letter)
        return self.step(at, letter.__eq__)

    def names(self, at: int) -> int:
        """One name of at least one letter, any."""
        to = self.step(at, _any)
        return self.step(to, _any, to)

    def below(self, at: int) -> int:
        """Anything below the folder that ends here."""
        between = self.letter(at, "/")
        end = self.names(between)
        self.step(end, "/".__eq__, between)
        return end

    def part(self, at: int, part: str) -> int:
        """One part without ``**``; the same tokens as :mod:`prun_review.patterns`."""
        if set(part) == {"*"}:
            return self.names(at)
        index = 0
        while index < len(part):
            bang = part[index + 1 : index + 2] == "!"
            end = part.find("]", index + 2 + bang) if part[index] == "[" else -1
            if part[index] == "*":
                self.step(at, _any, at)
            elif part[index] == "?":
                at = self.step(at, _any)
            elif end > 0:
                token = part[index : end + 1]
                for letter in token:
                    around = (ord(letter) - 1, ord(letter), ord(letter) + 1)
                    self.letters.update(chr(code) for code in around if 0 < code <= 0x10FFFF)
                at = self.step(at, _one_of(token))
                index = end
            else:
                at = self.letter(at, part[index])
            index += 1
        return at

    def path(self, parts: Sequence[str]) -> tuple[int, int]:
        """All parts; the states that it starts and ends in."""
        start = at = self.state()
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            if part == "**":
                end = self.names(at)
                self.step(end, "/".__eq__, at)
                at = end if last else at
            else:
                at = self.part(at, part)
                at = at if last else self.letter(at, "/")
        return start, at


@lru_cache(4096)
def _machine(pattern: str, whole: bool = True) -> _Machine:
    """``whole``: also what lies below what it names, where that is a folder by its looks, and the name that a
    pattern with a set of letters may be itself."""
    making = _Making()
    start, end = making.path(pattern.split("/"))
    starts, accepts = {start}, {end}
    if whole and _is_folder(pattern):
        accepts.add(making.below(end))
    if whole and "[" in pattern:  # "app/[id]/page.tsx" is also the name of a file
        start = at = making.state()
        for letter in pattern:
            at = making.letter(at, letter)
        starts.add(start)
        accepts.add(at)
    steps = tuple(tuple(steps) for steps in making.steps)
    return _Machine(steps, frozenset(starts), frozenset(accepts), frozenset(making.letters))


def _one_of(token: str) -> _Test:
    """Whether a letter is among those of ``[abc]``."""
    matches = matcher((token,))
    return lambda letter: letter != "/" and matches(letter)


def _search(one: _Machine, other: _Machine, wanted: Callable[[bool, bool], bool], doubt: str) -> str | None:
    """The shortest name of which ``wanted(one matches, other matches)`` holds; None: there is none."""
    letters = ["x", *sorted(one.letters | other.letters | {"q", "\uffff"} - {"x"})]
    alone = wanted(True, False)  # else a name of ``one`` alone is of no use; one of ``other`` never is
    begin = (one.starts, other.starts)
    seen = {begin}
    work: deque[tuple[frozenset[int], frozenset[int], str]] = deque([(*begin, "")])
    while work:
        left, right, name = work.popleft()
        for letter in letters:
            after = (one.after(left, letter), other.after(right, letter))
            if after in seen or not after[0] or not (after[1] or alone):
                continue
            if wanted(bool(after[0] & one.accepts), bool(after[1] & other.accepts)):
                return name + letter
            if len(seen) >= _STEPS:
                return doubt
            seen.add(after)
            work.append((*after, name + letter))
    return None
