"""Taking over earlier results: the valid ones of the same fingerprints, and nothing that lies."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review import __version__, codec, document, files, rundir, runwriter
from prun_review.errors import RunDirError
from prun_review.model import Plan, Reason, RunFacts, Unit
from prun_review.replay import Replay
from prun_review.resume import TakenOver, take_over
from prun_review.rundir import RunDir, RunView
from tests.storekit import NOW, attempt, result, store, unit, writer
from tests.test_rundir import TAMPERED

LATER = NOW + 1000


def resumed(root: Path, *names: str, wanted: str = "latest", at: float = LATER) -> tuple[TakenOver, RunDir]:
    """A new run of these units that takes over what is there."""
    run = rundir.create(root, now=at)
    plan = Plan(tuple(map(unit, names)))
    run.write_plan(plan)
    run.write_document(document.start(RunFacts(run.id, at, version=__version__), plan))
    try:
        return take_over(root, plan, run, wanted), run
    finally:
        run.close()


def names(taken: TakenOver) -> list[str]:
    return [r.case.partition("::")[2] for r in taken.results]


def content(path: Path) -> dict[str, str]:
    """Every file below a directory, by its digest."""
    return {
        str(p.relative_to(path)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in path.rglob("*")
        if p.is_file()
    }


class TestWhatIsTaken:
    def test_valid_results_with_their_attempts_and_nothing_else(self, tmp_path: Path) -> None:
        old = store(tmp_path, {"a": "valid", "b": "broken", "c": "failed", "d": "not-run", "e": "valid"})
        before = content(old.path)
        taken, run = resumed(tmp_path, "e", "b", "c", "d", "a", "new")
        assert names(taken) == ["e", "a"]
        assert taken.runs == (old.id,)
        assert taken.notes == ()
        record = rundir.open_run(run.path)
        assert record.results == taken.results
        assert record.problems == ()
        assert {r.message for r in record.results} == {old.id}
        for name in ("a", "e"):
            there, here = (r.path / f"units/{unit(name).slug}" for r in (old, run))
            assert content(there) == content(here)
        assert not (run.path / f"units/{unit('b').slug}").exists()
        assert content(old.path) == before

    def test_the_ledger_tells_it_and_a_replay_of_the_new_run_alone_works(self, tmp_path: Path) -> None:
        old = store(tmp_path, {"a": "valid"})
        _, run = resumed(tmp_path, "a")
        files.remove_tree(old.path)
        events = [json.loads(line) for line in (run.path / "ledger.jsonl").read_text().splitlines()]
        assert [e["event"] for e in events] == [
            "plan",
            "document",
            "resumed-from",
            "attempt-finished",
            "taken-over",
            "result",
        ]
        assert events[2]["runs"] == [old.id]
        assert (events[4]["unit"], events[4]["slug"], events[4]["run"]) == (
            unit("a").id,
            unit("a").slug,
            old.id,
        )
        replay = Replay(run.path)
        assert replay.refusals(Plan((unit("a"),))) == {}
        assert replay.vouched == {(unit("a").slug, 1): "digest of the answer"}
        assert (run.path / f"units/{unit('a').slug}/1/tail").read_bytes() == b"the answer"

    def test_the_newest_counts_and_what_is_missing_there_comes_from_older_ones(self, tmp_path: Path) -> None:
        oldest = store(tmp_path, {"a": "valid", "b": "valid", "c": "valid"}, at=NOW)
        middle = store(tmp_path, {"a": "valid", "b": "valid"}, at=NOW + 10)
        newest = store(tmp_path, {"a": "valid", "b": "failed"}, at=NOW + 20)
        taken, _ = resumed(tmp_path, "a", "b", "c")
        assert [r.message for r in taken.results] == [newest.id, middle.id, oldest.id]
        assert taken.runs == (newest.id, middle.id, oldest.id)

    @pytest.mark.parametrize(
        "change",
        [
            {"fingerprint": "0" * 64},
            {"fingerprint": ""},
            {"executor": "sonnet"},
            {"repeat": 2},
            {"id": "other"},
            {"case": "other"},
            {"slug": "other"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_only_the_same_question_counts(self, tmp_path: Path, change: dict[str, str]) -> None:
        store(tmp_path, {"a": "valid"})
        run = rundir.create(tmp_path, now=LATER)
        wanted = replace(unit("a"), **change)  # type: ignore[arg-type]
        taken = take_over(tmp_path, Plan((wanted,)), run, "latest")
        run.close()
        assert taken.results == ()
        assert not (run.path / "units").exists()

    def test_an_empty_fingerprint_never_matches_another_one(self, tmp_path: Path) -> None:
        run = rundir.create(tmp_path, now=NOW)
        bare = replace(unit("a"), fingerprint="")
        begin_with(run, bare)
        run.finish(result(bare))
        run.close()
        later = rundir.create(tmp_path, now=LATER)
        assert take_over(tmp_path, Plan((bare,)), later, "latest").results == ()
        later.close()

    def test_a_run_that_was_killed_is_good_to_take_from(self, tmp_path: Path) -> None:
        store(tmp_path, {"a": "valid", "b": "valid"}, ended=False)
        with (rundir.latest(tmp_path) / "ledger.jsonl").open("ab") as stream:
            stream.write(b'{"event": "resu')
        assert names(resumed(tmp_path, "a", "b")[0]) == ["a", "b"]

    def test_what_was_taken_over_is_taken_over_again(self, tmp_path: Path) -> None:
        first = store(tmp_path, {"a": "valid"})
        _, second = resumed(tmp_path, "a", "b")
        files.remove_tree(first.path)
        taken, third = resumed(tmp_path, "a", "b", at=LATER + 1)
        assert taken.runs == (second.id,)
        assert content(third.path / "units") == content(second.path / "units")

    def test_nothing_is_there_or_nothing_is_asked(self, tmp_path: Path) -> None:
        assert resumed(tmp_path, "a")[0] == TakenOver()
        store(tmp_path, {"a": "valid"})
        assert resumed(tmp_path, at=LATER + 1)[0] == TakenOver()


def begin_with(run: RunDir, *units: Unit) -> None:
    plan = Plan(units)
    run.write_plan(plan)
    run.write_document(document.start(RunFacts(run.id, NOW, version=__version__), plan))


class TestHostileAttempts:
    def test_links_and_odd_files_are_never_followed(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("key")
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside/f").write_text("key")
        run = rundir.create(tmp_path, now=NOW)
        one = unit("a")
        begin_with(run, one)
        out = attempt(run, one)
        (out / "link").symlink_to(secret)
        (out / "folder-link").symlink_to(tmp_path / "outside")
        os.link(secret, out / "hard")
        os.mkfifo(out / "fifo")
        (out / "work/deep").mkdir()
        (out / "work/deep/kept").write_text("kept")
        (out.parent / "2").symlink_to(tmp_path / "outside")
        (out.parent / "aside").mkdir()
        (out.parent / ".result.json.0123.part").write_text("half")
        run.finish(result(one))
        run.close()
        taken, new = resumed(tmp_path, "a")
        assert names(taken) == ["a"]
        here = new.path / f"units/{one.slug}"
        assert sorted(p.name for p in here.iterdir()) == ["1", "result.json", "unit.json"]
        left = {p.name for p in here.rglob("*")}
        assert left & {"link", "folder-link", "hard", "fifo", "f"} == set()
        assert (here / "1/work/deep/kept").read_text() == "kept"

    def test_sizes_numbers_and_depth_are_bounded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = rundir.create(tmp_path, now=NOW)
        one = unit("a")
        begin_with(run, one)
        out = attempt(run, one)
        (out / "tail").write_bytes(b"0" * 90 + b"the answer")
        deep = out / "work"
        for _ in range(30):
            deep = deep / "d"
            deep.mkdir()
            (deep / "f").write_text("x")
        for n in range(300):
            (out / f"work/d/{n:03d}").write_text("x" * 10)
        run.finish(result(one))
        run.close()
        monkeypatch.setattr(runwriter, "STREAM_CAP", 10)
        monkeypatch.setattr(runwriter, "COPY_FILES", 100)
        taken, new = resumed(tmp_path, "a")
        assert names(taken) == ["a"]
        here = new.path / f"units/{one.slug}/1"
        assert (here / "tail").read_bytes() == b"\0" * 90 + b"the answer", "the end, behind a hole"
        assert len(list(here.rglob("*"))) < 100
        monkeypatch.setattr(runwriter, "COPY_FILES", 10_000)
        monkeypatch.setattr(runwriter, "COPY_CAP", 200)
        _, other = resumed(tmp_path, "a", wanted=run.id, at=LATER + 1)
        copied = [p for p in (other.path / f"units/{one.slug}/1").rglob("*") if p.is_file()]
        assert sum(min(10, p.stat().st_size) for p in copied) <= 200
        assert max(len(p.relative_to(here.parent.parent.parent.parent).parts) for p in here.rglob("*")) < 20


class TestWhatIsRefused:
    @pytest.mark.parametrize("tamper", [t[0] for t in TAMPERED], ids=[t[0].__name__ for t in TAMPERED])
    def test_nothing_tampered_with_is_ever_taken(
        self, tmp_path: Path, tamper: Callable[[RunDir, Unit], None]
    ) -> None:
        run = rundir.create(tmp_path, now=NOW)
        one = unit("a")
        begin_with(run, one)
        run.finish(result(one))
        tamper(run, one)
        run.close()
        taken, new = resumed(tmp_path, "a")
        harmless = tamper.__name__ in ("stray", "torn_ledger", "other_plan", "no_plan")
        assert names(taken) == (["a"] if harmless else [])
        assert taken.results in ((), (result(one),))
        assert bool(taken.notes) is not harmless
        assert harmless or not (new.path / "units").exists()

    @pytest.mark.parametrize("wanted", ["latest", "named"])
    @pytest.mark.parametrize(
        ("text", "spoil"),
        [
            ("made by another version of prun_review \\(schema 2", lambda d: d | {"schema_version": 2}),
            ("made by prun_review 0.0.1, and this is", lambda d: with_facts(d, version="0.0.1")),
            ("made by prun_review of unknown version", lambda d: with_facts(d, version="")),
            ("its facts cannot be read", lambda d: with_facts(d, started="yesterday")),
        ],
        ids=["schema", "version", "no version", "facts"],
    )
    def test_another_version_is_named_or_passed_over(
        self,
        tmp_path: Path,
        wanted: str,
        text: str,
        spoil: Callable[[dict[str, object]], dict[str, object]],
    ) -> None:
        good = store(tmp_path, {"a": "valid"})
        run = rundir.create(tmp_path, now=NOW + 5)
        begin_with(run, unit("a"))
        run.finish(result(unit("a"), message=run.id))
        run.write_document(spoil(run.read_document()))
        run.close()
        if wanted == "named":
            with pytest.raises(RunDirError, match=text) as caught:
                resumed(tmp_path, "a", wanted=run.id)
            assert caught.value.remedy
            assert run.id in caught.value.place
        else:
            taken, _ = resumed(tmp_path, "a")
            assert taken.runs == (good.id,)
            assert f"run {run.id} is passed over: {text}".replace("\\", "") in taken.notes[0]

    @pytest.mark.parametrize(
        ("reason", "taken"),
        [
            (Reason("snapshot-changed", "x"), False),
            (Reason("repository-changed", "x"), False),
            (Reason("snapshot-changed", "x", outcome="FAIL"), False),
            (Reason("worktree-changed", "people edit", outcome="PASS"), True),
        ],
    )
    def test_a_run_whose_ground_was_changed_is_good_for_nothing(
        self, tmp_path: Path, reason: Reason, taken: bool
    ) -> None:
        run = store(tmp_path, {"a": "valid"}, integrity=(reason,))
        assert bool(resumed(tmp_path, "a")[0].results) is taken
        if not taken:
            with pytest.raises(RunDirError, match=f"changed meanwhile \\({reason.code}\\)[^$]*remedy: name"):
                resumed(tmp_path, "a", wanted=run.id, at=LATER + 1)

    def test_its_first_document_put_back_does_not_make_it_better(self, tmp_path: Path) -> None:
        run = rundir.create(tmp_path, now=NOW)
        begin_with(run, unit("a"))
        run.finish(result(unit("a")))
        first = (run.path / "run.json").read_bytes()
        facts = RunFacts(run.id, NOW, NOW, __version__, integrity=(Reason("snapshot-changed", "x"),))
        run.write_document(document.build(facts, Plan((unit("a"),)), [result(unit("a"))]))
        (run.path / "run.json").write_bytes(first)
        run.close()
        taken, _ = resumed(tmp_path, "a")
        assert taken.results == ()
        assert "snapshot-changed" in taken.notes[0]

    def test_an_unknown_run(self, tmp_path: Path) -> None:
        with pytest.raises(RunDirError, match="is no run"):
            resumed(tmp_path, "a", wanted="20200101T000000Z-abcd")


def with_facts(stored: dict[str, object], **changes: object) -> dict[str, object]:
    facts = stored["facts"]
    assert isinstance(facts, dict)
    return stored | {"facts": facts | changes}


class TestLiveRuns:
    """A run that is still written is not taken from, and is not silently passed over where it counts."""

    def start(self, root: Path, at: float) -> RunDir:
        run = rundir.create(root, now=at)
        begin_with(run, unit("a"))
        run.finish(result(unit("a"), message=run.id))
        return run

    @pytest.mark.parametrize("wanted", ["latest", "named"])
    def test_the_one_to_resume(self, tmp_path: Path, wanted: str) -> None:
        store(tmp_path, {"a": "valid"})
        live = self.start(tmp_path, NOW + 5)
        text = f"run {live.id} is still being written by process {os.getpid()}"
        with pytest.raises(RunDirError, match=text) as caught:
            resumed(tmp_path, "a", wanted="latest" if wanted == "latest" else live.id)
        assert caught.value.remedy == "wait for it to end, or name another run"
        live.close()
        assert names(resumed(tmp_path, "a", wanted=live.id, at=LATER + 1)[0]) == ["a"]

    def test_another_one_is_passed_over_with_a_note(self, tmp_path: Path) -> None:
        oldest = store(tmp_path, {"a": "valid"})
        live = self.start(tmp_path, NOW + 5)
        store(tmp_path, {"b": "valid"}, at=NOW + 10)
        later = self.start(tmp_path, LATER + 5)
        taken, _ = resumed(tmp_path, "a", "b")
        assert [r.message for r in taken.results if r.unit == unit("a").id] == [oldest.id]
        assert [n.split()[1] for n in taken.notes] == [later.id, live.id]
        live.close()
        later.close()

    def test_a_killed_writer_lets_go(self, tmp_path: Path) -> None:
        script = (
            "import time; from pathlib import Path; from tests.test_resume import TestLiveRuns\n"
            f"run = TestLiveRuns().start(Path({str(tmp_path)!r}), {NOW})\n"
            "print(run.path, flush=True); time.sleep(60)"
        )
        with writer(script) as path, pytest.raises(RunDirError, match=f"run {path.name} is still being"):
            resumed(tmp_path, "a")
        assert names(resumed(tmp_path, "a", at=LATER + 1)[0]) == ["a"]


class TestManyRuns:
    def test_runs_without_results_do_not_push_an_older_one_out(self, tmp_path: Path) -> None:
        old = store(tmp_path, {"a": "valid"})
        for n in range(rundir.HISTORY + 5):
            dead = rundir.create(tmp_path, now=NOW + 1 + n)
            if n % 2:
                begin_with(dead, unit("a"))
            dead.close()
        (tmp_path / ".prun/runs" / dead.id / "lock").unlink()
        taken, _ = resumed(tmp_path, "a")
        assert taken.runs == (old.id,)
        assert taken.notes == ()

    def test_only_so_many_with_results_are_looked_at(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rundir, "HISTORY", 3)
        store(tmp_path, {"a": "valid"})
        for n in range(3):
            store(tmp_path, {"b": "valid"}, at=NOW + 1 + n)
        assert names(resumed(tmp_path, "a", "b")[0]) == ["b"]

    def test_a_named_run_stands_for_what_it_was_resumed_from(self, tmp_path: Path) -> None:
        first = store(tmp_path, {"a": "valid", "b": "valid"})
        second = rundir.create(tmp_path, now=NOW + 5)
        stale = replace(unit("b"), fingerprint="0" * 64)
        begin_with(second, unit("a"), stale)
        assert names(take_over(tmp_path, Plan((unit("a"), stale)), second, "latest")) == ["a"]
        second.finish(result(stale))
        second.close()
        store(tmp_path, {"c": "valid"}, at=NOW + 10)
        taken, _ = resumed(tmp_path, "a", "b", "c", wanted=second.id)
        assert names(taken) == ["a", "b"]
        assert taken.runs == (second.id, first.id)
        files.remove_tree(first.path)
        taken, _ = resumed(tmp_path, "a", "b", "c", wanted=second.id, at=LATER + 1)
        assert names(taken) == ["a"]
        assert f"run {first.id} is passed over" in taken.notes[-1]


def test_killed_at_any_instant_of_a_take_over_the_next_finds_everything(tmp_path: Path) -> None:
    """The old run is untouched, and what is half-made in the dead new one is never trusted."""
    wanted = [str(n) for n in range(12)]
    old = store(tmp_path, dict.fromkeys(wanted, "valid"))
    before = content(old.path)
    script = (
        "import sys; from pathlib import Path; from tests.test_resume import resumed\n"
        "print('.', flush=True)\n"
        f"resumed(Path({str(tmp_path)!r}), *{wanted!r}, at=float(sys.argv[1]))"
    )
    draw = random.Random(3)
    for n in range(8):
        argv = [sys.executable, "-c", script, str(LATER + n)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(draw.uniform(0.0, 0.25))
            child.send_signal(signal.SIGKILL)
        dead = rundir.latest(tmp_path)
        whole = [w for w in wanted if RunView(dead).result_of(unit(w))]
        for name in whole:
            at = f"units/{unit(name).slug}"
            assert content(dead / at) == content(old.path / at)
    taken, run = resumed(tmp_path, *wanted, at=LATER + 100)
    assert names(taken) == wanted
    assert rundir.open_run(run.path).problems == ()
    assert content(run.path / "units") == content(old.path / "units")
    assert content(old.path) == before


def test_a_unit_that_only_the_files_hold_is_not_taken(tmp_path: Path) -> None:
    """Copied by a take-over that died: the folder is there, the ledger does not vouch for it."""
    old = store(tmp_path, {"a": "valid"})
    dead = rundir.create(tmp_path, now=NOW + 5)
    begin_with(dead, unit("a"))
    dead.close()
    place = dead.path / f"units/{unit('a').slug}"
    shutil.copytree(old.path / f"units/{unit('a').slug}", place)
    changed = codec.encode(result(unit("a"), message="planted"))
    (place / "result.json").write_text(json.dumps(changed))
    taken, _ = resumed(tmp_path, "a")
    assert [r.message for r in taken.results] == [old.id]
