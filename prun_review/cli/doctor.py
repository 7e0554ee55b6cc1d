"""``prun-review doctor``: is everything there that a review needs?  Exit 1 when something fails.

It never reads a credential file: whether somebody is logged in is asked of the CLI itself.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.errors import LaunchError, PrunError
from prun_review.renderers.escape import one_line
from prun_review.renderers.json import dumps

if TYPE_CHECKING:
    from prun_review.config import Config
    from prun_review.ports import Executor, Located

WAIT = 60.0
"""Seconds for a CLI to answer; 20 vendor CLIs starting at once on 2 cores took 31 s each."""
EARLIEST = 1764374400
"""2025-11-29: no clock that is right shows less."""
SKEW = 120
"""Seconds by which the clock of the file system may differ."""
_SECRET = re.compile(r"(_KEY|_TOKEN)$")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    name: str
    status: str
    """``ok``, ``warn`` or ``fail``."""
    text: str
    remedy: str = ""


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "doctor", help="look whether everything is there that a review needs", description=__doc__
    )
    parser.add_argument("--json", action="store_true", help="JSON and not a list")


def run(args: argparse.Namespace) -> int:
    """Print the checks; 1 when one of them fails."""
    from prun_review.settings import read_settings

    root, config = read_settings(Path.cwd())
    checks = [*_tools(root, config), *_executors(root, config), _writable(root), _clock()]
    ok = all(check.status != "fail" for check in checks)
    if args.json:
        sys.stdout.write(dumps({"ok": ok, "root": str(root), "checks": [asdict(c) for c in checks]}))
    else:
        for check in checks:
            print(f"{check.status:4}  {one_line(f'{check.name}: {check.text}', 1000)}")
            if check.remedy:
                print(f"      remedy: {one_line(check.remedy, 1000)}")
    return 0 if ok else 1


def _tools(root: Path, config: Config) -> Iterator[Check]:
    yield Check("python", "ok", f"{sys.version.split()[0]} ({sys.executable})")
    yield _git((root / config.reviewed).resolve())
    for name in ("pytest", "pytest-xdist", "pluggy", "jsonschema", "tabulate"):
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "fail", "not installed", f"pip install {name}")


def _git(reviewed: Path) -> Check:
    from prun_review import git

    try:
        program = git.program(reviewed)
        return Check("git", "ok", f"{_ask((program, '--version'), {'LC_ALL': 'C'})} ({program})")
    except PrunError as error:
        return Check("git", "fail", error.message, error.remedy)


def _ask(argv: tuple[str, ...], env: dict[str, str]) -> str:
    """The first line that a program prints; ``LaunchError`` when it does not end well."""
    from prun_review.process.run import run as complete

    with tempfile.TemporaryDirectory() as empty:
        done = complete(argv, env=env, cwd=Path(empty), timeout=WAIT)
    if done.code != 0:
        raise LaunchError(f"exit status {done.code}")
    return (done.stdout or done.stderr).decode("utf-8", "replace").strip().partition("\n")[0]


def _executors(root: Path, config: Config) -> Iterator[Check]:
    from prun_review import extensions

    known = extensions.executors(extensions.manager(), config)
    needed = dict.fromkeys(config.executors, "fail") | {
        # Only --prun-offline or a probe's own choice needs these.
        name: "warn"
        for name in (*config.offline_executors, *config.executor_tables)
        if name not in config.executors
    }
    for name, severity in needed.items():
        if name in known:
            yield from _executor(known[name], severity, (root / config.reviewed).resolve())
        else:
            remedy = f"known executors: {', '.join(sorted(known))}"
            yield Check(name, "fail", "unknown executor", remedy)


def _executor(executor: Executor, severity: str, reviewed: Path) -> Iterator[Check]:
    from prun_review.ports import Missing

    found = executor.locate(os.environ, (reviewed,))
    if isinstance(found, Missing):
        yield Check(executor.name, severity, f"missing: {found.why}", found.remedy)
        return
    where = f"{found.argv[0]} ({found.where})"
    asking = executor.version_argv(found)
    try:
        told = _ask(asking, executor.child_env(os.environ)) if asking else "found, its version is not asked"
        yield Check(executor.name, "ok", f"{told}, {where}")
    except LaunchError as error:
        remedy = "run it by hand, reinstall it"
        yield Check(executor.name, severity, f"{where} does not tell its version: {error.message}", remedy)
        return
    yield from _login(executor, found, severity)


def _login(executor: Executor, found: Located, severity: str) -> Iterator[Check]:
    argv = executor.login_argv(found)
    if argv is None:
        return
    name, env = f"{executor.name} login", executor.child_env(os.environ)
    try:
        _ask(argv, env)
        yield Check(name, "ok", "logged in")
    except LaunchError as error:
        remedy = f"start {found.argv[0]} by hand and log in"
        keys = sorted(key for key in env if _SECRET.search(key) and env[key])
        if keys:  # codex answers "not logged in" beside a key that a review can work with
            yield Check(name, "warn", f"not logged in, but {', '.join(keys)} is set", remedy)
        else:
            yield Check(name, severity, f"not logged in: {error.message}", remedy)


def _writable(root: Path) -> Check:
    folder = root / ".prun"
    existing = folder if folder.exists() else root
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        return Check("run directory", "fail", f"{existing}: {error.strerror}", "make it writable, free space")
    return Check("run directory", "ok", f"{folder} can be written")


def _clock() -> Check:
    now = time.time()
    with tempfile.NamedTemporaryFile() as file:
        skew = abs(os.stat(file.name).st_mtime - now)
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    if now < EARLIEST:
        return Check("clock", "fail", f"{when} is in the past", "set the clock")
    if skew > SKEW:
        return Check("clock", "warn", f"{when}, {skew:.0f} s from the file system's", "set both clocks")
    return Check("clock", "ok", when)
