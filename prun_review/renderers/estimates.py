"""Numbers with what they are worth, in words: ``0.52 (95 % 0.20 to 0.80, n = 12)``, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

NO_REASON = "no reason recorded"


def why(text: str) -> str:
    """The reason without its heading, which stands before it anyway."""
    return text.removeprefix("not estimable: ") or NO_REASON


def interval(name: str, bounds: Sequence[float] | None, why_not: str) -> str:
    """``PSA 0.50-0.67``, or ``PSA not estimable: because``."""
    if not bounds:
        return f"{name} not estimable: {why(why_not)}"
    low, high = bounds
    return f"{name} {low:.2f}-{high:.2f}" if f"{low:.2f}" != f"{high:.2f}" else f"{name} {low:.2f}"


def share(row: Row) -> str:
    """``8 of 12 (95 % Wilson 0.39-0.86)``; ``8 to 9 of 12`` while pairs are uncertain."""
    most = row.get("k_most", row["k"])
    counted = f"{row['k']} to {most}" if most != row["k"] else f"{row['k']}"
    known = interval("95 % Wilson", row["wilson"], row["why_not"]) if row["wilson"] else why(row["why_not"])
    return f"{counted} of {row['n']} ({known})"


def estimate(name: str, row: Row) -> str:
    """``AC1 0.52 (95 % 0.20 to 0.80, n = 12)``, ``AC1 not estimable: because (n = 3)``."""
    if row["value"] is None:
        return f"{name} not estimable: {why(row['why_not'])} (n = {row['n']})"
    return f"{name} {row['value']:.2f}{chance(row)}"


def chance(row: Row) -> str:
    """`` (95 % 0.20 to 0.80, n = 12)``: the interval behind an estimate, or why it has none."""
    if not row["interval"]:
        return f" (n = {row['n']}; no interval: {why(row['why_not'])})"
    low, high = row["interval"]
    return f" (95 % {low:.2f} to {high:.2f}, n = {row['n']})"
