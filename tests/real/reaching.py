"""A worker that tries to get at everything around it, and what of that reached the model server.

Each thing that a worker should not get at holds a text of its own.  Nobody is believed: what counts is
that text in a request that arrived, a connection to our port, a file on the disk.
"""

from __future__ import annotations

import json
import shlex
import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prun_review.config import load
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.ports import Located, Request
from tests.executors.driving import Bench, started
from tests.modelserver import FREEFORM, Call, ModelServer, Reply, Rule

SHELL, CODE = "gpt-5.5", "gpt-5.6-sol"
"""Models of codex: one that is offered the shell as a tool, one that writes JavaScript which calls it."""

_HARNESS = """
import json, subprocess, sys
argv, env, cwd, stdin = json.loads(sys.argv[1])
subprocess.run(argv, env=env, cwd=cwd, stdin=open(stdin), stdout=sys.stdout, stderr=sys.stderr, timeout=60)
"""
"""Stands between us and the worker, with a secret in its environment."""


def canary(what: str) -> str:
    """The text that tells where it came from."""
    return f"CANARY-{what}-7f3a"


@dataclass
class Surroundings:
    """A run directory with two units, a trusted root, a user's home, a snapshot and a change."""

    root: Path
    bench: Bench = field(init=False)
    door: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.bench = Bench(self.root)
        for what, path in self.secrets.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(canary(what) + "\n")
        self.image.write_bytes(_png())
        self.beside.mkdir()
        (self.beside / "CHANGE.diff").write_text("what was changed\n")
        (self.bench.tree / "a.py").write_text("x = 1\n")
        self.door = socket.create_server(("127.0.0.1", 0))
        self.door.setblocking(False)

    @property
    def beside(self) -> Path:
        """``Request.beside``."""
        return self.root / "beside"

    @property
    def run(self) -> Path:
        """The run directory."""
        return self.root / "trusted" / ".prun" / "runs" / "r"

    @property
    def image(self) -> Path:
        """A picture in the user's home."""
        return self.root / "home" / "picture.png"

    @property
    def secrets(self) -> dict[str, Path]:
        """What lies around, by the words for it."""
        home = self.root / "home"
        return {
            "login": home / ".codex" / "auth.json",
            "login of claude": home / ".claude" / ".credentials.json",
            "ssh key": home / ".ssh" / "id_x",
            "another unit": self.run / "units" / "other" / "1" / "prompt.md",
            "run directory": self.run / "plan.json",
            "trusted root": self.root / "trusted" / "conftest.py",
        }

    @property
    def places(self) -> dict[str, Path]:
        """Where it tries to write, by the words for it."""
        return {
            "write snapshot": self.bench.tree,
            "write change": self.beside,
            "write trusted root": self.root / "trusted",
            "write run directory": self.run,
        }

    def commands(self) -> list[str]:
        """What a shell is told to do."""
        reads = " ".join(shlex.quote(str(path)) for path in self.secrets.values())
        writes = " ".join(shlex.quote(f"{path}/written") for path in self.places.values())
        return [
            f"cat a.py ../beside/CHANGE.diff {reads}; env; true",
            "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ | grep CANARY; done; true",
            f"(echo hello > /dev/tcp/127.0.0.1/{self.door.getsockname()[1]}); touch {writes}; true",
        ]

    def tools(self, executor: str, model: str, access: str) -> list[tuple[str, Mapping[str, Any]]]:
        """The same as tool calls, and what else the tools of that program could be used for."""
        if executor == "codex" and model == CODE:
            script = "text(JSON.stringify(await tools.exec_command({{cmd: {}}})))"
            return [("exec", {FREEFORM: script.format(json.dumps(c))}) for c in self.commands()]
        if executor == "codex":
            patch = f"*** Begin Patch\n*** Add File: {self.root}/trusted/written\n+x\n*** End Patch\n"
            further = [("apply_patch", {FREEFORM: patch}), ("view_image", {"path": str(self.image)})]
            return [*(("exec_command", {"cmd": c}) for c in self.commands()), *further]
        reads = [*self.secrets.values(), self.image, *map(Path, ("/proc/self/environ", "/proc/1/environ"))]
        tools: list[tuple[str, Mapping[str, Any]]] = [("Read", {"file_path": str(p)}) for p in reads]
        grep = {"pattern": "CANARY", "path": str(self.root), "output_mode": "content"}
        tools += [("Grep", grep), ("Read", {"file_path": str(self.beside / "CHANGE.diff")})]
        tools += [("Read", {"file_path": str(self.bench.tree / "a.py")})]
        tools += [
            ("Write", {"file_path": str(p / "written"), "content": "x"})
            for p in self.places.values()
            if access != "full"
        ]
        return tools + [("Bash", {"command": c, "description": "x"}) for c in self.commands()]

    def attempt(
        self,
        located: Located,
        executor: str,
        access: str,
        *,
        contained: bool,
        model: str = SHELL,
        args: Sequence[str] = (),
    ) -> Attempt:
        """One dispatch whose model tries everything."""
        tools = tuple(self.tools(executor, model, access))
        self.bench.env["HARNESS_TOKEN"] = canary("environment of another")
        with ModelServer([Rule("", Reply({"verdict": "fine"}, tools=tools))]) as server:
            made = self._executor(executor, server, model, args)
            request = self.bench.request(made, located=located, access=access)
            out = self.run / "units" / "own" / "1"
            out.mkdir(parents=True, exist_ok=True)
            request = replace(request, beside=self.beside, contained=contained, out=out)
            done = self._start(request, made)
        return Attempt(self, server.calls, done.stdout.decode() + done.stderr.decode())

    def _executor(self, name: str, server: ModelServer, model: str, args: Sequence[str]) -> Codex | Claude:
        if name == "codex":
            self.bench.env["MOCK_KEY"] = canary("key")
            table = {"args": [*server.codex_args(), *args], "env": ["MOCK_KEY"], "model": model}
            return Codex.configured(load({"executor": {name: table}}).executor(name))
        self.bench.env |= {"ANTHROPIC_API_KEY": canary("key"), "ANTHROPIC_BASE_URL": server.anthropic_url}
        return Claude.configured(load({}).executor(name))

    def _start(self, request: Request, executor: Codex | Claude) -> subprocess.CompletedProcess[bytes]:
        command = executor.command(request)
        for name, data in command.files.items():
            (request.out / name).write_bytes(data)
        stdin = request.out / "stdin"
        stdin.write_bytes(command.stdin)
        told = json.dumps([started(request, command), dict(command.env), str(command.cwd), str(stdin)])
        return subprocess.run(
            [sys.executable, "-c", _HARNESS, told],
            env={"PATH": "/usr/bin:/bin", "HARNESS_TOKEN": canary("environment of another")},
            capture_output=True,
            timeout=90,
        )


@dataclass(frozen=True)
class Attempt:
    """What came of it."""

    around: Surroundings
    calls: Sequence[Call]
    output: str

    @property
    def results(self) -> str:
        """What the tools answered, as the server was sent it last."""
        return "\n".join(self.calls[-1].tool_results) if self.calls else ""

    @property
    def reached(self) -> set[str]:
        """The words for all that it got at."""
        bodies = json.dumps([call.body for call in self.calls])
        whats = [*self.around.secrets, "key", "environment of another"]
        found = {what for what in whats if canary(what) in bodies}
        if "data:image" in self.results or '"type": "image"' in self.results:
            found.add("picture")
        found |= {what for what, place in self.around.places.items() if (place / "written").exists()}
        try:
            self.around.door.accept()[0].close()
        except BlockingIOError:
            return found
        return found | {"network"}


def _png() -> bytes:
    """A picture of 8 by 8 grey dots."""
    rows = b"".join(b"\0" + b"\x80" * 8 for _ in range(8))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows))]
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in (*chunks, (b"IEND", b"")):
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return data
