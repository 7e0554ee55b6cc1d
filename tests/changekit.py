"""Two versions of a few files and the change between them, without git."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from prun_review.change import Change, FileChange, Hunk
from prun_review.grounding import ground
from prun_review.model import ChangedFile, Finding
from prun_review.placement import place
from prun_review.ports import Missing

Files = Mapping[str, str]


def hunks(old: Sequence[str], new: Sequence[str]) -> tuple[Hunk, ...]:
    """What a diff with three lines of context shows."""
    made = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines = []
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [" " + line for line in old[a:b]]
            else:
                lines += ["-" + line for line in old[a:b]] + ["+" + line for line in new[c:d]]
        a, b, c, d = group[0][1], group[-1][2], group[0][3], group[-1][4]
        made.append(Hunk(a + (b > a), b - a, c + (d > c), d - c, tuple(lines)))
    return tuple(made)


class Two:
    """Base and head, as texts by name."""

    def __init__(
        self, old: Files, new: Files, *, renamed: Files | None = None, kinds: Files | None = None
    ) -> None:
        renamed, kinds = renamed or {}, kinds or {}  # new name -> old name; name -> kind
        self.old = {name: tuple(text.split("\n")) for name, text in old.items()}
        self.new = {name: tuple(text.split("\n")) for name, text in new.items()}
        files = []
        gone = set(renamed.values())
        for name in sorted({*new, *kinds, *(set(old) - gone)}):
            before = renamed.get(name, name)
            was = None if before in gone and name not in renamed else self.old.get(before)
            now = self.new.get(name)
            kind = kinds.get(name, "text")
            if was == now and before == name and kind == "text":
                continue
            status = "renamed" if before != name else "modified"
            if kind == "text" and (was is None or now is None):
                status = "added" if was is None else "deleted"
            record = ChangedFile(name, "" if status == "added" else before, status, kind)
            shown = hunks(was or (), now or ()) if kind == "text" else ()
            files.append(FileChange(record, shown))
        self.unread = {name for name, kind in kinds.items() if kind not in ("text", "mode")}
        self.change = Change(tuple(files))

    def read(self, path: str) -> tuple[str, ...] | Missing:
        """The head."""
        return Missing("no text") if path in self.unread else self.new.get(path) or Missing("no such file")

    def read_base(self, path: str) -> tuple[str, ...] | Missing:
        """The base."""
        return Missing("no text") if path in self.unread else self.old.get(path) or Missing("no such file")

    @property
    def trees(self) -> dict[str, Any]:
        """What grounding and judging want to know."""
        return {
            "names": {*self.new, *self.unread},
            "change": self.change,
            "read_base": self.read_base,
            "base_names": {*self.old, *self.unread},
        }

    def grounded(self, **fields: Any) -> Finding:
        """One finding against both."""
        prefixes = ("/snap",)
        (found,) = ground(
            [Finding("t", **fields)], self.read, prefixes=prefixes, beside="/beside", **self.trees
        )
        return found

    def placed(self, **fields: Any) -> Finding:
        """One finding, grounded and placed."""
        found = self.grounded(**fields)
        (found,) = place([found], self.change, read=self.read, read_base=self.read_base)
        return found
