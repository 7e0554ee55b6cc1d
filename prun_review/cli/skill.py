"""``prun-review skill install [DIR]``: put the prun skill where coordinators look for it.

SKILL.md and scripts/{dispatch-task,gather,monitor}.sh go below DIR (default: the working directory):
.claude/skills/prun/, with --layout skills into skills/prun/, with --layout agent-config into
.agent-config/repo/skills/prun/.  Coordinators take the first of skills/, .claude/skills/,
.agent-config/repo/skills/ that is there; a copy that hides the one installed is named.  For every
project of yours: prun-review skill install ~.

A file that differs is not overwritten without --force: then nothing is written, and exit 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from prun_review.prun import console


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "skill",
        help="install the prun skill and its scripts for coordinators",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("install",))
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR")
    parser.add_argument("--layout", choices=("claude", "skills", "agent-config"), default="claude")
    parser.add_argument("--force", action="store_true", help="replace files that differ")


def run(args: argparse.Namespace) -> int:
    """Install; one line per file on standard output."""
    from prun_review.errors import ConfigError
    from prun_review.prun import skill

    folder = Path(args.folder)
    if not folder.is_dir():
        raise ConfigError("no such directory", place=args.folder, remedy="name a project's directory")
    wanted = skill.placed(folder, args.layout)
    different = [file for file in wanted if file.state == "different"]
    if different and not args.force:
        for file in different:
            console.note(f"prun-review skill: {file.path} differs and was left alone")
        console.note("  remedy: look at the differences, then --force; nothing was written")
        return 1
    skill.install(wanted)
    for file in wanted:
        print("unchanged" if file.state == "same" else "written", file.path)
    for other in skill.found_first(folder, args.layout):
        console.note(f"prun-review skill: coordinators find {other} first; --layout puts the skill there")
    return 0
