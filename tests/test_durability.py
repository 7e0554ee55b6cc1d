"""What a full, read-only or vanishing disk does to a run directory: a named error, nothing half-written.

The disks are real: small file systems in memory, mounted for the test where that is permitted.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from prun_review import document, files, resume, rundir, runwriter
from prun_review.errors import DiskFullError, RunDirError
from prun_review.model import Plan, Unit
from prun_review.planning import Collected
from prun_review.ports import Command
from prun_review.rundir import RunDir, RunView
from tests.storekit import NOW, attempt, begin, result, store, unit

SIZE = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        while str(place) in Path("/proc/self/mounts").read_text():  # also what was put over it
            subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    """Until not a byte is left."""
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as stream:
        while stream.write(b"x" * 4096):
            pass


def release(disk: Path) -> None:
    (disk / "filler").unlink()


def lock_up(disk: Path) -> None:
    """A read-only view over it; a file system with files open for writing cannot be made read-only."""
    subprocess.run(["mount", "--bind", str(disk), str(disk)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)


def open_up(disk: Path) -> None:
    subprocess.run(["umount", str(disk)], check=True)


def remove_runs(disk: Path) -> None:
    (disk / ".prun").rename(disk / "removed")


def put_back(disk: Path) -> None:
    (disk / "removed").rename(disk / ".prun")


FAULTS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None], str, str]] = {
    "full": (fill, release, "disk-full", "free space on this file system"),
    "read-only": (lock_up, open_up, "run-directory", "the file system is read-only"),
    "removed": (remove_runs, put_back, "run-directory", "vanished while it was in use"),
}
BIG = "x" * 50_000
"""More than the last block of a file has room for."""


def append(run: RunDir, root: Path) -> None:
    run.append("note", text=BIG)


def finish(run: RunDir, root: Path) -> None:
    run.finish(result(unit("c"), message=BIG))


def write_plan(run: RunDir, root: Path) -> None:
    run.write_plan(Plan((unit("c"),)))


def write_document(run: RunDir, root: Path) -> None:
    run.write_document({"schema_version": 1, "status": "finished", "text": BIG})


def new_attempt(run: RunDir, root: Path) -> None:
    run.new_attempt(unit("c"))


def record(run: RunDir, root: Path) -> None:
    run.record(run.path / f"units/{unit('b').slug}/1", BIG, Command(("x",), {}, root, b""))


def adopt(run: RunDir, root: Path) -> None:
    run.adopt(unit("c"), result(unit("c")), RunView(run.path), [])


def state(run: RunDir, root: Path) -> None:
    run.state("codex")


def hand_in(run: RunDir, root: Path) -> None:
    RunView(run.path).write_collected("gw0", Collected(()))


def publish(run: RunDir, root: Path) -> None:
    rundir.publish(root, run.id, {"report.md": BIG})


def create(run: RunDir, root: Path) -> None:
    rundir.create(root, now=NOW + 1).close()


OPERATIONS = (
    append,
    finish,
    write_plan,
    write_document,
    new_attempt,
    record,
    adopt,
    state,
    hand_in,
    publish,
    create,
)
UNHARMED = {
    ("removed", "append"),
    ("read-only", "append"),
    ("removed", "publish"),
    ("removed", "create"),
    ("full", "state"),
    ("full", "create"),
}
"""An open ledger goes on without its name; reports stand elsewhere and a new run makes its own folders;
empty folders and files take no room in memory."""


def begun(root: Path, *units: Unit) -> RunDir:
    """A run with one result, and one attempt that was prepared and not recorded."""
    run = rundir.create(root, now=NOW)
    begin(run, *units)
    attempt(run, units[0])
    run.finish(result(units[0]))
    run.new_attempt(units[1])
    return run


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_what_was_there_stays_and_work_goes_on_after_it(
    disk: Path, monkeypatch: pytest.MonkeyPatch, fault: str, operation: Callable[[RunDir, Path], None]
) -> None:
    monkeypatch.setattr(runwriter, "FLOOR", 0)
    monkeypatch.setattr(runwriter, "FLOOR_FILES", 0)
    harm, mend, code, remedy = FAULTS[fault]
    one, two, three = unit("a"), unit("b"), unit("c")
    run = begun(disk, one, two, three)
    before = {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file() and p.name != "ledger.jsonl"}
    harm(disk)
    try:
        if (fault, operation.__name__) in UNHARMED:
            operation(run, disk)
        else:
            with pytest.raises(RunDirError) as caught:
                operation(run, disk)
            assert caught.value.code == code
            assert remedy in caught.value.remedy
            assert str(disk) in caught.value.place
    finally:
        shutil.rmtree(disk / ".prun", ignore_errors=True) if fault == "removed" else None
        mend(disk)
    left = {p for p in disk.rglob(".*") if p.name not in (".prun", ".gitignore")}
    assert left == set(), "nothing half-written"
    assert {p: p.read_bytes() for p in before} == before
    if operation is not record:
        run.record(run.path / f"units/{two.slug}/1", "p", Command(("x",), {}, disk, b"p"))
    for missing in (two, three):
        run.finish(result(missing))
    record_of = rundir.open_run(run.path)
    assert record_of.problems == ()
    assert [r.unit for r in record_of.results] == [one.id, two.id, three.id]
    run.close()


def test_no_attempt_is_begun_without_room_for_its_end(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DiskFullError, match="nothing is begun with 4 MiB"):
        rundir.create(disk, now=NOW)
    assert list((disk / ".prun/runs").iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(runwriter, "FLOOR", 0)
        run = rundir.create(disk, now=NOW)
    with pytest.raises(DiskFullError, match=r"begun with 3 MiB and \d+ files free") as caught:
        run.new_attempt(unit())
    assert caught.value.code == "disk-full"
    assert "free 64 MiB on this file system, then --prun-resume" in caught.value.remedy
    assert caught.value.place == str(run.path)
    assert not (run.path / "units").exists()
    run.finish(result(unit(), "failed"))
    monkeypatch.setattr(runwriter, "FLOOR", SIZE // 2)
    assert run.new_attempt(unit()).name == "1"
    monkeypatch.setattr(runwriter, "FLOOR_FILES", 10**9)
    with pytest.raises(DiskFullError):
        run.new_attempt(unit())
    run.close()


def test_a_take_over_that_finds_no_room_leaves_the_old_run_as_it_was(disk: Path, tmp_path: Path) -> None:
    old = store(tmp_path, {"a": "valid", "b": "valid"})
    before = {p: p.read_bytes() for p in old.path.rglob("*") if p.is_file()}
    (disk / ".prun").mkdir()
    (disk / ".prun/runs").symlink_to(tmp_path / ".prun/runs")
    run = RunDir(files.make_private(disk / "run"))
    plan = Plan((unit("a"), unit("b")))
    fill(disk)
    with pytest.raises(DiskFullError, match="No space left on device"):
        resume.take_over(tmp_path, plan, run, "latest")
    release(disk)
    assert RunView(run.path).result_of(unit("a")) is None
    assert {p: p.read_bytes() for p in before} == before
    run.close()
    again = rundir.create(tmp_path, now=NOW + 9)
    assert len(resume.take_over(tmp_path, plan, again, "latest").results) == 2
    again.close()


def test_a_result_that_only_the_ledger_has_is_none_and_is_asked_again(tmp_path: Path) -> None:
    """A SIGKILL between the two: the ledger is written first."""
    run = store(tmp_path, {"a": "valid", "b": "valid"}, ended=False)
    (run.path / f"units/{unit('a').slug}/result.json").unlink()
    assert RunView(run.path).result_of(unit("a")) is None
    record_of = rundir.open_run(run.path)
    assert [r.unit for r in record_of.results] == [unit("b").id]
    assert document.verdict_of(record_of.document).outcome == "INCOMPLETE"
    later = rundir.create(tmp_path, now=NOW + 9)
    taken = resume.take_over(tmp_path, Plan((unit("a"), unit("b"))), later, "latest")
    assert [r.unit for r in taken.results] == [unit("b").id]
    later.close()


def test_a_line_that_could_not_be_taken_back_does_not_swallow_the_next(tmp_path: Path) -> None:
    run = rundir.create(tmp_path, now=NOW)
    begin(run, unit())
    run._log._torn = True
    with (run.path / "ledger.jsonl").open("ab") as stream:
        stream.write(b'{"event": "half')
    run.finish(result(unit()))
    assert RunView(run.path).result_of(unit()) == result(unit())
    assert [p.code for p in rundir.open_run(run.path).problems] == ["ledger-damaged"]
    run.close()


class TestReportsAfterAKill:
    def test_old_leftovers_are_swept_and_young_ones_left(self, tmp_path: Path) -> None:
        reports = tmp_path / "reports"
        old, young = reports / ".r1.0123.part", reports / ".r2.0123.part"
        for folder in (old, young):
            folder.mkdir(parents=True)
            (folder / "report.md").touch()
        (reports / ".latest.0123.part").symlink_to("nowhere")
        long_ago = time.time() - 7200
        subprocess.run(["touch", "-h", "-d", f"@{long_ago}", *map(str, reports.iterdir())], check=True)
        young.touch()
        rundir.publish(tmp_path, "r3", {"report.md": "x"})
        assert sorted(p.name for p in reports.iterdir()) == [".r2.0123.part", "latest", "r3"]
