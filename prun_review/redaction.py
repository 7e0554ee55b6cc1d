"""Secrets in files are masked before anybody reads them; pure, but for the detector's own code.

A masked file has the same bytes but for asterisks, so lines, columns and line ends hold.  Of a private
key the detector knows the first line only; the block behind it is masked here.

What this misses.  The entropy rules are off: they take the hashes of every lock file for secrets, and
would blank half of the data files.  So a random string that has no known format and is assigned to no
telling name is sent.  The keyword rules want quotes in source code, and a value that begins with a
letter, digit or underscore.  A secret that is assembled, encoded or compressed is not seen.  And what is
taken for a secret wrongly (``secret_mode: strict`` in a YAML file) is masked too, which is why every
mask is recorded: an author could hide a line from reviewers that way.
"""

from __future__ import annotations

import codecs
import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from prun_review import secretrules
from prun_review.errors import PrunError
from prun_review.secretrules import GATE, Rule

PIECE = 2048
"""Characters of a long line that are searched at once, each piece half over the one before: the time of
some patterns grows with the square of the length.  (A line made to be slow still takes a minute a MB.)"""
ROUNDS = 10
"""Searches of one line, each in what the one before left; one that then still finds something masks all."""
BLOCK = 2000
"""Lines of a private key: one of RSA with 65536 bits has 800."""

BUDGET = 20.0
"""Seconds of CPU for one file: 10 MB that hold what looks like nothing but secrets."""

_CUT = re.compile(r"[^\s\"']*")
"""What belongs to a secret that reaches the end of its piece."""
_WORD = re.compile(r"\w+")
_END = re.compile(r"\bEND [A-Z0-9 ]{0,40}PRIVATE KEY")
_LETTERS = re.compile(r"[A-Za-z0-9+/=]+")
_INLINE = re.compile(r"-*(?:\\+[nr]|[A-Za-z0-9+/=])*-*")
"""A key in one string."""
_RUN, _LONG_RUN = re.compile(r"[A-Za-z0-9+/=]{16,}"), re.compile(r"[A-Za-z0-9+/=]{40,}")
_AROUND = " \t\r\"'`,;:>#*|()[].+-"
"""What stands around a line of a key where it is part of a program or a comment."""
_MATERIAL = re.compile(r"(?:[bruBRU]{1,2}[\"'])?[A-Za-z0-9+/=]+")
_BETWEEN = re.compile(
    r"\W*(?:(?:Proc-Type|DEK-Info|Comment|Subject|Version|Hash|Charset|Encryption|Public-Lines"
    r"|Private-Lines|x-[a-z-]+):.*)?",
    re.IGNORECASE,
)
"""What may stand between the lines of a key: headers, and blank lines."""


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place where something was masked; never what it was."""

    file: str
    line: int
    """Counted from 1, in the head or the merge base, wherever the file was read."""
    kind: str
    """What the detector calls it: ``AWS Access Key``, ``Secret Keyword``, ``Private Key``..."""


class UnsearchedError(PrunError):
    """A file that took longer to search than it may: nobody knows what is in it."""

    code = "unsearched"


class _Bytes:
    """Reads bytes as UTF-8, and gives any byte back as it was."""

    def __init__(self, content: bytes) -> None:
        self.text = content.decode("utf-8", "surrogateescape")

    def stars(self, text: str) -> str:
        """As many asterisks as fill the place of ``text``."""
        return "*" * len(text.encode("utf-8", "surrogateescape"))

    def back(self, text: str) -> bytes:
        """The bytes again, with what was masked in their text."""
        return text.encode("utf-8", "surrogateescape")


class _Units:
    """Reads bytes as characters of two or four bytes each, and gives back what is none."""

    def __init__(self, content: bytes, code: str, order: str) -> None:
        units = array(code)
        whole = len(content) // units.itemsize * units.itemsize
        units.frombytes(content[:whole])
        self._swapped = order != sys.byteorder
        if self._swapped:
            units.byteswap()
        self._units, self._rest = units, content[whole:]
        self.text = "".join(chr(unit) if unit <= sys.maxunicode else "\ufffd" for unit in units)

    def stars(self, text: str) -> str:
        """As many asterisks as fill the place of ``text``."""
        return "*" * len(text)

    def back(self, text: str) -> bytes:
        """The bytes again, with what was masked in their text."""
        units = self._units[:]
        for n, (before, after) in enumerate(zip(self.text, text, strict=True)):
            if before != after:
                units[n] = ord(after)
        if self._swapped:
            units.byteswap()
        return units.tobytes() + self._rest


_Codec = _Bytes | _Units

_BOMS: tuple[tuple[bytes, str, str], ...] = (
    (codecs.BOM_UTF16_LE, "H", "little"),
    (codecs.BOM_UTF16_BE, "H", "big"),
    (codecs.BOM_UTF32_LE, "I", "little"),
    (codecs.BOM_UTF32_BE, "I", "big"),
)
"""Marks in front of a file, with the array's code of one character and the order of its bytes."""


class Masks:
    """Implements :class:`~prun_review.ports.Redactor` and remembers what it did; for one thread."""

    def __init__(self, clean: Iterable[str] = (), clock: Callable[[], float] = float) -> None:
        """``clean``: ids of blobs that were searched under the same :func:`~.secretrules.digest`.

        ``clock`` tells seconds of CPU; without one a search may take as long as it does.
        """
        self._clock = clock
        self._known = set(clean)
        self._used: set[str] = set()
        self._spots: set[Spot] = set()

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Every place that was masked, sorted; what both sides of a change have counts once."""
        return tuple(sorted(self._spots))

    @property
    def used(self) -> frozenset[str]:
        """Ids of the clean blobs that were asked about or found: what is worth keeping."""
        return frozenset(self._used)

    def clean(self, blob: str) -> bool:
        """Whether this blob is known to hold nothing to mask under any name, so need not be read."""
        if blob in self._known:
            self._used.add(blob)
        return blob in self._known

    def __call__(self, name: str, blob: str, content: bytes) -> bytes:
        """``content`` with asterisks for its secrets, of the same length; ``content`` itself where it
        has none.  ``blob`` is its id, or empty for what is no blob.

        ``UnsearchedError`` where that takes longer than :data:`BUDGET`.
        """
        every = secretrules.load()
        rules = (*every.formats, *every.blocks, *every.words)
        clean, result = True, content
        watch = _Watch(name, self._clock)
        for reading in _codecs(content):
            numbers = _gated(result) if every.gated and reading is _Bytes else None
            if numbers == []:
                continue
            codec = reading(result)
            lines = codec.text.split("\n")
            candidates = range(len(lines)) if numbers is None else numbers
            if not any(next(_spans(lines[n], rules, watch), None) for n in candidates):
                continue
            clean = False
            found = _mask(lines, candidates, every.of(name), every.blocks, codec, watch)
            self._spots.update(Spot(name, n + 1, kind) for n, kind in found)
            result = codec.back("\n".join(lines)) if found else result
        if clean and blob:
            self._known.add(blob)
            self._used.add(blob)
        return result


class _Watch:
    """Ends a search that takes too long."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._name, self._clock = name, clock
        self._end = clock() + BUDGET

    def __call__(self) -> None:
        if self._clock() > self._end:
            raise UnsearchedError(
                f"{self._name} could not be searched for secrets in time ({BUDGET:.0f} s of CPU)",
                remedy="leave it out of what is reviewed, or name it in never",
            )


def _codecs(content: bytes) -> Iterator[Callable[[bytes], _Codec]]:
    """How the bytes can be read as text: a mark in front does not make the rest what it says."""
    yield _Bytes
    for mark, code, order in _BOMS:
        if content.startswith(mark):
            yield partial(_Units, code=code, order=order)


def _gated(content: bytes) -> list[int]:
    lower = content.lower()  # of bytes: ASCII only, and as long
    numbers: list[int] = []
    at = number = 0
    while at >= 0 and (match := GATE.search(lower, at)):
        number += lower.count(b"\n", at, match.start())
        numbers.append(number)
        at = lower.find(b"\n", match.end() - 1)
    return numbers


def _mask(
    lines: list[str],
    candidates: Sequence[int],
    rules: Sequence[Rule],
    blocks: Sequence[Rule],
    codec: _Codec,
    watch: _Watch,
) -> set[tuple[int, str]]:
    """Mask in place; line indices and kinds."""
    keys = sorted(
        (n, rule.kind, match.end())
        for n in candidates
        for rule in blocks
        if (match := rule.pattern.search(lines[n]))
    )
    found = {(n, kind) for n, kind, _ in keys}
    heads = {n for n, _, _ in keys}

    def mask_each(numbers: Iterable[int]) -> None:
        for n in numbers:
            lines[n], kinds = _mask_line(lines[n], rules, codec, watch)
            found.update((n, kind) for kind in kinds)

    # A block masks what looks like a key and would leave the rest of another secret unknown, so other
    # lines go first; the columns of first lines hold only as long as nothing on them was masked.
    mask_each(n for n in candidates if n not in heads)
    found |= _mask_blocks(lines, keys)
    mask_each(n for n in candidates if n in heads)
    return found


def _mask_line(line: str, rules: Sequence[Rule], codec: _Codec, watch: _Watch) -> tuple[str, set[str]]:
    kinds: set[str] = set()
    for _ in range(ROUNDS):
        spans = sorted(set(_spans(line, rules, watch)), reverse=True)
        if not spans:
            return line, kinds
        kinds.update(kind for _, _, kind in spans)
        done, kept = len(line), []
        for start, end, _ in spans:  # from the right, so that of two that overlap both are masked
            if start < min(end, done):
                kept += [line[min(end, done) : done], codec.stars(line[start : min(end, done)])]
                done = start
        line = "".join([line[:done], *reversed(kept)])
    return _WORD.sub(lambda m: codec.stars(m[0]), line), kinds


def _spans(line: str, rules: Sequence[Rule], watch: _Watch) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of every secret on a line."""
    line = line.rstrip()
    for offset in range(0, max(1, len(line) - PIECE // 2), PIECE // 2):
        watch()
        piece = line[offset : offset + PIECE]
        if len(line) > PIECE and not _can_match(piece):
            continue
        for rule in rules:
            for match in rule.pattern.finditer(piece):
                start, end = (offset + at for at in match.span(rule.group))
                cut = match.end() == len(piece) and end < len(line)
                match_rest = (_CUT if cut else rule.rest).match(line, end)
                yield start, match_rest.end() if match_rest else end, rule.kind


def _can_match(piece: str) -> bool:
    gated = secretrules.load().gated
    return not gated or GATE.search(piece.encode(errors="surrogatepass").lower()) is not None


def _mask_blocks(lines: list[str], keys: Sequence[tuple[int, str, int]]) -> set[tuple[int, str]]:
    """Mask what follows the first lines of private keys, which are indices, kinds and columns behind them,
    sorted; the lines below them that were masked.

    Only what looks like a key is: between two such markers an author could hide code.  No line is looked
    at twice, however many such first lines there are.
    """
    found: set[tuple[int, str]] = set()
    ends = [n for n, line in enumerate(lines) if _END.search(line)] if keys else []
    done = stopped = -1
    for first, kind, column in keys:
        if _mask_inline(lines, first, column):
            continue
        at = bisect_right(ends, first)
        last = ends[at] if at < len(ends) and ends[at] <= first + BLOCK else None
        if last is None and stopped > first:
            continue  # where another one that begins above it ended, this one does too
        stop = min(len(lines), first + 1 + BLOCK) if last is None else last
        for n in range(max(done, first) + 1, stop):
            done = n
            if _mask_material(lines, n):
                found.add((n, kind))
            elif last is None and not _BETWEEN.fullmatch(lines[n]):
                stopped = n
                break
    return found


def _mask_inline(lines: list[str], first: int, column: int) -> bool:
    """Mask what stands of a key on its first line; whether that is all of it."""
    head, close = lines[first], _END.search(lines[first], column)
    stop = close.start() if close else len(head)
    pattern = _LETTERS if close and _INLINE.fullmatch(head[column:stop]) else _RUN
    lines[first] = head[:column] + pattern.sub(_stars, head[column:stop]) + head[stop:]
    return close is not None


def _mask_material(lines: list[str], n: int) -> bool:
    """Mask a line where it looks like one of a key; whether it did."""
    core = lines[n].replace("\\n", "").replace("\\r", "").replace("*", "").strip(_AROUND)
    lines[n], count = (_LETTERS if _MATERIAL.fullmatch(core) else _LONG_RUN).subn(_stars, lines[n])
    return count > 0


def _stars(match: re.Match[str]) -> str:
    return "*" * len(match[0])
