"""Path patterns: ``*`` and ``?`` within a name, ``**`` over folders, ``[...]``; pure.

A pattern also names a file literally (``app/[id]/page.tsx``), and one whose last part has no wildcard
may name a folder (``src``, ``packages/*/src``): then everything below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from prun_review.errors import BriefError


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path matches one of the patterns; ``BriefError`` for one that leaves the tree."""
    compiled = [(_checked(p), _regex(_checked(p))) for p in patterns]

    def matches(name: str) -> bool:
        return any(name == p or name.startswith(p + "/") or regex.fullmatch(name) for p, regex in compiled)

    return matches


def _checked(pattern: str) -> str:
    """The pattern without ``./`` and trailing slashes."""
    parts = [p for p in pattern.split("/") if p not in ("", ".")]
    if pattern.startswith(("/", "~")) or ".." in parts or "\0" in pattern:
        raise BriefError(
            f"the pattern {pattern!r} leaves the reviewed tree",
            remedy="write it relative to the root of the reviewed tree, without '..'",
        )
    if not parts:
        raise BriefError(
            f"the pattern {pattern!r} names nothing",
            remedy="leave reads out for the whole tree, or write '**'",
        )
    return "/".join(parts)


@lru_cache(512)
def _regex(pattern: str) -> re.Pattern[str]:
    """``**`` as a whole part is any number of folders; at the end, everything below."""
    out = []
    parts = pattern.split("/")
    for n, part in enumerate(parts):
        last = n == len(parts) - 1
        if part == "**":
            out.append(".+" if last else "(?:[^/]+/)*")
        else:
            out.append(_part(part) + ("" if last else "/"))
    below = "" if set("*?[") & set(parts[-1]) else "(?:/.*)?"
    try:
        return re.compile("".join(out) + below, re.DOTALL)
    except re.error as error:
        raise BriefError(
            f"the pattern {pattern!r} is malformed: {error}",
            remedy="write a set of characters as [abc] or [!abc]",
        ) from error


def _part(part: str) -> str:
    out, at = [], 0
    part = re.sub(r"\*+", "*", part)  # "***" would make the expression try every split of a name
    while at < len(part):
        end = part.find("]", at + (3 if part[at + 1 : at + 2] == "!" else 2)) if part[at] == "[" else -1
        if part[at] == "*":
            out.append("[^/]*")
        elif part[at] == "?":
            out.append("[^/]")
        elif end > 0:
            inner = re.sub(r"([\\\[\]&~|^])", r"\\\1", part[at + 1 : end].removeprefix("!"))
            inner = inner.replace("--", r"-\-")  # else a "set difference" that Python warns of
            out.append(f"(?!/)[{'^' if part[at + 1] == '!' else ''}{inner}]")
            at = end
        else:
            out.append(re.escape(part[at]))
        at += 1
    return "".join(out)
