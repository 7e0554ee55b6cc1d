"""What a throwaway copy costs in time and on disk, beside ``git worktree add`` of the same commit.

    python benchmarks/copies.py [--files 20000] [--megabytes 300] [--copies 16] [--at-once 4] [--place DIR]

Makes a repository of that size (a fifth of it does not compress), then as many copies as asked for from as
many threads; what each copy's untouched and edited harvest takes; and as many work trees, one after the
other, since git cannot make them at once.  The first copy makes the template, and its time is told apart.
Everything is made below DIR (default: the user's cache) and removed again.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tabulate import tabulate

from prun_review import files
from prun_review import git as ours
from prun_review.copies import Copies, ThrowawayCopy
from prun_review.model import Brief, Unit
from prun_review.vault import Vault

LINE = b"    return [value for value in values if value.isdecimal() and value not in seen]\n"
FOLDERS = 200
ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
UNIT = Unit("b[x]", "b-x", "b", "panels", "x", Brief("edit", mode="write"))


def git(where: Path, *args: str) -> None:
    """A user's own git."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0")
    subprocess.run(["git", *who, *args], cwd=where, env=ENV, check=True, capture_output=True)


def repository(where: Path, count: int, size: int) -> Path:
    """A repository of that many files with that many bytes in all, packed."""
    where.mkdir()
    source = random.Random(1)
    each = size // count
    for n in range(count):
        path = where / f"package{n % FOLDERS}/module{n}.py"
        path.parent.mkdir(exist_ok=True)
        noise = source.randbytes(each // 5)
        path.write_bytes(noise + b"\n%d\n" % n + LINE * ((each - len(noise)) // len(LINE)))
    git(where, "init", "-q")
    git(where, "add", "-A")
    git(where, "commit", "-q", "-m", "first")
    git(where, "repack", "-adq", "--window=0")
    return where


def timed(what: Callable[[], object]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    what()
    return time.perf_counter() - start


def used(folder: Path) -> float:
    """Megabytes on disk."""
    out = subprocess.run(["du", "-sk", str(folder)], env=ENV, check=True, capture_output=True)
    return int(out.stdout.split()[0]) / 1024


def edited(copy: ThrowawayCopy) -> None:
    """Ten files of a copy, changed."""
    for path in sorted(copy.path.glob("package0/*.py"))[:10]:
        path.write_bytes(path.read_bytes() + b"edited\n")


def measure(base: Path, args: argparse.Namespace) -> list[Sequence[object]]:
    """The rows of the table."""
    repo = repository(base / "repo", args.files, args.megabytes << 20)
    run_dir = base / "run"
    run_dir.mkdir()
    vault = Vault.create(run_dir / "git", ours.find(repo))
    commit = vault.commit_of("HEAD")
    rows: list[Sequence[object]] = []
    with Copies(vault, run_dir) as copies, ThreadPoolExecutor(args.at_once) as pool:

        def one(n: int) -> ThrowawayCopy:
            out = run_dir / f"units/u{n}/1"
            out.mkdir(parents=True)
            return copies.open(commit, f"u{n}", 1, out)

        made: list[ThrowawayCopy] = []
        first = timed(lambda: made.append(one(0)))
        rest = timed(lambda: made.extend(pool.map(one, range(1, args.copies))))
        place = made[0].folder.parent
        disk = used(place) / (args.copies + 1)
        untouched = timed(lambda: list(pool.map(lambda copy: copy.harvest(UNIT), made))) / len(made)
        for copy in made:
            edited(copy)
        changed = timed(lambda: list(pool.map(lambda copy: copy.harvest(UNIT), made))) / len(made)
        removed = timed(lambda: list(pool.map(ThrowawayCopy.close, made))) / len(made)
    trees = [base / f"worktrees/w{n}" for n in range(args.copies)]
    added = sum(timed(partial(git, repo, "worktree", "add", "--detach", str(tree))) for tree in trees)
    shared = used(base / "worktrees") / len(trees)
    each = rest / max(1, args.copies - 1)
    worktree = added / len(trees)
    rows.append(("template and first copy", first, "", first / worktree))
    rows.append(("each further copy", each, disk, each / worktree))
    rows.append(("git worktree add, each", worktree, shared, 1.0))
    rows.append(("harvest of an untouched copy", untouched, "", untouched / worktree))
    rows.append(("harvest of 10 edited files", changed, "", changed / worktree))
    rows.append(("removal of a copy", removed, "", removed / worktree))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--copies", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=4, help="threads that make copies")
    parser.add_argument("--place", type=Path, default=Path.home() / ".cache")
    args = parser.parse_args()
    args.place.mkdir(parents=True, exist_ok=True)
    base = Path(tempfile.mkdtemp(prefix="copies-", dir=args.place))
    os.environ["XDG_CACHE_HOME"] = str(base / "cache")
    try:
        rows = measure(base, args)
    finally:
        files.remove_tree(base)
    print(f"{args.files} files, {args.megabytes} MB, {args.copies} copies, {args.at_once} at once")
    headers = ("", "seconds", "MB on disk", "x worktree")
    print(tabulate(rows, headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
