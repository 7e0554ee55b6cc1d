"""What stands behind answers: the web pages they name and the texts of prose answers, no escaping.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prun_review.model import Source
from prun_review.renderers.view import rows, voice
from prun_review.sources import answer, blocked
from prun_review.words import number

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fetched:
    """One web page that an answer names."""

    case: str
    voice: str
    """Executor, with the repeat where there is more than one."""
    blocked: bool
    """The page did not come."""
    status: str
    """HTTP status, or ``no answer``."""
    url: str
    via: str
    """The tool or service that fetched it; empty where it is not said."""


def pages(document: Document) -> list[Fetched]:
    """Every page of every answer in plan order, the blocked ones first."""
    found = [
        Fetched(unit["case"], voice(unit), blocked(source), answer(source.status), source.url, source.via)
        for unit in rows(document, "units")
        for source in (Source(**fields) for fields in unit.get("sources") or ())
    ]
    return sorted(found, key=lambda page: not page.blocked)


def pages_line(found: list[Fetched]) -> str:
    """``2 of 5 pages blocked``."""
    stopped = sum(page.blocked for page in found)
    return f"{stopped or 'none'} of {number(len(found), 'page')} blocked"


def texts(document: Document) -> list[dict[str, Any]]:
    """The units that have a prose answer, in plan order."""
    return [unit for unit in rows(document, "units") if unit.get("text") is not None]


def speaker(unit: Mapping[str, Any]) -> str:
    """Who wrote a prose answer, and that it is not to be relied on where it broke its contract."""
    return voice(unit) + ("" if unit["status"] == "valid" else f" ({unit['status']})")
