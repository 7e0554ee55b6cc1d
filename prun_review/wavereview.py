"""What a wave wrote, put before its panel: one review of a change for each vendor that wrote part of it.

The author's vendor never corroborates itself on its own patch, so what different vendors wrote is reviewed
apart: a wave is taken to pieces, each of one vendor, in the order of the manifest.  A piece is reviewed in a
folder of ours with a repository of its own, whose last commit is the piece; the user's checkout is not
touched and not looked at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from prun_review import baregit, document, files, git
from prun_review.delivering import BASES
from prun_review.errors import PrunError, TreeError
from prun_review.gate import for_gate_command
from prun_review.integrating import change_of, join
from prun_review.model import Verdict
from prun_review.renderers import view
from prun_review.scratch import Scratch
from prun_review.tasks import Course, Outcome, Review, Scope, Wave
from prun_review.vault import SUBMODULE, Vault
from prun_review.wavesteps import of, written

PASS, INCOMPLETE = "PASS", "INCOMPLETE"
SHOWN = 3
"""Most findings told of a review that did not pass."""
_SETTINGS = {"core.bare": "false", "core.longpaths": "true", "core.logAllRefUpdates": "false"}


class Ask(Protocol):
    """Runs panels on a change."""

    def __call__(
        self, paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]
    ) -> Mapping[str, Any]:
        """The run document of one review of ``head``, a folder, against the commit ``base`` of it;
        ``PrunError`` where it did not come to one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of what a wave wrote, all of it by one vendor."""

    vendor: str
    tasks: tuple[str, ...]
    base: str
    """SHA of the commit before it."""
    head: str
    """SHA of the commit after it."""


def review(
    vault: Vault,
    course: Course,
    wave: int,
    ask: Ask,
    *,
    within: str = "",
    stop: Callable[[], str] = lambda: "",
) -> tuple[Review, ...]:
    """The reviews that :class:`prun_review.wavesteps.ReviewWave` asks for; the wave passed where all of them
    say PASS.

    ``within``: the folder under review, relative to the root of the repository.  After the first piece that
    did not pass nothing more is asked; ``stop()`` says why to end early, or nothing.  A review that did not
    come to a verdict on exactly that piece is INCOMPLETE and says why.
    """
    found = next(each for each in course.manifest.waves if each.number == wave)
    done: list[Review] = []
    for piece in pieces(vault, course, found):
        blank = Review("", found.panel, (piece.vendor,), piece.tasks, INCOMPLETE, "")
        done.append(_review(vault, piece, blank, ask, within, stop()))
        if done[-1].outcome != PASS:
            break
    return tuple(done)


# --- to pieces --------------------------------------------------------------------------------


def pieces(vault: Vault, course: Course, wave: Wave) -> tuple[Piece, ...]:
    """What a wave wrote, by vendor, in the order of each one's first task; where it cannot be put together
    in that order too, in the order in which it was, so that a vendor may have several pieces."""
    held, wrote = course.waves[wave.number], written(of(course, wave))
    vendors: dict[str, list[Outcome]] = {}
    for outcome in wrote:
        vendors.setdefault(outcome.vendor or outcome.executor, []).append(outcome)
    if len(vendors) == 1:
        [vendor] = vendors
        return (Piece(vendor, tuple(o.task for o in wrote), held.base, held.head),)
    return _by_vendor(vault, course, wave, vendors) or _in_order(vault, course, wave)


def _by_vendor(
    vault: Vault, course: Course, wave: Wave, vendors: Mapping[str, Sequence[Outcome]]
) -> tuple[Piece, ...]:
    """One piece for each vendor; none where that does not come to the same whole."""
    held, tasks = course.waves[wave.number], {task.id: task for task in wave.tasks}
    found, tip = [], held.base
    for vendor, outcomes in vendors.items():
        # Whether scopes are kept was decided when the wave was put together; here only the whole counts.
        changes = [change_of(replace(tasks[o.task], scope=Scope()), o) for o in outcomes]
        joined = join(vault, tip, changes)
        found.append(Piece(vendor, tuple(o.task for o in outcomes), tip, joined.head))
        tip = joined.head
    return tuple(found) if vault.tree_of(tip) == vault.tree_of(held.head) else ()


def _in_order(vault: Vault, course: Course, wave: Wave) -> tuple[Piece, ...]:
    """Commits in a row by the same vendor are a piece."""
    held = course.waves[wave.number]
    by_commit = {o.commit: o for o in written(of(course, wave))}
    out = vault.run("rev-list", "--first-parent", "--reverse", f"{held.base}..{held.head}")
    shas = out.decode().split()
    if sorted(shas) != sorted(by_commit):
        raise TreeError(
            f"the commits of wave {wave.number} are not those of its tasks", place=str(vault.path)
        )
    found, tip = [], held.base
    for vendor, row in groupby(shas, lambda sha: by_commit[sha].vendor or by_commit[sha].executor):
        mine = list(row)
        found.append(Piece(vendor, tuple(by_commit[sha].task for sha in mine), tip, mine[-1]))
        tip = mine[-1]
    return tuple(found)


# --- one piece --------------------------------------------------------------------------------


def _review(vault: Vault, piece: Piece, blank: Review, ask: Ask, within: str, stopped: str) -> Review:
    if stopped:
        return replace(blank, line=f"{INCOMPLETE} (it was not begun: {stopped})")
    if vault.tree_of(piece.base) == vault.tree_of(piece.head):
        return replace(blank, outcome=PASS, line=f"{PASS} (nothing differs: it wrote what was there already)")
    try:
        with checkout(vault, piece.base, piece.head) as folder:
            told = ask(blank.panels, base=piece.base, head=str(folder / within), authors=blank.authors)
    except PrunError as error:
        return replace(blank, line=f"{INCOMPLETE} (there is no review: {error.message})")
    try:
        verdict, why = for_gate_command(document.verdict_of(told)), _mistaken(told, piece)
        findings, report = _blocking(told), str(told.get("report") or "")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        verdict, why = Verdict(INCOMPLETE), f"its document cannot be read: {error}"
    run = str(told.get("run_id") or "")
    if why or not run:
        return replace(blank, run=run, line=f"{INCOMPLETE} ({why or 'it has no run'})")
    done = replace(blank, run=run, outcome=verdict.outcome, line=verdict.line or verdict.outcome)
    return done if done.outcome == PASS else replace(done, findings=findings, report=report)


def _blocking(told: Mapping[str, Any]) -> tuple[str, ...]:
    """The first findings that block, in a line each; how many more there are."""
    rows = [row for row in told.get("findings", ()) if row["blocking"]]
    lines = [f"{row['severity']}: {view.place(row)}: {row['title']}" for row in rows[:SHOWN]]
    return (*lines, *([f"and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else ()))


def _mistaken(told: Mapping[str, Any], piece: Piece) -> str:
    """Why a document is not the review that was asked for; empty where it is."""
    facts = document.facts_of(told)
    if (facts.revision.base, facts.revision.head) != (piece.base, piece.head):
        return "it reviewed something else"
    if facts.revision.dirty:
        return "what it reviewed is not what was written"
    return "" if facts.authors == (piece.vendor,) else "it did not know who wrote it"


@contextmanager
def checkout(vault: Vault, base: str, head: str) -> Iterator[Path]:
    """A folder with the files of ``head`` and a repository that holds the commits ``base`` and ``head``;
    it is gone afterwards.  Its older history is borrowed from the user's repository, unless the vault is
    alone.  ``TreeError``."""
    with closing(Scratch(vault.repository.top)) as scratch:
        folder = scratch.path / "head"
        unmade = vault.materialise(head, folder)
        with files.named(TreeError, "the folder to review cannot be made", folder):
            _repository(vault, folder, base, head)
        index = str(folder / ".git/index")
        vault.run("read-tree", head, index=index)
        hidden = b"".join(name + b"\0" for name, why in unmade.items() if why != SUBMODULE)
        vault.run("update-index", "-z", "--skip-worktree", "--stdin", stdin=hidden, index=index)
        vault.run("update-index", "-q", "--refresh", index=index, worktree=folder, fine=(0, 1))
        yield folder


def _repository(vault: Vault, folder: Path, base: str, head: str) -> None:
    own = folder / ".git"
    baregit.make(own, git.object_format(head), _SETTINGS)
    files.write(own / "HEAD", f"{head}\n".encode(), sync=False)
    bases = b""
    if not vault.alone:
        # Plain, and not quoted: of a head's alternates only those are read whose meaning is plain.
        lent = os.fsencode(vault.repository.common / "objects")
        files.create(own / "objects/info/alternates", lent + b"\n")
        bases = vault.run("for-each-ref", "--format=^%(objectname)", BASES)
    files.make_private(own / "objects/pack")
    for name in ("info/attributes", "info/exclude", "shallow"):
        if (vault.path / name).is_file():
            shutil.copyfile(vault.path / name, own / name)
    vault.pack(own / "objects", f"{head}\n{base}\n".encode() + bases, "--revs")
