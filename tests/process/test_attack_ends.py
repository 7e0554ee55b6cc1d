"""What pytest starts is over when pytest is, whatever a program does; and a run says what it had."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review.process import reap
from tests.plugin.conftest import ONE, Project, finding, payload, project
from tests.process.trees import alive, until

__all__ = ["project"]  # a fixture

PID = 'echo $$ > "$(dirname "$0")/pid"'


@pytest.fixture
def program(project: Project) -> Iterator[Path]:
    """A program beside the project, to be written; what it leaves is swept."""
    folder = project.path.parent / f"{project.path.name}-program"
    folder.mkdir()
    yield folder / "third"
    if (folder / "pid").exists():
        reap.send(int((folder / "pid").read_text()), signal.SIGKILL)


def write(program: Path, script: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)


def configure(project: Project, word: str, extra: str = "") -> None:
    lines = [f'[tool.prun_review]\nexecutors = ["third"]\n{extra}', "[tool.prun_review.executor.third]"]
    lines += ['type = "command"', 'vendor = "v"', 'lineage = "l"', f"argv = [{json.dumps(word)}]"]
    project.write("pyproject.toml", "\n".join(lines) + "\n")
    project.probe(ONE)
    project.commit()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_program_that_hangs_over_its_version_ends_with_pytest(
    project: Project, program: Path, number: signal.Signals
) -> None:
    write(program, f"{PID}\nexec sleep 600\n")
    configure(project, str(program))
    pid = program.with_name("pid")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "panels/"],
        cwd=project.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: pid.exists() and pid.read_text().strip())
    process.send_signal(number)
    process.wait(30)
    until(lambda: not alive(int(pid.read_text())))


def test_a_daemon_that_a_version_command_leaves_ends_with_pytest(project: Project, program: Path) -> None:
    """An updater in the background, for example."""
    daemon = f"setsid sh -c '{PID.replace('$0', str(program))}; exec sleep 600' >/dev/null 2>&1 &"
    pid = program.with_name("pid")
    write(program, f"{daemon}\nuntil [ -s {pid} ]; do sleep 0.01; done\necho 1.0\n")
    configure(project, str(program))
    project.run("panels/", "--prun-dispatch=off")
    project.run("panels/")
    assert not alive(int(pid.read_text()))


def test_a_timeout_holds_although_the_worker_stopped_its_shim(project: Project, program: Path) -> None:
    """And Ctrl-C ends such a run, with nothing left."""
    write(program, f"[ $# = 0 ] || exit 0\n{PID}\nkill -STOP $PPID\nexec sleep 600\n")
    configure(project, str(program), "timeout = 1")
    pid = program.with_name("pid")
    shim = 0
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "panels/"],
        cwd=project.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until(lambda: pid.exists() and pid.read_text().strip())
        shim = int(Path(f"/proc/{int(pid.read_text())}/stat").read_text().rpartition(")")[2].split()[1])
        assert process.wait(90) == 1
        assert not alive(int(pid.read_text()))
    finally:
        reap.send(shim or process.pid, signal.SIGCONT)
        process.kill()
        process.wait()


@pytest.mark.parametrize("reviewed", [".", ".."])
@pytest.mark.parametrize(
    ("files", "entry"),
    [
        ({"bin/third": ""}, "bin"),
        ({"third": ""}, "."),
        ({"bin/real": "", "third": "bin/real"}, "."),
        ({"reports/third": ""}, "reports"),
        ({"reports/real": "", "third": "reports/real"}, "."),
        ({".git/real": "", "third": ".git/real"}, "."),
        ({".git/b/third": "", "tools": ".git/b"}, "tools"),
    ],
)
def test_no_program_comes_from_the_reviewed_repository(
    project: Project, monkeypatch: pytest.MonkeyPatch, reviewed: str, files: dict[str, str], entry: str
) -> None:
    """Where PATH leads there: neither what is left out of the tree, nor through a committed link."""
    owned = project.path.parent / f"{project.path.name}-owned"
    for name, target in files.items():
        if target:
            os.symlink(target, project.path / name)
        else:
            write(project.path / name, f"touch {owned}\n")
    project.git("add", "-A", "-f")
    project.commit()
    if reviewed == "..":
        configure(project, "third", 'reviewed = ".."')
        inner = project.path / "audit"
        inner.mkdir()
        for name in ("panels", "pyproject.toml"):
            shutil.copytree(project.path / name, inner / name) if name == "panels" else shutil.copy(
                project.path / name, inner / name
            )
        project.commit()
        monkeypatch.chdir(inner)
    else:
        configure(project, "third")
    monkeypatch.setenv("PATH", f"{project.path / entry}{os.pathsep}{os.environ['PATH']}")
    result = project.run("panels/")
    assert not owned.exists()
    assert result.ret == 4


HOSTILE = "T \x1b]0;own\x07\x1b[2J\n::error::own\n  ::set-output name=a::b\nx ##[error]own \u202e \x9b31m"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
@pytest.mark.parametrize(
    "way", ["warnings.warn(text)", "assert not text", "raise ValueError(text)", "print(text)"]
)
def test_what_a_finding_says_reaches_the_terminal_inert(
    project: Project, way: str, workers: tuple[str, ...]
) -> None:
    project.probe(f"import warnings\n{ONE}    text = result.findings[0].title\n    {way}\n")
    project.answers({"payload": payload(finding(title=HOSTILE))})
    shown = project.run("panels/", "-rA", "--color=no", *workers).stdout.str()
    assert "own" in shown
    for mark in ("\x1b", "\x9b", "\u202e", "##["):
        assert mark not in shown
    assert not [line for line in shown.splitlines() if line.strip().startswith("::")]
