"""What a copy holds beyond its base, taken without believing or running anything that lies in it.

Every file whose stamp is not the one it had when the copy was made is hashed by the vault, byte for
byte; trees and the patch are made there.  The copy's own ``.git`` is looked at as text only.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prun_review import files, owngit, patterns, treewalk
from prun_review.errors import TreeError
from prun_review.git import EXECUTABLE, LINK, Entry
from prun_review.publicnames import few, named
from prun_review.snapshot import stays_inside
from prun_review.treewalk import Found, Stamp
from prun_review.vault import SUBMODULE, Vault
from prun_review.written import Breach, Patch, Touched

MARKER = ".claude-task-complete"
LEFTOVERS = (MARKER, ".codex", ".agents", ".aws", ".claude")
"""What the CLIs leave at the root of where they work: no part of a change where the base has none."""
FILES, BYTES = 50_000, 512 << 20
"""Changed files, and their bytes, up to which a change is taken."""
RULES = 4 << 20
"""Bytes of all ``.gitignore`` files up to which they are obeyed."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A copy as it was made."""

    tree: Path
    """Its work tree."""
    base: str
    """SHA of the commit of the user's repository."""
    commit: str
    """SHA of the one commit that it holds: the base, unless something of it is masked."""
    listed: Mapping[bytes, Entry]
    """All of the base."""
    unmade: Mapping[bytes, str]
    """What of it was not made, and why."""
    shown: Mapping[bytes, str]
    """Masked files: SHA of what stands in the copy instead; empty for what is withheld."""
    stamps: Mapping[bytes, Stamp]
    git: Mapping[str, str]
    """:func:`prun_review.owngit.state` of its ``.git``."""
    entry: Path | None = None
    """Of a worktree of the user's repository: its own part of the git directory there."""


@dataclass
class _Take:
    """One harvest on its way."""

    laid: Laid
    wanted: Callable[[str], bool]
    """Whether the unit names a path as one that it may touch."""
    breaches: list[Breach] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def breach(self, code: str, name: bytes, text: str) -> None:
        self.breaches.append(Breach(code, named(name), text))


def harvest(
    vault: Vault, laid: Laid, writes: Sequence[str], spares: Sequence[str]
) -> tuple[Patch, bytes, str]:
    """The patch, its text, and the digest of the files that it was taken of.  ``TreeError`` where the copy
    cannot be read."""
    take = _Take(laid, patterns.matcher(writes))
    with files.named(TreeError, "the copy cannot be read", laid.tree):
        found = treewalk.walk(str(laid.tree))
        new = _sifted(vault, take, found)
        tree = _tree(vault, take, found, new)
    old = vault.tree_of(laid.base)
    text, touched = vault.compared(old, tree)
    take.breaches += _outside(touched, writes, spares)
    count = _own_git(vault, take, old, tree)
    digest = hashlib.sha256(text).hexdigest() if text else ""
    breaches = tuple(sorted(take.breaches, key=lambda breach: (breach.code, breach.path)))
    patch = Patch(laid.base, tree, digest, len(text), touched, count, breaches, tuple(take.notes))
    return patch, text, found.digest()


# --- which names count ---


def _sifted(vault: Vault, take: _Take, found: Found) -> list[bytes]:
    """The files that may differ from the base, without those that are no part of a change."""
    laid = take.laid
    changed = [name for name, info in found.files.items() if treewalk.stamp(info) != laid.stamps.get(name)]
    new = [name for name in changed if name not in laid.listed]
    tops = {name.split(b"/")[0] for name in laid.listed}
    left = {os.fsencode(name) for name in LEFTOVERS} - tops
    odd = [*found.odd, *found.repositories]
    unasked = [
        name for name in (*new, *odd) if not take.wanted(named(name))
    ]  # what is wanted is never dropped
    dropped = {name for name in unasked if name.split(b"/")[0] in left}
    dropped |= _ignored(vault, take, found, [n for n in unasked if n not in dropped and not _impossible(n)])
    _tell_dropped(take, [name for name in new if name in dropped and name != MARKER.encode()])
    for name in set(found.repositories) - dropped:
        take.breach("nested-repository", name, "it holds a repository of its own")
    for name in _bare(found, set(changed) - dropped, laid.listed):
        take.breach("nested-repository", name, "it is a bare repository, whose configuration git would obey")
    for name in set(found.odd) - dropped:
        take.breach("odd-file", name, found.odd[name])
    if found.cut:
        take.breach("too-large", b"", f"it holds more than {treewalk.WALKED} names")
    links = {name for name in changed if stat.S_ISLNK(found.files[name].st_mode)}
    return [name for name in changed if name not in dropped and _allowed(take, name, name in links)]


def _ignored(vault: Vault, take: _Take, found: Found, names: Sequence[bytes]) -> set[bytes]:
    """Those that ``.gitignore`` files ignore; none where git would wait at one of them, or drown in it."""
    rules = {name for name in (*found.files, *found.odd) if name.rpartition(b"/")[2] == b".gitignore"}
    why = "one of them is no file" if rules & found.odd.keys() else ""
    if sum(found.files[name].st_size for name in rules & found.files.keys()) > RULES:
        why = f"they have more than {RULES} bytes"
    try:
        if not why:
            return vault.ignored(take.laid.tree, names)
    except TreeError as error:
        why = error.message
    take.notes.append(f".gitignore files are not obeyed: {why}")
    return set()


def _bare(found: Found, changed: Collection[bytes], listed: Collection[bytes]) -> set[bytes]:
    """Folders that became a git directory without being called so; git takes one where it is called in it."""
    heads = {n.rpartition(b"/")[0] for n in found.files if n.rpartition(b"/")[2].upper() == b"HEAD"}
    parts = {b"commondir", b"objects", b"refs"}
    held: dict[bytes, set[bytes]] = {}
    new: set[bytes] = set()
    for name in found.files if heads - {b""} else ():
        above = name.split(b"/")
        for n in range(1, len(above)):
            folder, part = b"/".join(above[:n]), above[n].lower()
            if folder in heads and part in {b"head", *parts}:
                held.setdefault(folder, set()).add(part)
                new |= {folder} if name in changed else set()
    whole = {f for f, there in held.items() if b"commondir" in there or {b"objects", b"refs"} <= there}
    return {f for f in whole & new if not (f + b"/HEAD" in listed and _was_bare(f, listed))}


def _was_bare(folder: bytes, listed: Collection[bytes]) -> bool:
    return all(any(n.startswith(folder + part) for n in listed) for part in (b"/objects/", b"/refs/"))


def _tell_dropped(take: _Take, names: Sequence[bytes]) -> None:
    if names:
        told = few(named(name) for name in names)
        take.notes.append(f"{len(names)} ignored or left by the program, no part of the change: {told}")


def _allowed(take: _Take, name: bytes, link: bool) -> bool:
    """Whether a name can stand in a tree at all; what it breaches is noted."""
    why = _impossible(name, link)
    if why:
        take.breach("odd-name", name, why)
        return False
    if any(b < 32 or b == 127 for b in name):
        take.breach("odd-name", name, "its name holds control characters")
    parts = name.split(b"/")
    above = {b"/".join(parts[:n]) for n in range(1, len(parts) + 1)}
    inside = [one for one in above if take.laid.unmade.get(one) == SUBMODULE]
    if inside:
        take.breach("submodule", name, "it lies in a submodule, which is not here")
    return not inside


def _impossible(name: bytes, link: bool = False) -> str:
    """Why git would not take a name: a part of it is ``.git`` to some file system, or what it believes of
    submodules would come from where a link leads."""
    for part in name.split(b"/"):
        text = part.decode("utf-8", errors="surrogateescape")
        bare = "".join(c for c in text if unicodedata.category(c) != "Cf").casefold()  # as HFS+ compares
        short = re.split(r"[:\\]", bare)[0].rstrip(". ")  # as NTFS does
        if ".git" in (bare, short) or short == "git~1":
            return "a part of its name means .git on some file systems"
    if link and (".gitmodules" in (bare, short) or re.match("gitmod~|gi7eba", short)):
        return "a link in the place of .gitmodules"
    return ""


# --- the tree ---


def _tree(vault: Vault, take: _Take, found: Found, changed: Sequence[bytes]) -> str:
    """SHA of the tree of what the worker left; that of the base where it is too much."""
    laid = take.laid
    size = sum(found.files[name].st_size for name in changed)
    gone = [name for name in laid.stamps if name not in found.files and not found.cut]
    if len(changed) + len(gone) > FILES or size > BYTES:
        text = f"{len(changed) + len(gone)} files with {size} bytes; at most {FILES} and {BYTES} are taken"
        take.breach("too-large", b"", text)
        return vault.tree_of(laid.base)
    gone = [name for name in gone if not _masked(take, name, "")]
    put = [e for e in _entries(vault, laid, found, changed) if not _same(take, e)]
    for entry in put:
        if entry.name == b".gitmodules":
            take.breach("submodule", entry.name, "it says where submodules come from")
        if entry.mode == LINK:
            target = os.readlink(os.path.join(os.fsencode(laid.tree), entry.name))
            if not stays_inside(os.fsdecode(entry.name), target):
                take.breach("escaping-link", entry.name, "a link that leads out of the tree")
    return vault.replaced(vault.tree_of(laid.base), gone, put) if gone or put else vault.tree_of(laid.base)


def _entries(vault: Vault, laid: Laid, found: Found, names: Sequence[bytes]) -> Iterable[Entry]:
    """What lies on disk under these names, kept in the vault."""
    links = [name for name in names if stat.S_ISLNK(found.files[name].st_mode)]
    plain = [name for name in names if not stat.S_ISLNK(found.files[name].st_mode)]
    top = os.fsencode(laid.tree)
    paths = [os.path.join(top, name) for name in plain]
    targets = [os.readlink(os.path.join(top, name)) for name in links]
    shas = vault.store(paths, targets) if names else []
    for name, sha in zip(plain, shas, strict=False):
        executable = found.files[name].st_mode & stat.S_IXUSR
        yield Entry(name, EXECUTABLE if executable else "100644", sha)
    for name, sha in zip(links, shas[len(plain) :], strict=True):
        yield Entry(name, LINK, sha)


def _same(take: _Take, entry: Entry) -> bool:
    """Whether an entry is not to be put into the tree: it is what the base has, or must not be touched."""
    was = take.laid.listed.get(entry.name)
    if was and (was.mode, was.sha) == (entry.mode, entry.sha):
        return True
    return _masked(take, entry.name, entry.sha, entry.mode)


def _masked(take: _Take, name: bytes, sha: str, mode: str = "") -> bool:
    """Whether a file is shown masked or withheld, so that what the worker made of it cannot be taken."""
    shown = take.laid.shown.get(name)
    if shown is None:
        return False
    if (shown, take.laid.listed[name].mode) != (sha, mode):
        take.breach("masked-file", name, "its secrets are masked here, so no change of it can be taken")
    return True


def _outside(touched: Iterable[Touched], writes: Sequence[str], spares: Sequence[str]) -> Iterable[Breach]:
    """Names beyond what the unit may touch."""
    may, must_not = patterns.matcher(writes), patterns.matcher(spares)
    for path in sorted({path for file in touched for path in file.paths}):
        if must_not(path):
            yield Breach("outside-scope", path, "the task must not touch it")
        elif writes and not may(path):
            yield Breach("outside-scope", path, "the task's scope does not name it")


# --- its own git directory ---


def _own_git(vault: Vault, take: _Take, old: str, tree: str) -> int:
    """Breaches and commits of the copy's ``.git``; how many commits there are."""
    laid, git_dir = take.laid, take.laid.tree / ".git"
    now = owngit.linked(laid.tree, laid.entry) if laid.entry else owngit.state(git_dir)
    for name, how in owngit.changes(laid.git, now).items():
        take.breach("git-directory", os.fsencode(name), how)
    common = vault.repository.common if laid.entry else None
    made = owngit.commits(laid.entry or git_dir, laid.commit, common)
    if made.note:
        take.notes.append(made.note)
    undone = made.dropped or made.tree != vault.tree_of(laid.commit)
    if tree == old and now and (made.moved or made.dropped) and undone:
        take.breach("lost-commit", b"", "it was committed to, and nothing of that is left in its files")
    return made.count
