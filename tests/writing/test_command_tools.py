"""What of a user's tools contained commands find: Python behind shims, below the home, in the project's own
environment; and that no login comes with it.  With real bubblewrap and a made-up home."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review import toolpath, verifying
from prun_review.executors import footprint
from prun_review.process import reap
from prun_review.process.launch import ProcessLauncher
from prun_review.verifying import Room
from prun_review.written import Check
from tests import needing

SECRET = "the login"
LOGINS = (
    *(".ssh/id", ".aws/credentials", ".config/gh", ".codex/auth.json", ".claude/x", ".netrc"),
    ".local/share/keyrings/login",
)


@pytest.fixture(scope="module")
def launcher() -> Iterator[ProcessLauncher]:
    needing.bubblewrap()
    with ProcessLauncher() as made:
        yield made


class Home:
    """A user's home with logins, and a Python that is not the system's."""

    def __init__(self, root: Path) -> None:
        self.path = root
        for name in LOGINS:
            self.file(name, SECRET)

    def file(self, name: str, text: str, mode: int = 0o755) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def link(self, name: str, target: str | Path) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).symlink_to(target)

    def python(self, prefix: str) -> Path:
        """A Python with one module and one program of its own, installed in a folder; its interpreter."""
        self.file(f"{prefix}/lib/python3.99/mine.py", "SAYS = 'mine'\n")
        module = self.path / prefix / "lib/python3.99"
        text = f'#!/bin/bash\nPYTHONPATH={module} exec -a "$0" {os.path.realpath(sys.executable)} "$@"\n'
        self.file(
            f"{prefix}/bin/mypytest", f"#!{self.path / prefix}/bin/python3\nimport mine; print(mine.SAYS)\n"
        )
        self.link(f"{prefix}/bin/python3", "python3.99")
        return self.file(f"{prefix}/bin/python3.99", text)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path / "user")
    monkeypatch.setenv("HOME", str(made.path))
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("tree", "work", "repo"):
        (tmp_path / name).mkdir()
    return tmp_path / "tree"


def run(launcher: ProcessLauncher, tree: Path, path: Sequence[Path], *commands: str) -> tuple[Check, ...]:
    repo = tree.parent / "repo"
    env = {"PATH": os.pathsep.join([*map(str, path), "/usr/bin", "/bin"]), "HOME": os.environ["HOME"]}
    room = Room(launcher, env, timeout=60, stands_for=repo)
    return verifying.run(commands, tree, tree.parent / "work", room)


def pyenv(home: Home) -> list[Path]:
    home.python(".pyenv/versions/3.99")
    home.file(".pyenv/version", "3.99\n")
    libexec = 'exec "$(dirname "$0")/../versions/$(cat "$HOME/.pyenv/version")/bin/$2" "${@:3}"\n'
    home.file(".pyenv/libexec/pyenv", f"#!/usr/bin/env bash\n{libexec}")
    for name in ("python3", "mypytest"):
        text = f'#!/usr/bin/env bash\nexec "{home.path}/.pyenv/libexec/pyenv" exec "{name}" "$@"\n'
        home.file(f".pyenv/shims/{name}", text)
    return [home.path / ".pyenv/shims"]


def mise(home: Home) -> list[Path]:
    home.python(".local/share/mise/installs/python/3.99")
    installed = home.path / ".local/share/mise/installs/python/3.99/bin"
    home.file(".local/bin/mise", f'#!/bin/sh\nexec {installed}/$(basename "$0") "$@"\n')
    home.link(".local/share/mise/shims/python3", home.path / ".local/bin/mise")
    return [home.path / ".local/share/mise/shims"]


def uv(home: Home) -> list[Path]:
    home.python(".local/share/uv/python/cpython-3.99")
    home.link(".local/bin/python3", home.path / ".local/share/uv/python/cpython-3.99/bin/python3.99")
    tool = home.path / ".local/share/uv/python/cpython-3.99/bin/mypytest"
    home.link(".local/bin/mypytest", tool)
    return [home.path / ".local/bin"]


def conda(home: Home) -> list[Path]:
    home.python("miniconda3/envs/work")
    return [home.path / "miniconda3/envs/work/bin"]


def into_the_home(home: Home) -> list[Path]:
    home.python(".")
    return [home.path / "bin"]


def into_local(home: Home) -> list[Path]:
    home.python(".local")
    return [home.path / ".local/bin"]


def nix(home: Home) -> list[Path]:
    home.python("store/python-3.99")
    home.link(".nix-profile", home.path / "store/profile")
    for name in ("python3", "mypytest"):
        home.link(f"store/profile/bin/{name}", home.path / "store/python-3.99/bin" / name)
    return [home.path / ".nix-profile/bin"]


@pytest.mark.parametrize("lay", [pyenv, mise, uv, conda, into_the_home, into_local, nix])
def test_a_python_below_the_home_is_used_and_no_login_is_seen(
    launcher: ProcessLauncher, home: Home, tree: Path, lay: object
) -> None:
    path = lay(home)  # type: ignore[operator]
    commands = (
        "python3 -c 'import mine; print(mine.SAYS)'",
        "mypytest",
        f"find {home.path} -type f | xargs grep -l '{SECRET}'",
        f"find {home.path} | grep -e {' -e '.join(LOGINS)}",
        f"echo x 2>&1 >> {path[0]}/python3 || echo refused",
    )
    (check,) = run(launcher, tree, path, "; ".join(commands))
    told = [line for line in check.said.splitlines() if "Read-only" not in line]
    assert told == ["mine", "mine", "refused"], check


def test_asdf_chooses_by_a_file_in_the_home(launcher: ProcessLauncher, home: Home, tree: Path) -> None:
    home.python(".asdf/installs/python/3.99")
    home.file(".tool-versions", "python 3.99\n", 0o644)
    home.file(
        ".asdf/bin/asdf",
        '#!/bin/sh\nv=$(cut -d" " -f2 $HOME/.tool-versions) || exit 126\nshift\n'
        f'n=$1; shift; exec {home.path}/.asdf/installs/python/$v/bin/$n "$@"\n',
    )
    home.file(".asdf/shims/python3", f'#!/bin/sh\nexec {home.path}/.asdf/bin/asdf exec python3 "$@"\n')
    command = "python3 -c 'import mine; print(mine.SAYS)'; mypytest"
    (check,) = run(launcher, tree, [home.path / ".asdf/shims"], command)
    assert (check.code, check.said) == (0, "mine\nmine")


def test_what_pip_installed_for_the_user(launcher: ProcessLauncher, home: Home, tree: Path) -> None:
    said = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True
    )
    version = said.stdout.decode().strip()
    home.file(f".local/lib/python{version}/site-packages/mine.py", "SAYS = 'mine'\n")
    home.file(".local/bin/mypytest", "#!/usr/bin/python3\nimport mine; print(mine.SAYS)\n")
    (check,) = run(launcher, tree, [home.path / ".local/bin"], f"mypytest; ls -A {home.path}/.local")
    assert (check.code, check.said.split()) == (0, ["mine", "bin", "lib"])


@pytest.mark.parametrize("place", ["", ".ssh", ".config/bin", ".claude/local", "keys"])
def test_a_path_that_leads_to_logins_shows_none(
    launcher: ProcessLauncher, home: Home, tree: Path, place: str
) -> None:
    home.link("keys", ".ssh")
    (home.path / place).mkdir(parents=True, exist_ok=True)
    home.file(f"{place}/tool", SECRET) if place else None
    (check,) = run(launcher, tree, [home.path / place], f"grep -rs '{SECRET}' {home.path}/ {home.path}/.ssh/")
    assert check.code != 0
    assert SECRET not in check.said
    made_from = home.file("venv/pyvenv.cfg", f"home = {home.path}/bin\n").parent
    shown = footprint.of_program(str(home.file("venv/bin/x", "")))
    assert made_from in shown
    assert home.path not in shown


def test_the_environment_that_runs_us_comes_last(launcher: ProcessLauncher, tree: Path) -> None:
    (tree / "test_x.py").write_text("def test_x():\n    assert 6 * 7 == 42\n")
    (check,) = run(launcher, tree, [], "pytest -q -p no:cacheprovider")
    assert "1 passed" in check.said, check
    assert toolpath.path_of({"PATH": "/usr/bin:rel:/bin"}, tree, Path("/"))[:2] == ("/usr/bin", "/bin")


def test_a_project_installed_to_be_edited_is_tested_as_it_was_written(
    launcher: ProcessLauncher, tree: Path
) -> None:
    """The environment lies in the user's repository and names its sources by their path."""
    repo = tree.parent / "repo"
    venv = repo / ".venv"
    site = venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for folder in (repo / "src", repo / "tools", tree / "src", tree / "tools", site, venv / "bin"):
        folder.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (venv / "bin/python").symlink_to(Path(os.path.realpath(sys.executable)))
    (site / "__editable__.project.pth").write_text(f"{repo}/src\n")
    for top, word in ((repo, "the user's"), (tree, "written")):
        (top / "src/project.py").write_text(f"WORD = {word!r}\n")
        (top / "tools/say").write_text(f"#!/bin/sh\necho {word[:7]}\n")
        (top / "tools/say").chmod(0o755)
    say = f"python -B -c 'import project; print(project.WORD)'; say; echo x > {repo}/src/new; ls src"
    (check,) = run(launcher, tree, [venv / "bin", repo / "tools"], say)
    assert check.said.split() == ["written", "written", "new", "project.py"], check
    assert not (repo / "src/new").exists()
    assert check.contained


def test_a_shim_is_asked_in_the_trusted_root_and_not_in_what_was_written(home: Home, tree: Path) -> None:
    chosen = home.python("own")
    home.file("shims/python3", f'#!/bin/sh\n[ -e ./chooses ] && exec {chosen} "$@"\nexit 1\n')
    shims = home.path / "shims"
    (tree / "chooses").write_text("")
    assert toolpath.path_of({"PATH": str(shims)}, tree, tree.parent / "work")[0] == str(shims)
    (tree.parent / "repo/chooses").write_text("")
    assert toolpath.path_of({"PATH": str(shims)}, tree, tree.parent / "repo")[0] == str(chosen.parent)


def test_what_a_shim_leaves_running_is_ended(home: Home, tree: Path) -> None:
    own = home.python("own")
    leave = f"echo $PRUN_DISPATCH > {home.path}/tag; setsid -f sleep 600 > /dev/null 2>&1"
    home.file("shims/python3", f'#!/bin/sh\n{leave}\nexec {own} "$@"\n')
    found = toolpath.path_of({"PATH": f"{home.path}/shims:/usr/bin:/bin"}, tree, Path("/"))
    assert found[0] == str(own.parent)
    tag = (home.path / "tag").read_text().strip()
    assert tag
    assert reap.tagged(tag) == []


def test_what_a_shim_chooses_hides_no_other_tools(home: Home, tree: Path) -> None:
    """It chose the system's, which comes last on PATH."""
    chosen = home.python("system")
    home.file("shims/python3", f'#!/bin/sh\nexec {chosen} "$@"\n')
    path = [str(place) for place in (home.path / "shims", home.path / "newer", chosen.parent)]
    found = toolpath.path_of({"PATH": os.pathsep.join(path)}, tree, Path("/"))
    assert found[:3] == (*path[1:], path[0])


def test_what_a_shim_says_is_not_believed_where_it_is_no_program(
    launcher: ProcessLauncher, home: Home, tree: Path
) -> None:
    home.file("shims/python3", "#!/bin/sh\necho /no/such/program\n")
    home.file("slow/python3", "#!/bin/sh\nexit 3\n")
    path = [home.path / "shims", home.path / "slow"]
    found = toolpath.path_of({"PATH": os.pathsep.join(map(str, path))}, tree, Path("/"))
    assert found[:2] == tuple(map(str, path))
    room = Room(launcher, {"PATH": "/usr/bin:/bin"}, timeout=60)
    assert replace(room, containment="bwrap").stands_for is None
