"""What of the disk a program needs: the smallest thing that holds it whole."""

from __future__ import annotations

import sys
from pathlib import Path

from prun_review.executors import footprint


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_file_of_its_own(tmp_path: Path) -> None:
    tool = program(tmp_path / "home" / ".local" / "bin" / "tool")
    assert footprint.of_program(str(tool)) == (tool,)


def test_a_program_of_the_system_needs_nothing_said() -> None:
    assert footprint.of_program("/usr/bin/env") == ()


def test_a_script_needs_its_interpreter(tmp_path: Path) -> None:
    node = program(tmp_path / "nvm" / "bin" / "node")
    for first in ("#!/usr/bin/env node\n", "#!/usr/bin/env -S node --x\n", f"#!{node}\n"):
        script = program(tmp_path / "script", first)
        assert footprint.of_program(str(script), f"relative:{node.parent}:/usr/bin") == (script, node)


def test_a_package_is_whole(tmp_path: Path) -> None:
    modules = tmp_path / "lib" / "node_modules"
    real = program(modules / "@openai" / "codex" / "bin" / "codex.js")
    link = tmp_path / "bin" / "codex"
    link.parent.mkdir()
    link.symlink_to(real)
    assert footprint.of_program(str(link)) == (link, modules / "@openai")
    carried = program(tmp_path / "site-packages" / "codex_cli_bin" / "bin" / "codex")
    assert footprint.of_program(str(carried)) == (carried, carried.parent.parent)


def test_a_virtual_environment_is_whole_and_needs_what_it_was_made_from(tmp_path: Path) -> None:
    base = program(tmp_path / "pyenv" / "3.13" / "bin" / "python3")
    tool = program(tmp_path / "venv" / "bin" / "tool", f"#!{tmp_path}/venv/bin/python\n")
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.13\n")
    (tmp_path / "venv" / "bin" / "python").symlink_to(base)
    found = footprint.of_program(str(tool))
    assert {tool, tmp_path / "venv", base.parent.parent, base} <= set(found)
    assert all(path.is_relative_to(tmp_path) for path in found)


def test_our_own_interpreter() -> None:
    found = footprint.of_python()
    assert all(not str(path).startswith("/usr/") for path in found)
    assert any(Path(footprint.__file__).is_relative_to(path) for path in found)
    assert Path(sys.prefix) in found or sys.prefix.startswith("/usr")
