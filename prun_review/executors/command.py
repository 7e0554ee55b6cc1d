"""Any command line as an executor: another vendor's CLI, a script, a wrapper.

    [tool.prun_review.executor.third]
    type = "command"
    vendor = "example"
    lineage = "example-model"
    argv = ["third-cli", "--model", "{model}", "--cwd", "{tree}"]

The prompt comes on standard input.  The answer is what it prints, or the file ``{out}`` where the
template names one; exit status 0 and a non-empty answer are needed.  Its form is the contract's
(Markdown with one fenced ``json`` block, or bare JSON).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review.config import ExecutorConfig
from prun_review.errors import BriefError, ConfigError
from prun_review.executors import environment, footprint, reasons, untrusted
from prun_review.model import Brief, Reading
from prun_review.payload import HEADER_NAMES
from prun_review.ports import UNWATCHED, Command, Located, Missing, Output, Request, Seen, Sign, Supervision

PLACEHOLDERS = ("tree", "change", "out", "schema", "model")
"""Snapshot of the reviewed tree, the directory with the change (empty where the whole tree is reviewed),
answer file, schema file, configured model."""

SCHEMA, ANSWER = "schema.json", "answer.txt"

_NAMED = re.compile(r"\{([A-Za-z_]+)\}")


@dataclass(slots=True)
class AnyCommand:
    """Executor for an argv template; ``access`` is the command's own affair."""

    name: str
    vendor: str
    lineage: str
    contracts: frozenset[str]
    identity: str
    limit: int | None
    names: tuple[str, ...]
    """Environment variables that its child may see."""
    argv: tuple[str, ...]
    path: str = ""
    model: str = ""
    paid: bool = True
    native: bool = False
    provides: frozenset[str] = frozenset()
    supervision: Supervision = UNWATCHED
    suffix: str = ""

    @classmethod
    def configured(cls, table: ExecutorConfig) -> AnyCommand:
        """From its table; ``ConfigError`` for a template or an origin that is not usable."""
        place = f"[tool.prun_review.executor.{table.name}]"
        argv = (*table.argv, *table.args)
        _check_template(argv, table, place)
        for key, value in (("vendor", table.vendor), ("lineage", table.lineage)):
            if not value:
                raise ConfigError(
                    f"a command needs its {key}",
                    place=place,
                    remedy=f'{key} = "...": only different vendors and lineages corroborate each other',
                )
        # A program that was not told of examinations is not asked to examine, and one that was not told
        # of changes is not asked to write: ``contracts`` names them.
        kinds = (
            ("findings", "choice") if any("{schema}" in a for a in argv) else ("findings", "choice", "prose")
        )
        return cls(
            name=table.name,
            vendor=table.vendor,
            lineage=table.lineage,
            contracts=frozenset(table.contracts or kinds),
            identity=environment.identity(table.model or "default", table.effort, argv),
            limit=table.limit or None,
            names=(*environment.NETWORK_NAMES, *table.env),
            argv=argv,
            path=table.path,
            model=table.model,
            provides=frozenset(table.provides),
            supervision=environment.supervision(table),
        )

    def locate(self, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        """Configured ``path``, else the first word of ``argv``: absolute, or a name on PATH."""
        first = self.argv[0]
        configured = self.path or (first if "/" in first else "")
        remedy = f"put {first} on PATH or set path in [tool.prun_review.executor.{self.name}]"
        found = environment.find(first, env, forbidden, configured=configured, remedy=remedy)
        if isinstance(found, Missing):
            return found
        # Of an interpreter the script answers.  What comes after it may be a log that every call changes.
        return replace(found, beside=environment.named_files(self.argv[1:])[:1])

    def version_argv(self, located: Located) -> tuple[str, ...]:
        """Nothing: an unknown program might take ``--version`` for a question.  Its digest stands in."""
        return ()

    def login_argv(self, located: Located) -> tuple[str, ...] | None:
        """None: no status command is known of it."""
        return None

    def child_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """Base and network names, and those that its table lists: no vendor's key by itself."""
        return environment.child_env(env, self.names)

    def command(self, request: Request) -> Command:
        """The template filled in; ``BriefError`` where it asks for a schema and there is none."""
        wants_schema = any("{schema}" in a for a in self.argv)
        if wants_schema and request.schema is None:
            raise BriefError(
                f"{self.name} takes a schema and a {request.unit.brief.contract.kind} contract has none",
                place=request.unit.place,
                remedy=f"leave {self.name} out of this probe, or {{schema}} out of its argv",
            )
        values = {
            "tree": str(request.tree),
            "change": str(request.beside or ""),
            "out": str(request.out / ANSWER),
            "schema": str(request.out / SCHEMA),
            "model": self.model,
        }
        words = [_NAMED.sub(lambda m: values[m[1]], word) for word in self.argv[1:]]
        return Command(
            argv=(*request.located.argv, *words),
            env=environment.agents_env(request, self.names),
            cwd=request.tree,
            stdin=request.prompt.encode("utf-8", "replace"),
            files={SCHEMA: environment.sent(request.schema or {}).encode()} if wants_schema else {},
            outputs=(ANSWER,) if self._names_out else (),
            readable=(
                *footprint.of_program(request.located.argv[0], request.env.get("PATH", "")),
                *footprint.files(request.located.beside),
                *environment.workshop(request),
            ),
        )

    def sign(self, seen: Seen) -> Sign:
        """``finished`` where standard output ends with an answer of our contracts, whole.

        An answer file or prose cannot be told from half of it.
        """
        if self._names_out or not seen.stdout.rstrip().endswith((b"}", b"```")):
            return Sign()
        text = reasons.decoded(seen.stdout).strip()
        if text.endswith("```"):
            found = _answers(text[:-3].rpartition("```json\n")[2])
        else:
            found = seen.sizes.get("tail", 0) <= len(seen.stdout) and _answers(text)
        return Sign("finished") if found else Sign()

    def read(self, output: Output, request: Request) -> Reading:
        """Exit status 0 and a whole, non-empty text are an answer; anything else is a failure."""
        stdout, stderr = reasons.decoded(output.stdout), reasons.decoded(output.stderr)
        said = stderr.strip()[-2000:] or stdout.strip()[-2000:]
        stopped = reasons.ended(output.exit, reasons.line(said))
        if stopped is not None:
            return stopped
        if output.exit.code != 0:
            # The last words of stdout too: some programs print why they fail where answers belong.
            reason = reasons.classify(stderr[-2000:], "") or reasons.classify(stdout[-500:])
            return reasons.failed(reason, f"exit status {output.exit.code}: {said}")
        if output.cut:
            return reasons.failed("no-answer", f"the answer was cut: {output.cut}")
        text = reasons.decoded(output.files.get(ANSWER) or b"") if self._names_out else stdout
        if not text.strip() and request.unit.brief.contract.kind != "task":  # there the marker says it all
            where = ANSWER if self._names_out else "stdout"
            return reasons.failed(
                reasons.classify(said, "no-answer"), f"exit status 0, {where} is empty: {said}"
            )
        notice = reasons.notice(text)
        if notice:  # a quota sentence with exit status 0 is no answer to ask again about
            return reasons.failed(notice, text)
        return Reading("answered", text=text)

    def exposes(self, brief: Brief, env: Mapping[str, str], *, contained: bool) -> tuple[str, ...]:
        """What a program does that nobody knows is not known; contained it still has the network."""
        writes = (untrusted.WRITES,) if brief.mode == "write" else ()
        return (*writes, "nothing is known of what it does with what it reads")

    @property
    def _names_out(self) -> bool:
        return any("{out}" in word for word in self.argv)


def _answers(text: str) -> bool:
    """Whether the text is one JSON object with the keys that each of our contracts has."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and HEADER_NAMES.keys() <= value.keys()


def _check_template(argv: Sequence[str], table: ExecutorConfig, place: str) -> None:
    if not table.argv or not argv[0]:
        raise ConfigError("a command needs its argv", place=place, remedy='argv = ["program", "--option"]')
    if _NAMED.search(argv[0]) or ("/" in argv[0] and not argv[0].startswith("/")):
        raise ConfigError(
            f"argv begins with {argv[0]!r}",
            place=place,
            remedy="a name on PATH or an absolute path comes first",
        )
    for name in (name for word in argv for name in _NAMED.findall(word)):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{p}}}" for p in PLACEHOLDERS)
            raise ConfigError(
                f"argv holds the unknown placeholder {{{name}}}", place=place, remedy=f"known: {known}"
            )
    if "{model}" in "".join(argv) and not table.model:
        raise ConfigError("argv holds {model} and no model is set", place=place, remedy='model = "..."')
