"""A bare git directory of ours over somebody's work tree and objects; see :mod:`prun_review.git`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from prun_review import baregit, files, git
from prun_review.errors import LaunchError, TreeError
from prun_review.git import Entry, Repository

_HONOURED = {"true", "false", "input", "lf", "crlf"}
"""Values of their ``core.filemode``, ``symlinks``, ``autocrlf`` and ``eol`` that we take over."""

RENAMES = 1000
"""Files up to which similar ones are looked for among those gone and come (each with each)."""
FILES, LISTED = 500_000, 128 << 20
"""Files of a listing, and its bytes: half a million take about 1.2 GB of memory as they are compared, and
a few trees that hold each other ten times over list more than any machine can."""
BATCH = 32 << 20
"""Bytes of blobs held in memory at once."""

_CONVERTING = ("filter", "ident", "working-tree-encoding")
"""Attributes under which git stores something else than what lies on disk, line ends aside."""
_AS_ON_DISK = b"\n* !working-tree-encoding !ident\n"
"""Switches them off; a filter is not run because none is configured."""
_GIVEN = "index.given"
"""Their index as we found it."""


class Shadow:
    """A bare git directory of ours over their work tree and their objects.

    Names in and out are relative to the root of the work tree, but for :meth:`tree`.
    """

    def __init__(
        self, path: Path, repository: Repository, object_format: str, lender: Repository | None = None
    ) -> None:
        """Make it at ``path``, which must not exist; the format is ``sha1`` or ``sha256``.

        Objects are those of the ``lender``, where one is given, and not the repository's own.
        """
        self.path = path
        self.repository = repository
        lent = (lender or repository).common / "objects"
        self._program = git.program(repository.top, *([lender.top] if lender else []))
        with files.named(TreeError, "git's own data cannot be copied", path):
            baregit.make(path, object_format, self._settings(), lent)
            self._laid = baregit.laid(path)
            info = repository.common / "info"
            attributes = info / "attributes"
            self._theirs = files.read_regular(attributes, git.SMALL_CAP) if attributes.exists() else b""
            files.create(path / "info/attributes", self._theirs + _AS_ON_DISK)
            if (info / "exclude").exists():
                _copy(info / "exclude", path / "info/exclude", git.SMALL_CAP)
            left = git.INDEX_CAP
            for index in (repository.git_dir / "index", *repository.git_dir.glob("sharedindex.*")):
                if index.exists():
                    left -= _copy(index, path / index.name, left)
            if (path / "index").exists():
                os.link(path / "index", path / _GIVEN)  # git never writes into an index, it replaces it

    def _settings(self) -> dict[str, str]:
        pattern = r"^core\.(filemode|symlinks|autocrlf|eol)$"
        args = ("config", "-z", "--no-includes", "--file", str(self.repository.common / "config"))
        out = git.theirs(self.repository, *args, "--get-regexp", pattern, fine=(0, 1))
        found = {}
        for item in out.decode(errors="replace").split("\0"):
            key, _, value = item.partition("\n")
            if value.lower() in _HONOURED:
                found[key] = value.lower()
        return found

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        cap: int = git.LISTING_CAP,
        fine: Sequence[int] = (0,),
        index: str = "index",
        worktree: Path | None = None,
    ) -> bytes:
        """The standard output of a git command on it; ``index`` names the index file of ours to use, and
        ``worktree`` another folder than the work tree that it is over."""
        top = worktree or self.repository.top
        env = {
            "GIT_DIR": str(self.path),
            "GIT_WORK_TREE": str(top),
            "GIT_INDEX_FILE": str(self.path / index),
            "GIT_LITERAL_PATHSPECS": "1",
        }
        baregit.intact(self.path, self._laid)
        return git.call(self._program, args, env, top, stdin, cap, fine)

    def _listed(self, *args: str) -> list[bytes]:
        """The items of a listing; ``TreeError`` for one that is too long, before it is taken apart."""
        out, why = b"", ""
        try:
            out = self.run(*args, cap=LISTED)
        except TreeError as error:
            if not isinstance(error.__cause__, LaunchError):
                raise
            why = f"; {error.__cause__.message}"
        if why or out.count(b"\0") > FILES:
            raise TreeError(
                f"too many files: at most {FILES}, and {LISTED} bytes of their names, are reviewed{why}",
                place=str(self.repository.top),
                remedy="look for folders that hold themselves or generated files; commit fewer of them",
            )
        return _items(out)

    def index(self) -> list[Entry]:
        """The entries of our index, sorted by name; one per name."""
        found: dict[bytes, Entry] = {}
        for item in self._listed("ls-files", "-z", "-v", "--stage"):
            meta, _, name = item.partition(b"\t")
            tag, mode, sha, stage = meta.decode().split(" ")
            found[name] = Entry(name, mode, sha, None, stage != "0", tag in "Ss")
        return list(found.values())

    def forget(self, names: Iterable[bytes]) -> None:
        """Drop entries from our index."""
        self._update("--force-remove", "--stdin", lines=names)

    def put(self, entries: Iterable[Entry]) -> None:
        """Set entries of our index to objects that exist; every mark and time of theirs is gone then."""
        self._update("--index-info", lines=(f"{e.mode} {e.sha} 0\t".encode() + e.name for e in entries))

    def _update(self, *args: str, lines: Iterable[bytes]) -> None:
        stdin = _lines(lines)
        if stdin:
            self.run("update-index", "-z", *args, stdin=stdin)

    def add_edits(self) -> None:
        """Take edits and deletions of all entries from the work tree; no filter runs."""
        self.run("update-index", "-q", "--refresh", fine=(0, 1))  # `add` would touch every object
        self.run("add", "--update")

    def add(self, names: Iterable[bytes]) -> None:
        """Take further files from the work tree."""
        self._update("--add", "--stdin", lines=names)

    def untracked(self, ignore: str) -> list[bytes]:
        """Files that are neither tracked nor ignored; nested repositories end with a slash."""
        args = ["ls-files", "-z", "--others", "--exclude-standard"]
        if ignore and os.path.isfile(ignore):
            args.append(f"--exclude-from={ignore}")
        return self._listed(*args)

    def converted(self, names: Iterable[bytes]) -> set[bytes]:
        """Those that lie on disk in another form than git stores, by attributes of theirs: a filter
        (git-lfs, git-crypt), ``ident``, ``working-tree-encoding``.

        Both the ``.gitattributes`` on disk and those of their index count, by which a checkout goes.
        """
        stdin = _lines(names)
        if not stdin:
            return set()
        args = ("check-attr", "-z", "--stdin", *_CONVERTING)
        with self._attributes(self._theirs):
            told = [
                self.run(*args, stdin=stdin),
                self.run(args[0], "--cached", *args[1:], stdin=stdin, index=_GIVEN),
            ]
        plain = (b"unspecified", b"unset")
        parts = [part for out in told for part in _items(out)]
        return {n for n, _, value in zip(*[iter(parts)] * 3, strict=True) if value not in plain}

    @contextmanager
    def _attributes(self, content: bytes) -> Iterator[None]:
        """Meanwhile these stand above what any ``.gitattributes`` says."""
        self.write("info/attributes", content)
        try:
            yield
        finally:
            self.write("info/attributes", self._theirs + _AS_ON_DISK)

    def write_tree(self, prefix: str) -> str:
        """Write our index (below ``prefix``) as a tree object of ours."""
        args = ("write-tree", "--missing-ok")  # a partial clone lacks blobs that nobody edited
        return self.run(*args, *([f"--prefix={prefix}"] if prefix else [])).decode().strip()

    def tree(self, tree: str, prefix: str = "") -> list[Entry]:
        """The files of a tree, with sizes; only those below ``prefix`` where one is given."""
        args = ("ls-tree", "-r", "-l", "-z", "--full-tree", tree)
        entries = []
        for item in self._listed(*args, *([prefix] if prefix else [])):
            meta, _, name = item.partition(b"\t")
            mode, _, sha, size = meta.decode().split()
            entries.append(Entry(name, mode, sha, int(size) if size.isdecimal() else None))
        return entries

    def blobs(self, entries: Sequence[Entry]) -> list[bytes]:
        """The contents of entries with known sizes, in order, in one go."""
        total = sum((e.size or 0) + 256 for e in entries)
        out = self.run(
            "cat-file", "--batch", stdin="".join(f"{e.sha}\n" for e in entries).encode(), cap=total
        )
        return baregit.contents(out, entries, self.repository.top)

    def write(self, name: str, content: bytes) -> None:
        """Write a file of git's own, in place of one of that name."""
        with files.named(TreeError, "git's own data cannot be written", self.path / name):
            files.write(self.path / name, content, sync=False)

    def sized(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries with the sizes of their blobs; None where one is not here."""
        stdin = "".join(f"{e.sha}\n" for e in entries).encode()
        lines = self.run("cat-file", "--batch-check", stdin=stdin).decode().splitlines() if stdin else []
        sizes = (line.split()[-1] for line in lines)
        return [
            replace(e, size=int(s) if s.isdecimal() else None) for e, s in zip(entries, sizes, strict=True)
        ]

    def store(self, contents: Sequence[bytes]) -> list[str]:
        """Keep contents as blobs of ours; their SHAs."""
        if not contents:
            return []
        folder = self.path / "incoming"
        with files.named(TreeError, "git's own data cannot be written", folder):
            folder.mkdir()
            for n, content in enumerate(contents):
                files.create(folder / str(n), content)
            stdin = "".join(f"{folder / str(n)}\n" for n in range(len(contents)))
            out = self.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=os.fsencode(stdin))
            files.remove_tree(folder)
        return out.decode().split()

    def planted(self, entries: Iterable[tuple[bytes, str, str]], index: str) -> str:
        """A tree object of ours that holds these names, modes and SHAs; ``index`` names a file of ours."""
        lines = _lines(f"{mode} {sha} 0\t".encode() + name for name, mode, sha in entries)
        self.run("read-tree", "--empty", index=index)
        self.run("update-index", "-z", "--index-info", stdin=lines, index=index)
        return self.run("write-tree", "--missing-ok", index=index).decode().strip()

    def paired(self, old: str, new: str) -> bytes:
        """Which names of two trees belong together: ``--raw -z`` with renames found."""
        return self._compared("-M", f"-l{RENAMES}", "-z", "--raw", old, new)

    def patch(self, old: str, new: str) -> bytes:
        """How the files of two trees differ, with three lines of context."""
        plain = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
        return self._compared("-p", "-U3", *plain, "--src-prefix=a/", "--dst-prefix=b/", old, new)

    def _compared(self, *args: str) -> bytes:
        """Without any attribute: by the head's own (``[0-9]* -diff``) git would not show its lines.

        So git is given a work tree and an index that hold no ``.gitattributes``.
        """
        with self._attributes(b""):
            return self.run("diff-tree", "-r", *args, index="index.none", worktree=self.path / "info")


def batches(entries: Mapping[str, Entry]) -> Iterator[list[tuple[str, Entry]]]:
    """Entries of known size in portions whose contents fit into memory."""
    batch: list[tuple[str, Entry]] = []
    size = 0
    for item in entries.items():
        if batch and size + (item[1].size or 0) > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item[1].size or 0
    if batch:
        yield batch


def _items(out: bytes) -> list[bytes]:
    return out.split(b"\0")[:-1]


def _lines(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)


def _copy(source: Path, target: Path, cap: int) -> int:
    """Copy an ordinary file of at most ``cap`` bytes with the time of change; its size.

    Git takes an entry as possibly edited when it is not older than the index file; a copy with a
    later time would hide an edit of equal size in the same clock tick.
    """
    with files.open_regular(source, cap) as stream:
        info = os.fstat(stream.fileno())
        files.create(target, b"")
        with target.open("wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
    return info.st_size
