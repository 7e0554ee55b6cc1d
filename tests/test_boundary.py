"""How far a head is trusted, what is told of a change, and what named persons answer for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from prun_review import boundary
from prun_review.beginning import check
from prun_review.config import Config, ExecutorConfig, load
from prun_review.errors import ConfigError, PlanError
from prun_review.executors.command import AnyCommand
from prun_review.model import Brief, Unit

ACCEPTED = '[[review-change]]\ndigest = "sha256:' + "a" * 64 + '"\nby = "Ada"\nreason = "read it"\n'
NOON = 1_790_000_000.0


class Base:
    """A trusted root whose base holds these files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def trusted_text(self, name: str) -> str | None:
        return self.files.get(name)


@pytest.mark.parametrize(
    ("options", "env", "profile"),
    [
        ({}, {}, "trusted"),
        ({}, {"CI": "true"}, "trusted"),
        ({"head": "x"}, {}, "trusted"),
        ({"head": "x"}, {"CI": "true"}, "untrusted"),
        ({"head": "x"}, {"CI": "1"}, "untrusted"),
        ({"head": "x"}, {"CI": "false"}, "trusted"),
        ({"head": "x"}, {"CI": "0"}, "trusted"),
        ({"head": "x"}, {"CI": ""}, "trusted"),
        ({"head": "x", "profile": "trusted"}, {"CI": "true"}, "trusted"),
        ({"profile": "untrusted"}, {}, "untrusted"),
    ],
)
def test_a_head_by_name_is_untrusted_under_ci(
    options: dict[str, str], env: dict[str, str], profile: str
) -> None:
    assert boundary.profile_of(load({}, options), env) == profile


def test_what_its_author_says_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    assert boundary.about_of(Config(), tmp_path) == ""
    wanted = load({}, {"base": "main", "about": "title.txt"})
    (tmp_path / "title.txt").write_text("  A title\n\nand more\n", encoding="utf-8")
    assert boundary.about_of(wanted, tmp_path) == "A title\n\nand more"
    (tmp_path / "title.txt").write_text("x" * boundary.MOST_ABOUT, encoding="utf-8")
    assert len(boundary.about_of(wanted, tmp_path)) == boundary.MOST_ABOUT


@pytest.mark.parametrize(
    ("data", "told"),
    [(None, "No such file"), (b"\xff\xfe", "not UTF-8"), (b"x" * 20_001, "20001 characters")],
)
def test_what_cannot_be_told_whole_is_refused(tmp_path: Path, data: bytes | None, told: str) -> None:
    if data is not None:
        (tmp_path / "title.txt").write_bytes(data)
    with pytest.raises(ConfigError, match=told) as caught:
        boundary.about_of(load({}, {"base": "main", "about": "title.txt"}), tmp_path)
    assert caught.value.remedy


def test_what_is_told_of_no_change_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none is reviewed"):
        check(load({}, {"about": "title.txt"}), tmp_path, {})


@pytest.mark.parametrize(
    ("options", "disk", "base", "count"),
    [
        ({}, ACCEPTED, None, 1),
        ({}, None, None, 0),
        # The work tree is the head: what it says of itself counts for nothing.
        ({"base": "main"}, ACCEPTED, None, 0),
        ({"base": "main"}, None, ACCEPTED, 1),
        # The head is somewhere else: the work tree is the trusted root.
        ({"base": "main", "head": "x"}, ACCEPTED, None, 1),
        ({"base": "main", "head": "x"}, None, ACCEPTED, 0),
        ({"head": "x"}, ACCEPTED, None, 1),
    ],
)
def test_a_head_does_not_accept_itself(
    tmp_path: Path, options: dict[str, str], disk: str | None, base: str | None, count: int
) -> None:
    if disk is not None:
        (tmp_path / "prun-accept.toml").write_text(disk, encoding="utf-8")
    tree = Base({} if base is None else {"prun-accept.toml": base})
    assert len(boundary.acceptances_of(load({}, options), tmp_path, tree, NOON)) == count


@pytest.mark.parametrize("options", [{}, {"base": "main"}])
def test_a_malformed_acceptance_is_an_error(tmp_path: Path, options: dict[str, str]) -> None:
    (tmp_path / "prun-accept.toml").write_text("[[outage]]\n", encoding="utf-8")
    tree = Base({"prun-accept.toml": "[[outage]]\n"})
    with pytest.raises(ConfigError, match=r"prun-accept\.toml"):
        boundary.acceptances_of(load({}, options), tmp_path, tree, NOON)


@pytest.mark.parametrize(
    ("accept", "make"),
    [
        ("prun-accept.toml", lambda root: (root / "prun-accept.toml").symlink_to("docs/other.toml")),
        ("prun-accept.toml", lambda root: (root / "prun-accept.toml").symlink_to("nowhere")),
        ("ci/other.toml", lambda root: (root / "ci").symlink_to("docs")),
        ("prun-accept.toml", lambda root: (root / "prun-accept.toml").mkdir()),
        ("prun-accept.toml", lambda root: os.mkfifo(root / "prun-accept.toml")),
        ("prun-accept.toml", lambda root: (root / "prun-accept.toml").write_bytes(b"\xff\xfe")),
        ("prun-accept.toml", lambda root: (root / "prun-accept.toml").write_text("#" * 1_000_001)),
    ],
    ids=["a link", "a dangling link", "behind a link", "a folder", "a pipe", "not UTF-8", "too large"],
)
def test_what_is_accepted_stands_in_an_ordinary_file(
    tmp_path: Path, accept: str, make: Callable[[Path], object]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/other.toml").write_text(ACCEPTED, encoding="utf-8")
    make(tmp_path)
    for options in ({}, {"base": "main", "head": "x"}):
        with pytest.raises(ConfigError, match="accept cannot be read") as caught:
            boundary.acceptances_of(load({"accept": accept}, options), tmp_path, Base({}), NOON)
        assert accept in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"resume": "latest"}, "--prun-resume"),
        ({"previous": "latest", "base": "main"}, "--prun-previous"),
        ({"replay": "20991231T000000Z-0000"}, "--prun-replay"),
        ({"resume": "latest", "previous": "latest"}, "--prun-resume and --prun-previous"),
    ],
)
def test_runs_that_come_with_the_repository_are_nothing_to_build_on(
    options: dict[str, str], told: str
) -> None:
    config = load({}, options)
    with pytest.raises(
        PlanError, match=rf": {told} would .*\.prun/runs/a/run\.json, .* and 6 more"
    ) as caught:
        boundary.refuse_tracked(config, [f".prun/runs/{n}/run.json" for n in "abcdefghij"])
    assert "git rm -r --cached .prun" in str(caught.value)
    boundary.refuse_tracked(config, [])
    boundary.refuse_tracked(Config(), [".prun/runs/a/run.json"])


class Open(AnyCommand):
    """A command that can reach something unless it is contained."""

    def exposes(self, brief: Brief, env: Mapping[str, str], *, contained: bool) -> tuple[str, ...]:
        return () if contained else (f"reads {env['HOME']} under {brief.access}",)


def unit(executor: str, access: str = "read") -> Unit:
    return Unit("p::a", "slug", "p::a", "panels", executor, Brief("x", access=access))


TABLE = ExecutorConfig("acme", "command", argv=("cli",), vendor="acme", lineage="one")
ENV = {"HOME": "/home/ada"}


def test_what_a_hostile_head_could_reach_is_refused_and_named() -> None:
    executors = {"acme": Open.configured(TABLE)}
    with pytest.raises(PlanError) as caught:
        boundary.refuse_exposed([unit("acme"), unit("acme", "run")], executors, Config(), ENV)
    told = str(caught.value)
    assert "acme with access 'read': reads /home/ada under read" in told
    assert "acme with access 'run': reads /home/ada under run" in told
    for remedy in ('containment = "bwrap"', "another executor", 'access="read"', "--prun-profile trusted"):
        assert remedy in told
    boundary.refuse_exposed([unit("acme")], executors, load({"containment": "bwrap"}), ENV)


def test_an_analyser_that_the_tree_can_silence_is_refused() -> None:
    config = load({"containment": "bwrap", "executor": {"acme": {"obey_suppressions": True}}})
    with pytest.raises(PlanError, match="acme: comments of the tree can silence it"):
        boundary.refuse_exposed([unit("acme")], {"acme": Open.configured(TABLE)}, config, ENV)
