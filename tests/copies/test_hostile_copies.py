"""What a worker puts into its copy, or in its place, to be read, waited for, or taken for something else."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from prun_review import treewalk, vault
from prun_review.errors import TreeError
from tests.copies.kit import Bench, codes, unit, work
from tests.repokit import repository

PATTERN = "**/" + "*a" * 60 + "b"
DEEP = "/".join(["a" * 200] * 16)
RULES = {
    "a FIFO": "mkfifo src/.gitignore",
    "a FIFO at the top": "rm .gitignore; mkfifo .gitignore",
    "endless": "truncate -s 30G .gitignore",
    "slow": f"for i in 1 2 3 4; do echo '{PATTERN}'; done > .gitignore; mkdir -p {DEEP}; echo x > {DEEP}/a",
}


@pytest.mark.parametrize("script", RULES.values(), ids=list(RULES))
def test_ignore_files_do_not_stop_the_harvest(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(vault, "IGNORING", 2.0)
    patch = bench.work(f"echo new > new.py; echo x > a.log; {script}")
    if "truncate" in script:
        assert codes(patch) == {"too-large"}
    else:
        assert {"new.py", "a.log"} <= {file.path for file in patch.files}
    assert "not obeyed" in patch.notes[0]


def locked(folder: Path) -> Path:
    """A user's folder with things that only he may open."""
    repository(folder, {"mine.txt": "the user's", "shut/in": "the user's"})
    (folder / "mine.txt").chmod(0)
    (folder / "shut").chmod(0)
    return folder


REPLACED = {
    "a link in its place": "mv {tree} {moved}; ln -s {user} {tree}",
    "another folder in its place": "mv {tree} {moved}; cp -r /etc/alternatives {tree}",
    "a link in the place of its folder": "mkdir {top}/x; ln -s {user} {top}/x/tree; mv {folder} {moved};"
    "ln -s {top}/x {folder}",
}


@pytest.mark.parametrize("script", REPLACED.values(), ids=list(REPLACED))
def test_what_stands_in_the_place_of_the_copy_is_not_read_or_changed(
    bench: Bench, tmp_path: Path, script: str
) -> None:
    user = locked(tmp_path / "user")
    copy = bench.open()
    (copy.path / "new").write_text("x")
    moved = tmp_path / "moved"
    names = {"tree": copy.path, "folder": copy.folder, "user": user, "moved": moved, "top": tmp_path}
    work(tmp_path, script.format(**names))
    with pytest.raises(TreeError, match="in the place of the copy"):
        copy.harvest(unit())
    copy.close()
    assert not os.path.lexists(copy.folder)
    assert [stat.S_IMODE((user / name).stat().st_mode) for name in ("mine.txt", "shut")] == [0, 0]
    assert [*moved.rglob("new")], "what was written is where it was put"
    assert not list(user.glob("copy.json"))


def test_a_copy_that_is_kept_writes_nothing_elsewhere(bench: Bench, tmp_path: Path) -> None:
    copy = bench.open()
    (tmp_path / "elsewhere").mkdir()
    copy.folder.rename(tmp_path / "moved")
    copy.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TreeError, match="a link stands in its place"):
        copy.keep()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_change_is_not_taken_while_somebody_writes(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder becomes a link to a secret between the look and the reading."""
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "key").write_text("the secret")
    copy = bench.open()
    (copy.path / "d").mkdir()
    (copy.path / "d/key").write_text("mine")
    walk, done = treewalk.walk, threading.Event()

    def then(top: str) -> treewalk.Found:
        found = walk(top)
        if not done.is_set():
            done.set()
            (copy.path / "d").rename(copy.path / "e")
            (copy.path / "d").symlink_to(secret)
        return found

    monkeypatch.setattr(treewalk, "walk", then)
    with pytest.raises(TreeError, match="somebody still writes"):
        copy.harvest(unit())
    assert list(bench.run_dir.rglob("change.patch")) == []


BARE = "git init -q --bare x; echo 'x=1' > x/refs/heads/x; cp /bin/true x/objects/y"
NESTED = {
    "bare": (BARE, "x"),
    "bare and below": (f"mkdir -p a/b; cd a/b; {BARE}", "a/b/x"),
    "with a common directory": ("mkdir x; echo ref: refs/heads/x > x/HEAD; echo ../.git > x/commondir", "x"),
    "in another case": (f"{BARE}; mv x/HEAD x/Head; mv x/refs x/REFS", "x"),
}


@pytest.mark.parametrize(("script", "name"), NESTED.values(), ids=list(NESTED))
def test_a_bare_repository_is_a_nested_one(bench: Bench, script: str, name: str) -> None:
    patch = bench.work(script)
    assert [(b.code, b.path) for b in patch.breaches] == [("nested-repository", name)]


def test_what_only_looks_a_little_like_one_is_none(bench: Bench) -> None:
    patch = bench.work("mkdir -p x/refs y/objects; echo x > x/HEAD; echo x > x/refs/a; echo x > y/objects/a")
    assert patch.breaches == ()


def test_a_bare_repository_of_the_base_may_be_changed(tmp_path: Path) -> None:
    from tests.copies import kit

    fixture = {"t/x.git/HEAD": "ref: refs/heads/x\n", "t/x.git/objects/a": "a", "t/x.git/refs/heads/x": "1\n"}
    made = kit.bench(tmp_path, fixture)
    with made.copies:
        assert made.work("echo 2 > t/x.git/refs/heads/x").breaches == ()


def test_a_file_that_cannot_be_opened_is_taken_and_one_of_others_is_left_alone(
    bench: Bench, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("x")
    copy = bench.open()
    if os.stat(theirs).st_dev != os.stat(copy.path).st_dev:
        theirs = copy.folder / "theirs"
        theirs.write_text("x")
    work(copy.path, f"echo n > new; chmod 0 new; ln {theirs} linked; chmod 0 linked")
    if os.geteuid() == 0:  # nobody else can read what is taken of it
        assert {f.path for f in copy.harvest(unit()).files} == {"new", "linked"}
    else:
        with pytest.raises(TreeError):
            copy.harvest(unit())
    assert stat.S_IMODE(theirs.stat().st_mode) == 0
    assert subprocess.run(["cat", copy.path / "new"], capture_output=True, check=True).stdout == b"n\n"
