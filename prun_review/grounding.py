"""Findings against the reviewed tree: the quote decides, the line number only helps.

Reviewers count lines by hand and are off by a few; what they quote is in the file or it is not.

=============  ==================================================================================
``exact``      the quote stands at the line (or stands only once, where no line was given)
``moved``      the quote stands elsewhere in the file; the line was corrected, the note says so
``line-only``  the file has such a line, but nothing was quoted: weaker than a quote
``unlocated``  no file, or a file without line and quote: nothing to check
``ungrounded`` the tree was looked at and does not hold it: shown, never agreed with
=============  ==================================================================================

What counts as a quote is told in :mod:`prun_review.quotes`.

In a change there are two trees, and a quote is searched on the side that the finding names, then on the
other: ``old`` is the base at the old path.  A path below the pre-images names the old side, and the old
name of a renamed file means both.  Of several places the one at the line is taken; else the nearest that
the change touches, before the nearest.  ``side`` then says where file, line and quote belong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from prun_review.located import Tree, clamped, joined, nowhere, readings, shifted, told, too_short
from prun_review.model import Finding, Findings
from prun_review.paths import Names, line_suffix, normalise_path
from prun_review.quotes import Needle, Source, needles
from prun_review.sides import Sides, ground_in_change
from prun_review.words import number

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.change import Change
    from prun_review.ports import Reader


def ground(
    findings: Iterable[Finding],
    read: Reader,
    *,
    names: Collection[str] | None = None,
    prefixes: Sequence[str] = (),
    change: Change | None = None,
    read_base: Reader | None = None,
    base_names: Collection[str] | None = None,
    beside: str = "",
) -> Findings:
    """The same findings, in the same order, each with ``grounding``, ``note`` and a corrected place.

    ``names`` are the tree's regular files: with them a path is trusted only if it is one of them,
    and case differences and shortened paths are resolved.  ``prefixes`` are directories that
    reviewers may put before a path (snapshot, clone).

    With ``change`` (and ``read_base``, ``base_names`` for its merge base) also ``side`` and the spelling
    of ``cause`` are settled.  ``beside`` is the directory that holds the pre-images below ``base/``.
    """
    tree = Tree(read, Names(names) if names is not None else None, tuple(prefixes))
    if change is None or read_base is None:
        return Findings(_ground(finding, tree) for finding in findings)
    base = Tree(read_base, Names(base_names) if base_names is not None else None, tuple(prefixes))
    sides = Sides(tree, base, change, beside)
    return Findings(ground_in_change(finding, sides) for finding in findings)


def _ground(finding: Finding, tree: Tree) -> Finding:
    written = finding.file or ""
    if not written.strip():
        return nowhere(finding)
    wanted = needles(finding.quote)
    why = tree.resolve(written)
    for path, line, note in readings(written):
        found = tree.resolve(path)
        if not isinstance(found, str):
            known = replace(
                finding, file=found[0], line=finding.line or line, note=joined(finding.note, note)
            )
            return _place(known, found[1], wanted)
    guess = tree.guess(line_suffix(written)[0])
    if guess and any(needle.new in guess[1].text for needle in wanted):
        known = replace(finding, file=guess[0], note=joined(finding.note, f"file was {written!r}"))
        return _place(known, guess[1], wanted)
    plain = normalise_path(written, prefixes=tree.prefixes) or written
    return told(replace(finding, file=plain), "ungrounded", f"cannot look into {plain!r}: {why}")


def _place(finding: Finding, source: Source, wanted: Sequence[Needle]) -> Finding:
    """Ground a finding whose file is there."""
    line = finding.line
    if not wanted:
        short = too_short(finding)
        if line is None:
            return told(replace(finding, end_line=None), "unlocated", short)
        if not 1 <= line <= source.count:
            beyond = f"line {line} is beyond the end of the file ({number(source.count, 'line')})"
            return told(finding, "ungrounded", joined(short, beyond))
        return told(clamped(finding, source), "line-only", short)
    needle = next((n.new for n in wanted if n.new in source.text), "")
    span = source.nearest(needle, line if line is not None else 1) if needle else None
    if span is None:
        return told(finding, "ungrounded", f"the quote is not in {finding.file}")
    if line is None:
        many = source.text.count(needle)
        note = f"no line was given; the first of {many} places" if many > 1 else ""
        return told(shifted(finding, span, source), "moved" if many > 1 else "exact", note)
    if span[0] <= max(line, finding.end_line or line) and line <= span[1]:
        return told(clamped(finding, source), "exact", "")
    return told(shifted(finding, span, source), "moved", f"moved from line {line} to where the quote stands")
