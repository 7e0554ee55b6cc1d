"""The watch over one running dispatch: a table of decisions, clocks that jump, and real processes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.model import Exit
from prun_review.ports import Launch, Seen, Sign, Supervision
from prun_review.process.launch import ProcessLauncher, ShimProcess
from prun_review.supervise import STEP, Ended, Vigil, decide, watch

FINISHED, NOTHING = Sign("finished"), Sign()
WATCHED = Supervision(startup=120, stall=600, grace=20)


@pytest.mark.parametrize(
    ("vigil", "supervision", "sign", "word"),
    [
        # nothing written: only the start-up limit counts, where there is one
        (Vigil(age=119, silent=119), WATCHED, NOTHING, ""),
        (Vigil(age=120, silent=120), WATCHED, NOTHING, "startup"),
        (Vigil(age=30, silent=30), Supervision(startup=120, stall=10), NOTHING, ""),
        (Vigil(age=30, silent=30), Supervision(startup=0, stall=10), NOTHING, "stall"),
        # something written: silence counts, age does not
        (Vigil(age=5000, silent=599, written=True), WATCHED, NOTHING, ""),
        (Vigil(age=5000, silent=600, written=True), WATCHED, NOTHING, "stall"),
        (Vigil(age=5000, silent=4999, written=True), Supervision(stall=0), NOTHING, ""),
        (Vigil(age=5000, silent=4999, written=True), Supervision(stall=None), NOTHING, ""),
        # the answer is there: after the grace period it is kept, however slow the rest is
        (Vigil(age=100, silent=19, written=True), WATCHED, FINISHED, ""),
        (Vigil(age=100, silent=20, written=True), WATCHED, FINISHED, "finished"),
        (Vigil(age=100, silent=5, written=True), Supervision(stall=5, grace=20), FINISHED, "finished"),
        (Vigil(age=100, silent=20, written=True), Supervision(stall=0, grace=20), FINISHED, "finished"),
        (Vigil(age=9000, silent=0, written=True), WATCHED, FINISHED, ""),
        # it will not come: at once, even while it goes on writing
        (Vigil(age=9, silent=0, written=True), WATCHED, Sign("hopeless", "network"), "network"),
        (Vigil(age=9, silent=0, written=True), WATCHED, Sign("hopeless"), "unknown"),
    ],
)
def test_decisions(vigil: Vigil, supervision: Supervision, sign: Sign, word: str) -> None:
    assert decide(vigil, supervision, sign) == word


@pytest.mark.parametrize(
    ("before", "after", "grown"),
    [
        ({}, {"tail": 0, "stderr": 0}, False),
        ({}, {"stderr": 1}, True),
        ({"tail": 5}, {"tail": 5}, False),
        ({"tail": 5}, {"tail": 4}, False),
        ({"tail": 5}, {"tail": 5, "last.json": 1}, True),
        ({"tail": 5, "last.json": 1}, {"tail": 5}, False),
    ],
)
def test_only_a_longer_file_has_grown(before: dict[str, int], after: dict[str, int], grown: bool) -> None:
    vigil = Vigil(age=9, silent=9, sizes=before, written=True).after(1.0, after)
    assert (vigil.silent, vigil.age) == (0.0 if grown else 10.0, 10.0)


@given(jumps=st.lists(st.floats(-1e9, 1e9), max_size=20))
def test_a_jump_of_the_clock_neither_ends_a_unit_nor_keeps_it(jumps: list[float]) -> None:
    vigil = Vigil(written=True, sizes={"tail": 3})
    for jump in jumps:
        vigil = vigil.after(jump, {"tail": 3})
    assert 0 <= vigil.silent <= STEP * len(jumps)
    for _ in range(600):
        vigil = vigil.after(1.0, {"tail": 3})
    assert decide(vigil, WATCHED, NOTHING) == "stall"


# --- real processes -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def launcher() -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as one:
        yield one


class Bench:
    """Starts a program and looks at its files, as a run directory would."""

    def __init__(self, launcher: ProcessLauncher, folder: Path) -> None:
        self.launcher = launcher
        self.folder = folder
        (folder / "stdin").touch()

    def start(self, code: str, timeout: float = 60.0) -> ShimProcess:
        streams = {name: self.folder / name for name in ("stdin", "tail", "stderr")}
        return self.launcher.start(
            Launch(
                argv=(sys.executable, "-I", "-S", "-u", "-c", "import os, sys, time\n" + code),
                env={},
                cwd=self.folder,
                stdin=streams["stdin"],
                stdout=streams["tail"],
                stderr=streams["stderr"],
                timeout=timeout,
            )
        )

    def look(self) -> Seen:
        texts = [path.read_bytes() for path in (self.folder / "tail", self.folder / "stderr")]
        return Seen({"tail": len(texts[0]), "stderr": len(texts[1])}, *texts)

    def watch(
        self,
        code: str,
        supervision: Supervision,
        sign: Callable[[Seen], Sign] = lambda seen: NOTHING,
        timeout: float = 60.0,
    ) -> Ended:
        until = time.monotonic() + timeout
        return watch(self.start(code, timeout), self.look, sign, supervision, every=0.1, until=until)


@pytest.fixture
def bench(launcher: ProcessLauncher, tmp_path: Path) -> Bench:
    return Bench(launcher, tmp_path)


def answered(seen: Seen) -> Sign:
    return FINISHED if b"ANSWER\n" in seen.stdout else NOTHING


def hopeless(seen: Seen) -> Sign:
    return Sign("hopeless", "network") if seen.stderr.count(b"no network") >= 3 else NOTHING


SILENT = "time.sleep(600)"
HEARTBEAT = "while True: print('still here'); time.sleep(0.05)"
ANSWER = "print('ANSWER')\n"
GRANDCHILD = ANSWER + "if not os.fork():\n    os.setsid(); time.sleep(600)\n"


@pytest.mark.parametrize(
    ("code", "supervision", "sign", "timeout", "ended_by"),
    [
        pytest.param(SILENT, Supervision(startup=0.5, stall=60), answered, 60, "startup", id="startup"),
        pytest.param(SILENT, Supervision(stall=0.5), answered, 60, "stall", id="silent-from-start"),
        pytest.param("print('x')\n" + SILENT, Supervision(stall=0.5), answered, 60, "stall", id="stall"),
        pytest.param(HEARTBEAT, Supervision(startup=60, stall=4.5), answered, 5, "timeout", id="heartbeat"),
        pytest.param(
            "while True: print('no network', file=sys.stderr); time.sleep(0.05)",
            *(Supervision(stall=60), hopeless, 60, "network"),
            id="hopeless",
        ),
    ],
)
def test_what_says_nothing_more_is_ended(
    bench: Bench,
    code: str,
    supervision: Supervision,
    sign: Callable[[Seen], Sign],
    timeout: float,
    ended_by: str,
) -> None:
    ended = bench.watch(code, supervision, sign, timeout)
    assert ended.exit.ended_by == ended_by
    assert ended.upto is None


def test_a_finished_answer_is_kept_and_what_comes_after_the_decision_is_not(bench: Bench) -> None:
    deaf = "import signal\nsignal.signal(15, lambda *_: (print('LATER'), os._exit(0)))\n"
    ended = bench.watch(deaf + ANSWER + SILENT, Supervision(stall=60, grace=0.5), answered)
    assert (ended.exit.code, ended.exit.ended_by) == (0, "")
    assert "the answer was complete" in ended.exit.note
    assert ended.upto == {"tail": len(b"ANSWER\n"), "stderr": 0}
    # On a starved machine it is killed before it gets to say more.
    assert (bench.folder / "tail").read_bytes() in (b"ANSWER\nLATER\n", b"ANSWER\n")


def test_an_answer_that_was_complete_before_the_time_limit_is_kept(bench: Bench) -> None:
    deaf = "import signal\nsignal.signal(15, lambda *_: (print('LATER'), os._exit(0)))\n"
    ended = bench.watch(deaf + ANSWER + SILENT, Supervision(stall=60, grace=60), answered, timeout=4)
    assert (ended.exit.code, ended.exit.ended_by) == (0, "")
    assert ended.upto == {"tail": len(b"ANSWER\n"), "stderr": 0}


def test_an_answer_that_came_after_the_time_limit_is_none(bench: Bench) -> None:
    late = "import signal\nsignal.signal(15, lambda *_: print('ANSWER'))\nprint('ready')\n"
    ended = bench.watch(
        late + "for _ in range(300): time.sleep(0.1)", Supervision(stall=60, grace=60), answered, timeout=2
    )
    assert b"ANSWER" in bench.look().stdout  # it was seen while the tree was being ended
    assert (ended.exit.ended_by, ended.upto) == ("timeout", None)


@pytest.mark.parametrize("code", [ANSWER, GRANDCHILD], ids=["ends", "leaves-a-grandchild"])
def test_an_answer_of_a_program_that_ends_by_itself(bench: Bench, code: str) -> None:
    ended = bench.watch(code, Supervision(stall=60, grace=60), answered)
    assert (ended.exit.code, ended.exit.ended_by, ended.upto) == (0, "", None)


def test_a_program_that_was_stopped_before_its_answer_is_no_success(bench: Bench) -> None:
    code = "import signal\nsignal.signal(15, lambda *_: print('ANSWER'))\nprint('ready')\n" + SILENT
    process = bench.start(code)
    while b"ready" not in bench.look().stdout:
        time.sleep(0.01)
    process.stop("cancelled")
    ended = watch(process, bench.look, answered, Supervision(stall=60, grace=0.2), every=0.1)
    assert (ended.exit.ended_by, ended.upto) == ("cancelled", None)


@pytest.mark.parametrize("broken", ["look", "sign", "heard"])
def test_whatever_goes_wrong_in_watching_the_process_is_gone(bench: Bench, broken: str) -> None:
    def fail(*_: object) -> Seen:
        raise RuntimeError(broken)

    process = bench.start(HEARTBEAT)
    parts: dict[str, Callable[..., object]] = {"look": bench.look, "sign": answered, "heard": fail}
    parts[broken] = fail
    with pytest.raises(RuntimeError, match=broken):
        watch(process, parts["look"], parts["sign"], Supervision(), heard=parts["heard"], every=0.1)  # type: ignore[arg-type]
    exit = process.wait(0)
    assert isinstance(exit, Exit)
    assert exit.ended_by == "internal"


def test_looks_are_told_and_the_sign_is_read_only_after_growth(bench: Bench) -> None:
    heard: list[tuple[bool, str]] = []
    read: list[int] = []

    def sign(seen: Seen) -> Sign:
        read.append(len(seen.stdout))
        return NOTHING

    watch(
        bench.start("time.sleep(0.3); print('x'); time.sleep(600)"),
        bench.look,
        sign,
        Supervision(stall=1.0),
        heard=lambda vigil, word: heard.append((vigil.written, word)),
        every=0.05,
    )
    assert read == [2]
    words: Sequence[str] = [word for _, word in heard]
    assert words[-1] == "stall"
    assert not any(words[:-1])
    assert sorted(heard[:-1]) == heard[:-1]  # not written, then written
