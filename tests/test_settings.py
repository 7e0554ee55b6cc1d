"""The trusted root and its configuration are found by walking upwards, and errors name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from prun_review.errors import ConfigError
from prun_review.settings import read_settings

TABLE = "[tool.prun_review]\njobs = 3\n"


def project(folder: Path, toml: str | None = None, probe: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if toml is not None:
        (folder / "pyproject.toml").write_text(toml)
    if probe:
        (folder / "panels" / "security").mkdir(parents=True)
        (folder / "panels" / "security" / "probe_x.py").touch()
    return folder


def test_the_nearest_table_wins_over_those_further_up(tmp_path: Path) -> None:
    project(tmp_path, "[tool.prun_review]\njobs = 9\n")
    inner = project(tmp_path / "inner", TABLE)
    start = project(inner / "src" / "deep")
    root, config = read_settings(start)
    assert (root, config.jobs) == (inner, 3)
    assert config.sources["jobs"] == "pyproject.toml"


@pytest.mark.parametrize("toml", [None, "[project]\nname = 'x'\n", "tool = 3\n", "[tool.ruff]\n"])
def test_a_folder_with_probes_is_enough(tmp_path: Path, toml: str | None) -> None:
    root = project(tmp_path / "p", toml, probe=True)
    assert read_settings(root / "panels" / "security")[0] == root


def test_a_file_without_our_table_is_passed_over(tmp_path: Path) -> None:
    project(tmp_path, TABLE)
    start = project(tmp_path / "member", "[project]\nname = 'x'\n")
    (start / "panels").mkdir()  # without a probe: somebody's control panels
    assert read_settings(start)[0] == tmp_path


def test_without_anything_it_is_the_start_with_defaults(tmp_path: Path) -> None:
    root, config = read_settings(tmp_path)
    assert root == tmp_path
    assert set(config.sources.values()) == {"default"}


def test_options_stand_over_the_file(tmp_path: Path) -> None:
    project(tmp_path, TABLE)
    config = read_settings(tmp_path, {"jobs": 5})[1]
    assert (config.jobs, config.sources["jobs"]) == (5, "command line")


@pytest.mark.parametrize(
    ("data", "place", "told"),
    [
        (b"[tool.prun_review]\njobs = \n", ":2:8", "not TOML: "),
        (b"[tool.prun_review]\nexecutors = [\n", "", "not TOML: "),
        (b"# fine\n# \xff\n", ":2", "not UTF-8"),
        (b"[tool]\nprun_review = 3\n", "", "[tool.prun_review] is not a table"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path: Path, data: bytes, place: str, told: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_settings(tmp_path)
    assert str(caught.value).startswith(f"{path}{place}: {told}")
    assert caught.value.remedy


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings(tmp_path)


@pytest.mark.parametrize(
    ("told", "stall", "source"),
    [
        ("90", 90.0, "environment"),
        (" 0 ", 0.0, "environment"),
        ("soon", 45.0, "pyproject.toml"),
        ("-1", 45.0, "pyproject.toml"),
        ("nan", 45.0, "pyproject.toml"),
        ("", 45.0, "pyproject.toml"),
    ],
)
def test_the_stall_threshold_of_the_prun_scripts_counts_where_it_is_a_number(
    tmp_path: Path, told: str, stall: float, source: str
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.prun_review]\nstall = 45\n")
    env = {"PRUN_STALL_THRESHOLD": told}
    config = read_settings(tmp_path, None, env)[1]
    assert (config.stall, config.sources["stall"]) == (stall, source)
    config = read_settings(tmp_path, {"stall": 7.5}, env)[1]
    assert (config.stall, config.sources["stall"]) == (7.5, "command line")
