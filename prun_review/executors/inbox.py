"""An inbox: questions that the subagents of a living session answer, through files in a folder.

A coordinator's session (Claude Code and the like) has what a fresh CLI has not: its MCP servers, its
mail, its artifacts.  With

    [tool.prun_review.executor.session]
    type = "inbox"
    inbox = ".prun-inbox"
    vendor = "anthropic"
    lineage = "claude"
    provides = ["mcp:gmail"]

the session's own subagents sit on a panel: same contract, stall rules, fingerprints and cross-check.
``vendor`` and ``lineage`` say truthfully which model answers: an inbox answered by Sonnet never
corroborates ``sonnet``.

The protocol, for one question; BASE is ``<unit slug>.<nonce>``, new for every attempt:

- ``BASE.prompt.md``, with ``BASE.json`` beside it, is an open question.  The JSON object has ``unit``,
  ``contract``, ``access``, ``needs``, ``tree``, ``prompt``, ``result``, ``progress`` (absolute paths)
  and ``deadline`` (seconds since the epoch).  Both appear whole.
- The answer is the file ``BASE.result.md``.  It counts once it is an ordinary, non-empty file that was
  written aside as ``BASE.result.md.part`` and renamed, or that was left alone for ten seconds.
- Whatever is written to ``BASE.progress`` is a sign of life, and so is a growing answer.  Without one
  for ``stall`` seconds (the run's, or the table's) the question is given up.
- A question that is over is renamed: ``BASE.prompt.md.answered``, or ``BASE.prompt.md.withdrawn`` when
  the run ended, was interrupted, or ran out of time.  A supervisor killed outright cannot rename it;
  then ``deadline`` is what tells.

What a coordinator does: start ``pytest panels/`` in the background; as long as it runs, hand each
``*.prompt.md`` whose deadline is ahead to a fresh subagent, one each, with the words "follow FILE to
the letter"; answer nothing itself and merge nothing.  What the subagent is told stands in the prompt:
where the tree is, the form of the answer, and where to write it.  A line that says FALLBACK in place
of an answer, as dispatchers write it, is no answer.

It is asked about findings of others (the second wave) only where its table's ``contracts`` hold
``examination``: most coordinators are gone when the first wave has ended.

What is not promised: a subagent is contained by its session alone, not by us, whatever ``access``
says; the snapshot's checks catch a changed tree.  Its cost is the session's and is not said.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from prun_review.config import ExecutorConfig
from prun_review.errors import ConfigError, LaunchError
from prun_review.executors import environment, footprint, inbox_relay, reasons
from prun_review.model import Brief, Reading
from prun_review.payload import is_fallback
from prun_review.ports import Command, Located, Missing, Output, Request, Seen, Sign, Supervision

RELAY = Path(inbox_relay.__file__)
ABOUT = "inbox.json"
"""What the relay is told of the unit, below the attempt."""
OURS = (".prun", ".git", "reports")
"""Folders of the trusted root that hold other things."""

_WHERE = """
# Where the tree is, and where the answer goes

You work in a session of your own, so this goes before what is said above. Your working directory is not
the source tree: that is {tree}
Read it there and nowhere else; it may hold less than what you know from your session. Paths in the answer
are relative to it.
Write the answer, whole, into this file and no other; it holds what is called your last message above:
{result}
Write it as {result}.part first and rename that. What only the chat says is not the answer. Should you
need longer than a few minutes, append a line to {progress} now and then: without a sign of life the
question is given up. If {prompt} is not there any more, it was withdrawn: stop, and write nothing.
"""


@dataclass(slots=True)
class Inbox:
    """Executor for a folder that somebody else reads; ``access`` is that session's own affair."""

    name: str
    vendor: str
    lineage: str
    contracts: frozenset[str]
    identity: str
    limit: int | None
    folder: str
    """Relative to the trusted root."""
    panels: tuple[str, ...]
    """The panels folders, where no inbox may be."""
    provides: frozenset[str]
    supervision: Supervision
    paid: bool = True
    native: bool = False
    suffix: str = ""

    @classmethod
    def configured(cls, table: ExecutorConfig, panels: Sequence[str]) -> Inbox:
        """From its table; ``ConfigError`` for a folder or an origin that is not usable."""
        place = f"[tool.prun_review.executor.{table.name}]"
        for key, value in (("vendor", table.vendor), ("lineage", table.lineage)):
            if not value:
                raise ConfigError(
                    f"an inbox needs its {key}: that of the model whose session answers",
                    place=place,
                    remedy=f'{key} = "...": only different vendors and lineages corroborate each other',
                )
        folder = _checked(table.inbox, panels, place)
        return cls(
            name=table.name,
            vendor=table.vendor,
            lineage=table.lineage,
            contracts=frozenset(table.contracts or ("findings", "choice", "prose")),
            identity=environment.identity(table.model or "session", table.effort, ()),
            limit=table.limit or None,
            folder=folder,
            panels=tuple(panels),
            provides=frozenset(table.provides),
            supervision=environment.supervision(table),
        )

    def locate(self, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        """The relay that comes with the package; whether anybody answers shows only when asked."""
        return Located((str(RELAY),), "prun_review")

    def version_argv(self, located: Located) -> tuple[str, ...]:
        """Nothing: the relay's digest stands in."""
        return ()

    def login_argv(self, located: Located) -> tuple[str, ...] | None:
        """None: the session is logged in, or nobody answers."""
        return None

    def child_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """Base names only: the relay talks to nobody."""
        return environment.child_env(env)

    def command(self, request: Request) -> Command:
        """The relay for one question; ``LaunchError`` where the folder is not a safe one."""
        root = _root(request.out)
        folder = self._place(root)
        if request.contained:  # what is not there cannot be shown to it
            environment.private(folder)
        base = f"{request.unit.slug}.{secrets.token_hex(4)}"
        brief = request.unit.brief
        paths = {
            "prompt": str(folder / f"{base}.prompt.md"),
            "result": str(folder / f"{base}.result.md"),
            "progress": str(folder / f"{base}.progress"),
            "tree": str(request.tree),
        }
        about = {
            "schema_version": 1,
            "unit": request.unit.slug,
            "id": request.unit.id,
            "executor": self.name,
            "contract": brief.contract.kind,
            "access": brief.access,
            "needs": list(brief.needs),
            **paths,
        }
        argv = (str(root), self.folder, base, str(request.out / ABOUT), f"{brief.timeout:.0f}")
        return Command(
            argv=(sys.executable, "-I", *request.located.argv, *argv),
            env=self.child_env(request.env),
            cwd=request.out,
            stdin=(request.prompt + _WHERE.format(**paths)).encode("utf-8", "replace"),
            files={ABOUT: json.dumps(about, indent=1).encode() + b"\n"},
            notice=f"questions for {self.name} wait in {self.folder}/*.prompt.md",
            readable=footprint.of_python(),
            writable=(folder,),
        )

    def _place(self, root: Path) -> Path:
        """The folder below the real ``root``; no link may lead out of there or into the panels."""
        folder = root / self.folder
        if folder.resolve() != folder:
            raise LaunchError(
                f"the inbox is or lies behind a link: {folder}", remedy="make it a folder of its own"
            )
        for panels in self.panels:
            if _overlap(folder, (root / panels).resolve()):
                raise LaunchError(
                    f"the inbox {folder} lies in the panels folder {panels}", remedy='inbox = ".prun-inbox"'
                )
        return folder

    def exposes(self, brief: Brief, env: Mapping[str, str], *, contained: bool) -> tuple[str, ...]:
        """What the answering session can reach is not known here."""
        return ("the session that answers is not confined by us",)

    def sign(self, seen: Seen) -> Sign:
        """Nothing: the relay ends by itself with the answer."""
        return Sign()

    def read(self, output: Output, request: Request) -> Reading:
        """What the relay took for a whole answer, or why there is none."""
        said = reasons.line(reasons.decoded(output.stderr).strip().rpartition("\n")[2])
        stopped = reasons.ended(output.exit, said)
        if stopped is not None:
            return stopped
        if output.exit.code == inbox_relay.REFUSED:
            return reasons.failed(reasons.classify(said, "spawn-failed"), said)
        if output.exit.code != 0:
            return reasons.failed("no-answer", said)
        text = reasons.decoded(output.stdout)
        if output.cut or not text.strip():
            return reasons.failed("no-answer", output.cut or "the answer is empty")
        if is_fallback(text):
            return reasons.failed("no-answer", "a FALLBACK was written in place of an answer")
        return Reading("answered", text=text)


def _checked(inbox: str, panels: Sequence[str], place: str) -> str:
    """The folder as a plain relative path; ``ConfigError`` where it cannot be an inbox."""
    path = PurePosixPath(inbox)
    remedy = 'inbox = ".prun-inbox", a folder of its own below the project'
    if not inbox.strip() or not path.parts:
        raise ConfigError("an inbox needs its folder", place=place, remedy=remedy)
    if path.is_absolute() or ".." in path.parts or not inbox.isprintable():
        raise ConfigError(f"inbox is {inbox!r}, which is not below the project", place=place, remedy=remedy)
    for other in (*panels, *OURS):
        if _overlap(Path(path), Path(PurePosixPath(other.strip("/")))):
            raise ConfigError(f"inbox {inbox!r} lies in or around {other}/", place=place, remedy=remedy)
    return str(path)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _root(out: Path) -> Path:
    """The trusted root, links resolved: run directories lie in its ``.prun``."""
    for folder in out.parents:
        if folder.name == ".prun":
            return folder.parent.resolve()
    raise LaunchError(f"no trusted root above {out}", remedy="run directories lie in .prun/")
