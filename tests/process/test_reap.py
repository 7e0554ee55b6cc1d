"""Seeing and ending trees without a shim."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prun_review.process import reap

from .trees import end_all, new_tag, survivors, until


def start(tag: str, script: str, cwd: Path) -> subprocess.Popen[bytes]:
    env = {"PATH": "/usr/bin:/bin", reap.TAG: tag}
    return subprocess.Popen(["/bin/sh", "-c", script], env=env, cwd=cwd, start_new_session=True)


@pytest.mark.parametrize("lookup", [reap.children, "scan"])
def test_descendants_both_ways(tmp_path: Path, lookup: object, monkeypatch: pytest.MonkeyPatch) -> None:
    if lookup == "scan":
        monkeypatch.setattr(reap, "_child_lookup", reap._children_by_scan)
    tag = new_tag()
    process = start(tag, "sh -c 'sleep 600 & sleep 600' & sleep 600", tmp_path)
    try:
        until(lambda: len(reap.tagged(tag)) == 5)
        below = reap.descendants([process.pid])
        assert sorted([process.pid, *below]) == sorted(reap.tagged(tag))
        assert reap.descendants([os.getpid()])
    finally:
        end_all(tag)
        process.wait()
    assert reap.descendants([process.pid]) == []


def test_sweep_tag_finds_what_left_the_tree(tmp_path: Path) -> None:
    tag = new_tag()
    process = start(tag, "trap '' TERM; (setsid sleep 600 &); (setsid sh -c 'sleep 600; :' &)", tmp_path)
    process.wait()
    until(lambda: len(reap.tagged(tag)) == 3)
    assert reap.sweep_tag(tag) == []
    assert survivors(tag) == []


def test_a_tag_is_matched_whole(tmp_path: Path) -> None:
    tag = new_tag()
    process = start(tag, "sleep 600", tmp_path)
    try:
        until(lambda: reap.tagged(tag))
        assert reap.sweep_tag(tag[:-1]) == []
        assert reap.tagged(tag)
    finally:
        end_all(tag)
        process.wait()


_UNCONTAINED = """
import os, sys
from prun_review.process import reap

leader = os.posix_spawn("/bin/sh", ["sh", "-c", sys.argv[1]], os.environ, setpgroup=0)
while not os.path.exists("ready"):
    pass
brood = reap.Brood(leader, contained=False)
left = brood.end()
print(brood.code, left)
"""


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("sleep 600 & : > ready; sleep 600", "-15"),
        ("trap '' TERM; sleep 600 & : > ready; sleep 600", "-9"),
        ("trap '' TERM; sleep 600 & : > ready; exit 5", "5"),
    ],
)
def test_the_group_is_ended_where_nothing_can_be_adopted(tmp_path: Path, script: str, code: str) -> None:
    tag = new_tag()
    try:
        done = subprocess.run(
            [sys.executable, "-c", _UNCONTAINED, script],
            env={**os.environ, reap.TAG: tag},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"{code} []\n"
        until(lambda: not survivors(tag))
    finally:
        end_all(tag)
