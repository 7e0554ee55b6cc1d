"""``prun-review clean``: what goes, what stays, and why."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import pytest

from prun_review import cli
from prun_review.copies import ThrowawayCopy
from prun_review.copyplace import RECORD, remove
from prun_review.locks import Lock
from tests.copies.kit import EDIT, Bench, unit, work


def aged(copy: ThrowawayCopy, days: float) -> ThrowawayCopy:
    """The copy as if it had been made that long ago, and left."""
    record = json.loads((copy.folder / RECORD).read_text())
    (copy.folder / RECORD).write_text(json.dumps({**record, "made": time.time() - days * 86400}))
    return copy


def clean(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, tuple[str, str]]:
    """What was done with each folder of this test and why, by its name."""
    assert cli.main(["clean", *args]) == 0
    found = {}
    for line in capsys.readouterr().out.splitlines():
        what, _, why = line.partition(": ")
        word, path = what.split(" ", 1)
        if not Path(path).is_relative_to(os.environ["XDG_CACHE_HOME"]):
            continue  # somebody else's below /var/tmp, which is looked at as well
        found[Path(path).name] = (word, why)
        assert Path(path).exists() is (word == "kept")
    return found


def harvested(bench: Bench, script: str) -> ThrowawayCopy:
    copy = bench.open()
    work(copy.path, script)
    copy.harvest(unit())
    copy.keep()
    return copy


def test_a_harvested_copy_goes_when_it_is_old(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    young = aged(harvested(bench, EDIT), 6)
    old = aged(harvested(bench, EDIT), 8)
    untouched = aged(bench.open(), 8)
    assert untouched.keep()
    aged(untouched, 8)
    bench.copies.close()
    found = clean(capsys)
    assert found[young.folder.name] == ("kept", "6.0 days old, which is not old enough")
    stored = f"8.0 days old, and its change is stored in {old.record.out}/change.patch"
    assert found[old.folder.name] == ("removed", stored)
    assert found[untouched.folder.name] == ("removed", "8.0 days old, and it holds no change")
    assert clean(capsys, "--older-than", "5")[young.folder.name][0] == "removed"
    assert clean(capsys) == {}


def _never_harvested(bench: Bench) -> ThrowawayCopy:
    copy = bench.open()
    work(copy.path, EDIT)
    return copy


def _changed_after(bench: Bench) -> ThrowawayCopy:
    copy = harvested(bench, EDIT)
    work(copy.path, "echo more > more")
    return copy


def _patch_gone(bench: Bench) -> ThrowawayCopy:
    copy = harvested(bench, EDIT)
    Path(copy.record.out, "change.patch").write_text("something else")
    return copy


def _committed_and_reset(bench: Bench) -> ThrowawayCopy:
    copy = bench.open()
    work(copy.path, f"{EDIT} git commit -qam x; git reset -q --hard HEAD~1")
    return copy


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_never_harvested, "it holds a change that is not stored in its run"),
        (_changed_after, "it holds a change that is not stored in its run"),
        (_patch_gone, "its change is not stored in"),
        (_committed_and_reset, "it holds a change that is not stored in its run"),
    ],
)
def test_what_would_be_lost_is_kept(
    bench: Bench, capsys: pytest.CaptureFixture[str], make: object, why: str
) -> None:
    copy = aged(make(bench), 100)  # type: ignore[operator]
    bench.copies.close()
    word, said = clean(capsys)[copy.folder.name]
    assert word == "kept"
    assert why in said
    assert clean(capsys, "--force")[copy.folder.name][0] == "removed"


def test_a_run_that_is_alive_loses_nothing(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    copy = aged(harvested(bench, EDIT), 100)
    assert {word for word, _ in clean(capsys, "--force").values()} == {"kept"}
    bench.copies.close()
    lock = Lock(bench.run_dir / "lock")  # its dispatcher still works
    try:
        assert clean(capsys, "--force")[copy.folder.name] == ("kept", "its run is alive")
    finally:
        lock.release()
    assert clean(capsys, "--force")[copy.folder.name][0] == "removed"


def test_leftovers_go_at_any_age(bench: Bench, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = bench.open()
    place = copy.folder.parent
    half = bench.open()
    half.record.__class__(**{**json.loads((half.folder / RECORD).read_text()), "laid": ""}).write(half.folder)
    (place / "plain-x/tree").mkdir(parents=True)
    victim = cache / "victim"
    victim.mkdir()
    (victim / "x").write_text("mine\n")
    (place / "link").symlink_to(victim)
    (place.parent / "stray").write_text("x\n")
    bench.copies._place._lock.release()  # as a crash does
    found = clean(capsys)
    template = next(name for name in found if name.startswith("template-"))
    for name in (template, half.folder.name, "plain-x", "link", "stray"):
        assert found[name][0] == "removed"
    assert found[copy.folder.name][0] == "kept"
    assert (victim / "x").read_text() == "mine\n"


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"run": 5}', '{"made": NaN}', None], ids=lambda text: repr(text)[:12]
)
def test_a_copy_of_which_nothing_is_known_may_hold_work(
    bench: Bench, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    """A power failure, or a worker that is not contained, can spoil what is registered of it."""
    copy = bench.open()
    work(copy.path, EDIT)
    known = json.loads((copy.folder / RECORD).read_text())
    if text is None:
        (copy.folder / RECORD).unlink()
    else:
        one = json.dumps({**known, **json.loads(text)}) if text.startswith('{"') else text
        (copy.folder / RECORD).write_text(one)
    bench.copies.close()
    assert (copy.path / "src/a.py").exists(), "the end of a run takes no copy away either"
    assert clean(capsys)[copy.folder.name] == ("kept", "0.0 days old, which is not old enough")
    os.utime(copy.folder, (1, 1))
    word, said = clean(capsys)[copy.folder.name]
    assert (word, "may hold a change (--force removes it)" in said) == ("kept", True)
    assert clean(capsys, "--force")[copy.folder.name][0] == "removed"


def test_a_cache_that_is_named_relatively_is_nobodys(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here/prun_review/copies/run").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert clean(capsys) == {}
    assert (tmp_path / "here/prun_review/copies/run").is_dir()


def test_few_descriptors_are_enough_for_a_deep_tree(bench: Bench) -> None:
    copy = bench.open()
    deep = "import os\nfor _ in range(400):\n    os.mkdir('d'); os.chdir('d')\n"
    work(copy.path, f'{sys.executable} -c "{deep}"')
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
    try:
        assert remove(copy.folder) == ""
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not copy.folder.exists()


def test_locked_and_deep_folders_are_removed(bench: Bench, tmp_path: Path) -> None:
    copy = bench.open()
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    work(copy.path, "mkdir -p d/e; : > d/e/f; chmod 000 d/e; chmod 500 d; ln -s $O link", O=str(outside))
    deep = "import os\nfor _ in range(3000):\n    os.mkdir('deeper'); os.chdir('deeper')\n"
    work(copy.path, f'{sys.executable} -c "{deep}"')
    patch = copy.harvest(unit())
    assert {breach.code for breach in patch.breaches} == {"escaping-link", "odd-file"}
    assert remove(copy.folder) == ""
    assert not copy.folder.exists()
    assert outside.stat().st_mode & 0o777 == 0o500


@pytest.mark.parametrize("args", [["--older-than", "-1"], ["--older-than", "x"], ["now"]])
def test_usage_errors(args: list[str]) -> None:
    assert cli.main(["clean", *args]) == 2


def test_nothing_to_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert clean(capsys) == {}
