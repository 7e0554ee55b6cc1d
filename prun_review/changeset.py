"""What differs between two taken trees, as reviewers may see it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from prun_review import maskedlines, patch
from prun_review.altering import Altered
from prun_review.change import READABLE, Change, FileChange
from prun_review.git import GITLINK, LINK, Entry
from prun_review.model import ChangedFile
from prun_review.publicnames import fitting, named
from prun_review.shadow import Shadow, batches
from prun_review.shown import WITHHELD, Screen, Shown
from prun_review.taken import Listing

SNIFF = 8000
"""Bytes searched for NUL to tell binary files, as git does."""
SHOWN_CAP = 4 << 20
"""Bytes above which a file's lines are not shown: no prompt holds them."""
POINTER, POINTER_MAX = b"version https://git-lfs.github.com/spec/v1\n", 1024
"""How an LFS pointer starts, and bytes that it has at most."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two trees."""

    prefix: bytes
    """The folder under review, relative to the root of its work tree."""
    listing: Listing
    entries: Mapping[str, Entry]
    """Files as they were taken, by public name."""
    shown: Shown

    def excluded(self) -> dict[bytes, Entry]:
        """What the selection leaves out of the folder, by name relative to it."""
        cut = len(self.prefix)
        watched = self.listing.watched.items()
        return {name[cut:]: e for name, e in watched if name.startswith(self.prefix)}

    def all(self) -> dict[bytes, _File]:
        """All that is under review, submodules too, by name relative to the folder."""
        cut = len(self.prefix)
        shown = self.shown.entries
        found = {e.name: _File(name, e, shown.get(name, e).sha) for name, e in self.entries.items()}
        for name, entry in {**self.listing.wanted, **self.listing.submodules}.items():
            if name[cut:] not in found:
                found[name[cut:]] = _File(self.shown.public(named(name[cut:])), entry, entry.sha)
        return found


@dataclass(frozen=True, slots=True)
class _File:
    """A file of one side."""

    name: str
    """Its public name."""
    entry: Entry
    """As it was taken; without a size where its content is not here."""
    shown: str
    """Id of what reviewers see of it."""


@dataclass(frozen=True, slots=True)
class _Moved:
    """A file on both sides; None where it is not."""

    old: _File | None
    new: _File | None
    kind: str = "text"
    note: str = ""

    @property
    def files(self) -> tuple[_File, ...]:
        """Those that there are."""
        return tuple(f for f in (self.old, self.new) if f)

    @property
    def masked(self) -> bool:
        """Something of it is not shown."""
        return any(f.shown != f.entry.sha for f in self.files)

    @property
    def edited(self) -> bool:
        """The content is not the same."""
        return len({f.entry.sha for f in self.files}) > 1 or len(self.files) == 1

    @property
    def renamed(self) -> bool:
        """It has two names."""
        return len({f.entry.name for f in self.files}) > 1


def compare(shadow: Shadow, old: Side, new: Side, screen: Screen) -> Change:
    """The change between two trees, as reviewers may see it."""
    moved = _moved(shadow, old.all(), new.all(), screen)
    pointers, binaries = _pointers(shadow, moved), _binaries(shadow, moved)
    moved = [_hidden(_kind(one, pointers, binaries, screen)) for one in moved]
    sections = _sections(shadow, {n: m for n, m in enumerate(moved) if m.kind in READABLE and m.edited})
    files = [_change(one, sections.get(n)) for n, one in enumerate(moved)]
    return Change(tuple(sorted(files, key=lambda f: f.path)))


def with_excluded(
    change: Change, old: Side, new: Side, altered: Altered, leaves_out: Callable[[bytes], str]
) -> Change:
    """The change together with what differs of files that are no part of the reviewed tree.

    Nothing of their content is shown.  What changes the review is told elsewhere.  ``leaves_out`` says by
    which pattern a name is excluded.
    """
    was, now = old.excluded(), new.excluded()
    used = {name for file in change.files for name in (file.path, file.old_path)}
    files = list(change.files)
    for raw in sorted({*was, *now}):
        before, after = was.get(raw), now.get(raw)
        told = old.prefix + raw in altered.gone or new.prefix + raw in altered.there
        if told or _identity(before) == _identity(after):
            continue
        name = new.shown.public(named(raw))
        while name in used:
            name = fitting(f"{name}~")
        used.add(name)
        status = "added" if not before else "deleted" if not after else "modified"
        note = f"excluded by {leaves_out(raw)}"
        record = ChangedFile(name, name if before else "", status, "excluded", note=note)
        files.append(FileChange(record, (), f"{_identity(before)} {_identity(after)}"))
    return Change(tuple(sorted(files, key=lambda f: f.path)))


def paths_of(change: Change, old: Side, new: Side, altered: Altered) -> tuple[str, ...]:
    """The changed files among those that change the review.

    One that got another name is looked for under its name in the head: what it became elsewhere counts
    as any other file.
    """

    def public(side: Side, names: frozenset[bytes]) -> set[str]:
        cut = len(side.prefix)
        inside = {name[cut:] for name in names if name.startswith(side.prefix)}
        known = {e.name: name for name, e in side.entries.items() if e.name in inside}
        return {known.get(name, side.shown.public(named(name))) for name in inside}

    gone, there = public(old, altered.gone), public(new, altered.there)
    records = change.records()
    return tuple(f.path for f in records if f.path in (gone if f.status == "deleted" else there))


def _moved(
    shadow: Shadow, old: Mapping[bytes, _File], new: Mapping[bytes, _File], screen: Screen
) -> list[_Moved]:
    """What differs, with the two names of a renamed file brought together."""

    def alone(one: Mapping[bytes, _File], other: Mapping[bytes, _File]) -> dict[bytes, Entry]:
        """What may have another name on the other side."""
        return {
            n: f.entry
            for n, f in one.items()
            if n not in other and f.entry.size is not None and not screen.why(f.name, f.entry)
        }

    was = {name: name for name in new if name in old}
    gone, come = alone(old, new), alone(new, old)
    was |= renames(shadow, gone, come)
    both = [_Moved(old.get(was.get(name, b"")), file) for name, file in new.items()]
    found = set(was.values())
    rest = [_Moved(file, None) for name, file in old.items() if name not in found]
    return [m for m in (*both, *rest) if m.edited or m.renamed or len({f.entry.mode for f in m.files}) > 1]


def renames(shadow: Shadow, gone: Mapping[bytes, Entry], come: Mapping[bytes, Entry]) -> dict[bytes, bytes]:
    """New name -> old name of the files that have another one since, as far as git knows them again."""
    if not gone or not come:
        return {}
    trees = [
        shadow.planted(((n, e.mode, e.sha) for n, e in side.items()), "index.renames")
        for side in (gone, come)
    ]
    return {p.new: p.old for p in patch.pairs(shadow.paired(*trees)) if p.old and p.new}


def _pointers(shadow: Shadow, moved: Sequence[_Moved]) -> set[str]:
    """Ids of the LFS pointers among the files."""
    small = {f.entry.sha: f.entry for m in moved for f in m.files if 0 < (f.entry.size or 0) <= POINTER_MAX}
    contents = shadow.blobs(list(small.values())) if small else []
    return {sha for sha, content in zip(small, contents, strict=True) if content.startswith(POINTER)}


def _binaries(shadow: Shadow, moved: Sequence[_Moved]) -> set[str]:
    """Ids of the binary files among those that only have another name: git shows nothing of these."""
    same = {m.new.entry.sha: m.new.entry for m in moved if m.new and m.renamed and not m.edited}
    fit = {sha: e for sha, e in same.items() if (e.size or 0) <= SHOWN_CAP}
    found = set()
    for batch in batches(fit):
        contents = shadow.blobs([e for _, e in batch])
        found |= {sha for (sha, _), content in zip(batch, contents, strict=True) if b"\0" in content[:SNIFF]}
    return found


def _kind(one: _Moved, pointers: set[str], binaries: set[str], screen: Screen) -> _Moved:
    """The same with its kind, and a note where that needs one."""
    entries = [f.entry for f in one.files]
    modes = [e.mode for e in entries]
    shas = {e.sha for e in entries}
    size = max((e.size or 0 for e in entries), default=0)
    note = f"mode {modes[0]} -> {modes[-1]}" if modes[0] != modes[-1] else ""
    why = next(filter(None, (screen.why(f.name, f.entry) for f in one.files)), "")
    if why:
        return replace(one, kind="withheld", note="" if why == WITHHELD else why)
    if GITLINK in modes:
        return replace(one, kind="submodule", note=" -> ".join(e.sha[:12] for e in entries))
    if any(e.size is None for e in entries):
        return replace(one, kind="binary", note="its content is not here (partial clone)")
    if size > SHOWN_CAP:
        return replace(one, kind="binary", note=f"too large: {size} bytes, lines are shown up to {SHOWN_CAP}")
    if shas & pointers:
        return replace(one, kind="lfs", note=note)
    if shas & binaries:
        return replace(one, kind="binary", note=note)
    if LINK in modes:
        return replace(one, kind="link", note=note)
    return replace(one, kind="text" if one.edited or one.renamed else "mode", note=note)


def _hidden(one: _Moved) -> _Moved:
    """The same, with a kind of its own where all that differs of its content is masked."""
    old, new = one.old, one.new
    if one.kind not in READABLE or not one.edited or not old or not new or old.shown != new.shown:
        return one
    return replace(
        one, kind="masked", note="; ".join(filter(None, (one.note, "only what is masked differs")))
    )


def _sections(shadow: Shadow, moved: Mapping[int, _Moved]) -> dict[int, patch.Section]:
    """What git shows of them, under numbers for names: a real name could look like a part of a patch."""
    if not moved:
        return {}

    mark = maskedlines.START + secrets.token_hex(16)
    masked = {f for m in moved.values() if m.masked and m.old and m.new for f in m.files}
    compared = _marked(shadow, [f for f in masked if f.shown != f.entry.sha], mark.encode())

    def tree(files: Mapping[int, _File | None]) -> str:
        named = ((b"%d" % n, f.entry.mode, compared.get(f, f.shown)) for n, f in files.items() if f)
        return shadow.planted(named, "index.patch")

    old, new = tree({n: m.old for n, m in moved.items()}), tree({n: m.new for n, m in moved.items()})
    found = patch.parse(shadow.patch(old, new))
    return {n: maskedlines.cleared(found[n], mark) if m.masked else found[n] for n, m in moved.items()}


def _marked(shadow: Shadow, files: Sequence[_File], mark: bytes) -> dict[_File, str]:
    """Ids of blobs of ours in which each masked line of these files is told from others like it."""
    made: dict[_File, str] = {}
    sized = shadow.sized([replace(f.entry, sha=f.shown) for f in files])
    for file, shown in zip(files, sized, strict=True):
        text, raw = shadow.blobs([shown, file.entry])
        [made[file]] = shadow.store([maskedlines.marked(text, raw, mark)])
    return made


def _change(one: _Moved, section: patch.Section | None) -> FileChange:
    section = section or patch.Section()
    old, new = one.old, one.new
    status = "added" if not old else "deleted" if not new else "renamed" if one.renamed else "modified"
    marks = [line[:1] for hunk in section.hunks for line in hunk.lines]
    record = ChangedFile(
        path=one.files[-1].name,
        old_path=old.name if old else "",
        status=status,
        kind="binary" if section.binary else one.kind,
        added=marks.count("+"),
        deleted=marks.count("-"),
        note="; ".join(filter(None, (one.note, section.note * (one.kind != "link")))),
    )
    identity = " ".join(_identity(f.entry if f else None) for f in (old, new))
    return FileChange(record, section.hunks, identity)


def _identity(entry: Entry | None) -> str:
    return f"{entry.mode} {entry.sha}" if entry else "-"
