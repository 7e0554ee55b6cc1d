"""Resuming in whole pytest runs, and runs whose disk fills up, turns read-only or vanishes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prun_review import files, rundir
from tests.plugin.conftest import ONE, SOURCE, Project, finding, payload

HARMING = Path(__file__).with_name("harming.py")
THREE = '''
import pytest
from prun_review import brief

@brief(reads=["src/*.py"])
@pytest.mark.parametrize("which", ["first", "second", "third"])
def probe_app(result, which):
    """This is the {which} look: audit the application."""
'''
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])


class TestResume:
    @WORKERS
    def test_only_what_is_open_is_asked(self, project: Project, workers: tuple[str, ...]) -> None:
        project.probe(THREE)
        project.answers(
            {"when": "second look", "of": "right", "raw": "I could not do it."},
            {"when": "third look", "of": "left", "raw": "no", "exit": 1},
            {"payload": payload(finding(severity="low"))},
        )
        assert project.run("panels/", *workers).ret == 1
        first = project.report()
        assert len(project.calls()) == 7, "one answer was asked for again"
        project.answers({"payload": payload(finding(severity="low"))})
        result = project.run("panels/", "--prun-resume", *workers)
        assert result.ret == 0
        assert sorted(project.calls()[7:]) == ["left", "right"]
        second = project.report()
        assert second["facts"]["resumed_from"] == [first["run_id"]]
        assert f"resumed from {first['run_id']}: 4 of 6 units taken over" in result.stdout.str()
        kept = {u["id"]: u["seconds"] for u in first["units"] if u["status"] == "valid"}
        assert {u["id"]: u["seconds"] for u in second["units"] if u["id"] in kept} == kept
        self.alone(project, first["run_id"], workers)

    def alone(self, project: Project, older: str, workers: tuple[str, ...]) -> None:
        """Gate and replay need nothing but the new run."""
        files.remove_tree(project.path / ".prun/runs" / older)
        done = subprocess.run(
            [sys.executable, "-m", "prun_review", "gate"], cwd=project.path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        before = project.report()
        calls = project.calls()
        assert project.run("panels/", "--prun-replay", before["run_id"], *workers).ret == 0
        again = project.report()
        assert again["findings"] == before["findings"]
        assert {u["status"] for u in again["units"]} == {"valid"}
        assert project.calls() == calls

    def test_what_changed_is_asked_again(self, project: Project) -> None:
        project.write("src/other.py", "x = 1\n")
        project.commit()
        project.probe(ONE.replace('reads=["src/*.py"]', 'reads=["src/app.py"]'))
        project.probe(ONE.replace("probe_app", "probe_other"), "panels/probe_other.py")
        project.answers({"payload": payload()})
        assert project.run("panels/").ret == 0
        assert len(project.calls()) == 4
        project.write("src/other.py", "x = 2\n")
        assert project.run("panels/", "--prun-resume").ret == 0
        assert len(project.calls()) == 6, "only the probe that reads the other file"
        project.write("src/app.py", SOURCE + "\n# one more line\n")
        assert project.run("panels/", "--prun-resume").ret == 0
        assert len(project.calls()) == 10
        assert project.run("panels/", "--prun-resume").ret == 0
        assert len(project.calls()) == 10, "nothing is open any more"

    def test_a_named_run_is_the_only_one(self, project: Project) -> None:
        project.probe(ONE)
        project.answers({"of": "left", "payload": payload()}, {"raw": "no", "exit": 1})
        project.run("panels/")
        older = project.report()["run_id"]
        project.answers({"payload": payload()})
        assert project.run("panels/").ret == 0
        assert len(project.calls()) == 4
        assert project.run("panels/", "--prun-resume-from", older).ret == 0
        assert project.calls()[4:] == ["right"]
        result = project.run("panels/", "--prun-resume-from", "20200101T000000Z-abcd")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "20200101T000000Z-abcd" in result.stderr.str()

    @pytest.mark.parametrize(
        ("kind", "place", "code"),
        [("touch", "src/app.py", "snapshot-changed"), ("branch", "", "repository-changed")],
    )
    def test_a_run_whose_ground_was_changed_gives_nothing(
        self, project: Project, kind: str, place: str, code: str
    ) -> None:
        harm = Harm(project, kind, place or project.path)
        result = project.run("panels/")
        assert result.ret == 1
        report = project.report()
        # An answer about a changed snapshot is none; one beside a changed repository is shown.
        assert {u["reason"] for u in report["units"]} == {code if code == "snapshot-changed" else "ok"}
        assert report["verdict"]["outcome"] == "INCOMPLETE"
        assert "the verdict will be INCOMPLETE; in flight: panels/" in result.stdout.str()
        assert code in {r["code"] for r in report["facts"]["integrity"]}, "also where it was put back"
        assert harm.calls == 6
        harm.mend()
        result = project.run("panels/", "--prun-resume")
        assert result.ret == 0
        assert harm.calls == 12

    def test_what_such_a_run_had_answered_before_is_not_taken_either(self, project: Project) -> None:
        harm = Harm(project, "touch", "src/app.py")
        (harm.folder / "late").touch()
        assert project.run("panels/").ret == 1
        report = project.report()
        assert sorted({u["reason"] for u in report["units"]}) == ["ok", "snapshot-changed"]
        harm.mend()
        result = project.run("panels/", "--prun-resume")
        assert result.ret == 0
        assert f"run {report['run_id']} is passed over" in result.stdout.str()
        assert "changed meanwhile (snapshot-changed)" in result.stdout.str()
        assert harm.calls == 12


class Harm:
    """Three cases, one after the other, whose first reviewer does harm; told by a file, because what
    stands in the configuration is part of the question."""

    def __init__(self, project: Project, kind: str, place: object) -> None:
        project.probe(THREE)
        self.folder = project.path.with_name(f"{project.path.name}-harm")
        self.folder.mkdir()
        (self.folder / "harm").write_text(f"{kind} {place}")
        argv = [sys.executable, "-I", str(HARMING), str(self.folder), "{tree}"]
        lines = ["[tool.prun_review]", 'executors = ["left", "right"]', "jobs = 1"]
        for name in ("left", "right"):
            lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"', f'vendor = "v-{name}"']
            lines += [f'lineage = "l-{name}"', f"argv = {json.dumps(argv)}"]
        project.write("pyproject.toml", "\n".join(lines) + "\n")

    def mend(self) -> None:
        """No harm any more."""
        (self.folder / "harm").write_text("")

    @property
    def calls(self) -> int:
        """How often a reviewer was asked."""
        return len((self.folder / "calls").read_text().splitlines())


@contextmanager
def disk(place: Path, mib: int = 80) -> Iterator[Path]:
    """A file system of its own, in memory; more than the floor below which no attempt begins."""
    place.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "tmpfs", str(place)]
    made = subprocess.run(argv, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        while str(place) in Path("/proc/self/mounts").read_text():  # also what was put over it
            subprocess.run(["umount", "-l", str(place)], check=True)


def resumes_to_the_end(project: Project, harm: Harm, stored: int, workers: tuple[str, ...] = ()) -> None:
    """After the harm is mended the open units, and only those, are asked."""
    harm.mend()
    before = harm.calls
    result = project.run("panels/", "--prun-resume", *workers)
    assert result.ret == 0, result.stdout.str()
    assert project.report()["verdict"]["outcome"] == "PASS"
    assert harm.calls - before == 6 - stored


def at_most(workers: tuple[str, ...]) -> int:
    """Units in flight: one, and with workers as many as there are."""
    return int(workers[-1]) if workers else 1


def stored(project: Project) -> int:
    """How many valid results lie in the newest run."""
    return sum(result.ok for result in rundir.open_run(rundir.latest(project.path)).results)


class TestDisk:
    @WORKERS
    def test_a_full_one_stops_what_has_not_started_and_is_named(
        self, project: Project, workers: tuple[str, ...]
    ) -> None:
        with disk(project.path / ".prun") as full:
            harm = Harm(project, "fill", full)
            result = project.run("panels/", *workers)
            assert result.ret not in (0, pytest.ExitCode.INTERNAL_ERROR)
            output = result.stdout.str()
            assert "No space left on device" in output
            assert "free space on this file system" in output
            assert "INCOMPLETE" in output
            assert harm.calls <= at_most(workers), "nothing more is bought that cannot be kept"
            assert list(full.rglob(".*.part")) == []
            (full / "filler").unlink()
            assert stored(project) == 0
            resumes_to_the_end(project, harm, 0, workers)

    def test_a_crowded_one_keeps_what_was_answered_and_begins_nothing(self, project: Project) -> None:
        with disk(project.path / ".prun") as crowded:
            harm = Harm(project, "crowd", crowded)
            result = project.run("panels/")
            assert result.ret == 1
            report = project.report()
            assert report["verdict"]["outcome"] == "INCOMPLETE"
            assert harm.calls == 1
            assert sorted({u["reason"] for u in report["units"]}) == ["disk-full", "ok"]
            assert "free 64 MiB on this file system, then --prun-resume" in result.stdout.str()
            (crowded / "filler").unlink()
            assert stored(project) == 1
            resumes_to_the_end(project, harm, stored(project))

    def test_one_that_turns_read_only(self, project: Project) -> None:
        with disk(project.path / ".prun") as place:
            harm = Harm(project, "lock", place)
            try:
                result = project.run("panels/")
            finally:
                while Path("/proc/self/mounts").read_text().count(str(place)) > 1:
                    subprocess.run(["umount", str(place)], check=True)
            assert result.ret not in (0, pytest.ExitCode.INTERNAL_ERROR)
            assert "the file system is read-only: choose a writable project folder" in result.stdout.str()
            assert "INCOMPLETE" in result.stdout.str()
            assert harm.calls == 1
            assert stored(project) == 0
            resumes_to_the_end(project, harm, 0)

    @WORKERS
    def test_runs_that_are_removed_meanwhile(self, project: Project, workers: tuple[str, ...]) -> None:
        harm = Harm(project, "remove", project.path / ".prun")
        result = project.run("panels/", *workers)
        assert result.ret not in (0, pytest.ExitCode.INTERNAL_ERROR)
        assert "do not remove it during a run, and start again" in result.stdout.str()
        assert "INCOMPLETE" in result.stdout.str()
        assert harm.calls <= at_most(workers)
        assert not (project.path / "reports").exists()
        resumes_to_the_end(project, harm, 0, workers)

    def test_a_working_directory_that_vanishes(self, project: Project, tmp_path: Path) -> None:
        """pytest itself cannot go back there and ends without a summary, before our verdict."""
        harm = Harm(project, "remove", project.path)
        output = tmp_path / "output"
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "panels/"]
        with output.open("wb") as stream:
            done = subprocess.run(
                argv, cwd=project.path, stdout=stream, stderr=stream, timeout=120, check=False
            )
        assert done.returncode != 0
        assert "left failed: run-directory panels/probe_app.py::probe_app[first-left]" in output.read_text()
        assert harm.calls == 1
        project.path.mkdir(exist_ok=True)

    def test_no_room_to_begin_with(self, project: Project) -> None:
        with disk(project.path / ".prun", 30):
            harm = Harm(project, "nothing", "")
            result = project.run("panels/")
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            assert "nothing is begun with 30 MiB" in result.stderr.str()
            assert "free 64 MiB on this file system" in result.stderr.str()
            assert not (harm.folder / "calls").exists()

    @WORKERS
    def test_a_read_only_one_to_begin_with(self, project: Project, workers: tuple[str, ...]) -> None:
        with disk(project.path / ".prun") as place:
            harm = Harm(project, "nothing", "")
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
            result = project.run("panels/", *workers)
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            assert "the file system is read-only: choose a writable project folder" in result.stderr.str()
            assert not (harm.folder / "calls").exists()


class TestTwoAtOnce:
    def start(self, project: Project, *args: str) -> subprocess.Popen[str]:
        argv = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "panels/",
            *args,
        ]
        return subprocess.Popen(
            argv, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def test_both_end_well_and_neither_is_mixed_up(self, project: Project) -> None:
        project.probe(THREE)
        project.answers({"payload": payload(finding(severity="low")), "sleep": 0.5})
        both = [self.start(project), self.start(project, "-n", "2")]
        outputs = [run.communicate(timeout=120)[0] for run in both]
        assert [run.returncode for run in both] == [0, 0], outputs
        runs = list(rundir.stored(project.path))
        assert len(runs) == 2
        for path in runs:
            record = rundir.open_run(path)
            assert record.problems == ()
            assert [result.ok for result in record.results] == [True] * 6
            report = json.loads((project.path / "reports" / path.name / "report.json").read_text())
            assert (report["run_id"], report["verdict"]["outcome"]) == (path.name, "PASS")
        assert project.report()["run_id"] in {path.name for path in runs}
        names = {p.name for p in (project.path / "reports").iterdir()}
        assert names == {"latest", *(path.name for path in runs)}

    def test_a_run_that_is_still_written_cannot_be_resumed(self, project: Project) -> None:
        project.probe(ONE)
        project.answers({"payload": payload(), "sleep": 15})
        with self.start(project) as live:
            deadline = time.monotonic() + 60
            while not project.calls() and time.monotonic() < deadline:
                time.sleep(0.05)
            name = rundir.latest(project.path).name
            for args in (("--prun-resume",), ("--prun-resume-from", name)):
                result = project.run("panels/", *args)
                assert result.ret == pytest.ExitCode.USAGE_ERROR
                text = f"run {name} is still being written by process {live.pid}"
                assert text in result.stderr.str()
                assert "wait for it to end, or name another run" in result.stderr.str()
            live.kill()
        assert len(project.calls()) <= 2
        project.answers({"payload": payload()})
        assert project.run("panels/", "--prun-resume").ret == 0
