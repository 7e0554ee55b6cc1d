"""Whatever a name, a revision or a configuration holds, no door prints a line that a CI runner obeys."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repokit
from tests.change.kit import Done, Scene, defect

MARKS = ("::set-output name=verdict::PASS", "##[add-mask]x", "##vso[task.complete]x", "##teamcity[x]")
KEY = "AKIA" + "Q7RT5DKE2ZX4WMPB"

_ANYWHERE = re.compile(r"##(?:\[[^\]]*\]|vso\[|teamcity\[)", re.IGNORECASE)
_LEADING = re.compile(r"\s*::.*::")


def commands(output: str) -> list[str]:
    """The lines that a runner would act upon: GitHub trims a line before it looks for ``::``."""
    return [line for line in output.splitlines() if _LEADING.match(line) or _ANYWHERE.search(line)]


def doors(scene: Scene, base: str, head: str) -> list[tuple[str, int, list[str]]]:
    """What every door that takes a change says about this one."""
    asking = ("--base", base, "--head", head)
    calls: dict[str, Callable[[], Done]] = {
        "pytest": lambda: scene.review("--prun-head", head, "-v", base=base),
        # With the traceback of an error in front of what is said of it anyway.
        "plan": lambda: scene.cli("plan", *asking, "--prompts", "--traceback"),
        "gate": lambda: scene.cli("gate"),
        "report": lambda: scene.cli("report"),
    }
    done = {door: call() for door, call in calls.items()}
    return [(door, found.code, commands(found.output)) for door, found in done.items()]


def evil(scene: Scene) -> str:
    """A branch with a file of every hostile name."""
    scene.git("checkout", "-q", "-b", "evil")
    names = [f"{mark.replace('/', '_')}.py" for mark in MARKS]
    scene.commit(dict.fromkeys(names, f'x = "{KEY}"\n'))
    scene.git("checkout", "-q", "-f", "main")
    scene.knows(*names)
    scene.both(*(defect(mark, name, 1, None) for mark, name in zip(MARKS, names, strict=True)))
    return "evil"


def changed_names(scene: Scene) -> str:
    """The names are parameters of probes, and so parts of node ids."""
    probe = (
        "import pytest\nfrom prun_review import brief, changed\n\n"
        '@pytest.mark.parametrize("name", changed("**"))\n@brief(scope="diff", reads=["**"])\n'
        'def probe_one(name, result):\n    """Look."""\n    assert name == ""\n'
    )
    scene.commit({"panels/probe_change.py": probe})
    return evil(scene)


def forged(scene: Scene) -> str:
    """A commit whose tree holds a path that git never writes."""
    blob = scene.git("hash-object", "-w", "--stdin", stdin=b"x\n")
    inner = _tree(scene, [(b"100644", b".git", blob)])
    entries = [(b"40000", f"{mark.replace('/', '_')}".encode(), inner) for mark in MARKS]
    for line in scene.git("ls-tree", "main").splitlines():
        meta, name = line.split("\t")
        mode, _, sha = meta.split()
        entries.append((mode.lstrip("0").encode(), name.encode(), sha))
    scene.both()
    return scene.git("commit-tree", "-p", "main", "-m", "m", _tree(scene, entries))


def _tree(scene: Scene, entries: list[tuple[bytes, bytes, str]]) -> str:
    listed = sorted(entries, key=lambda entry: entry[1])
    raw = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(sha) for mode, name, sha in listed)
    argv = ["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    done = subprocess.run(argv, cwd=scene.path, env=repokit.ENV, input=raw, capture_output=True, check=True)
    return done.stdout.decode().strip()


REFUSE = '[tool.prun_review.egress]\nsecrets = "refuse"\n'


@pytest.mark.parametrize(
    ("further", "make"),
    [("", evil), ("", changed_names), (REFUSE, evil), ("", forged)],
    ids=["masked", "parametrized", "refused", "forged"],
)
def test_no_door_prints_a_command_out_of_a_file_name(
    tmp_path: Path, further: str, make: Callable[[Scene], str]
) -> None:
    scene = Scene(tmp_path, further=further)
    scene.git("checkout", "-q", "main")
    head = make(scene)
    told = doors(scene, "main", head)
    assert not [door for door in told if door[2]]
    assert any(code not in (0, 1) for _, code, _ in told) == bool(further or make is forged)


EVERY = "\n".join(("a", *MARKS))
"""A name of five lines."""


@pytest.mark.parametrize(("base", "head"), [(EVERY, "topic"), ("main", EVERY)], ids=["base", "head"])
def test_no_door_prints_a_command_out_of_a_revision(tmp_path: Path, base: str, head: str) -> None:
    told = doors(Scene(tmp_path), base, head)
    assert [code for door, code, _ in told if door == "pytest"] == [4]
    assert not [door for door in told if door[2]]


@pytest.mark.parametrize(
    "config",
    ["exclude = ['''../{}''']", '"""{}""" = 1', "reviewed = '''{}'''", "accept = 1\nprofile = '''{}'''"],
)
def test_no_door_prints_a_command_out_of_the_configuration(tmp_path: Path, config: str) -> None:
    scene = Scene(tmp_path)
    path = scene.path / "pyproject.toml"
    text = config.replace('"""{}"""', json.dumps(EVERY)).replace("{}", EVERY)
    path.write_text(path.read_text().replace("[tool.prun_review]\n", f"[tool.prun_review]\n{text}\n"))
    told = doors(scene, "main", "topic")
    assert [code for door, code, _ in told if door == "pytest"] == [4], told
    assert not [door for door in told if door[2]]
