"""The vault: one bare git directory of ours per run, for what code-writing units start from and leave.

It borrows the objects of the user's repository and adds its own, or where workers can write into that
repository holds all by itself; nothing that this repository configures counts in it, and no attribute of
any tree does.  So no program is run for it but git, bytes
are kept as they are, and a merge is never settled by a rule that an author wrote down.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prun_review import baregit, delivering, files, git, proving, treediff
from prun_review.errors import TreeError
from prun_review.git import GITLINK, LINK, Entry, Repository
from prun_review.snapshot import stays_inside
from prun_review.treediff import Merged
from prun_review.treewalk import Stamp
from prun_review.written import Touched

AUTHOR = ("prun_review", "prun_review@localhost")
MERGING = (2, 38)
"""The first git that merges without a work tree (``merge-tree --write-tree``)."""
FIRST = 946684800
"""Seconds since the epoch that a commit without parents is dated: the same content has the same SHA."""
KEPT, KEPT_SIZE = 4, 64 << 20
"""Indexes that are kept filled, each of at most so many bytes: few bases are in use at once."""
VERIFYING = 3600.0
"""Seconds for all objects of one pack: the user's git may have put everything into a new one."""
IGNORING = 30.0
"""Seconds for the patterns of ``.gitignore`` files: some take for ever on some names."""
LEAVES, ABSENT, SUBMODULE = "a link that leaves the tree", "its content is not here", "a submodule"
"""Why something of a tree is not made as a file."""

_GUARDED = (*baregit.OBEYED, *baregit.BELIEVED)
_REPOSITORY, _NOTHING = "repository", "nothing"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# What indexes of several packs and graphs of commits say is believed by git and held against nothing.
_UNBELIEVED = {"GIT_CONFIG_KEY_0": "core.multiPackIndex", "GIT_CONFIG_KEY_1": "core.commitGraph"}
_UNBELIEVED |= {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_VALUE_0": "false", "GIT_CONFIG_VALUE_1": "false"}
_EMPTY = {"core.protectHFS": "true", "core.protectNTFS": "true", "core.logAllRefUpdates": "false"}


class Vault:
    """Trees and commits of one run.  Safe in threads; trees and commits are named by their SHAs."""

    def __init__(self, path: Path, repository: Repository) -> None:
        """Use :meth:`create` or :meth:`open`."""
        self.path = path
        self.repository = repository
        """The user's."""
        self.program = git.program(repository.top)
        self._trees: dict[str, str] = {}
        """Tree by commit or tree, under whole names: those never change, and each look costs a process."""
        self._touched: dict[tuple[str, str], tuple[Touched, ...]] = {}
        """By two trees: the same for ever, and asked for when a change is taken and when it is joined."""
        self._guard = threading.Lock()
        self._indexes: dict[str, bytes] = {}
        """Filled indexes of trees that were asked for, the last few of them."""
        self._dates: dict[str, int] = {}
        """Commit -> seconds since the epoch that it is dated."""
        self._laid = baregit.laid(path, _GUARDED)
        self.alone = not (path / "objects/info/alternates").exists()
        """It borrows nothing: commits of the user's repository are copied when they are named."""
        lent = () if self.alone else (repository.common / "objects",)
        self._proved: dict[Path, dict[str, Stamp]] = {
            path / "objects": {},
            **{p: proving.seen(p) for p in lent},
        }

    @classmethod
    def create(cls, path: Path, repository: Repository, *, alone: bool = False) -> Vault:
        """A new one at ``path``, which must not exist, and which borrows nothing if it is to be ``alone``;
        ``TreeError``."""
        form = git.theirs(repository, "rev-parse", "--show-object-format").decode().strip()
        ignored = (repository.common / "info/exclude", Path(git.ignore_file(repository)))
        with files.named(TreeError, "the run's own git directory cannot be made", path):
            baregit.make(path, form, _EMPTY, None if alone else repository.common / "objects")
            files.create(path / "info/attributes", baregit.AS_STORED)
            texts = [files.read_regular(file, git.SMALL_CAP) for file in ignored if file.is_file()]
            files.create(path / "info/exclude", b"\n".join([*texts, b""]))
            files.make_private(path / _NOTHING)
            files.create(path / _REPOSITORY, os.fsencode(repository.top))
            cut = "".join(f"{sha}\n" for sha in git.shallow(repository))
            if cut and not alone:
                files.create(path / "shallow", cut.encode())
        return cls(path, repository)

    @classmethod
    def open(cls, path: Path) -> Vault:
        """That of an earlier run; ``TreeError`` where it or its repository is gone."""
        with files.named(TreeError, "the run's own git directory cannot be read", path):
            top = files.read_regular(path / _REPOSITORY, git.SMALL_CAP)
        made = cls(path, git.find(Path(os.fsdecode(top))))
        lent = baregit.quoted(os.fsencode(made.repository.common / "objects")) + b"\n"
        ours = [baregit.config(form, _EMPTY) for form in ("sha1", "sha256")]
        config, *others, attributes, _, grafts, alternates = made._laid
        sound = config in ours and not any((*others, grafts)) and attributes == baregit.AS_STORED
        if not sound or alternates not in (b"", lent):
            raise TreeError("the run's own git directory is not as it was made", place=str(path))
        return made

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        cap: int = git.LISTING_CAP,
        fine: Sequence[int] = (0,),
        index: str = "no-index",
        worktree: Path | None = None,
        env: Mapping[str, str | None] | None = None,
        timeout: float = git.TIMEOUT,
    ) -> bytes:
        """The standard output of a git command on it: by default without index and with an empty work
        tree, so that no ``.gitattributes`` is read."""
        top = worktree or self.path / _NOTHING
        whole: dict[str, str | None] = {
            "GIT_DIR": str(self.path),
            "GIT_WORK_TREE": str(top),
            "GIT_INDEX_FILE": str(self.path / index),
            "GIT_LITERAL_PATHSPECS": "1",
            **_UNBELIEVED,
            **(env or {}),
        }
        baregit.intact(self.path, self._laid, _GUARDED)
        return git.call(self.program, args, whole, top, stdin, cap, fine, timeout)

    def _word(self, *args: str, **more: object) -> str:
        return self.run(*args, **more).decode().strip()  # type: ignore[arg-type]

    @contextmanager
    def index(self, tree: str = "") -> Iterator[str]:
        """The name of an index of ours for a while, filled with a tree where one is given."""
        name = f"index.{secrets.token_hex(8)}"
        try:
            self._fill(name, tree)
            yield name
        finally:
            for left in (name, f"{name}.lock"):
                with suppress(FileNotFoundError):
                    (self.path / left).unlink()

    def _fill(self, name: str, tree: str) -> None:
        with self._guard:
            kept = self._indexes.get(tree, b"")
        if kept:
            files.create(self.path / name, kept)
        else:
            self.run("read-tree", *([tree] if tree else ["--empty"]), index=name)
            small = (self.path / name).stat().st_size <= KEPT_SIZE
            kept = (self.path / name).read_bytes() if small and git.SHA.fullmatch(tree) else b""
        if kept:
            with self._guard:
                self._indexes.pop(tree, None)  # it was used last
                self._indexes[tree] = kept
                if len(self._indexes) > KEPT:
                    del self._indexes[next(iter(self._indexes))]

    # --- commits and trees ---

    def commit_of(self, rev: str) -> str:
        """SHA of the commit that a revision of the user's repository names; it is pinned here.
        ``TreeError`` where it names none."""
        sha = git.commit(self.repository, rev)
        if not sha:
            raise TreeError(
                f"{rev!r} is no commit", place=str(self.repository.top), remedy="see git log --oneline"
            )
        if self.alone:
            delivering.take(self, self.repository, sha)
        self.run("update-ref", f"{delivering.BASES}/{sha}", sha)
        return sha

    def commit(
        self, tree: str, parents: Sequence[str], message: str, author: tuple[str, str] = AUTHOR
    ) -> str:
        """SHA of a new commit by ``author`` (name and address): of the same arguments always the same one,
        dated a second after the youngest of its parents."""
        when = self._youngest(parents) + 1 if parents else FIRST
        name, mail = (re.sub(r"[\x00-\x1f<>]", " ", part).strip() for part in author)
        above = "".join(f"parent {parent}\n" for parent in parents)
        who = f"author {name or AUTHOR[0]} <{mail or AUTHOR[1]}> {when} +0000\n"
        who += f"committer {AUTHOR[0]} <{AUTHOR[1]}> {when} +0000\n"
        whole = f"tree {tree}\n{above}{who}\n{message}".encode(errors="backslashreplace")
        if not all(git.SHA.fullmatch(sha) for sha in (tree, *parents)):
            raise TreeError("a commit is made of whole object names", place=str(self.path))
        with files.named(TreeError, "a commit cannot be kept", self.path):
            made = baregit.store(
                self.path / "objects", git.object_format(tree), "commit", whole.replace(b"\0", b"")
            )
        self._dates[made], self._trees[made] = when, tree
        return made

    def _youngest(self, commits: Sequence[str]) -> int:
        if unknown := [commit for commit in commits if commit not in self._dates]:
            out = self._word("log", "--no-walk=unsorted", "--format=%ct", *unknown).split()
            self._dates |= {commit: int(told) for commit, told in zip(unknown, out, strict=True)}
        return max(self._dates[commit] for commit in commits)

    def tree_of(self, commit: str) -> str:
        """SHA of the tree of a commit, or of a tree: itself; ``TreeError`` for anything else."""
        if commit in self._trees:
            return self._trees[commit]
        tree = self._word("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")
        if git.SHA.fullmatch(commit):
            self._trees[commit] = self._trees[tree] = tree
        return tree

    def folder(self, tree: str, name: str) -> str:
        """SHA of the tree of a folder in a tree; ``TreeError`` where there is none."""
        return self._word("rev-parse", "--verify", "--end-of-options", f"{tree}:{name}")

    def entries(self, tree: str) -> list[Entry]:
        """All that a tree or commit lists, with sizes where the content is here."""
        out = self.run("ls-tree", "-r", "-l", "-z", "--full-tree", tree)
        found = []
        for item in out.split(b"\0")[:-1]:
            meta, _, name = item.partition(b"\t")
            mode, _, sha, size = meta.decode().split()
            found.append(Entry(name, mode, sha, int(size) if size.isdecimal() else None))
        return found

    def contents(self, entries: Sequence[Entry]) -> list[bytes]:
        """The contents of entries with known sizes, in order."""
        wanted = "".join(f"{entry.sha}\n" for entry in entries).encode()
        return baregit.contents(self.run("cat-file", "--batch", stdin=wanted), entries, self.path)

    # --- changes ---

    def diff(self, old: str, new: str) -> bytes:
        """How two trees differ, as a patch that plain ``git apply`` takes: whole object names, renames,
        modes, binary content; nothing for equal ones."""
        return treediff.patch(self.run, old, new)

    def touched(self, old: str, new: str) -> tuple[Touched, ...]:
        """The files that differ, sorted by path."""
        if (old, new) not in self._touched:
            self._touched[old, new] = treediff.touched(self.run, old, new)
        return self._touched[old, new]

    def compared(self, old: str, new: str) -> tuple[bytes, tuple[Touched, ...]]:
        """:meth:`diff` and :meth:`touched` of one look."""
        text, self._touched[old, new] = treediff.compared(self.run, old, new)
        return text, self._touched[old, new]

    def store_patch(self, base: str, patch: bytes) -> str:
        """SHA of the tree that a patch of :meth:`diff` makes of ``base`` (a commit or tree); ``TreeError``
        where it does not apply."""
        if not patch:
            return self.tree_of(base)
        with self.index(base) as index:
            self.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch, index=index)
            return self.write_tree(index)

    def write_tree(self, index: str) -> str:
        """SHA of the tree that an index of ours holds."""
        tree = self._word("write-tree", "--missing-ok", index=index)  # a partial clone lacks blobs
        self._trees[tree] = tree
        return tree

    def merge(self, base_tree: str, ours_tree: str, theirs_tree: str) -> Merged:
        """Put two changes of the same base together.  What conflicts is left in the tree with markers, and
        said; no side is ever dropped.  ``TreeError`` also for a git before 2.38."""
        git.check_version(self.program, MERGING)
        base = self.commit(base_tree, (), "base")
        ours, theirs = (self.commit(tree, (base,), "side") for tree in (ours_tree, theirs_tree))
        # The names of equal commits would leave nothing to merge.
        if ours == theirs:
            return Merged(self.tree_of(ours_tree))
        args = ("merge-tree", "--write-tree", "--messages", "-z", ours, theirs)
        out = self.run(*args, fine=(0, 1))
        merged = treediff.merged(self.run, out, {ours: "ours", theirs: "theirs"})
        self._trees[merged.tree] = merged.tree
        return merged

    # --- files ---

    def prove(self) -> None:
        """``TreeError`` where an object of ours, or one that came into the user's repository since, is not
        what its name says."""
        for objects, known in self._proved.items():
            proving.prove(objects, known, self._verify)

    def _verify(self, index: Path) -> None:
        self.run("verify-pack", str(index), timeout=VERIFYING)

    def materialise(self, tree: str, target: Path) -> dict[bytes, str]:
        """Write the files of a tree into the directory ``target``, which is made: without ``.git``, byte
        for byte as stored, writable.  What is not made (links that leave the tree, contents that a partial
        clone lacks, submodules but for an empty folder): name -> why."""
        self.prove()
        unmade = self.unmade(self.entries(tree))
        with files.named(TreeError, "the files of a tree cannot be written", target):
            files.make_private(target)
        with self.index(tree) as index:
            gone = b"".join(name + b"\0" for name, why in unmade.items() if why != SUBMODULE)
            self.run("update-index", "-z", "--force-remove", "--stdin", stdin=gone, index=index)
            self.run("checkout-index", "-a", "-q", f"--prefix={target}/", index=index)
        return unmade

    def unmade(self, listed: Sequence[Entry]) -> dict[bytes, str]:
        """What of a listed tree is not made as a file, and why."""
        links = [entry for entry in listed if entry.mode == LINK and entry.size is not None]
        to = zip(links, self.contents(links), strict=True)
        return {
            **{e.name: ABSENT for e in listed if e.size is None and e.mode != GITLINK},
            **{e.name: LEAVES for e, there in to if not stays_inside(os.fsdecode(e.name), there)},
            **{e.name: SUBMODULE for e in listed if e.mode == GITLINK},
        }

    def pack(self, objects: Path, wanted: bytes, *args: str) -> None:
        """Write objects into one pack of the object directory ``objects``, read through this one; ``wanted``
        is what ``git pack-objects`` reads.  The other's own configuration is not looked at."""
        lent = os.fsdecode(baregit.quoted(os.fsencode(self.path / "objects")))
        env = {"GIT_OBJECT_DIRECTORY": str(objects), "GIT_ALTERNATE_OBJECT_DIRECTORIES": lent}
        options = ("-q", "--non-empty", "--delta-base-offset", "--window=0", *args)
        self.run("pack-objects", *options, str(objects / "pack/pack"), stdin=wanted, env=env)

    def store(self, paths: Sequence[bytes], contents: Sequence[bytes] = ()) -> list[str]:
        """Keep files as they lie on disk, then contents, as blobs; their SHAs.  ``TreeError`` where one
        cannot be read.  No filter runs, and a path must not be a link."""
        folder = self.path / f"incoming.{secrets.token_hex(8)}" if contents else self.path / _NOTHING
        with files.named(TreeError, "git's own data cannot be written", folder):
            if contents:
                files.make_private(folder)
            try:
                for n, content in enumerate(contents):
                    files.create(folder / str(n), content)
                spooled = [os.fsencode(folder / str(n)) for n in range(len(contents))]
                stdin = b"".join(baregit.quoted(path) + b"\n" for path in (*paths, *spooled))
                return self._word("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=stdin).split()
            finally:
                if contents:
                    files.remove_tree(folder)

    def replaced(self, tree: str, gone: Iterable[bytes], put: Iterable[Entry]) -> str:
        """SHA of a tree like ``tree`` without some names and with other entries; a file gives way to a
        folder of its name, and the reverse."""
        lines = [b"0 %s\t%s\0" % (b"0" * len(tree), name) for name in gone]
        lines += [b"%s %s 0\t%s\0" % (e.mode.encode(), e.sha.encode(), e.name) for e in put]
        if not lines:
            return self.tree_of(tree)
        with self.index(tree) as index:
            self.run("update-index", "--replace", "-z", "--index-info", stdin=b"".join(lines), index=index)
            return self.write_tree(index)

    def ignored(self, folder: Path, names: Sequence[bytes]) -> set[bytes]:
        """Those of the names below a folder that ``.gitignore`` files in it, or the user's own, ignore.
        ``TreeError``, also where that takes longer than :data:`IGNORING`."""
        if not names:
            return set()
        args = ("check-ignore", "--no-index", "-z", "--stdin")
        stdin = b"".join(b"./" + name + b"\0" for name in names)  # a colon first would be magic
        env = {"GIT_LITERAL_PATHSPECS": None}  # which this command does not know
        out = self.run(*args, stdin=stdin, worktree=folder, fine=(0, 1), env=env, timeout=IGNORING)
        return {name[2:] for name in out.split(b"\0")[:-1]}

    # --- the way back ---

    def branch(self, name: str, commit: str) -> None:
        """Let the branch ``prun/<name>`` of the vault stand for a commit, whatever it stood for."""
        self.run("update-ref", _ref(name), commit)

    def deliver(self, repository: Repository, name: str) -> None:
        """Bring the branch ``prun/<name>`` into the user's repository, and nothing else: its objects and
        that one ref.  ``TreeError`` where it is there with another commit."""
        commit = self._word("rev-parse", "--verify", f"{_ref(name)}^{{commit}}")
        delivering.deliver(self, repository, _ref(name), commit)


def _ref(name: str) -> str:
    """The branch of a run, in full."""
    if not _NAME.fullmatch(name):
        raise TreeError(f"{name!r} cannot be the name of a branch", remedy="give the id of a run")
    return f"refs/heads/prun/{name}"
