"""The YAML between two lines ``---`` at the top of a task file, with the line of every key.  Pure.

Nothing is constructed: PyYAML only cuts the text into events, and the few types that task files need
are told from these.  Aliases, anchors, tags and several documents are refused, and so is what is large or
deep, so that no text can grow when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SIZE = 65_536
"""Characters of a frontmatter."""
MAX_DEPTH = 8
MAX_NODES = 2_000
_FENCE = re.compile(r"---[ \t]*\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_REAL = re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{1,18}")
_WORDS: Mapping[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Front:
    """A text cut into frontmatter and body; lines count from 1 and are those of the whole text."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """Strings, whole numbers, reals, true, false, None, lists and mappings of these."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """``key`` and ``key/<index>`` -> line."""
    body: str = ""
    body_line: int = 1
    """The line that the body begins in."""
    there: bool = False
    """Whether there is a frontmatter at all."""
    faults: tuple[tuple[str, int, str], ...] = ()
    """Code, line and text of what is wrong: ``bad-yaml``, ``yaml-alias``, ``yaml-tag``, ``too-large``,
    ``too-deep``, ``duplicate-key``, ``unclosed-frontmatter``."""


class _RefusedError(Exception):
    def __init__(self, code: str, line: int, text: str) -> None:
        super().__init__(text)
        self.fault = (code, line, text)


def read(text: str) -> Front:
    """Cut a text (line ends ``\\n``) into frontmatter and body; never raises.

    Where the frontmatter is refused, ``values`` holds nothing and ``faults`` says why.
    """
    opening = _FENCE.match(text)
    if not opening:
        return Front(body=text)
    closing = _END.search(text, opening.end())
    if not closing:
        fault = ("unclosed-frontmatter", 1, "the frontmatter is not closed by a line '---'")
        return Front(there=True, faults=(fault,))
    inner = text[opening.end() : closing.start()]
    body, body_line = text[closing.end() :], text.count("\n", 0, closing.end()) + 1
    if len(inner) > MAX_SIZE:
        told = f"the frontmatter has {len(inner)} characters, at most {MAX_SIZE}"
        return Front({}, {}, body, body_line, True, (("too-large", 2, told),))
    try:
        values, lines, faults = _values(inner)
    except _RefusedError as refused:
        return Front({}, {}, body, body_line, True, (refused.fault,))
    return Front(values, lines, body, body_line, True, tuple(faults))


def _values(inner: str) -> tuple[dict[str, Any], dict[str, int], list[tuple[str, int, str]]]:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # 20 times as fast, where it is there
    builder = _Builder()
    try:
        builder.take(yaml.parse(inner, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = mark.line + 2 if mark else 2
        said = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        raise _RefusedError("bad-yaml", line, f"the frontmatter is not YAML: {said}") from error
    if builder.root is None:
        return {}, {}, builder.faults
    if not isinstance(builder.root, dict):
        raise _RefusedError("bad-yaml", 2, "the frontmatter is not a list of 'key: value' lines")
    return builder.root, builder.lines, builder.faults


class _Builder:
    """Makes plain values of YAML events, without recursion."""

    def __init__(self) -> None:
        self.root: Any = None
        self.lines: dict[str, int] = {}
        self.faults: list[tuple[str, int, str]] = []
        self._open: list[tuple[Any, str]] = []
        self._key: list[str | None] = []
        self._count = 0
        self._documents = 0

    def take(self, events: Iterable[Any]) -> None:
        """Go through all events; ``_RefusedError`` for what is not taken."""
        for event in events:
            kind = type(event).__name__.removesuffix("Event")
            line = event.start_mark.line + 2
            self._refuse(kind, event, line)
            if kind == "Scalar":
                self._scalar(event, line)
            elif kind in ("MappingStart", "SequenceStart"):
                self._begin({} if kind == "MappingStart" else [], line)
            elif kind in ("MappingEnd", "SequenceEnd"):
                self._open.pop()
                self._key.pop()

    def _refuse(self, kind: str, event: Any, line: int) -> None:
        self._count += 1
        self._documents += kind == "DocumentStart"
        if kind == "Alias" or getattr(event, "anchor", None):
            raise _RefusedError("yaml-alias", line, "anchors and aliases are not taken: write the value out")
        if getattr(event, "tag", None):
            raise _RefusedError("yaml-tag", line, f"tags are not taken: {str(event.tag)[:60]!r}")
        if self._count > MAX_NODES:
            raise _RefusedError("too-large", line, f"the frontmatter has more than {MAX_NODES} parts")
        if self._documents > 1:
            raise _RefusedError("bad-yaml", line, "the frontmatter holds a second document")

    def _scalar(self, event: Any, line: int) -> None:
        text = event.value
        if self._open and isinstance(self._open[-1][0], dict) and self._key[-1] is None:
            self._new_key(text, line)
            return
        plain = event.style is None or event.style == ""
        self._put(_plain(text) if plain else text, line)

    def _new_key(self, key: str, line: int) -> None:
        held, above = self._open[-1]
        if key in held:
            self.faults.append(("duplicate-key", line, f"the key {key[:60]!r} stands more than once"))
        self._key[-1] = key
        self.lines.setdefault(f"{above}{key}", line)

    def _begin(self, value: Any, line: int) -> None:
        if self._open and isinstance(self._open[-1][0], dict) and self._key[-1] is None:
            raise _RefusedError("bad-yaml", line, "a key must be one word")
        if len(self._open) >= MAX_DEPTH:
            raise _RefusedError("too-deep", line, f"the frontmatter nests more than {MAX_DEPTH} deep")
        where = self._put(value, line)
        self._open.append((value, f"{where}/" if where else ""))
        self._key.append(None)

    def _put(self, value: Any, line: int) -> str:
        """Put a value where it belongs; its place."""
        if not self._open:
            self.root = value
            return ""
        held, above = self._open[-1]
        if isinstance(held, list):
            held.append(value)
            where = f"{above}{len(held) - 1}"
            self.lines.setdefault(where, line)
            return where
        key = self._key[-1] or ""
        held.setdefault(key, value)
        self._key[-1] = None
        return f"{above}{key}"


def _plain(text: str) -> Any:
    """An unquoted word: YAML 1.2's numbers, true, false and null, and nothing more.

    YAML 1.1 also makes ``no``, ``on``, ``012``, ``1:30`` and ``2025-01-01`` something else than they look.
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
