"""What the readers of analyser reports share: strict JSON, careful look-ups, and the finding made.

A report is foreign data.  What is not strict JSON of the expected outline is a ``ValueError`` that
names the place; inside a result whatever has the wrong type counts as absent, and no result is
dropped for it.  Severity, category and lineage come from :mod:`prun_review.executors.rules`.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prun_review.executors.rules import Kind, kind_of, lineage_of, override
from prun_review.model import Finding

MAX_REPORT = 64 << 20
"""Bytes of a report that are parsed."""
MAX_RESULTS = 50_000
"""Results of a report: twice what GitHub takes of a SARIF run."""
_TITLE, _DETAIL, _QUOTE = 240, 2000, 1200
_MAX_LINE = 10_000_000
UNKNOWN = Kind("", "medium", "other")


@dataclass(frozen=True, slots=True)
class Context:
    """What a reader must know beside the bytes."""

    roots: tuple[str, ...] = ()
    """Absolute directories that the tool saw as the tree: paths below one become relative to it."""
    names: Mapping[str, str] = field(default_factory=dict)
    """File as the tool spells it -> as the tree does, where they differ."""
    severities: Mapping[str, str] = field(default_factory=dict)
    """Severity by rule prefix, from the configuration."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says."""

    findings: tuple[Finding, ...]
    """Everything reported, what is marked as suppressed included."""
    suppressed: frozenset[int] = frozenset()
    """Indices of the findings that the report itself marks as suppressed."""
    failures: tuple[str, ...] = ()
    """What the tool could not do: files it could not read, its own crashes."""
    scanned: frozenset[str] | None = None
    """The files that it went through, where it says so."""


def strict_json(data: bytes) -> Any:
    """The JSON value in ``data``; ``ValueError`` for duplicate keys, NaN, depth bombs and the like."""
    if len(data) > MAX_REPORT:
        raise ValueError(f"longer than {MAX_REPORT} bytes")
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("not strict JSON: nested too deeply") from None
    except ValueError as e:
        raise ValueError(f"not strict JSON: {e}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return made


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def finding_of(
    *,
    tool: str,
    rule: str,
    name: str,
    message: str,
    file: str | None,
    line: int | None,
    end_line: int | None,
    quote: str | None,
    severities: Mapping[str, str],
    otherwise: Kind,
) -> Finding:
    """The finding that a result of ``tool`` says; ``otherwise``: for rules that no table knows.

    The title is the tool's message and the rule's name, the first sentence of the detail the kind
    of defect in our words: the same words whoever reports it.
    """
    tool, rule, name = (" ".join(clean(word).split())[:80].strip() for word in (tool, rule, name))
    kind = kind_of(tool, rule) or otherwise
    without = f"{tool} reports {rule or 'a result without a message'}"
    said = " ".join(clean(message).split()) or without
    title = said[:_TITLE].rstrip(" .") or without
    if name not in ("", title, "blacklist"):  # bandit's name of forty rules that have their own ids
        title = f"{title} ({name})"
    first = kind.phrase[:1].upper() + kind.phrase[1:] + "." if kind.phrase else said
    return Finding(
        title=title,
        detail=f"{first[:_DETAIL]}\n{tool}: {rule}" + (f" {name}" if name else ""),
        file=file,
        line=line,
        end_line=end_line,
        severity=override(severities, rule) or kind.severity,
        category=kind.category,
        quote=clean(quote[:_QUOTE]).rstrip() if quote and quote.strip() else None,
        rule=rule or None,
        lineage=lineage_of(tool, rule),
    )


def clean(text: str) -> str:
    """Text that can be written as UTF-8: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def at(value: Any, *keys: str | int) -> Any:
    """The item at a path of keys and indices; None where there is nothing such."""
    for key in keys:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def list_at(value: Any, key: str, place: str) -> list[Any]:
    """A list of objects that must be there: without it the tool did not finish its work."""
    found = at(value, key)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ValueError(f"{place} is not a list of objects")
    return found


def text_of(value: Any) -> str | None:
    """A string that says something, or None."""
    return value if isinstance(value, str) and value.strip() else None


def lines_of(first: Any, last: Any) -> tuple[int | None, int | None]:
    """First and last line as far as they are possible ones; the last is at least the first."""
    line = first if type(first) is int and 1 <= first <= _MAX_LINE else None
    if line is None:
        return None, None
    return line, last if type(last) is int and line <= last <= _MAX_LINE else line


def relative(path: str, context: Context) -> str:
    """A path as the tree spells it, where it lies in the tree; normalised otherwise."""
    path = path.replace("\\", "/")
    if path.startswith("/"):
        path = posixpath.normpath(path).replace("//", "/", 1)
        for root in context.roots:
            if path.startswith(root.rstrip("/") + "/"):
                path = path[len(root.rstrip("/")) + 1 :]
                break
    else:
        path = posixpath.normpath(path)
    return context.names.get(path, path)
