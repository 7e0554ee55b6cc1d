"""Seeing and ending trees without a shim, and by one that the system does not help."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review.process import launch as launching
from prun_review.process import reap, strays
from prun_review.process.launch import ProcessLauncher

from .trees import PATIENCE, end_all, launch, new_tag, survivors, tree, until


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


_ELSEWHERE = """
from prun_review.process import strays
strays.NEEDED, strays.LOOK = True, 0.05
from prun_review.process import reap
assert not reap.HAS_PROC
reap.become_subreaper = lambda: False
from prun_review.process import zygote
"""
"""What a zygote finds on a system without /proc and prctl."""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessLauncher]:
    monkeypatch.setattr(strays, "NEEDED", True)
    strays.library.cache_clear()
    ready = launching._BOOT.replace("from prun_review.process import zygote\n", _ELSEWHERE)
    assert ready != launching._BOOT
    monkeypatch.setattr(launching, "_BOOT", ready)
    with ProcessLauncher(cgroups=False) as it:
        yield it
    strays.library.cache_clear()


@pytest.mark.parametrize("end", ["stop", "timeout"])
def test_trees_are_ended_with_psutil(tmp_path: Path, elsewhere: ProcessLauncher, end: str) -> None:
    names = ("plain", "ignores TERM", "setsid grandchild")
    tags = {name: new_tag() for name in names}
    try:
        running = {
            name: elsewhere.start(
                tree(tmp_path / name[:5], name, tag=tags[name], last="sleep 600", timeout=2.0)
            )
            for name in names
        }
        if end == "stop":
            for name, process in running.items():
                until((tmp_path / name[:5] / "ready").exists)
                process.stop()
        ended = {name: process.wait(PATIENCE) for name, process in running.items()}
        word = "cancelled" if end == "stop" else "timeout"
        assert [e.ended_by for e in ended.values() if e] == [word] * len(names)
        assert {name: survivors(tag) for name, tag in tags.items()} == {name: [] for name in names}
    finally:
        for tag in tags.values():
            end_all(tag)


def test_what_was_seen_below_a_leader_is_ended_after_it(tmp_path: Path, elsewhere: ProcessLauncher) -> None:
    """A daemon that the leader left long before it ended."""
    tag = new_tag()
    script = "sh -c 'setsid sleep 600 & sleep 1'; exit 3"
    try:
        ended = elsewhere.start(launch(tmp_path, "/bin/sh", "-c", script, tag=tag)).wait(PATIENCE)
        assert ended
        assert (ended.code, ended.ended_by) == (3, "")
        assert survivors(tag) == []
    finally:
        end_all(tag)


def test_tags_are_found_with_psutil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tag = new_tag()
    process = start(tag, "trap '' TERM; (setsid sleep 600 &)", tmp_path)
    process.wait()
    until(lambda: len(reap.tagged(tag)) == 1)
    with monkeypatch.context() as patched:
        patched.setattr(strays, "NEEDED", True)
        patched.setattr(reap, "HAS_PROC", False)
        strays.library.cache_clear()
        assert reap.sweep_tag(tag[:-1]) == []
        assert len(reap.tagged(tag)) == 1
        assert reap.sweep_tag(tag) == []
    strays.library.cache_clear()
    assert survivors(tag) == []


def test_without_psutil_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strays, "NEEDED", True)
    monkeypatch.setitem(sys.modules, "psutil", None)
    strays.library.cache_clear()
    known = strays.Strays(os.getpid())
    known.look(now=True)
    known.send(0)
    assert (known.living(), strays.tagged("A", "b")) == ([], [])
    strays.library.cache_clear()
