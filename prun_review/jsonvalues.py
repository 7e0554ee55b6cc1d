"""Values as a JSON document can carry them; pure."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clean(value: Any) -> Any:
    """Without what JSON or UTF-8 cannot carry: a lone surrogate loses a report on its way."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("�", value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {clean(k): clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [clean(v) for v in value]
    return value
