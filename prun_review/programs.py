"""The programs behind the executors: found, asked for their version, hashed.

Looking for one happens only when something will be dispatched.  Versions and digests are kept by
path, size and time of change, since hashing two vendor binaries (over 400 MB) takes a second.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from prun_review.errors import ExecutorError, LaunchError
from prun_review.model import ExecutorInfo
from prun_review.ports import Executor, Located, Missing
from prun_review.process.run import run

VERSION_WAIT = 60.0
"""Seconds for ``--version``: twenty claudes starting at once on two cores took 31 s each."""


class Programs:
    """What is known of the programs of one run."""

    def __init__(self, executors: Mapping[str, Executor], env: Mapping[str, str]) -> None:
        self.executors = executors
        self.env = env
        self.located: dict[str, Located] = {}
        self._versions: dict[str, str] = {}

    def locate(self, names: Sequence[str], forbidden: Sequence[Path]) -> None:
        """Find them all, or ``ExecutorError`` that names every missing one with its remedy."""
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
                remedy="install it, or choose with --prun-executors, or use --prun-offline",
            )

    def version(self, name: str) -> str:
        """What it prints for ``--version``, first line; empty where it was not located."""
        if name not in self._versions and name in self.located:
            self._versions[name] = self._ask_version(name)
        return self._versions.get(name, "")

    def _ask_version(self, name: str) -> str:
        executor, found = self.executors[name], self.located[name]
        argv = executor.version_argv(found)
        if not argv:
            return ""
        try:
            done = run(argv, env=executor.child_env(self.env), cwd=Path("/"), timeout=VERSION_WAIT)
        except LaunchError as error:
            return f"unknown: {error.message}"
        lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
        return lines[0][:200] if lines and done.code == 0 else ""

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
