"""The programs behind the executors: found, asked for their version, hashed.

Looking for one happens only when something will be dispatched.  Versions and digests are kept by
path, size and time of change, since hashing two vendor binaries (over 400 MB) takes a second.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from prun_review.errors import ExecutorError
from prun_review.model import ExecutorInfo
from prun_review.ports import Executor, Launch, Launcher, Located, Missing

VERSION_WAIT = 60.0
"""Seconds for ``--version``: twenty claudes starting at once on two cores took 31 s each."""

ASK_OTHERS = "choose with --prun-executors, or use --prun-offline"


class Programs:
    """What is known of the programs of one run."""

    def __init__(
        self, executors: Mapping[str, Executor], env: Mapping[str, str], launcher: Launcher | None
    ) -> None:
        self.executors = executors
        self.env = env
        self.launcher = launcher
        self.located: dict[str, Located] = {}
        self._versions: dict[str, str] = {}

    def locate(self, names: Sequence[str], forbidden: Sequence[Path], others: str = ASK_OTHERS) -> None:
        """Find them all, or ``ExecutorError`` that names every missing one with its remedy; ``others`` says
        how to ask others instead."""
        missing: list[str] = []
        for name in names:
            found = self.executors[name].locate(self.env, forbidden)
            if isinstance(found, Missing):
                missing.append(f"{name}: {found.why}" + (f" -- {found.remedy}" if found.remedy else ""))
            else:
                self.located[name] = found
        if missing:
            raise ExecutorError(
                "not found: " + "; ".join(missing),
                remedy=f"install it, or {others}",
            )

    def version(self, name: str) -> str:
        """What it prints for ``--version``, first line, else its digest; empty where it was not located."""
        if name not in self._versions and name in self.located:
            self._versions[name] = self._ask_version(name) + _beside(self.located[name])
        return self._versions.get(name, "")

    def _ask_version(self, name: str) -> str:
        executor, found = self.executors[name], self.located[name]
        argv = executor.version_argv(found)
        if not argv or self.launcher is None:
            return f"sha256:{sha256_of(Path(found.argv[0]))[:16]}"
        # Through the launcher, so that a program that hangs or leaves a daemon is ended with us.
        with tempfile.TemporaryDirectory(prefix="prun-version-") as folder:
            said = Path(folder) / "said"
            launch = Launch(
                argv=argv,
                env=executor.child_env(self.env),
                cwd=Path("/"),
                stdin=Path(os.devnull),
                stdout=said,
                stderr=said,
                timeout=VERSION_WAIT,
                tag=f"version/{name}/{secrets.token_hex(8)}",
                max_output=1 << 20,
            )
            exit = self.launcher.start(launch).wait()
            lines = said.read_text("utf-8", "replace").strip().splitlines() if said.exists() else []
        said_it = lines and exit is not None and exit.code == 0
        return lines[0][:200] if said_it else f"sha256:{sha256_of(Path(found.argv[0]))[:16]}"

    def info(self, name: str) -> ExecutorInfo:
        """What the run records of an executor."""
        executor = self.executors[name]
        found = self.located.get(name)
        return ExecutorInfo(
            name=name,
            vendor=executor.vendor,
            lineage=executor.lineage,
            paid=executor.paid,
            identity=executor.identity,
            contracts=tuple(sorted(executor.contracts)),
            where=found.where if found else "",
            version=self.version(name),
            sha256=sha256_of(Path(found.argv[0])) if found else "",
        )


def _beside(found: Located) -> str:
    """What is to be added to the version for the files beside the program."""
    if not found.beside:
        return ""
    digests = "".join(sha256_of(Path(path)) or "?" for path in found.beside)
    return f" with:{hashlib.sha256(digests.encode()).hexdigest()[:16]}"


def sha256_of(path: Path) -> str:
    """Hex digest of a file; empty where it cannot be read."""
    try:
        with open(os.path.realpath(path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def available_mib() -> float | None:
    """Memory that new processes can have, in MiB; None where the machine does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) / 1024
    except (OSError, ValueError):
        return None
    return None


def forbidden(reviewed: Path, names: Collection[str], root: Path) -> tuple[Path, ...]:
    """Where no program may come from: the reviewed folder, whatever of it is under review.

    Where a project reviews itself, its virtual environment usually lies in the same folder; one that
    holds no file of the tree is let through.
    """
    if not root.resolve().is_relative_to(reviewed):
        return (reviewed,)
    tracked = {name.split("/", 1)[0] for name in names}
    return tuple(
        entry
        for entry in sorted(reviewed.iterdir())
        if entry.name in tracked or entry.is_symlink() or not (entry / "pyvenv.cfg").is_file()
    )
