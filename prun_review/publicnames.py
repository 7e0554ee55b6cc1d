"""Names of files as text that is safe to print, to send and to write; pure."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from urllib.parse import quote_from_bytes

NAME_MAX, PATH_MAX = 255, 3500
"""Bytes of a part and of a whole path that can be written below any directory of ours."""
CUT, SUFFIX_MAX = 120, 20
"""Bytes of a shortened name, and of a suffix that it keeps."""
LEVELS = 100
"""Folders above a file; paths are walked by functions that call themselves."""
AROUND, COMPARED = 100, 400
"""Names before and after a wanted one that it is compared with, and characters of one that may be."""
NAMED = 5
"""Paths named in one note; the rest is counted."""


def fitting(name: str) -> str:
    """``name`` such that it can be written: what is too long ends in a hash of the whole of it.

    Escaping makes names longer, and a file must not get out of a review by what it is called.
    """
    parts = [_cut(part) if len(part.encode()) > NAME_MAX else part for part in name.split("/")]
    if len(parts) > LEVELS + 1 or len("/".join(parts).encode()) > PATH_MAX:
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


def apart(name: str, files: Collection[str], folders: Collection[str]) -> str:
    """``name``, changed such that it is none of these files or folders, and lies below no file."""
    while clash := _clash(name, files, folders):
        name = fitting(f"{clash}~{name[len(clash) :]}")
    return name


def _clash(name: str, files: Collection[str], folders: Collection[str]) -> str:
    """The name or the folder above it that stands in the way; empty where none does."""
    if name in files or name in folders:
        return name
    above = folders_of(name, folders)
    return next((folder for folder in above if folder in files), "")


def folders_of(name: str, known: Collection[str] = ()) -> list[str]:
    """The folders above a file, lowest first, up to the first that is ``known``."""
    found = []
    while (name := name.rpartition("/")[0]) and name not in known:
        found.append(name)
    return found


def around(wanted: str, names: Sequence[str]) -> list[str]:
    """The neighbours that ``wanted`` has, or would have, among sorted ``names``; none that is very long."""
    at = bisect_left(names, wanted)
    return [name for name in names[max(0, at - AROUND) : at + AROUND] if len(name) <= COMPARED]


def nearest(wanted: str, names: Sequence[str], least: float) -> str:
    """The name among sorted ``names`` that is most like a wanted one; empty where none is ``least`` (0 to
    1) alike.

    Cheap, and bounded whatever they are: who writes ``wanted`` or the names may want the search to last.
    So only neighbours in the order are looked at, which are all where there are few.
    """
    if len(wanted) > COMPARED:
        return ""
    found = max(((_likeness(wanted, name), name) for name in around(wanted, names)), default=(0.0, ""))
    return found[1] if found[0] >= least else ""


def _likeness(one: str, other: str) -> float:
    """The part of two texts that they begin and end with in common."""
    start = _common(one, other)
    end = _common(one[start:][::-1], other[start:][::-1])
    return 2 * (start + end) / max(1, len(one) + len(other))


def _common(one: str, other: str) -> int:
    """Length of what two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def few(names: Iterable[str]) -> str:
    """The first names in order, and how many more there are."""
    ordered = sorted(names)
    more = len(ordered) - NAMED
    return ", ".join(ordered[:NAMED]) + (f" and {more} more" if more > 0 else "")
