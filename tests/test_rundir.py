"""Run directories on a real disk: nothing half-written, nothing unvouched, nothing lost."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review import masking, rundir, runwriter
from prun_review.codec import encode
from prun_review.errors import RunDirError
from prun_review.files import write
from prun_review.locks import Lock
from prun_review.model import Brief, Exit, Plan, Unit, Usage
from prun_review.planning import Collected, Proposal
from prun_review.ports import Command, Store
from prun_review.rundir import RunDir, RunView
from tests.storekit import KEY, NOW, begin, result, unit, writer


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDir]:
    made = rundir.create(tmp_path, now=NOW)
    yield made
    made.close()


class TestCreate:
    def test_layout_modes_and_id_whatever_the_umask(self, tmp_path: Path) -> None:
        for umask in (0, 0o277):
            old = os.umask(umask)
            try:
                run = rundir.create(tmp_path, now=NOW, token=f"{umask:04x}")
                begin(run, unit())
                out = run.new_attempt(unit())
            finally:
                os.umask(old)
            assert run.id == f"20260528T202640Z-{umask:04x}"
            for path in (tmp_path / ".prun", run.path, out, out / "work"):
                assert stat.S_IMODE(path.stat().st_mode) == 0o700
            for name in ("run.json", "plan.json", "ledger.jsonl", "lock"):
                assert stat.S_IMODE((run.path / name).stat().st_mode) == 0o600
            run.close()
        assert (tmp_path / ".prun/.gitignore").read_text() == "*\n"

    def test_two_runs_at_once_in_one_project(self, tmp_path: Path) -> None:
        found: list[RunDir] = []
        threads = [
            threading.Thread(target=lambda: found.append(rundir.create(tmp_path, now=NOW))) for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({run.path for run in found}) == 12
        for n, run in enumerate(found):
            begin(run, unit(str(n)))
            run.finish(result(unit(str(n))))
        for n, run in enumerate(found):
            assert [r.unit for r in rundir.open_run(run.path).results] == [unit(str(n)).id]
            run.close()

    def test_a_taken_or_malformed_token_is_refused(self, tmp_path: Path) -> None:
        rundir.create(tmp_path, now=NOW, token="00ff").close()
        with pytest.raises(RunDirError, match="such a run already"):
            rundir.create(tmp_path, now=NOW, token="00ff")
        with pytest.raises(RunDirError, match="4 hex digits"):
            rundir.create(tmp_path, now=NOW, token="../x")

    def test_latest_is_the_last_made(self, tmp_path: Path) -> None:
        with pytest.raises(RunDirError, match=r"no run yet[^$]*pytest panels/"):
            rundir.latest(tmp_path)
        for token, now in (("ffff", NOW), ("0000", NOW), ("8888", NOW - 5)):
            rundir.create(tmp_path, now=now, token=token).close()
            time.sleep(0.02)  # so that the lock files differ in time, as two real starts do
        (tmp_path / ".prun/runs/zzz").mkdir()
        assert rundir.latest(tmp_path).name.endswith("-0000")

    def test_a_discarded_run_is_gone(self, run: RunDir, tmp_path: Path) -> None:
        run.discard()
        assert not run.path.exists()
        with pytest.raises(RunDirError):
            rundir.latest(tmp_path)

    def test_state_directories(self, run: RunDir) -> None:
        assert run.state("codex") == run.state("codex") == run.path / "state/codex"
        assert stat.S_IMODE(run.state("codex").stat().st_mode) == 0o700
        with pytest.raises(RunDirError):
            run.state("../x")


class TestLock:
    def test_it_tells_whether_the_writer_lives(self, run: RunDir) -> None:
        view = RunView(run.path)
        assert view.dispatcher_alive()
        assert rundir.locked(run.path)
        assert run.dispatcher_alive(), "asking in the writer itself does not release the lock"
        assert rundir.locked(run.path)
        run.close()
        assert not view.dispatcher_alive()

    def test_it_ends_with_a_killed_writer(self, tmp_path: Path) -> None:
        script = (
            "import time; from pathlib import Path; from prun_review import rundir\n"
            f"run = rundir.create(Path({str(tmp_path)!r}), now=0.0)\n"
            "print(run.path, flush=True); time.sleep(60)"
        )
        with writer(script) as path:
            assert rundir.locked(path)
        assert not rundir.locked(path)

    def test_a_forked_child_does_not_keep_it(self, run: RunDir) -> None:
        ready, done = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(ready[1], b"x")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        try:
            run.close()
            assert not rundir.locked(run.path)
        finally:
            os.write(done[1], b"x")
            os.waitpid(pid, 0)
            for fd in (*ready, *done):
                os.close(fd)

    def test_a_second_writer_is_refused(self, run: RunDir) -> None:
        with pytest.raises(BlockingIOError):
            Lock(run.path / "lock")


class TestResults:
    def test_they_come_back_as_they_were(self, run: RunDir) -> None:
        store: Store = run
        one, two = unit("a"), unit("b")
        begin(run, one, two)
        view = RunView(run.path)
        assert view.plan() == Plan((one, two))
        assert view.result_of(one) is None
        store.finish(result(one, usage=Usage(1, 2, 3, 0.5)))
        assert view.result_of(one) == result(one, usage=Usage(1, 2, 3, 0.5))
        record = rundir.open_run(run.path)
        assert record.results == (result(one, usage=Usage(1, 2, 3, 0.5)),)
        assert record.plan.units == (one, two)
        assert record.problems == ()
        assert record.document["status"] == "started"

    def test_a_second_terminal_result_is_refused(self, run: RunDir) -> None:
        run.finish(result(unit()))
        with pytest.raises(RunDirError, match="terminal result already"):
            run.finish(result(unit(), "failed"))
        begin(run, unit())
        assert rundir.open_run(run.path).results[0].status == "valid"

    def test_threads_finish_and_append_without_mixing_lines(self, run: RunDir) -> None:
        units = [unit(str(n)) for n in range(40)]
        begin(run, *units)

        def work(mine: list[Unit]) -> None:
            for one in mine:
                for n in range(20):
                    run.append("note", text="x" * 500, n=n)
                run.finish(result(one))

        threads = [threading.Thread(target=work, args=(units[k::8],)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        record = rundir.open_run(run.path)
        assert record.problems == ()
        assert [r.unit for r in record.results] == [u.id for u in units]
        lines = (run.path / "ledger.jsonl").read_text().splitlines()
        assert len(lines) == 40 * 21 + 2
        assert all(json.loads(line)["at"] for line in lines)

    def test_a_slug_that_leaves_the_directory_is_refused(self, run: RunDir) -> None:
        for slug in ("../x", "", "a/b", "a" * 300, "ä"):
            with pytest.raises(RunDirError, match="cannot name a directory"):
                run.finish(replace(result(unit()), slug=slug))

    def test_nothing_comes_after_the_end(self, run: RunDir) -> None:
        run.close()
        with pytest.raises(RunDirError, match="ledger is closed"):
            run.append("late")

    def test_nothing_appears_before_the_ledger_names_it(self, run: RunDir) -> None:
        run._log.close()
        with pytest.raises(RunDirError, match="ledger is closed"):
            run.finish(result(unit()))
        with pytest.raises(RunDirError, match="ledger is closed"):
            begin(run, unit())
        assert {p.name for p in run.path.rglob("*") if p.is_file()} == {"lock", "ledger.jsonl"}


def other_sha(run: RunDir, one: Unit) -> None:
    place = run.path / f"units/{one.slug}/result.json"
    place.write_bytes(place.read_bytes().replace(b"a defect", b"no defect"))


def planted(run: RunDir, one: Unit) -> None:
    write(run.path / f"units/{one.slug}/result.json", json.dumps(encode(result(one, "broken"))).encode())


def of_another_unit(run: RunDir, one: Unit) -> None:
    (run.path / f"units/{one.slug}/result.json").unlink()
    run._finished.clear()
    run.finish(replace(result(unit("b")), slug=one.slug))


def stale(run: RunDir, one: Unit) -> None:
    (run.path / f"units/{one.slug}/result.json").unlink()
    run._finished.clear()
    run.finish(replace(result(one), fingerprint="0" * 64))


def rolled_back(run: RunDir, one: Unit) -> None:
    place = run.path / f"units/{one.slug}/result.json"
    earlier = place.read_bytes()
    run._finished.clear()
    run.finish(result(one, "broken"))
    write(place, earlier)


def undecodable(run: RunDir, one: Unit) -> None:
    run._vouch(f"units/{one.slug}/result.json", {"unit": 1}, "result", slug=one.slug)


def stray(run: RunDir, one: Unit) -> None:
    run.finish(result(unit("unplanned")))


def other_plan(run: RunDir, one: Unit) -> None:
    write(run.path / "plan.json", json.dumps(encode(Plan(()))).encode())


def no_plan(run: RunDir, one: Unit) -> None:
    (run.path / "plan.json").unlink()


def other_document(run: RunDir, one: Unit) -> None:
    write(run.path / "run.json", b'{"schema_version": 1, "status": "finished"}')


def torn_ledger(run: RunDir, one: Unit) -> None:
    with (run.path / "ledger.jsonl").open("ab") as stream:
        stream.write(b'{"event": "resu')


def odd_ledger(run: RunDir, one: Unit) -> None:
    with (run.path / "ledger.jsonl").open("ab") as stream:
        stream.write(b'\xff\0\n[]\n{"no": "event"}\n' + b"[" * 100_000 + b"\n")


def no_ledger(run: RunDir, one: Unit) -> None:
    (run.path / "ledger.jsonl").unlink()


TAMPERED: list[tuple[Callable[[RunDir, Unit], None], str, str]] = [
    (other_sha, "result-refused", "sha256 is not in the ledger"),
    (planted, "result-refused", "sha256 is not in the ledger"),
    (of_another_unit, "result-refused", "a result of another case"),
    (stale, "result-refused", "a result of another fingerprint"),
    (rolled_back, "result-refused", "sha256 is not in the ledger"),
    (undecodable, "result-refused", "missing key"),
    (stray, "result-refused", "a result of no unit of the plan"),
    (other_plan, "plan-refused", "sha256 is not in the ledger"),
    (no_plan, "plan-refused", "there is no plan"),
    (other_document, "document-refused", "sha256 is not in the ledger"),
    (torn_ledger, "ledger-damaged", "its last line is cut off"),
    (odd_ledger, "ledger-damaged", "line 4 is damaged"),
    (no_ledger, "ledger-damaged", "there is no ledger"),
]


@pytest.mark.parametrize(("tamper", "code", "text"), TAMPERED, ids=[t[0].__name__ for t in TAMPERED])
def test_what_does_not_fit_together_is_a_problem_never_dropped_in_silence(
    run: RunDir, tamper: Callable[[RunDir, Unit], None], code: str, text: str
) -> None:
    one = unit()
    begin(run, one)
    run.finish(result(one))
    assert rundir.open_run(run.path).problems == ()
    tamper(run, one)
    record = rundir.open_run(run.path)
    assert any(p.code == code and text in p.text for p in record.problems), record.problems
    assert all(p.outcome == "INCOMPLETE" for p in record.problems)
    if code == "result-refused" and tamper is not stray:
        assert record.results == ()
        with pytest.raises(RunDirError):
            RunView(run.path).result_of(one)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no run.json"),
        (b"{", "not JSON"),
        (b"[1]", "another version of prun_review \\(schema None, here 1\\)"),
        (b'{"schema_version": 2}', "another version of prun_review \\(schema 2, here 1\\)"),
        (b"[" * 200_000, "not JSON"),
    ],
)
def test_a_run_that_cannot_be_opened_says_why(run: RunDir, content: bytes | None, message: str) -> None:
    if content is not None:
        (run.path / "run.json").write_bytes(content)
    with pytest.raises(RunDirError, match=message) as caught:
        rundir.open_run(run.path)
    assert caught.value.remedy
    assert "run.json" in caught.value.place


def test_a_vanished_run_directory(run: RunDir) -> None:
    begin(run, unit())
    run.path.rename(run.path.with_name("away"))
    with pytest.raises(RunDirError, match="no such run directory"):
        rundir.open_run(run.path)
    with pytest.raises(RunDirError, match="vanished while it was in use"):
        run.finish(result(unit()))
    with pytest.raises(RunDirError, match="vanished while it was in use"):
        run.new_attempt(unit())


class TestAttempts:
    def test_an_attempt_is_a_prun_state_directory(self, run: RunDir, tmp_path: Path) -> None:
        one = unit()
        before = int(time.time())
        out = run.new_attempt(one)
        command = Command(
            ("codex", "exec", "-"), {"PATH": "/bin"}, tmp_path, b"the prompt", {"d/s.json": b"{}"}
        )
        launch = run.record(out, "the prompt", command)
        assert out == run.path / f"units/{one.slug}/1"
        texts = {p.name: p.read_text().strip() for p in out.iterdir() if p.is_file()}
        assert before <= int(texts.pop("timestamp")) <= time.time()
        assert json.loads(texts.pop("argv.json")) == {
            "argv": ["codex", "exec", "-"],
            "cwd": str(tmp_path),
            "env": ["PATH"],
        }
        assert texts == {
            "prompt.md": "the prompt",
            "result-file": str(out.parent / "result.json"),
            "dispatch-pid": str(os.getpid()),
            "pre-mtime": "0",
            "tail": "",
            "stderr": "",
        }
        assert (out / "d/s.json").read_text() == "{}"
        assert (launch.stdin, launch.stdout, launch.stderr) == (
            out / "prompt.md",
            out / "tail",
            out / "stderr",
        )
        assert (launch.argv, launch.cwd, launch.timeout) == (command.argv, tmp_path, 33.0)
        assert launch.tag == f"{run.id}/{one.slug}/1"
        assert json.loads((out.parent / "unit.json").read_text()) == encode(one)
        assert run.new_attempt(one).name == "2"

    def test_another_standard_input_is_a_file_of_its_own(self, run: RunDir, tmp_path: Path) -> None:
        out = run.new_attempt(unit())
        launch = run.record(out, "prompt \ud83d", Command(("x",), {}, tmp_path, b""))
        assert launch.stdin.read_bytes() == b""
        assert (out / "prompt.md").read_bytes() == b"prompt ?"

    @pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "prompt.md", ""])
    def test_input_files_stay_below_and_replace_nothing(self, run: RunDir, tmp_path: Path, name: str) -> None:
        out = run.new_attempt(unit())
        with pytest.raises(RunDirError):
            run.record(out, "p", Command(("x",), {}, tmp_path, b"p", {name: b"evil"}))
        assert not (out.parent / "x").exists()
        assert (out / "prompt.md").read_bytes() == b"p"

    def test_outputs_are_read_back(self, run: RunDir, tmp_path: Path) -> None:
        out = run.new_attempt(unit())
        (out / "tail").write_bytes(b"\xff\0out")
        (out / "stderr").write_bytes(b"err")
        (out / "work/last.json").write_bytes(b"{}")
        command = Command((), {}, tmp_path, outputs=("work/last.json", "absent"))
        output = run.collect(out, command, Exit(0))
        assert (output.stdout, output.stderr, output.files) == (
            b"\xff\0out",
            b"err",
            {"work/last.json": b"{}"},
        )
        assert (output.cut, output.notes, output.exit) == ("", (), Exit(0))

    def test_of_a_long_stream_the_end_is_kept_and_told(
        self, run: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = run.new_attempt(unit())
        with (out / "tail").open("wb") as stream:
            stream.truncate(50_000_000)
            stream.seek(0, os.SEEK_END)
            stream.write(b"the end")
        (out / "stderr").write_bytes(b"0123456789")
        output = run.collect(out, Command((), {}, tmp_path), Exit(0))
        cap = runwriter.STREAM_CAP
        assert len(output.stdout) == cap
        assert output.stdout.endswith(b"\0the end")
        assert output.cut == f"tail: bytes {50_000_007 - cap} to 50000006 of 50000007 kept (the end)"
        monkeypatch.setattr(runwriter, "STREAM_CAP", 4)
        output = run.collect(out, Command((), {}, tmp_path), Exit(0))
        assert output.stderr == b"6789"
        assert output.notes == ("stderr: bytes 6 to 9 of 10 kept (the end)",)

    def test_what_is_no_ordinary_file_is_refused_and_never_waited_for(
        self, run: RunDir, tmp_path: Path
    ) -> None:
        out = run.new_attempt(unit())
        (tmp_path / "secret").write_text(KEY)
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside/f").write_text(KEY)
        os.mkfifo(out / "fifo")
        (out / "folder").mkdir()
        (out / "link").symlink_to(tmp_path / "secret")
        (out / "tail").symlink_to("/dev/zero")
        (out / "work").rmdir()
        (out / "work").symlink_to(tmp_path / "outside")
        names = ("fifo", "folder", "link", "work/f", "absent")
        output = run.collect(out, Command((), {}, tmp_path, outputs=names), Exit(0))
        assert (output.stdout, output.files, output.cut) == (b"", {}, "")
        assert output.notes == (
            "tail: a link, not read",
            "fifo: not an ordinary file, not read",
            "folder: not an ordinary file, not read",
            "link: a link, not read",
            "work/f: behind a link, not read",
        )

    def test_secrets_handed_to_a_child_are_masked_everywhere(self, run: RunDir, tmp_path: Path) -> None:
        one = unit()
        begin(run, one)
        out = run.new_attempt(one)
        env = {"OPENAI_API_KEY": KEY, "PATH": "/usr/bin/long/enough"}
        command = Command(("x", f"--key={KEY}"), env, tmp_path, b"", {}, ("last",))
        run.record(out, "p", command)
        (out / "tail").write_text(f'{{"echo": "{KEY}"}} {KEY}{KEY}')
        (out / "stderr").write_text(f"401 for {KEY} in /usr/bin/long/enough")
        (out / "last").write_text(KEY)
        output = run.collect(out, command, Exit(0))
        assert KEY.encode() not in output.stdout + output.stderr + output.files["last"]
        assert len(output.files["last"]) == len(KEY)
        run.append("note", text=KEY)
        run.finish(result(one, message=f"said {KEY}"))
        run.write_document({"schema_version": 1, "deep": [{KEY: (KEY,)}]})
        stored = [p for p in run.path.rglob("*") if p.is_file()]
        assert len(stored) > 8
        assert [p for p in stored if KEY.encode() in p.read_bytes()] == []
        assert b"/usr/bin/long/enough" in (out / "stderr").read_bytes()
        assert rundir.open_run(run.path).results[0].message == "said " + "*" * len(KEY)


class TestMasking:
    @pytest.mark.parametrize(
        ("name", "secret"),
        [
            ("OPENAI_API_KEY", True),
            ("ANTHROPIC_AUTH_TOKEN", True),
            ("APIKEY", True),
            ("AWS_SECRET_ACCESS_KEY", True),
            ("DB_PASSWORD", True),
            ("GITHUB_PAT", True),
            ("token", True),
            ("SECRET_KEY_BASE", True),
            ("PATH", False),
            ("MONKEY", False),
            ("SSH_AUTH_SOCK", False),
            ("GIT_AUTHOR_NAME", False),
            ("MAX_OUTPUT_TOKENS", False),
            ("KEYBOARD", False),
        ],
    )
    def test_names(self, name: str, secret: bool) -> None:
        assert bool(masking.secrets_of({name: "12345678"})) is secret
        assert not masking.secrets_of({name: "1234567"})

    @given(st.text("ab", max_size=40), st.sets(st.text("ab", min_size=3, max_size=6), max_size=4))
    def test_nothing_masked_is_left_and_length_holds(self, text: str, secrets: set[str]) -> None:
        masked = masking.mask(text, secrets)
        assert len(masked) == len(text)
        assert not any(secret in masked for secret in secrets)
        assert masking.mask_bytes(text.encode(), [s.encode() for s in secrets]) == masked.encode()


class TestDisk:
    """What a full, read-only or dying machine does."""

    def test_a_kill_in_the_middle_of_a_write_leaves_no_half_file(self, tmp_path: Path) -> None:
        script = (
            "import itertools; from pathlib import Path; from prun_review import rundir\n"
            f"run = rundir.create(Path({str(tmp_path)!r}), now=0.0)\n"
            "for n in itertools.count():\n"
            "    run.write_document({'schema_version': 1, 'n': n, 'pad': 'x' * 300_000, 'end': n})\n"
            "    if n == 0: print(run.path, flush=True)\n"
        )
        draw = random.Random(7)
        for _ in range(6):
            with writer(script) as path:
                until = time.monotonic() + draw.uniform(0.0, 0.1)
                while time.monotonic() < until:
                    assert RunView(path).read_document()["end"] >= 0, "a reader meanwhile sees it whole"
            document = RunView(path).read_document()
            assert document["n"] == document["end"]
            assert {p.name for p in path.iterdir() if not p.name.startswith(".")} == {
                "run.json",
                "ledger.jsonl",
                "lock",
            }

    def test_a_full_disk_is_named_and_what_was_there_stays(self, run: RunDir) -> None:
        """A limit on the size of files stands in for the disk: the system refuses the write alike."""
        begin(run, unit())
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = (run.path / "ledger.jsonl").stat().st_size
        old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, hard))
            with pytest.raises(RunDirError, match="ledger cannot be written: File too large"):
                run.append("note", text="x" * 100)
            with pytest.raises(RunDirError):
                run.finish(result(unit()))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, old)
        assert RunView(run.path).result_of(unit()) is None
        run.finish(result(unit()))
        record = rundir.open_run(run.path)
        assert len(record.results) == 1
        assert record.problems == (), "a line that was cut short is taken back"
        assert not list(run.path.rglob(".*.part"))

    @pytest.mark.parametrize("block", [".prun", ".prun/runs"])
    def test_a_file_in_the_way(self, tmp_path: Path, block: str) -> None:
        (tmp_path / block).parent.mkdir(exist_ok=True)
        (tmp_path / block).write_text("x")
        with pytest.raises(RunDirError, match="no run directory can be made") as caught:
            rundir.create(tmp_path, now=NOW)
        assert block in caught.value.place

    def test_a_read_only_project(self, tmp_path: Path) -> None:
        """Run as nobody where the tests run as root: root may write everywhere."""
        tmp_path.chmod(0o555)
        script = (
            "import os, sys; from pathlib import Path; from prun_review import rundir\n"
            "from prun_review.errors import RunDirError\n"
            "if os.geteuid() == 0: os.setuid(65534)\n"
            "try: rundir.create(Path('.'), now=0.0)\n"
            "except RunDirError as e: print(e)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        tmp_path.chmod(0o755)
        assert "no run directory can be made: Permission denied" in done.stdout
        assert "remedy: make it readable and writable" in done.stdout


class TestHistory:
    def test_durations_and_costs_come_from_the_newest_runs(self, tmp_path: Path) -> None:
        assert rundir.durations(tmp_path) == {}
        seconds = {"a": (10.0, 20.0), "b": (5.0,)}
        for n in range(2):
            run = rundir.create(tmp_path, now=NOW + n)
            for name, values in seconds.items():
                if n < len(values):
                    cost = Usage(cost_usd=0.25 * (n + 1)) if name == "a" else Usage()
                    run.finish(result(unit(name), seconds=values[n], usage=cost))
            run.finish(result(unit("c"), "failed", seconds=99.0))
            run.close()
        with (rundir.latest(tmp_path) / "ledger.jsonl").open("ab") as stream:
            stream.write(b"\xff broken\n")
        assert rundir.durations(tmp_path) == {
            (unit("a").case, "codex"): 20.0,
            (unit("b").case, "codex"): 5.0,
        }
        assert sorted(rundir.costs(tmp_path)["codex"]) == [0.25, 0.5]

    def test_what_is_replayed_or_taken_over_does_not_count_twice(self, tmp_path: Path) -> None:
        answer = result(unit(), seconds=10.0, usage=Usage(cost_usd=0.25))
        first = rundir.create(tmp_path, now=NOW)
        first.finish(answer)
        first.close()
        replay = rundir.create(tmp_path, now=NOW + 1)
        replay.again = True
        replay.finish(replace(answer, seconds=0.0))
        replay.close()
        resumed = rundir.create(tmp_path, now=NOW + 2)
        resumed.adopt(unit(), replace(answer, seconds=7.0), rundir.RunView(first.path), [])
        resumed.close()
        assert rundir.costs(tmp_path) == {"codex": [0.25]}
        assert list(rundir.durations(tmp_path).values()) == [10.0]

    def test_only_so_many_runs_are_looked_at(self, tmp_path: Path) -> None:
        for n in range(rundir.HISTORY + 1):
            run = rundir.create(tmp_path, now=NOW + n)
            if n == 0:
                run.finish(result(unit()))
            run.close()
        assert rundir.durations(tmp_path) == {}


class TestPublish:
    def test_reports_and_the_link_to_the_latest(self, tmp_path: Path) -> None:
        for run_id in ("one", "two"):
            folder = rundir.publish(tmp_path, run_id, {"report.md": f"{run_id} \ud83d", "report.json": "{}"})
            assert folder == tmp_path / "reports" / run_id
            assert (tmp_path / "reports/latest").readlink() == Path(run_id)
        assert (tmp_path / "reports/latest/report.md").read_text() == "two \\ud83d"
        assert sorted(p.name for p in (tmp_path / "reports").iterdir()) == ["latest", "one", "two"]
        assert stat.S_IMODE((folder / "report.md").stat().st_mode) == 0o644
        rundir.publish(tmp_path, "one", {"report.html": "again"})
        assert sorted(p.name for p in (tmp_path / "reports/one").iterdir()) == [
            "report.html",
            "report.json",
            "report.md",
        ]

    def test_where_links_are_impossible_latest_is_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "symlink", refuse)
        for run_id in ("one", "two"):
            rundir.publish(tmp_path, run_id, {"report.md": "x"})
            assert (tmp_path / "reports/latest").read_text() == f"{run_id}\n"

    def test_what_stands_in_the_way_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "reports/latest").mkdir(parents=True)
        with pytest.raises(RunDirError, match=r"reports cannot be written[^$]*move it away"):
            rundir.publish(tmp_path, "one", {"report.md": "x"})
        with pytest.raises(RunDirError, match="not a plain file name"):
            rundir.publish(tmp_path, "two", {"../x": "x"})
        assert not (tmp_path / "x").exists()

    def test_a_report_elsewhere(self, tmp_path: Path) -> None:
        rundir.write_file(tmp_path / "deep/er/r.md", "text")
        assert (tmp_path / "deep/er/r.md").read_text() == "text"
        with pytest.raises(RunDirError, match="something stands where a directory is needed"):
            rundir.write_file(tmp_path / "deep/er/r.md/x", "text")


def test_what_workers_collected_crosses_over(run: RunDir) -> None:
    proposal = Proposal("a[x]", "a", "panels", "codex", brief=Brief("p \ud83d", reads=("src",)))
    collected = Collected((proposal,), deselected=2)
    RunView(run.path).write_collected("gw0", collected)
    assert run.collected("gw0") == collected
    for worker in ("gw1", "../../x"):
        with pytest.raises(RunDirError):
            run.collected(worker)


def test_a_look_never_shows_more_than_the_sizes_that_it_tells(tmp_path: Path) -> None:
    """An answer is kept up to those sizes: one whose end lies beyond them would be cut."""
    run = rundir.create(tmp_path, now=NOW)
    command = Command(("x",), {}, run.path, b"p")
    out = run.new_attempt(unit())
    run.record(out, "p", command)
    over = threading.Event()

    def write() -> None:
        with (out / "tail").open("ab", buffering=0) as tail:
            while not over.is_set() and tail.tell() < 60_000:
                tail.write(b"x")

    writing = threading.Thread(target=write)
    writing.start()
    looks = []
    while writing.is_alive():
        looks.append(run.look(out, command))
    over.set()
    writing.join()
    assert [seen for seen in looks if len(seen.stdout) > seen.sizes["tail"]] == []
    last = run.look(out, command)
    assert (last.stdout, last.sizes["tail"]) == (b"x" * 60_000, 60_000)
    run.close()
