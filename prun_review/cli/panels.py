"""What the verbs that start pytest have in common: the panels, and the options of who is asked about what."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from prun_review.config import Config
from prun_review.errors import ConfigError

# Without the plugin there would be no review, and somebody may have switched off loading it by itself.
# This process has the package loaded already; a project whose warnings are errors must not mind.
STARTED = ("-p", "prun_review", "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
"""pytest's first arguments, started from here."""


def register_asking(parser: argparse.ArgumentParser) -> None:
    """Add the options of who is asked about what."""
    add = parser.add_argument
    add("--base", metavar="REV", help="as --prun-base: review the change since this revision")
    add("--head", metavar="REV|DIR", help="as --prun-head: what is reviewed (default: the work tree)")
    add("--about", metavar="FILE", help="as --prun-about: title and description of the change")
    add("--executors", metavar="A,B", help="as --prun-executors")
    add("--authors", metavar="A,B", help="as --prun-authors: who wrote what is reviewed")
    add("--offline", action="store_true", help="as --prun-offline")


def asking(args: argparse.Namespace) -> list[str]:
    """The same as pytest knows them; a value that begins with a dash stays a value."""
    names = ("base", "head", "about", "executors", "authors")
    options = [f"--prun-{name}={value}" for name in names if (value := getattr(args, name)) is not None]
    return [*options, *["--prun-offline"] * args.offline]


def panels(root: Path, config: Config) -> Sequence[Path]:
    """The panels folders of a project; ``ConfigError`` where there is none."""
    found = [root / name for name in config.panels if (root / name).is_dir()]
    if not found:
        raise ConfigError("there is no panels folder", place=str(root), remedy="make panels/probe_*.py")
    return found
