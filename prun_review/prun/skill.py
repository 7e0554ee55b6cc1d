"""Putting the skill (SKILL.md and three small scripts) where coordinators look for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from prun_review import files
from prun_review.errors import ConfigError

LAYOUTS = {
    "skills": "skills/prun",
    "claude": ".claude/skills/prun",
    "agent-config": ".agent-config/repo/skills/prun",
}
"""Where coordinators look for ``scripts/``, in their order: the first that is there wins."""
SCRIPTS = ("dispatch-task.sh", "gather.sh", "monitor.sh")
NAMES = ("SKILL.md", *(f"scripts/{name}" for name in SCRIPTS))


@dataclass(frozen=True, slots=True)
class Placed:
    """One file of the skill at its place."""

    path: Path
    data: bytes
    state: str
    """What stands there: ``absent``, ``same`` or ``different``."""

    @property
    def mode(self) -> int:
        """Scripts can be executed."""
        return 0o755 if self.path.suffix == ".sh" else 0o644


def placed(folder: Path, layout: str) -> list[Placed]:
    """The files of the skill below ``folder`` and how each stands to what is there."""
    source = resources.files("prun_review.prun") / "skill"
    found = []
    for name in NAMES:
        path, data = folder / LAYOUTS[layout] / name, source.joinpath(name).read_bytes()
        try:
            state = "same" if path.read_bytes() == data else "different"
        except (FileNotFoundError, NotADirectoryError):
            state = "absent"
        except OSError:
            state = "different"
        found.append(Placed(path, data, state))
    return found


def install(wanted: Sequence[Placed]) -> None:
    """Write what is not there yet, over what is different too; ``ConfigError`` where it cannot be."""
    for file in wanted:
        with files.named(ConfigError, "the skill cannot be installed", file.path):
            file.path.parent.mkdir(parents=True, exist_ok=True)
            if file.state != "same":
                files.write(file.path, file.data, file.mode)
            elif file.path.stat().st_mode & 0o111 != file.mode & 0o111:
                file.path.chmod(file.mode)


def found_first(folder: Path, layout: str) -> Iterator[Path]:
    """Other copies of the scripts that coordinators find before those of ``layout``."""
    for other, place in LAYOUTS.items():
        if other == layout:
            return
        script = folder / place / "scripts" / SCRIPTS[0]
        if script.exists():
            yield script.parent
