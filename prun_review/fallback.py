"""The FALLBACK: what a dispatcher leaves where a worker wrote no result, and how it is told apart."""

from __future__ import annotations

from prun_review.payload import is_fallback

MARK = "result (FALLBACK, worker wrote no result file)"
"""Stands on line 1 of every FALLBACK of the prun scripts."""


def header(unit: str, reaped: str = "") -> str:
    """The five header lines and the empty one; the raw output of the worker follows.

    ``reaped`` is the reason for which the dispatcher ended the worker, or empty.
    """
    missing = "structured result missing, raw worker output"
    open_items = "worker did not write its result file"
    verification = "salvaged by dispatch-task, not by the worker"
    if reaped:
        open_items = f"worker was reaped by dispatch-task ({reaped})"
        missing = f"{open_items} before writing a result; raw worker output"
        verification = "worker reaped by dispatch-task; tail salvaged by dispatch-task"
    return (
        f"# {unit} {MARK}\n"
        f"Conclusion: INCOMPLETE; {missing} salvaged from the dispatch tail below.\n"
        "Files: unknown\n"
        f"Open items: {open_items}; review the raw output below or re-dispatch this unit.\n"
        f"Verification: none ({verification})\n"
        "\n"
    )


def recognised(result: str) -> bool:
    """True where line 1 of a result says FALLBACK; what the rest of it says does not matter."""
    line = result.split("\n", 1)[0]
    return MARK in line or is_fallback(line)
