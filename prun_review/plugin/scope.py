"""Does this command line name a panels folder, or a directory of waves and tasks?

Standard library only: runs in every session.  Only arguments that the person typed count.  ``testpaths``
and ``addopts`` do not: a bare ``pytest`` must never spend money because of a line in a configuration file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from prun_review.plugin.wavescope import Waves

TABLE = b"tool.prun_review"
DEFAULT_PANELS = ("panels",)
PATTERN = "probe_*.py"
OF_WAVES = ("manifest.json", "tasks", "parallel")
"""Names without which there is no directory of waves: only then is anything imported that knows more."""


@dataclass(frozen=True)
class Scope:
    """What the command line says about panels and manifests; an active one is of either."""

    active: bool
    root: Path
    """The trusted root: where ``[tool.prun_review]`` or the panels folder stands."""
    panels: tuple[Path, ...]
    """Panels folders, resolved."""
    hint: str = ""
    """The lines about probes and tasks that are not run, where there are some."""
    worker: bool = False
    waves: Waves | None = None
    """The directory of waves and tasks that is run; None in a session of panels."""


def of(config: pytest.Config) -> Scope:
    """The scope of this session; ``pytest.UsageError`` for a probe file outside every panels folder, and
    for arguments that do not go together."""
    sent = getattr(config, "workerinput", {}).get("prun_review")
    if sent:
        return _received(sent)
    here = config.invocation_params.dir
    if hasattr(config, "workerinput"):
        return Scope(False, here, ())
    typed = typed_paths(config)
    named = [_absolute(here, a) for a in typed]
    inside: set[tuple[Path, tuple[Path, ...]]] = set()
    for path in named:
        found = _home(path)
        if found:
            inside.add(found)
        elif path.match(PATTERN) and path.is_file():
            raise pytest.UsageError(
                f"{path} is a probe file outside every panels folder\n"
                f"  remedy: move it below panels/, or name its folder in panels of [tool.prun_review]"
            )
    if len(inside) > 1:
        raise pytest.UsageError(
            "the arguments name panels of several projects: " + ", ".join(sorted(str(r) for r, _ in inside))
        )
    if any(map(_may_hold_waves, named)):
        from prun_review.plugin import wavescope

        waves = wavescope.named(here, typed, with_panels=bool(inside))
        if waves:
            return Scope(True, waves.place.parent, (), waves=waves)  # its root is known once it is active
    if inside:
        root, panels = inside.pop()
        return Scope(True, root, panels)
    roots = {r for r in map(find_root, named or [here]) if r}
    hints = [_hint(config, here, roots), _hint_of_waves(config, here, bool(typed))]
    return Scope(False, here, (), hint="\n".join(filter(None, hints)))


def _received(sent: dict[str, Any]) -> Scope:
    """The scope of a worker: what the controller said."""
    waves = None
    if sent["waves"]:
        from prun_review.plugin import wavescope

        waves = wavescope.received(sent["waves"])
    return Scope(True, Path(sent["root"]), tuple(map(Path, sent["panels"])), worker=True, waves=waves)


def _may_hold_waves(path: Path) -> bool:
    return path.name in OF_WAVES or any(os.path.exists(path / name) for name in OF_WAVES)


def _hint_of_waves(config: pytest.Config, here: Path, typed: bool) -> str:
    looked = _covered(config, here) if typed else [here]
    if not any(map(_may_hold_waves, looked)):
        return ""
    from prun_review.plugin import wavescope

    return wavescope.hint(here, looked)


def _home(path: Path) -> tuple[Path, tuple[Path, ...]] | None:
    """Root and panels of the project that ``path`` lies in the panels of.

    The project is looked for above the path as it was typed first: a panels folder that is a link
    into another project belongs to the one whose name was typed.
    """
    real = Path(os.path.realpath(path))
    for start in (path, real):
        root = find_root(start)
        panels = panels_of(root) if root else ()
        if root and any(real.is_relative_to(p) for p in panels):
            return root, panels
    return None


def typed_paths(config: pytest.Config) -> list[str]:
    """The path arguments of the command line itself, without what ``addopts`` and the like add."""
    parser = config._parser
    typed = parser.parse_known_args([str(a) for a in config.invocation_params.args])
    return [str(a) for a in getattr(typed, "file_or_dir", [])]


def find_root(path: Path) -> Path | None:
    """The nearest folder at or above ``path`` that has a ``[tool.prun_review]`` or a panels folder."""
    for folder in (path, *path.parents):
        if _has_table(folder) or any((folder / p).is_dir() for p in DEFAULT_PANELS):
            return folder
    return None


def panels_of(root: Path) -> tuple[Path, ...]:
    """The panels folders of a project, resolved."""
    names: list[str] = list(DEFAULT_PANELS)
    if _has_table(root):
        import tomllib

        try:
            table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"{root / 'pyproject.toml'}: {error}") from None
        given = table.get("tool", {}).get("prun_review", {}).get("panels", names)
        # A malformed value is reported with place and remedy when the whole table is read.
        names = given if isinstance(given, list) and all(isinstance(n, str) for n in given) else names
    return tuple((root / n).resolve() for n in names)


def _has_table(folder: Path) -> bool:
    try:
        return TABLE in (folder / "pyproject.toml").read_bytes()
    except OSError:
        return False


def _absolute(here: Path, argument: str) -> Path:
    return Path(os.path.abspath(here / argument.split("::", 1)[0]))


def _covered(config: pytest.Config, here: Path) -> list[Path]:
    """What pytest looks for tests in, resolved."""
    return [_absolute(here, a).resolve() for a in config.args]


def _hint(config: pytest.Config, here: Path, roots: set[Path]) -> str:
    covered = _covered(config, here)
    for root in roots:
        for panels in panels_of(root):
            if any(panels.is_relative_to(path) for path in covered) or not typed_paths(config):
                count = sum(1 for _ in panels.rglob(PATTERN))
                if count:
                    files = "probe file" if count == 1 else "probe files"
                    return f"{count} {files} not run: pytest {os.path.relpath(panels, here)}/"
    return ""
