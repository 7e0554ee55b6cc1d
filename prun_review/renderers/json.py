"""The run document as JSON: ASCII only, in the document's own order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class Json:
    """The renderer ``json``."""

    name = "json"
    suffix = ".json"

    def __call__(self, document: Mapping[str, Any]) -> str:
        return dumps(document)


def dumps(value: Any) -> str:
    """``value`` as indented ASCII JSON with a line feed at the end; ``ValueError`` for NaN.

    ``##`` is written with one ``#`` as an escape: the value stays the same, and no CI runner finds
    a workflow command when the text passes through a job log.
    """
    text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("##", "#\\u0023") + "\n"
