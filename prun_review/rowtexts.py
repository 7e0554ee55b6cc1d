"""Documents with many rows of which few change, as the JSON text that a run directory keeps; pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from prun_review import masking


class RowTexts:
    """Remembers the texts of rows: one of 200 tasks costs 0.1 s of CPU to write out whole.

    A row is known by being the same object, so nobody may change one that was handed in.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}
        """Text by the id of its row, which is kept, so that no other object gets its id."""
        self._secrets: Collection[str] = frozenset()

    def __call__(self, document: Mapping[str, Any], rows: str, secrets: Collection[str]) -> bytes:
        """The same bytes as without remembering; ``rows`` is the key of the list, at the top level."""
        if secrets != self._secrets:
            self._known, self._secrets = {}, secrets
        parts = [
            f"{json.dumps(masking.mask(key, secrets))}: "
            + (self._listed(value) if key == rows else _deeper(_text(masking.masked(value, secrets))))
            for key, value in document.items()
        ]
        return ("{\n " + ",\n ".join(parts) + "\n}\n").encode()

    def _listed(self, rows: Sequence[object]) -> str:
        known, self._known = self._known, {}
        for row in rows:
            told = known.get(id(row)) or (row, _deeper(_deeper(_text(masking.masked(row, self._secrets)))))
            self._known[id(row)] = told
        texts = [self._known[id(row)][1] for row in rows]
        return "[\n  " + ",\n  ".join(texts) + "\n ]" if texts else "[]"


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, allow_nan=False)


def _deeper(text: str) -> str:
    """One level further in: line feeds stand between values only, those of strings are escaped."""
    return text.replace("\n", "\n ")
