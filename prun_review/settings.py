"""Where a project is and what it configures: the one reader of ``pyproject.toml``."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prun_review.config import PLACE, Config, load
from prun_review.errors import ConfigError

FILE = "pyproject.toml"
_LINE = re.compile(r"\(at (line \d+, column \d+|end of document)\)")


STALL = "PRUN_STALL_THRESHOLD"
"""Environment variable with the seconds of silence after which a dispatch is stalled; what is no number
counts as not set."""


def read_settings(
    start: Path, options: Mapping[str, Any] | None = None, env: Mapping[str, str] | None = None
) -> tuple[Path, Config]:
    """The trusted root at or above ``start`` (absolute) and its configuration under ``options``.

    ``env`` (this process's environment where it is None) stands between file and options.

    The root is the nearest directory whose ``pyproject.toml`` has a ``[tool.prun_review]`` table or
    whose ``panels`` folder holds a probe; where there is none it is ``start`` with the defaults.
    ``ConfigError`` for a file that is not TOML names the line.
    """
    start = start.absolute()
    environment = _environment(os.environ if env is None else env)
    for folder in (start, *start.parents):
        if is_project(folder):
            return folder, load(read_table(folder / FILE) or {}, options, environment)
    return start, load({}, options, environment)


def is_project(folder: Path) -> bool:
    """Whether something is configured for reviews in a folder itself, or probes are there."""
    return read_table(folder / FILE) is not None or _has_probes(folder / "panels")


def _environment(env: Mapping[str, str]) -> dict[str, Any]:
    told = env.get(STALL, "").strip()
    return {"stall": float(told)} if told.isascii() and told.isdecimal() else {}


def read_table(path: Path) -> Mapping[str, Any] | None:
    """The table ``[tool.prun_review]`` of a TOML file; None where file or table is missing."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError("not UTF-8", place=f"{path}:{line}", remedy="save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}", place=str(path), remedy="mend its permissions"
        ) from error
    try:
        tool = tomllib.loads(text).get("tool")
    except tomllib.TOMLDecodeError as error:
        raise _malformed(path, str(error)) from error
    if not isinstance(tool, Mapping) or "prun_review" not in tool:
        return None
    table = tool["prun_review"]
    if not isinstance(table, Mapping):
        raise ConfigError(f"{PLACE} is not a table", place=str(path), remedy=f"write {PLACE} above its keys")
    return table


def _malformed(path: Path, message: str) -> ConfigError:
    found = _LINE.search(message)
    numbers = re.findall(r"\d+", found[1]) if found else []
    place = ":".join([str(path), *numbers])
    told = message if not numbers else _LINE.sub("", message).strip()
    return ConfigError(f"not TOML: {told}", place=place, remedy="mend that line")


def _has_probes(panels: Path) -> bool:
    return panels.is_dir() and next(panels.rglob("probe_*.py"), None) is not None
