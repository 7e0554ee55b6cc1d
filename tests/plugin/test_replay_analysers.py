"""A run of the real analysers judged again: the reports hold paths of directories that are gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.plugin.conftest import Project

SHOP = Path(__file__).parents[2] / "examples/shop"


@pytest.fixture
def shop(project: Project) -> Project:
    """The example, in a repository of its own."""
    shutil.rmtree(project.path / "src")
    shutil.copytree(
        SHOP,
        project.path,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__", ".prun", "reports"),
    )
    project.commit()
    return project


def test_a_replay_of_the_analysers_finds_what_they_found(shop: Project) -> None:
    asked = ("panels/", "--prun-offline")
    assert shop.run(*asked).ret == 1
    first = shop.report()
    assert first["verdict"]["outcome"] == "FAIL"
    assert {unit["executor"] for unit in first["units"]} == {"ruff", "pylint", "bandit"}
    shop.run(*asked, "--prun-replay", first["run_id"])
    second = shop.report()
    shop.run(*asked, "--prun-replay", second["run_id"])
    third = shop.report()
    shop.run(*asked, "--prun-resume")
    resumed = shop.report()
    assert resumed["facts"]["resumed_from"]
    shop.run(*asked, "--prun-replay", resumed["run_id"])
    for again in (second, third, shop.report()):
        assert again["facts"]["replay_of"]
        assert again["findings"] == first["findings"]
        assert again["verdict"]["outcome"] == "FAIL"
        assert [u["status"] for u in again["units"]] == [u["status"] for u in first["units"]]


def test_a_replay_that_asks_others_says_once_what_to_do(shop: Project) -> None:
    shop.run("panels/", "--prun-offline", "-k", "visitors")
    run = shop.report()["run_id"]
    said = shop.run("panels/", "-k", "visitors", "--prun-replay", run).stdout.str()
    assert said.count(f"run {run} asked bandit, pylint, ruff, not codex, sonnet: add --prun-offline") == 1
    assert "] codex failed" not in said
    assert {u["reason"] for u in shop.report()["units"]} == {"not-stored"}
