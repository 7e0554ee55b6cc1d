"""Names of files as text that is safe to print, to send and to write; pure."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from urllib.parse import quote_from_bytes

NAME_MAX, PATH_MAX = 255, 3500
"""Bytes of a part and of a whole path that can be written below any directory of ours."""
CUT, SUFFIX_MAX = 120, 20
"""Bytes of a shortened name, and of a suffix that it keeps."""
NAMED = 5
"""Paths named in one note; the rest is counted."""


def fitting(name: str) -> str:
    """``name`` such that it can be written: what is too long ends in a hash of the whole of it.

    Escaping makes names longer, and a file must not get out of a review by what it is called.
    """
    parts = [_cut(part) if len(part.encode()) > NAME_MAX else part for part in name.split("/")]
    if len("/".join(parts).encode()) > PATH_MAX:
        parts = [_cut("/".join(parts[:-1])).replace("/", "~"), parts[-1]]
    return "/".join(parts)


def _cut(text: str) -> str:
    """The start and the suffix of a long text, and a hash of all of it, in at most 120 bytes."""
    suffix = os.path.splitext(text)[1].encode()
    tail = f"~{hashlib.sha256(text.encode()).hexdigest()[:16]}".encode()
    tail += suffix if len(suffix) <= SUFFIX_MAX else b""
    return (text.encode()[: CUT - len(tail)] + tail).decode(errors="ignore")


def named(raw: bytes) -> str:
    """The public name of a path, such that it can be written."""
    return fitting(public_name(raw))


def public_name(raw: bytes) -> str:
    """A path as text that is safe to print, to send and to write on any file system.

    Bytes that are not UTF-8, backslashes and what does not print (line ends, escapes, bidirectional
    marks) become ``%XX``; all other names stay as they are.
    """
    text = raw.decode("utf-8", errors="surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(
        c
        if c.isprintable() and c != "\\"
        else quote_from_bytes(c.encode("utf-8", errors="surrogateescape"), safe=b"")
        for c in text
    )


def few(names: Iterable[str]) -> str:
    """The first names in order, and how many more there are."""
    ordered = sorted(names)
    more = len(ordered) - NAMED
    return ", ".join(ordered[:NAMED]) + (f" and {more} more" if more > 0 else "")
