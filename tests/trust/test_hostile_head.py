"""A head that tries to run in every way that we know: nothing of it is executed, and nothing becomes of it.

Each trap is first proven to go off where somebody is careless; then one head that holds all of them is
reviewed in every way that there is.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from tests import repokit
from tests.change.cases import EVAL, EVALUATED
from tests.change.kit import BASE, PROBE, PROGRAMS, Done, Scene
from tests.trust.hostile import GIT_TRAPS, PROGRAM_NAMES, TRAPS, Canaries, GitTrap, Trap, plant_all

WITNESS = '''
import json, os, sys, uuid

def pytest_sessionfinish(session):
    """What this process is made of."""
    files = {str(getattr(m, "__file__", None)) for m in list(sys.modules.values())}
    seen = {"path": sys.path, "cwd": os.getcwd(), "files": sorted(files), "env": dict(os.environ)}
    with open(os.path.join(os.environ["WITNESS"], uuid.uuid4().hex), "w") as file:
        json.dump(seen, file)
'''
"""The trusted root's own conftest.py."""


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.name for trap in TRAPS])
def test_the_trap_goes_off(tmp_path: Path, trap: Trap) -> None:
    canaries = Canaries(tmp_path / "canaries")
    head = repokit.repository(tmp_path / "head", {"src/a.py": "x\n"})
    trap.plant(head, canaries)
    if trap.committed:
        repokit.git(head, "add", "-A")
        repokit.git(head, "commit", "-q", "-m", "x")
    trap.spring(head)
    assert canaries.sung() == {trap.name}


def edited(head: Path) -> None:
    """Uncommitted, so that git has something to look at."""
    repokit.write(head, {"src/auth.py": EVALUATED + "\nEND = 1\n", "docs/guide.md": "# Guide\n"})


@pytest.mark.parametrize("trap", GIT_TRAPS, ids=[trap.name for trap in GIT_TRAPS])
def test_the_git_trap_goes_off(tmp_path: Path, trap: GitTrap) -> None:
    canaries = Canaries(tmp_path / "canaries")
    head = repokit.repository(tmp_path / "head", BASE)
    edited(head)
    trap.arm(head, canaries.program(trap.name))
    for path in canaries.folder.iterdir():
        path.unlink()
    repokit.git(head, *trap.fire, check=False)
    assert canaries.sung() == {trap.name}


# --- all of them together -------------------------------------------------------------------------

COMMON = {trap.name for trap in GIT_TRAPS} - {"gitfile", "promisor", "submodule"}
"""What can stand in one repository and leave it usable."""


@dataclass
class Attack:
    """One way to review the hostile head."""

    name: str
    place: str = "outside"
    """Where the head's checkout lies: ``outside``, ``below`` the trusted root, or nowhere (``revision``)."""
    git: frozenset[str] = frozenset(COMMON)
    argv: tuple[str, ...] = (
        "pytest",
        "panels/",
        "-p",
        "no:cacheprovider",
        "--prun-base",
        "main",
        "--prun-head",
        "{head}",
    )
    inside: bool = False
    """The command is given inside the head's checkout, with its folders on PATH as relative entries."""
    code: int = 1
    asks: bool = True

    def run(self, folder: Path) -> Arena:
        """Set it up and review."""
        arena = Arena(folder, self)
        arena.before = arena.state()
        arena.review()
        return arena


class Arena:
    """The trusted root, the hostile head, and what was seen."""

    done: Done
    before: dict[str, str]

    def __init__(self, folder: Path, attack: Attack) -> None:
        self.attack = attack
        self.scene = Scene(
            folder, probe=PROBE, base={**BASE, "conftest.py": WITNESS, ".gitignore": "/head/\n"}
        )
        self.canaries = Canaries(folder / "canaries")
        self.witness = folder / "witness"
        self.witness.mkdir()
        scene = self.scene
        self.head = scene.path / "head" if attack.place == "below" else folder / "head"
        scene.git("checkout", "-q", "main")
        scene.git("clone", "-q", "--no-local", str(scene.path), str(self.head), where=folder)
        scene.git("checkout", "-q", "-b", "topic", where=self.head)
        plant_all(self.head, self.canaries)
        (self.head / "conftest.py").write_text(f"{WITNESS}\n{(self.head / 'conftest.py').read_text()}")
        self.sha = scene.commit({"src/auth.py": EVALUATED}, where=self.head)
        scene.knows(*repokit.git(self.head, "ls-files", "-z").split("\0")[:-1])
        scene.both(EVAL)
        if attack.place == "revision":
            scene.git("fetch", "-q", str(self.head), "topic:topic")
        else:
            edited(self.head)
            for git_trap in GIT_TRAPS:
                if git_trap.name in attack.git:
                    git_trap.arm(self.head, self.canaries.program(git_trap.name))
            for path in self.canaries.folder.iterdir():
                path.unlink()  # arming some of them fires others

    def state(self) -> dict[str, str]:
        """Mode, time and content of every file of the head's checkout, its repository included.

        But for the time of objects: git freshens that of one that it would write again elsewhere.
        """
        found = {}
        for path in self.head.rglob("*"):
            info = path.lstat()
            kind = stat.S_IFMT(info.st_mode)
            data = path.read_bytes() if kind == stat.S_IFREG else b""
            data = os.fsencode(os.readlink(path)) if kind == stat.S_IFLNK else data
            name = str(path.relative_to(self.head))
            time = 0 if name.startswith((".git/objects/", "elsewhere/objects/")) else info.st_mtime_ns
            found[name] = f"{info.st_mode:o} {time} {hashlib.sha256(data).hexdigest()}"
        return found

    def review(self) -> None:
        """As a job of CI does it: all plugins of the environment are loaded."""
        scene, attack = self.scene, self.attack
        head = "topic" if attack.place == "revision" else str(self.head)
        argv = [word.replace("{head}", head).replace("{root}", str(scene.path)) for word in attack.argv]
        env = {**scene.env, "WITNESS": str(self.witness)}
        del env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        if attack.inside:
            env["PATH"] = f"bin:.:{env['PATH']}"
        self.done = scene.start(
            [str(PROGRAMS / argv[0]), *argv[1:]], self.head if attack.inside else None, env
        )

    def seen(self) -> list[dict[str, object]]:
        """What the trusted root's conftest saw of its processes."""
        return [json.loads(path.read_text()) for path in self.witness.iterdir()]


RUN = ("prun-review", "run", "--base", "main", "--head", "{head}")
ATTACKS = (
    Attack("a folder"),
    Attack("a folder below the root, with workers", "below", argv=(*Attack("").argv, "-n", "2")),
    Attack("a revision", "revision"),
    Attack("a repository elsewhere that lacks a blob", git=frozenset({"promisor", "gitfile"})),
    Attack("a submodule", git=frozenset({"submodule", "fsmonitor"})),
    Attack("run", argv=RUN),
    Attack("run on a revision", "revision", argv=RUN),
    Attack("plan", argv=("prun-review", "plan", *RUN[2:], "--prompts"), code=0, asks=False),
    Attack("plan on a revision", "revision", argv=("prun-review", "plan", *RUN[2:]), code=0, asks=False),
    Attack(
        "from inside the head",
        argv=(
            "pytest",
            "{root}/panels",
            "-p",
            "no:cacheprovider",
            "--prun-base",
            "main",
            "--prun-head",
            "{head}",
        ),
        inside=True,
    ),
)
Played = dict[str, "Future[Arena]"]


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """The reviews that selected tests want, two at a time, ahead of their tests."""
    folder = tmp_path_factory.mktemp("hostile")
    here = [i for i in request.session.items if isinstance(i, pytest.Function) and i.path == request.path]
    wanted = [cast(Attack, i.callspec.params["attack"]) for i in here if "attack" in i.fixturenames]
    with ThreadPoolExecutor(2) as pool:
        yield {a.name: pool.submit(a.run, folder / str(n)) for n, a in enumerate(wanted)}


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name.replace(" ", "-") for attack in ATTACKS])
def test_nothing_of_the_head_runs(played: Played, attack: Attack) -> None:
    arena = played[attack.name].result()
    done, scene = arena.done, arena.scene
    assert arena.canaries.sung() == set(), done.output
    assert arena.state() == arena.before, "something was written into the head"
    assert done.code == attack.code, done.output

    # The processes are made of the environment and the trusted root alone.
    seen = arena.seen()
    assert seen, "the trusted root's own conftest was not loaded"
    for process in seen:
        for place in (*process["path"], *process["files"], process["cwd"]):  # type: ignore[misc]
            assert not Path(str(place)).is_relative_to(arena.head) or attack.inside, place
        assert [f for f in process["files"] if str(f).startswith(f"{arena.head}{os.sep}")] == []  # type: ignore[attr-defined]
    for call in scene.calls:
        assert not call["cwd"].startswith(str(scene.folder))
        assert str(arena.head) not in json.dumps(call["env"]) or attack.inside
        assert {name for name in call["tree"] if name.startswith((".git/", "head/"))} == set()
    if not attack.asks:
        assert scene.calls == []
        return

    # The verdict is what the answers say, and the head's wish to review itself is told.
    report = scene.report
    assert report.outcome == "FAIL"
    assert report.codes() >= {"consensus", "changes-review"}
    assert report.codes("FAIL") == {"consensus"}
    assert report.document["revision"]["head"] == arena.sha
    assert sorted(call["name"] for call in scene.calls) == sorted(scene.names)
    alters = set(report.document["change"]["alters"])
    assert alters >= {
        "conftest.py",
        "pyproject.toml",
        "pytest.ini",
        "panels/conftest.py",
        "panels/probe_evil.py",
    }
    assert {e["name"] for e in report.document["facts"]["executors"]} == set(scene.names)
    assert set(report.document["facts"]["sources"].values()) <= {"default", "pyproject.toml", "command line"}


@pytest.mark.parametrize("folder", ["", "/bin"])
def test_a_head_whose_programs_come_first_on_path_is_refused(tmp_path: Path, folder: str) -> None:
    arena = Arena(tmp_path / "a", Attack("programs", "below"))
    path = f"{arena.head}{folder}:{arena.scene.env['PATH']}"
    env = {**arena.scene.env, "WITNESS": str(arena.witness), "PATH": path}
    for verb in ("run", "plan"):
        argv = [str(PROGRAMS / "prun-review"), verb, "--base", "main", "--head", "head"]
        done = arena.scene.start(argv, None, env)
        assert arena.canaries.sung() == set(), done.output
        assert done.code == (4 if verb == "run" else 2), done.output
        assert f"{arena.head}{folder} belongs to the head" in done.output
    assert all((arena.head / f"bin/{name}").exists() for name in PROGRAM_NAMES)
    assert arena.scene.calls == []
