"""The faults that the real programs can be made to show, through our model server: each has its name,
none is green, nothing is left running."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from prun_review.ports import Located
from tests.faults.campaign import SOURCE, Outcome, cells, survivors
from tests.faults.table import BROKEN, KEPT, VENDORS, Fate, Fault, answer
from tests.modelserver import ModelServer, Reply, Rule
from tests.real.shop import MODEL, SCRIPTS

VENDOR = {"codex": "openai", "sonnet": "anthropic"}
KIND = {"codex": "codex", "sonnet": "claude"}
NOWHERE = "http://127.0.0.1:9"
"""Nobody listens there."""
REFUSED = "refused"
SILENCE = 8
"""Seconds without a byte after which a dispatch is stalled here."""

PROBE = '''from prun_review import brief


@brief(reads=["src/*.py"], executors=["{executor}"], timeout=60)
def probe_fault(result):
    """Audit the sums. [[{fault}:{vendor}]]"""
'''


def both(reply: Reply, claude: Reply | None = None) -> dict[str, dict[str, Reply]]:
    """What the service answers to each program."""
    return {"codex": {"reply": reply}, "sonnet": {"reply": claude or reply}}


def failing(name: str, reason: str, reply: Reply, claude: Reply | None = None, alone: bool = False) -> Fault:
    """A fault in which both vendors' units fail."""
    return Fault(name, both(reply, claude), dict.fromkeys(VENDORS, once(reason)), alone=alone)


def once(reason: str) -> Fate:
    """Failed of that reason; nothing is tried again here, as the programs do so themselves."""
    return Fate("failed", reason, 1)


def http(status: int, reason: str, error: str = "scripted") -> Fault:
    """An HTTP status for both."""
    return failing(f"http-{status}", reason, Reply(status=status, error=error))


FAULTS = [
    http(400, "bad-request", error="a schema that is none"),
    http(401, "not-logged-in"),
    Fault(
        "http-403",
        both(Reply(status=403, error="scripted")),
        {"codex": once("bad-request"), "sonnet": once("not-logged-in")},  # as claude words it
    ),
    http(404, "model-not-found", error="model: nope"),
    http(429, "rate-limited"),
    http(500, "over-capacity"),
    http(529, "over-capacity", error="Overloaded"),
    failing(
        "context",
        "prompt-too-long",
        Reply(status=400, error="too long", code="context_length_exceeded"),
        claude=Reply(status=400, error="prompt is too long: 210000 tokens > 200000 maximum"),
    ),
    failing(
        "quota",
        "quota-exhausted",
        Reply(status=429, error="no more", code="usage_limit_reached"),
        claude=Reply(status=400, error="Your credit balance is too low to access the API"),
    ),
    Fault(
        "output-limit",
        both(Reply(answer(), wire="full")),
        {"codex": once("turn-limit"), "sonnet": once("no-answer")},  # half a structured output, five times
    ),
    failing("malformed", "network", Reply(wire="malformed")),
    failing(REFUSED, "network", Reply(), alone=True),
    failing("hang", "stalled", Reply(wire="hang")),
    failing("silent", "stalled", Reply(wire="silent")),
    Fault(
        "cut",
        both(Reply(answer(), wire="cut")),
        {"codex": once("network"), "sonnet": KEPT},  # claude asks again, without a stream, and gets it
    ),
    Fault(
        "prose",
        both(Reply(text="I looked at it and it is fine.")),
        {"codex": BROKEN, "sonnet": once("no-answer")},
    ),
    Fault("sound", both(Reply(answer())), dict.fromkeys(VENDORS, KEPT)),
]
GRID = cells(FAULTS)


def rules() -> list[Rule]:
    """What the model server answers to which cell."""
    return [
        Rule(f"[[{c.fault.name}:{c.vendor}]]", c.fault.rules[c.vendor]["reply"], VENDOR[c.vendor])
        for c in GRID
    ]


def configuration(server: ModelServer, programs: Mapping[str, Located]) -> str:
    """One voice is enough here, so that a folder with a lost answer is INCOMPLETE for that alone."""
    lines = ["[tool.prun_review]", "retries = 0", "jobs = 6", "[tool.prun_review.gate]", 'rule = "single"']
    for vendor, name, refused in dict.fromkeys((c.vendor, c.executor, c.fault.alone) for c in GRID):
        table = {"type": KIND[vendor], "path": programs[vendor].argv[0], "stall": SILENCE, "stagger": 0.1}
        if vendor == "codex":
            args = [a.replace(server.url, NOWHERE) if refused else a for a in server.codex_args()]
            table |= {"model": MODEL, "env": ["MOCK_KEY"], "args": args}
        if refused:  # codex tries again at growing intervals, and says so
            table["stall"] = 0
        if refused and vendor == "sonnet":
            table["args"] = ["--settings", json.dumps({"env": {"ANTHROPIC_BASE_URL": NOWHERE}})]
        lines.append(f"[tool.prun_review.executor.{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def review(root: Path, programs: Mapping[str, Located]) -> Outcome:
    """``pytest panels/`` over all cells, with nothing around it but dummy keys."""
    repository = root / "repository"
    for folder in (root / "home", repository / "src"):
        folder.mkdir(parents=True)
    env = {
        "PATH": f"{SCRIPTS}:/usr/bin:/bin",
        "HOME": str(root / "home"),
        "MOCK_KEY": "dummy",
        "ANTHROPIC_API_KEY": "sk-ant-dummy",
    }
    with ModelServer(rules()) as server:
        (repository / "src/app.py").write_text(SOURCE)
        (repository / "pyproject.toml").write_text(configuration(server, programs))
        for cell in GRID:
            folder = repository / cell.folder
            folder.mkdir(parents=True)
            text = PROBE.format(executor=cell.executor, fault=cell.fault.name, vendor=cell.vendor)
            (folder / f"probe_{folder.name.replace('-', '_')}.py").write_text(text)
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "under review")):
            identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
            subprocess.run(["git", *identity, *words], cwd=repository, env=env, check=True)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "panels/", "-q", "--tb=no", "-p", "no:cacheprovider"],
            cwd=repository,
            env={**env, "ANTHROPIC_BASE_URL": server.anthropic_url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        left = survivors(str(root))
    return Outcome(repository, done.returncode, done.stdout.decode("utf-8", "replace"), left)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, programs: Mapping[str, Located]) -> Outcome:
    """One run over all cells."""
    return review(tmp_path_factory.mktemp("real"), programs)


def test_no_cell_is_wrong(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {f"{c.fault.name} x {c.vendor}": found for c in GRID if (found := outcome.wrong_alone(c))}
    with capsys.disabled():
        counts = f"{len(FAULTS)} x {len(VENDORS)} = {len(GRID)} cells, {len(wrong)} wrong"
        print(f"\nreal fault campaign: {counts}")
    assert not wrong, "\n".join(f"{name}: {'; '.join(found)}" for name, found in wrong.items())


def test_nothing_is_left_running(outcome: Outcome) -> None:
    assert list(outcome.left) == []


def test_what_is_green_is_sound(outcome: Outcome) -> None:
    assert outcome.code == 1, outcome.output[-3000:]
    folders = outcome.report["verdict"]["folders"]
    green = {name for name, verdict in folders.items() if verdict == "PASS"}
    assert green == {"panels/sound-codex", "panels/sound-sonnet", "panels/cut-sonnet"}
