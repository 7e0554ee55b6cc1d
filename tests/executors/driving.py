"""Runs what an executor builds, as the pool would, and hands its output back to it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from prun_review.model import Brief, Contract, Exit, Reading, Unit
from prun_review.ports import Command, Executor, Launch, Located, Output, Request
from prun_review.process import contain

STANDINS = Path(__file__).parents[1] / "standins"

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["verdict"],
    "properties": {"verdict": {"type": "string"}},
}


FAKE = Located(("/opt/program",), "configured")
"""A program that is only named, never started."""

TEXT = st.text('aZ09 {}[]"\\/\n\r\0\x1b\ud800\ufeff\u2028é�', max_size=20)
"""Text with everything that hurts, from a small alphabet: the whole of Unicode takes seconds to load."""

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
"""Any JSON value that Python can write."""


def bare_request(prose: bool = False) -> Request:
    """A request for reading an output only."""
    brief = Brief("p", Contract("prose" if prose else "findings"))
    unit = Unit(id="u", slug="u", case="c", folder="f", executor="e", brief=brief)
    nowhere = Path("/nowhere")
    return Request(unit, "p", None if prose else SCHEMA, nowhere, nowhere, nowhere, FAKE, {})


def stand_in(folder: Path, program: str, *rules: Mapping[str, Any]) -> Path:
    """A folder for PATH in which ``program`` answers by ``rules``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / program).symlink_to(STANDINS / program)
    (folder / f"{program}.json").write_text(json.dumps(list(rules)))
    return folder


def calls(folder: Path) -> list[dict[str, Any]]:
    """What the stand-ins of a folder were called with."""
    return [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]


@dataclass
class Bench:
    """A tree, a state folder and an environment to run one executor in."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    attempts: int = 0

    def __post_init__(self) -> None:
        for name in ("tree", "state", "home"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home"), **self.env}

    @property
    def tree(self) -> Path:
        """The snapshot of the reviewed tree."""
        return self.root / "tree"

    def request(
        self,
        executor: Executor,
        prompt: str = "Review this.",
        *,
        schema: Mapping[str, Any] | None = SCHEMA,
        access: str = "read",
        located: Located | None = None,
    ) -> Request:
        """The request of a fresh attempt."""
        self.attempts += 1
        found = located or executor.locate(self.env, ())
        assert isinstance(found, Located), found
        contract = Contract() if schema is not None else Contract("prose")
        brief = Brief(prompt=prompt, contract=contract, access=access)
        out = self.root / "units" / f"u-{self.attempts}"
        out.mkdir(parents=True)
        return Request(
            unit=Unit(id="u", slug="u", case="c", folder="panels", executor=executor.name, brief=brief),
            prompt=prompt,
            schema=schema,
            tree=self.tree,
            out=out,
            state=self.root / "state",
            located=found,
            env=self.env,
        )

    def run(
        self, executor: Executor, request: Request, *, stop_when: bytes = b"", timeout: float = 60
    ) -> tuple[Command, Output, Reading]:
        """Start what the executor builds, contained where the request says so, and let it read the output.

        With ``stop_when`` the process is ended by TERM once its output holds these bytes, and
        ``Exit.ended_by`` says so.
        """
        command = executor.command(request)
        for name, data in command.files.items():
            (request.out / name).write_bytes(data)
        (request.out / "stdin").write_bytes(command.stdin)
        ended_by = ""
        with (
            (request.out / "stdin").open("rb") as stdin,
            (request.out / "stdout").open("wb") as stdout,
            (request.out / "stderr").open("wb") as stderr,
            subprocess.Popen(
                started(request, command),
                env=dict(command.env),
                cwd=command.cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            ) as process,
        ):
            if stop_when:
                _until(request.out, stop_when)
                process.terminate()
                ended_by = "timeout"
            try:
                code = process.wait(timeout)
            finally:
                process.kill()
        output = Output(
            Exit(code, ended_by, seconds=1.0),
            (request.out / "stdout").read_bytes(),
            (request.out / "stderr").read_bytes(),
            {n: (request.out / n).read_bytes() for n in command.outputs if (request.out / n).exists()},
        )
        return command, output, executor.read(output, request)


def started(request: Request, command: Command) -> Sequence[str]:
    """What is run for a command: with bubblewrap around it where the request says so."""
    if not request.contained:
        return command.argv
    nowhere = request.out / "nowhere"
    launch = Launch(command.argv, command.env, command.cwd, nowhere, nowhere, nowhere, 60)
    return contain.contained(request, command, launch).argv


def _until(out: Path, wanted: bytes) -> None:
    for _ in range(600):
        if wanted in (out / "stdout").read_bytes() + (out / "stderr").read_bytes():
            return
        time.sleep(0.05)
    raise AssertionError(f"{wanted!r} did not come")


def with_path(bench: Bench, *folders: Path | str) -> Bench:
    """The bench with these folders first on PATH."""
    path = os.pathsep.join([*map(str, folders), bench.env["PATH"]])
    return replace(bench, env={**bench.env, "PATH": path})


def options(argv: Sequence[str]) -> dict[str, list[str]]:
    """``-x value`` pairs of a command line, by option."""
    found: dict[str, list[str]] = {}
    for option, value in zip(argv, [*argv[1:], ""], strict=False):
        if option.startswith("-"):
            found.setdefault(option, []).append(value)
    return found
