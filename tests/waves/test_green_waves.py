"""Runs of waves that would have been green for what did not happen: whoever works, or writes into what a
former run left, changes neither what validations see nor what a panel is asked."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from prun_review import baregit
from prun_review.errors import PlanError, TreeError
from prun_review.proving import prove
from prun_review.treewalk import Stamp
from prun_review.untouched import Deciding
from prun_review.wavebeginning import Selection
from tests.change.kit import PROBE, VENDOR, defect
from tests.repokit import cache_home
from tests.waves.wavekit import DONE, T, project, states

GUARDED = ("checks/**", "prun-accept.toml")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with cache_home() as path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(path))
        yield


def test_what_was_put_into_the_store_of_a_former_run_is_not_gone_on_from(tmp_path: Path) -> None:
    """Git takes an object for what its name says; then a validation would pass on files that nobody wrote."""
    made = project(
        tmp_path,
        T(1, 1, script=f"echo bad > task-001.txt; {DONE}", scope="## Scope\nCREATE: task-001.txt"),
        T(2, 2, [1], script="exit 3"),
        validation={2: "grep good task-001.txt"},
    )
    assert states(made.done()) == {"001": "succeeded:ok", "002": "failed:unknown"}
    [run] = (made.root / ".prun/runs").iterdir()
    sha = hashlib.sha1(b"blob 4\0bad\n", usedforsecurity=False).hexdigest()
    stored = run / "git/objects" / sha[:2] / sha[2:]
    honest = stored.read_bytes()
    stored.chmod(0o644)
    stored.write_bytes(zlib.compress(b"blob 5\0good\n"))
    made.script(2, DONE)
    with pytest.raises(PlanError, match="its object store holds is not what the names say"):
        made.done(Selection(resume=True))
    stored.write_bytes(honest)
    document = made.done(Selection(resume=True))
    assert states(document) == {"001": "succeeded:ok", "002": "succeeded:ok"}
    assert [(w["status"], w["reason"]) for w in document["waves"]] == [
        ("succeeded", "ok"),
        ("failed", "validation"),
    ]


BAD = hashlib.sha1(b"blob 4\0bad\n", usedforsecurity=False).hexdigest()
LOOSE = f"""
[name] = glob.glob(STORE + "/{BAD[:2]}/{BAD[2:]}")
os.chmod(name, 0o644)
open(name, "wb").write(zlib.compress(b"blob 5\\0good\\n"))
"""
PACKED = f"""
[objects] = glob.glob(STORE)
git = lambda *args, given=b"": subprocess.run(["git", *args], input=given, capture_output=True).stdout
os.chdir(tempfile.mkdtemp())
git("init", "-q")
git("pack-objects", "-q", "made", given=git("hash-object", "-w", "--stdin", given=b"good\\n"))
[index] = glob.glob("made-*.idx")
name, raw = bytes.fromhex("{BAD}"), open(index, "rb").read()
fan = b"".join((n >= name[0]).to_bytes(4, "big") for n in range(256))
raw = raw[:8] + fan + name + raw[8 + 1024 + 20 : -20]
os.makedirs(objects + "/pack", exist_ok=True)
os.rename(index[:-4] + ".pack", objects + "/pack/pack-" + "a" * 40 + ".pack")
open(objects + "/pack/pack-" + "a" * 40 + ".idx", "wb").write(raw + hashlib.sha1(raw).digest())
"""
"""Git looks into packs before it looks at loose objects, and at those of whom it borrows too."""


@pytest.mark.parametrize(
    ("store", "forge", "told"),
    [
        (".prun/runs/*/git/objects", LOOSE, f"object {BAD[:12]}"),
        (".prun/runs/*/git/objects", PACKED, "pack pack-aaaaaaaaaaaa"),
        (".git/objects", PACKED, "pack pack-aaaaaaaaaaaa"),
    ],
)
def test_a_worker_that_writes_into_a_store_that_the_run_reads_ends_it(
    tmp_path: Path, store: str, forge: str, told: str
) -> None:
    """It puts other content under the name of what was written before: a validation would pass on that."""
    rewrite = tmp_path / "rewrite.py"
    names = "import glob, hashlib, os, subprocess, tempfile, zlib"
    rewrite.write_text(f"{names}\nSTORE = {str(tmp_path / 'shop' / store)!r}\n{forge}")
    made = project(
        tmp_path,
        T(1, 1, script=f"echo bad > task-001.txt; {DONE}", scope="## Scope\nCREATE: task-001.txt"),
        T(2, 2, [1], script=f"{sys.executable} {rewrite}; echo 2 > two.txt; {DONE}"),
        validation={2: "grep good task-001.txt"},
    )
    document = made.done()
    assert document["status"] == "stopped"
    assert f"{told} of this run is not what its name says" in document["stopped"]


def test_objects_are_held_against_their_names_whenever_they_changed(tmp_path: Path) -> None:
    sha = baregit.store(tmp_path, "sha1", "blob", b"x" * 3_000_000)
    long = baregit.store(tmp_path, "sha256", "blob", b"")
    known: dict[str, Stamp] = {}
    prove(tmp_path, known, Path.exists)
    assert {"".join(path.split("/")[-2:]) for path in known} == {sha, long}
    (tmp_path / sha[:2] / "tmp_obj_abc").write_bytes(b"half")
    path = tmp_path / sha[:2] / sha[2:]
    before, honest = path.stat(), path.read_bytes()
    for evil in (zlib.compress(b"blob 1\0x"), b"no zlib", b"", honest[:-9]):
        path.chmod(0o644)
        path.write_bytes(evil)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        with pytest.raises(TreeError, match="is not what its name says"):
            prove(tmp_path, known, Path.exists)
    path.write_bytes(honest)
    prove(tmp_path, known, Path.exists)
    path.unlink()
    path.symlink_to(tmp_path / long[:2] / long[2:])
    with pytest.raises(TreeError):
        prove(tmp_path, known, Path.exists)


def reviewed(tmp: Path, script: str) -> Mapping[str, Any]:
    """A run of one task before a panel that finds what is bad in it; the review that came of it."""
    scenario = tmp / "scenario.json"
    bad = defect("runs what is typed", "src/new.py", 2, "return eval(input())")
    rules = [{"when": "eval(input())", "findings": [bad]}, {}]
    scenario.write_text(json.dumps({"rules": rules, "names": ["src/new.py", "src/shared.txt"]}))
    lines = ['executors = ["left", "right"]', "retries = 0", 'cross_examine = "off"']
    for name in ("left", "right"):
        argv = json.dumps([sys.executable, "-I", "-S", str(VENDOR), str(scenario), name])
        lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"', f"argv = {argv}"]
        lines += [f'vendor = "vendor-{name}"', f'lineage = "lineage-{name}"']
    text = "printf 'def new():\\n    return eval(input())\\n' > src/new.py"
    made = project(
        tmp,
        T(1, 1, script=f"{text}; {script}; {DONE}", scope="## Scope\nCREATE: src/new.py"),
        config="\n".join(lines),
        files={"panels/probe_change.py": PROBE},
    )
    place = made.directory / "manifest.json"
    manifest = json.loads(place.read_text())
    manifest["waves"][0]["panel"] = ["panels"]
    place.write_text(json.dumps(manifest))
    document = made.done()
    assert document["status"] == "failed"
    review: Mapping[str, Any] = document["waves"][0]["reviews"][0]
    return review


def test_a_worker_does_not_change_what_its_work_is_asked(tmp_path: Path) -> None:
    """It writes into the user's checkout, by its absolute path."""
    root = tmp_path / "shop"
    look_away = f"printf '[tool.prun_review.gate]\\nuncovered = [\"**\"]\\n' >> {root}/pyproject.toml"
    review = reviewed(tmp_path, f"{look_away}; echo > {root}/panels/probe_change.py")
    assert review["outcome"] == "INCOMPLETE"
    told = "panels/probe_change.py, pyproject.toml changed since the run began"
    assert told in review["line"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("panels/probe_a.py", "pass\n", True),
        ("panels/deep/helper.py", "pass\n", True),
        ("panels/probe_a.py", None, True),
        ("conftest.py", "pass\n", True),
        ("prun-accept.toml", "\n", True),
        ("checks/more.py", "pass\n", True),
        ("pyproject.toml", "[tool.prun_review]\njobs = 2\n", True),
        ("pyproject.toml", "[tool.prun_review]\njobs = 1\n[project]\nname = 'x'\n", False),
        ("panels/__pycache__/a.pyc", "x", False),
        ("src/a.py", "pass\n", False),
    ],
)
def test_what_decides_how_a_panel_reviews(tmp_path: Path, name: str, text: str | None, told: bool) -> None:
    for folder in ("panels/__pycache__", "panels/deep", "checks", "src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "panels/probe_a.py").write_text("import this\n")
    (tmp_path / "pyproject.toml").write_text("[tool.prun_review]\njobs = 1\n")
    deciding = Deciding(tmp_path, ["panels/probe_a.py::probe_x", "panels/"], GUARDED)
    assert deciding.changed() == ""
    (tmp_path / name).unlink() if text is None else (tmp_path / name).write_text(text)
    assert deciding.changed() == (name if told else "")


def test_what_cannot_be_looked_at_is_no_basis(tmp_path: Path) -> None:
    (tmp_path / "panels").mkdir()
    (tmp_path / "panels/large.bin").touch()
    with (tmp_path / "panels/large.bin").open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(TreeError, match="what decides how panels review"):
        Deciding(tmp_path, ["panels"], ())
