"""Lines that look alike because a secret is masked in both, told apart in a diff.  Pure.

A reviewer never sees what is masked, and has to see that such a line is not the one that it was: else an
edit of any other line would carry an edit of masked text past everybody.  So a mark with a hash of the
whole line stands behind each masked line while git compares, and is taken away again.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from prun_review.change import Hunk
from prun_review.patch import Section

START = "\x1f"
"""What a mark starts with: git may cut a line short that it shows above a hunk."""
ALIKE = "lines that look alike differ in what is masked"


def marked(shown: bytes, raw: bytes, mark: bytes) -> bytes:
    """What is shown of a file, with ``mark`` and a hash behind each line of which something is masked.

    ``mark`` starts with :data:`START`, and nobody who wrote the file can know it.
    """
    lines, real = shown.split(b"\n"), raw.split(b"\n")
    if len(lines) != len(real):  # no telling which line is which, so all may be others
        real = [raw] * len(lines)
    return b"\n".join(
        line if line == whole else _behind(line, mark + hashlib.sha256(whole).hexdigest().encode())
        for line, whole in zip(lines, real, strict=True)
    )


def _behind(line: bytes, text: bytes) -> bytes:
    plain = line.removesuffix(b"\r")
    return plain + text + line[len(plain) :]


def cleared(section: Section, mark: str) -> Section:
    """The section without marks; its note says where lines look alike now."""
    lines = {line for hunk in section.hunks for line in hunk.lines}
    gone, come = ({line[1:] for line in lines if line[0] == sign} for sign in "-+")
    # Of each look those that are not on the other side as well.
    looks = [{line.partition(mark)[0] for line in one - other} for one, other in ((gone, come), (come, gone))]
    note = ALIKE if looks[0] & looks[1] else ""
    hunks = tuple(_without(hunk, mark) for hunk in section.hunks)
    return replace(section, hunks=hunks, note="; ".join(filter(None, (section.note, note))))


def _without(hunk: Hunk, mark: str) -> Hunk:
    lines = tuple(line.partition(mark)[0] for line in hunk.lines)
    return replace(hunk, lines=lines, section=hunk.section.partition(START)[0])
