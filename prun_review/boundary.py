"""How far the reviewed tree is trusted, and what a named person answers for.

The trusted root is where pytest runs: its configuration, its panels, its ``accept`` file.  A head that
is given by name may be anybody's, so under CI nothing begins while a worker could reach a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from prun_review import acceptance, files
from prun_review.config import Config
from prun_review.egress import under_ci
from prun_review.errors import ConfigError, PlanError
from prun_review.model import Acceptance, Unit
from prun_review.ports import Executor
from prun_review.verdict import some

TRUSTED, UNTRUSTED = "trusted", "untrusted"
MOST_ACCEPT = 1_000_000
"""Bytes of the ``accept`` file."""
MOST_ABOUT = 20_000
"""Characters of a title and description that are sent."""


class Rooted(Protocol):
    """What is asked of the reviewed tree."""

    def trusted_text(self, name: str) -> str | None:
        """A file of the trusted root as the tip of the base has it; None where it has none."""


def profile_of(config: Config, env: Mapping[str, str]) -> str:
    """``trusted`` or ``untrusted``; by itself untrusted where a head is given and this is CI."""
    if config.profile != "auto":
        return config.profile
    return UNTRUSTED if config.head and under_ci(env) else TRUSTED


def about_of(config: Config, root: Path) -> str:
    """What the author of the change says of it; empty where nothing shall be told.  ``ConfigError``."""
    if not config.about:
        return ""
    path = root / config.about
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(
            f"about cannot be read: {why}", place=str(path), remedy="--prun-about FILE names a text file"
        ) from error
    if len(text) > MOST_ABOUT:
        raise ConfigError(
            f"about has {len(text)} characters, and at most {MOST_ABOUT} are sent",
            place=str(path),
            remedy="shorten it: it is never cut, because nobody would know where",
        )
    return text


def acceptances_of(config: Config, root: Path, tree: Rooted, now: float) -> tuple[Acceptance, ...]:
    """What the trusted root's ``accept`` file says; nothing where there is none.

    Where the work tree itself is the head it is part of the change, so the base has the word.
    """
    if config.base and not config.head:
        text = tree.trusted_text(config.accept)
        return acceptance.parse(text, f"{config.accept} of {config.base}", now) if text is not None else ()
    # What a link leads to, a change could rewrite without touching the file that is looked after.
    found = files.take_regular(root, config.accept, MOST_ACCEPT)
    if found.refused and not found.note:
        return ()
    try:
        text, why = found.data.decode(), found.note
    except UnicodeDecodeError:
        text, why = "", "not UTF-8"
    if why:
        raise ConfigError(
            f"accept cannot be read: {why}",
            place=str(root / config.accept),
            remedy="an ordinary file that no link leads to; mend it, or remove it",
        )
    return acceptance.parse(text, config.accept, now)


def refuse_tracked(config: Config, tracked: Sequence[str]) -> None:
    """``PlanError`` where a run builds on stored ones, and git tracks some: these are whatever their author
    wrote, answers and ledger alike.  ``tracked`` are their files, relative to the trusted root."""
    wanted = [name for name in ("resume", "previous", "replay") if getattr(config, name)]
    if wanted and tracked:
        options = " and ".join(f"--prun-{name}" for name in wanted)
        raise PlanError(
            f"{options} would take the repository's author at his word: git tracks {some(tracked)}",
            place=tracked[0],
            remedy="git rm -r --cached .prun, or leave the option out",
        )


def refuse_exposed(
    units: Sequence[Unit], executors: Mapping[str, Executor], config: Config, env: Mapping[str, str]
) -> None:
    """``PlanError`` where hostile content could make a planned worker reach a secret or run code."""
    contained = config.containment != "none"
    found: dict[tuple[str, str, str], None] = {}
    for unit in units:
        for line in executors[unit.executor].exposes(unit.brief, env, contained=contained):
            found[unit.executor, unit.brief.access, line] = None
    silenced = sorted({u.executor for u in units if config.executor(u.executor).obey_suppressions})
    told = [f"{name} with access {access!r}: {line}" for (name, access, line) in found]
    told += [f"{name}: comments of the tree can silence it (obey_suppressions)" for name in silenced]
    if told:
        raise PlanError(
            "the profile untrusted refuses what a hostile head could use:\n  " + "\n  ".join(told),
            place="--prun-profile untrusted",
            remedy='containment = "bwrap", another executor, access="read", or --prun-profile trusted for a'
            " head that you trust",
        )
