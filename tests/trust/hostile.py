"""A head that tries to run: files of its tree, and the configuration of its own repository.

Every trap leaves a file of its name in one folder when it is executed, and says how that happens
where nobody takes care.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests import repokit
from tests.change.kit import PROGRAMS

ENV = {
    "PATH": f"{PROGRAMS}:{os.defpath}",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # it costs half a second
}
PYTHON = sys.executable
COLLECT = (str(PROGRAMS / "pytest"), "--collect-only", "-q", "-p", "no:cacheprovider")
PLUGGED = ("-p", "prun_review.plugin")
MODULES = ("json", "tomllib", "jsonschema", "tabulate", "detect_secrets", "prun_review", "xdist", "_pytest")
PROGRAM_NAMES = ("codex", "claude", "git", "python", "python3", "ruff", "bandit", "bwrap", "sh", "uname")
FOLDERS = ("", "bin/", ".venv/bin/", "node_modules/.bin/")


class Canaries:
    """Where traps leave their files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder

    def program(self, name: str) -> Path:
        """An executable that leaves the file ``name``; beside the head, as only its content is hostile."""
        path = self.folder.parent / f"{self.folder.name}-programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n: > '{self.folder / name}'\nexit 1\n")
        path.chmod(0o755)
        return path

    def sung(self) -> set[str]:
        """The traps that were executed."""
        return {path.name for path in self.folder.iterdir()}


@dataclass(frozen=True)
class Trap:
    """Files of the tree; ``@PY@`` in them is a Python expression, ``@SH@`` a shell command that sings."""

    name: str
    files: Mapping[str, str]
    fire: tuple[str, ...]
    """A command that is executed in the head's folder by somebody careless."""
    env: Mapping[str, str] = field(default_factory=dict)
    committed: bool = False
    """It only fires in a repository."""

    def plant(self, head: Path, canaries: Canaries) -> None:
        """Write the files; what begins with ``#!`` can be executed."""
        where = canaries.folder / self.name
        for name, text in self.files.items():
            text = text.replace("@PY@", f'open({str(where)!r}, "w").close()').replace(
                "@SH@", f": > '{where}'"
            )
            text = text.replace("@BIN@", str(canaries.program(self.name)))
            repokit.write(head, {name: text})
            if text.startswith("#!"):
                (head / name).chmod(0o755)

    def spring(self, head: Path) -> None:
        """Do what executes it."""
        argv = [word.replace("{head}", str(head)) for word in self.fire]
        env = {name: value.replace("{head}", str(head)) for name, value in self.env.items()}
        subprocess.run(argv, cwd=head, env={**ENV, **env}, capture_output=True, timeout=60, check=False)


ON_PATH = {"PYTHONPATH": "{head}"}
PLUGIN = "@PY@\n"
ENTRY = "Metadata-Version: 2.1\nName: {0}\nVersion: 1.0\n"
ANSWERING = """
[tool.prun_review]
executors = ["evil"]
[tool.prun_review.executor.evil]
type = "command"
vendor = "v"
lineage = "l"
argv = ["@BIN@"]
"""


def _conftest(name: str, folder: str) -> Trap:
    test = f"{folder}test_it.py"
    return Trap(name, {f"{folder}conftest.py": PLUGIN, test: "def test_it(): pass\n"}, (*COLLECT, test))


def _ini(name: str, file: str, section: str, value: str = "-p {}") -> Trap:
    plugin = name.replace(".", "_").replace("-", "_")
    option = value.format(plugin)
    files = {file: f"[{section}]\naddopts = {option}\n", f"{plugin}.py": PLUGIN}
    return Trap(name, files, COLLECT, ON_PATH)


def _entry(name: str, group: str, fire: tuple[str, ...], env: Mapping[str, str] = ON_PATH) -> Trap:
    module = name.replace("-", "_")
    files = {
        f"{module}-1.0.dist-info/METADATA": ENTRY.format(name),
        f"{module}-1.0.dist-info/entry_points.txt": f"[{group}]\n{module} = {module}\n",
        f"{module}.py": PLUGIN,
    }
    return Trap(name, files, fire, env)


TRAPS = (
    _conftest("conftest", ""),
    _conftest("conftest-nested", "src/"),
    Trap(
        "conftest-panels",
        {"panels/conftest.py": PLUGIN, "panels/probe_more.py": "def probe_x(result):\n    '''x'''\n"},
        (*COLLECT, "panels/"),
    ),
    Trap(
        "probe",
        {"panels/probe_evil.py": "@PY@\ndef probe_x(result):\n    '''x'''\n"},
        (*COLLECT, *PLUGGED, "panels/"),
    ),
    Trap(
        "executor-table",
        {"pyproject.toml": ANSWERING, "panels/probe_more.py": "def probe_x(result):\n    '''x'''\n"},
        (str(PROGRAMS / "pytest"), "panels/", *PLUGGED),
        committed=True,
    ),
    _ini("pyproject.toml", "pyproject.toml", "tool.pytest.ini_options", "'-p {}'"),
    _ini("pytest.ini", "pytest.ini", "pytest"),
    _ini("pytest.toml", "pytest.toml", "pytest", '["-p", "{}"]'),
    _ini("tox.ini", "tox.ini", "pytest"),
    _ini("setup.cfg", "setup.cfg", "tool:pytest"),
    Trap(
        "build-backend",
        {
            "pyproject.toml": "[build-system]\nrequires = []\n"
            "build-backend = 'evilbuild'\nbackend-path = ['.']\n",
            "evilbuild.py": PLUGIN,
        },
        (
            *(PYTHON, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-index", "--no-deps"),
            *("--no-build-isolation", "."),
        ),
    ),
    Trap("setup.py", {"setup.py": PLUGIN}, (PYTHON, "setup.py")),
    Trap("sitecustomize", {"sitecustomize.py": PLUGIN}, (PYTHON, "-c", "pass"), ON_PATH),
    Trap(
        "usercustomize",
        {"usercustomize.py": PLUGIN},
        (PYTHON, "-c", "import site; site.ENABLE_USER_SITE = True; site.execusercustomize()"),
        ON_PATH,
    ),
    Trap(
        "pth",
        {"evil.pth": "import os; @PY@\n"},
        (PYTHON, "-c", "import site; site.addsitedir('.')"),
    ),
    _entry("entry-pytest11", "pytest11", COLLECT, {**ON_PATH, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}),
    _entry(
        "entry-prun-review",
        "prun_review",
        (PYTHON, "-c", "import pluggy; pluggy.PluginManager('x').load_setuptools_entrypoints('prun_review')"),
    ),
    *(
        Trap(
            f"module-{name}", {f"{name}.py": PLUGIN}, (PYTHON, "-c", f"import {name}"), {"PYTHONSAFEPATH": ""}
        )
        for name in MODULES
    ),
    *(
        Trap(
            f"program-{name}",
            {f"{at}{name}": "#!/bin/sh\n@SH@\n" for at in FOLDERS},
            (PYTHON, "-c", f"import os; os.execvp({name!r}, [{name!r}])"),
            {"PATH": "{head}/bin"},
        )
        for name in PROGRAM_NAMES
    ),
    Trap("Makefile", {"Makefile": "all:\n\t@SH@\n"}, ("make",)),
    Trap("envrc", {".envrc": "@SH@\n"}, ("sh", "-c", ". ./.envrc")),
    Trap(
        "gitmodules",
        {
            ".gitmodules": '[submodule "evil"]\n\tpath = evil\n\turl = ext::@BIN@\n',
            ".lfsconfig": "[lfs]\n\turl = ext::@BIN@\n\tconcurrenttransfers = 1\n",
        },
        (
            "sh",
            "-c",
            'git -c protocol.ext.allow=always clone "$(git config -f .gitmodules submodule.evil.url)" evil',
        ),
    ),
)


def plant_all(head: Path, canaries: Canaries) -> None:
    """Every trap in one tree; three of them share one pyproject.toml."""
    shared = []
    for trap in TRAPS:
        trap.plant(head, canaries)
        if "pyproject.toml" in trap.files:
            shared.append((head / "pyproject.toml").read_text())
    repokit.write(head, {"pyproject.toml": "\n".join(shared)})


# --- a repository's own configuration -------------------------------------------------------------

Arm = Callable[[Path, Path], None]
"""Arms a repository, given a program that sings."""


def _config(*pairs: tuple[str, str]) -> Arm:
    def arm(head: Path, program: Path) -> None:
        for key, value in pairs:
            repokit.git(head, "config", "--add", key, value.replace("@", str(program)))

    return arm


def _attributes(line: str, *pairs: tuple[str, str]) -> Arm:
    def arm(head: Path, program: Path) -> None:
        _config(*pairs)(head, program)
        with (head / ".git/info/attributes").open("a") as file:
            file.write(f"{line}\n")

    return arm


def _hooks(folder: str, *pairs: tuple[str, str]) -> Arm:
    def arm(head: Path, program: Path) -> None:
        (head / folder).mkdir(parents=True, exist_ok=True)
        for name in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout"):
            (head / folder / name).unlink(missing_ok=True)
            (head / folder / name).symlink_to(program)
        _config(*pairs)(head, program)

    return arm


def _include(head: Path, program: Path) -> None:
    (head / ".git/more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    repokit.git(head, "config", "--add", "include.path", "more")


def _worktree(head: Path, program: Path) -> None:
    repokit.git(head, "config", "extensions.worktreeConfig", "true")
    (head / ".git/config.worktree").write_text(f"[core]\n\tfsmonitor = {program}\n")


def _gitfile(head: Path, program: Path) -> None:
    repokit.git(head, "config", "core.fsmonitor", str(program))
    (head / ".git").rename(head / "elsewhere")
    (head / ".git").write_text("gitdir: elsewhere\n")


def _submodule(head: Path, program: Path) -> None:
    """A repository inside, and a filter that ``git status`` starts there."""
    inner = repokit.repository(head / "inner", {"x.txt": "x\n"})
    repokit.git(
        head,
        "update-index",
        "--add",
        "--cacheinfo",
        f"160000,{repokit.git(inner, 'rev-parse', 'HEAD')},inner",
    )
    repokit.git(inner, "config", "filter.evil.clean", str(program))
    repokit.write(inner, {".gitattributes": "* filter=evil\n", "x.txt": "y\n"})


def _promisor(head: Path, program: Path) -> None:
    """A blob is missing; the repository says whom to ask for it, and by which program."""
    _config(
        ("remote.evil.url", "ssh://nowhere.invalid/x"),
        ("remote.evil.promisor", "true"),
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "evil"),
        ("core.sshCommand", "@"),
    )(head, program)
    for pack in (head / ".git/objects/pack").glob("*.pack"):
        packed = pack.read_bytes()
        pack.with_suffix(".idx").unlink()
        pack.unlink()
        repokit.git(head, "unpack-objects", "-q", stdin=packed)
    blob = repokit.git(head, "rev-parse", "HEAD:src/shop.py")
    (head / ".git/objects" / blob[:2] / blob[2:]).unlink()


@dataclass(frozen=True)
class GitTrap:
    """A configuration that plain git executes."""

    name: str
    arm: Arm
    fire: tuple[str, ...]
    """git's arguments."""


GIT_TRAPS = (
    GitTrap("fsmonitor", _config(("core.fsmonitor", "@")), ("status",)),
    GitTrap("external-diff", _config(("diff.external", "@")), ("diff",)),
    GitTrap("textconv", _attributes("*.py diff=evil", ("diff.evil.textconv", "@")), ("diff",)),
    GitTrap("diff-driver", _attributes("*.py diff=evil", ("diff.evil.command", "@")), ("diff",)),
    GitTrap("filter-clean", _attributes("*.py filter=evil", ("filter.evil.clean", "@")), ("add", "-u")),
    GitTrap("filter-process", _attributes("*.py filter=evil", ("filter.evil.process", "@")), ("add", "-u")),
    GitTrap(
        "filter-smudge",
        _attributes("*.py filter=evil", ("filter.evil.smudge", "@"), ("filter.evil.required", "true")),
        ("checkout", "--", "src/auth.py"),
    ),
    GitTrap(
        "lfs",
        _attributes(
            "*.md filter=lfs diff=lfs merge=lfs",
            ("filter.lfs.process", "@"),
            ("filter.lfs.clean", "@"),
            ("filter.lfs.required", "true"),
        ),
        ("add", "-u"),
    ),
    GitTrap("hooks", _hooks(".git/hooks"), ("add", "-u")),
    GitTrap("hooks-path", _hooks("tools", ("core.hooksPath", "tools")), ("add", "-u")),
    GitTrap("alias", _config(("alias.look", "!@")), ("look",)),
    GitTrap("editor", _config(("core.editor", "@")), ("commit", "--amend")),
    GitTrap("include", _include, ("status",)),
    GitTrap("worktree-config", _worktree, ("status",)),
    GitTrap("submodule", _submodule, ("status",)),
    GitTrap("promisor", _promisor, ("cat-file", "-p", "HEAD:src/shop.py")),
    GitTrap("gitfile", _gitfile, ("status",)),
    GitTrap(
        "upload-pack-hook",
        _config(("uploadpack.packObjectsHook", "@"), ("core.sshCommand", "@")),
        ("ls-remote", "ssh://nowhere.invalid/x"),
    ),
)
