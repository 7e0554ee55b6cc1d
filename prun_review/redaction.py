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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prun_review import secretrules
from prun_review.secretrules import GATE, Rule

PIECE = 2048
"""Characters of a long line that are searched at once, each piece half over the one before: the time of
some patterns grows with the square of the length.  (A line made to be slow still takes a minute a MB.)"""
ROUNDS = 10
"""Searches of one line, each in what the one before left; one that then still finds something masks all."""
BLOCK = 2000
"""Lines of a private key: one of RSA with 65536 bits has 800."""

_CUT = re.compile(r"[^\s\"']*")
"""What belongs to a secret that reaches the end of its piece."""
_WORD = re.compile(r"\w+")
_END = re.compile(r"\bEND [A-Z0-9 ]*PRIVATE KEY")
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

_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place where something was masked; never what it was."""

    file: str
    line: int
    """Counted from 1, in the head or the merge base, wherever the file was read."""
    kind: str
    """What the detector calls it: ``AWS Access Key``, ``Secret Keyword``, ``Private Key``..."""


@dataclass(frozen=True, slots=True)
class _Codec:
    name: str
    errors: str

    def stars(self, text: str) -> str:
        """As many asterisks as fill the place of ``text`` once encoded."""
        return "*" * (len(self.encode(text)) // len(self.encode("*")))

    def encode(self, text: str) -> bytes:
        return text.encode(self.name, self.errors)


_BYTES = _Codec("utf-8", "surrogateescape")
"""Gives any byte back as it was."""


class Masks:
    """Implements :class:`~prun_review.ports.Redactor` and remembers what it did; for one thread."""

    def __init__(self, clean: Iterable[str] = ()) -> None:
        """``clean``: ids of blobs that were searched under the same :func:`~.secretrules.digest`."""
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
        has none.  ``blob`` is its id, or empty for what is no blob."""
        every = secretrules.load()
        rules = (*every.formats, *every.blocks, *every.words)
        clean, result = True, content
        for codec in (_BYTES, *_wide(content)):  # a mark in front does not make the rest UTF-16
            lines, candidates = _open(result, codec, every.gated)
            if not any(next(_spans(lines[n], rules), None) for n in candidates):
                continue
            clean = False
            found = _mask(lines, candidates, every.of(name), every.blocks, codec)
            self._spots.update(Spot(name, n + 1, kind) for n, kind in found)
            result = codec.encode("\n".join(lines)) if found else result
        if clean and blob:
            self._known.add(blob)
            self._used.add(blob)
        return result


def _wide(content: bytes) -> tuple[_Codec, ...]:
    """How else the bytes can be read as text."""
    name = _BOMS.get(content[:2])
    return (_Codec(name, "surrogatepass"),) if name and len(content) % 2 == 0 else ()


def _open(content: bytes, codec: _Codec, gated: bool) -> tuple[list[str], list[int]]:
    """The lines of a file and the indices of those that can hold a secret; no lines where none can."""
    numbers = _gated(content) if gated and codec is _BYTES else None
    if numbers == []:
        return [], []
    lines = content.decode(codec.name, codec.errors).split("\n")
    return lines, list(range(len(lines))) if numbers is None else numbers


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
    lines: list[str], candidates: Sequence[int], rules: Sequence[Rule], blocks: Sequence[Rule], codec: _Codec
) -> set[tuple[int, str]]:
    """Mask in place; line indices and kinds."""
    keys = [
        (n, rule.kind, match.end())
        for n in candidates
        for rule in blocks
        if (match := rule.pattern.search(lines[n]))
    ]
    found = {(n, kind) for n, kind, _ in keys}
    for n, kind, end in keys:
        found.update((k, kind) for k in _mask_block(lines, n, end))
    for n in candidates:
        lines[n], kinds = _mask_line(lines[n], rules, codec)
        found.update((n, kind) for kind in kinds)
    return found


def _mask_line(line: str, rules: Sequence[Rule], codec: _Codec) -> tuple[str, set[str]]:
    kinds: set[str] = set()
    for _ in range(ROUNDS):
        spans = sorted(set(_spans(line, rules)), reverse=True)
        if not spans:
            return line, kinds
        kinds.update(kind for _, _, kind in spans)
        done = len(line)
        for start, end, _ in spans:  # from the right, since a star can be shorter than what it replaces
            end = min(end, done)
            if start < end:
                line = line[:start] + codec.stars(line[start:end]) + line[end:]
            done = min(done, start)
    return _WORD.sub(lambda m: codec.stars(m[0]), line), kinds


def _spans(line: str, rules: Sequence[Rule]) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of every secret on a line."""
    line = line.rstrip()
    for offset in range(0, max(1, len(line) - PIECE // 2), PIECE // 2):
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


def _mask_block(lines: list[str], first: int, end: int) -> Iterator[int]:
    """Mask what follows the first line of a private key, and behind column ``end`` of that line; the
    indices of the lines below it that were masked.

    Only what looks like a key is: between two such markers an author could hide code.
    """
    head, close = lines[first], _END.search(lines[first], end)
    stop = close.start() if close else len(head)
    pattern = _LETTERS if close and _INLINE.fullmatch(head[end:stop]) else _RUN
    lines[first] = head[:end] + pattern.sub(_stars, head[end:stop]) + head[stop:]
    if close:
        return
    after = range(first + 1, min(len(lines), first + 1 + BLOCK))
    last = next((n for n in after if _END.search(lines[n])), None)
    for n in after if last is None else range(first + 1, last):
        core = lines[n].replace("\\n", "").replace("\\r", "").strip(_AROUND)
        pattern = _LETTERS if _MATERIAL.fullmatch(core) else _LONG_RUN
        if pattern.search(lines[n]):
            lines[n] = pattern.sub(_stars, lines[n])
            yield n
        elif last is None and not _BETWEEN.fullmatch(lines[n]):
            return


def _stars(match: re.Match[str]) -> str:
    return "*" * len(match[0])
