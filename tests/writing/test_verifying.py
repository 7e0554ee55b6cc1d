"""Commands run on a tree: their ends, their surroundings, their containment; with real processes."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review import verifying
from prun_review.process import contain
from prun_review.process.launch import ProcessLauncher
from prun_review.verifying import Room, as_shell
from prun_review.written import Check
from tests import needing


@pytest.fixture(scope="module")
def launcher() -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as made:
        yield made


def nowhere() -> str:
    return "bubblewrap is not installed"


@pytest.fixture(params=["contained", "scrubbed"])
def room(request: pytest.FixtureRequest, launcher: ProcessLauncher) -> Room:
    env = {
        "PATH": f"relative:{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
    }
    secret = {"DEPLOY_TOKEN": "hunter2-hunter2", "PYTHONPATH": "/x"}
    made = Room(launcher, {**env, **secret}, timeout=180)
    if request.param == "scrubbed":
        return replace(made, contain=nowhere)
    needing.bubblewrap()
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").write_text("OUTSIDE")
    return tmp_path / "tree"


def run(room: Room, tree: Path, *commands: str, stop: Callable[[], str] = lambda: "") -> tuple[Check, ...]:
    return verifying.run(commands, tree, tree.parent / "work", room, stop)


def test_all_of_them_run_one_after_the_other(room: Room, tree: Path) -> None:
    commands = ("echo one > a; exit 3", "cat a; echo err >&2; cat", "kill -9 $$", "no-such-program-x")
    checks = run(room, tree, *commands)
    contained = room.contain() == ""
    assert [c.command for c in checks] == list(commands)
    assert [c.code for c in checks] == [3, 0, checks[2].code, 127]
    assert checks[2].code in (-9, 137)
    assert [c.ok for c in checks] == [False, True, False, False]
    assert {c.contained for c in checks} == {contained}
    assert checks[1].said == "one\nerr"
    assert "no-such-program-x" in checks[3].said
    assert all(not c.ended_by for c in checks)


def test_the_end_of_what_it_prints_is_kept(room: Room, tree: Path) -> None:
    (check,) = run(room, tree, "seq 100000; printf '\\033[31mred\\000\\377 hunter2-hunter2 end'")
    assert len(check.said) == verifying.SAID
    assert check.said.endswith("100000\n[31mred\ufffd *************** end")


def test_it_sees_names_and_not_the_surroundings(room: Room, tree: Path) -> None:
    (check,) = run(
        room, tree, "env; echo home: $(ls -A $HOME | wc -l); touch $HOME/x $TMPDIR/x && echo writable"
    )
    seen = dict(line.split("=", 1) for line in check.said.splitlines() if "=" in line)
    allowed = {"PATH", "HOME", "TMPDIR", "TERM", "LANG", "GIT_CEILING_DIRECTORIES", "PRUN_DISPATCH"}
    assert seen.keys() - {"PWD", "SHLVL", "_", "OLDPWD"} == allowed
    assert seen["PATH"] == f"{Path(sys.executable).parent}:/usr/bin:/bin"
    assert seen["HOME"].startswith(str(tree.parent / "work"))
    assert "home: 0" in check.said
    assert "writable" in check.said


def test_the_interpreter_of_path_stays_usable(room: Room, tree: Path) -> None:
    (tree / "test_x.py").write_text("def test_x():\n    assert 6 * 7 == 42\n")
    checks = run(room, tree, "python -m pytest -q -p no:cacheprovider test_x.py", "git --version")
    assert [c.ok for c in checks] == [True, True], checks
    assert "1 passed" in checks[0].said


def test_what_it_reaches(room: Room, tree: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.setblocking(False)
        port = door.getsockname()[1]
        script = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        checks = run(room, tree, f'python -c "{script}"', f"cat {tree.parent}/outside", "touch inside")
    contained = room.contain() == ""
    assert [c.ok for c in checks] == [not contained, not contained, True]
    assert ("OUTSIDE" in checks[1].said) != contained
    assert (tree / "inside").exists()


def test_a_time_limit_ends_the_whole_tree(room: Room, tree: Path) -> None:
    (check,) = run(
        replace(room, timeout=1.0), tree, f"echo begun; setsid sleep 600 & echo $! > {tree}/pid; wait"
    )
    assert (check.ended_by, check.ok) == ("timeout", False)
    assert "begun" in check.said
    if room.contain():  # else it is a number of another namespace
        pid = int((tree / "pid").read_text())
        for _ in range(100):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()


def test_a_stop_ends_what_runs_and_starts_no_more(room: Room, tree: Path) -> None:
    def stop() -> str:
        return "interrupted" if (tree / "begun").exists() else ""

    first, second = run(room, tree, "touch begun; sleep 600", "touch second", stop=stop)
    assert (first.ended_by, first.ok) == ("interrupted", False)
    assert (second.code, second.ended_by, second.ok) == (None, "interrupted", False)
    assert not (tree / "second").exists()


def test_where_containment_is_asked_for_nothing_runs_without(launcher: ProcessLauncher, tree: Path) -> None:
    room = Room(launcher, {"PATH": "/usr/bin:/bin"}, "bwrap", contain=nowhere)
    checks = run(room, tree, "touch ran", "touch ran too")
    assert [(c.code, c.ended_by, c.contained, c.ok) for c in checks] == [(None, "spawn", False, False)] * 2
    assert checks[0].said == "not run: bubblewrap is not installed"
    assert os.listdir(tree) == []


def test_what_cannot_be_begun_is_a_failed_check(launcher: ProcessLauncher, tree: Path) -> None:
    (tree.parent / "work" / "check-1").write_text("in the way")
    room = Room(launcher, {"PATH": "/usr/bin:/bin"}, contain=nowhere)
    first, second = run(room, tree, "true", "true")
    assert (first.code, first.ended_by, first.ok) == (None, "spawn", False)
    assert "no place for a command" in first.said
    assert second.ok


def test_programs_of_the_tree_are_not_on_path(launcher: ProcessLauncher, tree: Path) -> None:
    (tree / "bin").mkdir()
    (tree / "bin" / "pytest").write_text("#!/bin/sh\necho fake\n")
    (tree / "bin" / "pytest").chmod(0o755)
    room = Room(launcher, {"PATH": f"{tree}/bin:/usr/bin:/bin"}, contain=nowhere)
    (check,) = run(room, tree, "echo $PATH")
    assert check.said.split(":")[:2] == ["/usr/bin", "/bin"]
    assert f"{tree}" not in check.said


SHELL: Mapping[str, bool] = {
    "pytest -q": False,
    "from app.models import User; print('ok')": True,
    "  import app\nassert app.x": True,
    "import app.models as m; m.check()": True,
    "from here to eternity": False,
    "import -window root shot.png": False,
    "important --flag": False,
    "python -c 'import x'": False,
    "": False,
    "import x; (": False,
}


@pytest.mark.parametrize(("validation", "python"), SHELL.items())
def test_validations_of_old_are_python(validation: str, python: bool) -> None:
    assert (as_shell(validation) != validation) == python


def test_such_a_validation_runs(launcher: ProcessLauncher, tree: Path) -> None:
    (tree / "app.py").write_text('NAME = "it\'s"\n')
    room = Room(launcher, {"PATH": "/usr/bin:/bin"}, contain=nowhere)
    good = as_shell("from app import NAME; print('name:', NAME, \"$HOME\")")
    checks = run(
        *(room, tree, good, as_shell("from app import OTHER")),
        # What such a line comes to counts where it is a truth value; a call that comes to None is none.
        as_shell("import app; app.NAME == 'another'"),
        as_shell("import app; app.NAME == 'it\\'s'"),
        as_shell("import app; assert app.NAME; vars(app).update(NAME=''); app.NAME"),
    )
    assert [c.ok for c in checks] == [True, False, False, True, True]
    assert checks[0].said == "name: it's $HOME"


def test_the_default_is_to_contain_where_that_is_possible(launcher: ProcessLauncher) -> None:
    assert Room(launcher, {}).contain is contain.unavailable
