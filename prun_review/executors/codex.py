"""OpenAI's ``codex exec``: command line, event stream, failures (measured with 0.163 and 0.171).

Isolation: a configuration home of our own without the user's ``config.toml`` and ``AGENTS.md``;
``project_doc_max_bytes=0`` keeps the reviewed tree's AGENTS.md out of the request and
``skills.include_instructions=false`` its ``.agents/skills`` and ``.codex/skills`` (their descriptions
otherwise stand in a developer message).  Shell commands of the model run in codex's own sandbox, which
has the system's programs, the snapshot and what lies beside it, nothing else of the disk, no network,
its own /proc and none of our variables but HOME, PATH and the like (:mod:`.codex_rules`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prun_review.config import ExecutorConfig
from prun_review.executors import codex_rules, environment, footprint, reasons, untrusted
from prun_review.executors.codex_events import Events, inner, message_of, objects
from prun_review.model import Brief, Reading
from prun_review.ports import UNWATCHED, Command, Located, Missing, Output, Request, Seen, Sign, Supervision

SCHEMA, ANSWER = "schema.json", "last.json"
"""The schema given to ``--output-schema`` and the final message from ``-o``, below the attempt."""

REMEDY = "pip install '.[vendors]' in a clone of prun_review, or put codex on PATH, or set path in {place}"

STARTUP = 120.0
"""Seconds to its first event; 16 at once on 2 idle cores took 2.4 s, and machines are not always idle."""
STAGGER = 0.25
"""Seconds between two starts: all of them refresh the one login, and the first warms the home."""

HOPELESS = 3
"""So many "waiting for network" in a row, 26 s with 0.163; codex goes on with that for ever (560 s seen)."""

SWITCHES = (
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    "shell_environment_policy.ignore_default_excludes=false",
    *(f"features.{name}=false" for name in ("apps", "hooks", "multi_agent", "plugins", "shell_snapshot")),
)
"""``-c`` settings of every dispatch.  The features would bring in what the user's account is connected
with, what the tree's ``.codex`` asks for, and workers whose commands are told to nobody."""

WITHOUT_WEB = ('web_search="disabled"',)
WITH_WEB = ('web_search="live"',)
"""The same for one that must not, and one that must, look into the web."""

HARMLESS = (
    *("model", "model_provider", "model_providers.", "model_verbosity", "service_tier"),
    *("model_reasoning_effort", "model_reasoning_summary", "openai_base_url"),
)
"""Settings of which ``args`` may hold any in the profile ``untrusted``."""
_ENV_KEY = re.compile(r"model_providers\.[\w-]+\.env_key=\W*(\w+)\W*")
"""Names the variable that holds a provider's key."""


@dataclass(slots=True)
class Codex:
    """Executor for ``codex exec``.

    ``access``: with ``read`` and ``run`` the model can run commands that see the snapshot and the
    system and write nothing; with ``full`` they write the snapshot and TMPDIR and read the disk but for
    logins.  Where it writes code they write its copy, but for ``.git``, and TMPDIR, and read the tools on
    PATH as well; with ``full`` the disk.  Web search and network are on only where the contract asks for
    ``sources``, which takes ``full``.  Without a configured model or effort the CLI's defaults hold, and
    the identity says ``default``.
    """

    name: str
    vendor: str
    lineage: str
    contracts: frozenset[str]
    identity: str
    limit: int | None
    names: tuple[str, ...]
    """Environment variables that its child may see."""
    further: tuple[str, ...] = ()
    """Those of them that its table adds."""
    path: str = ""
    model: str = ""
    effort: str = ""
    args: tuple[str, ...] = ()
    paid: bool = True
    native: bool = True
    provides: frozenset[str] = frozenset()
    supervision: Supervision = UNWATCHED
    suffix: str = ""

    @classmethod
    def configured(cls, table: ExecutorConfig) -> Codex:
        """From its table; ``ConfigError`` where the table asks for another vendor's key."""
        place = f"[tool.prun_review.executor.{table.name}]"
        return cls(
            name=table.name,
            vendor=table.vendor or "openai",
            lineage=table.lineage or "gpt",
            contracts=frozenset(
                table.contracts or ("findings", "choice", "prose", "examination", "change", "task")
            ),
            identity=environment.identity(table.model or "default", table.effort, table.args),
            limit=table.limit or None,
            names=environment.vendor_names("openai", table.env, place),
            further=table.env,
            path=table.path,
            model=table.model,
            effort=table.effort,
            args=table.args,
            provides=frozenset(table.provides),
            supervision=environment.supervision(table, startup=STARTUP, stagger=STAGGER),
        )

    def locate(self, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        """Configured path, PATH, then the package ``openai-codex-cli-bin``."""
        return environment.find(
            "codex",
            env,
            forbidden,
            configured=self.path,
            package="codex_cli_bin/bin/codex",
            remedy=REMEDY.format(place=f"[tool.prun_review.executor.{self.name}]"),
        )

    def version_argv(self, located: Located) -> tuple[str, ...]:
        """``codex --version``."""
        return (*located.argv, "--version")

    def login_argv(self, located: Located) -> tuple[str, ...] | None:
        """``codex login status``; it knows the stored login only, not ``CODEX_API_KEY``."""
        return (*located.argv, "login", "status")

    def child_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """The user's own homes stay visible here; a dispatch gets clean ones in :meth:`command`."""
        return environment.child_env(env, self.names)

    def command(self, request: Request) -> Command:
        """The command line of a review; prepares the clean homes below ``request.state``."""
        web = request.unit.brief.contract.sources
        homes, login = _homes(request)
        rules = codex_rules.switches(request, homes["CODEX_HOME"], network=web)
        switches = (*SWITCHES, *(WITH_WEB if web else WITHOUT_WEB), *rules)
        argv = [*request.located.argv, "exec", "--json", "--color", "never", "--ephemeral", "--strict-config"]
        argv += ["--ignore-user-config", "--ignore-rules", "--skip-git-repo-check", "-C", str(request.tree)]
        argv += ["-m", self.model] if self.model else []
        argv += ["-c", f"model_reasoning_effort={self.effort}"] if self.effort else []
        argv += [word for switch in switches for word in ("-c", switch)]
        argv += ["--output-schema", str(request.out / SCHEMA)] if request.schema is not None else []
        argv += ["-o", str(request.out / ANSWER), *self.args, "-"]
        files = {} if request.schema is None else {SCHEMA: environment.sent(request.schema).encode()}
        return Command(
            argv=tuple(argv),
            env=environment.agents_env(request, self.names, homes),
            cwd=request.tree,
            stdin=request.prompt.encode("utf-8", "replace"),
            files=files,
            outputs=(ANSWER,),
            readable=(
                *footprint.of_program(request.located.argv[0], request.env.get("PATH", "")),
                *environment.workshop(request),
            ),
            writable=login,
        )

    def sign(self, seen: Seen) -> Sign:
        """``finished`` after the turn's end, however it ended; ``hopeless`` while the network is away."""
        *lines, rest = seen.stdout.rsplit(b"\n", HOPELESS + 1)
        if rest.strip():  # a line that is still being written
            return Sign()
        last = [next(objects(line), {}) for line in lines[-HOPELESS:]]
        if last and last[-1].get("type") in ("turn.completed", "turn.failed"):
            return Sign("finished")
        if len(last) == HOPELESS and all(_waits(event) for event in last):
            return Sign("hopeless", "network")
        return Sign()

    def read(self, output: Output, request: Request) -> Reading:
        """Only ``turn.completed`` with exit status 0 and a final message is an answer."""
        events = Events.of(output.stdout)
        stderr = reasons.decoded(output.stderr)
        stopped = reasons.ended(output.exit, events.error or reasons.line(stderr[-500:]), events.usage)
        if stopped is not None:
            return stopped
        code = output.exit.code
        if events.terminal == "turn.failed" or code != 0:
            said = events.error or stderr.strip()[-2000:] or f"exit status {code} without a word"
            default = "bad-request" if said.startswith("{") or code == 2 else "unknown"
            return reasons.failed(reasons.classify(said, default), inner(said), events.usage)
        if events.terminal != "turn.completed":
            bare = not output.stdout.lstrip().startswith(b"{")  # a quota sentence beside exit status 0
            stdout = reasons.decoded(output.stdout[-2000:]) if bare else ""
            said = output.cut or events.error or stderr.strip()[-2000:] or stdout.strip()
            reason = reasons.classify(events.error or stderr or stdout, "no-answer")
            return reasons.failed(reason, f"the event stream has no turn.completed: {said}", events.usage)
        text = _final(output, events, request)
        if not text.strip():
            why = f"no final message that is whole ({output.cut})" if output.cut else "no final message"
            return reasons.failed("no-answer", f"the turn completed with {why}", events.usage)
        notice = reasons.notice(text)
        if notice:
            return reasons.failed(notice, f"in place of an answer: {text}", events.usage)
        return Reading("answered", text=text, usage=events.usage, touched=events.touched)

    def exposes(self, brief: Brief, env: Mapping[str, str], *, contained: bool) -> tuple[str, ...]:
        """With ``read`` and ``run`` its shell reaches no secret (measured), contained or not."""
        keys = {match[1] for word in self.args if (match := _ENV_KEY.fullmatch(word))}
        found = (
            *untrusted.settings(self.args, HARMLESS),
            *untrusted.names(self.further, keys),
        )
        if brief.mode == "write":
            found = (untrusted.WRITES, *found)
        if brief.contract.sources:
            found = ("its shell reaches the network, with what the snapshot holds", *found)
        if brief.access == "full" and not contained:
            found = ("its shell reads the disk and writes the snapshot that other reviewers read", *found)
        return found


def _homes(request: Request) -> tuple[dict[str, str], tuple[Path, ...]]:
    """Clean HOME and CODEX_HOME for this run, with the user's login linked in; and where that is.

    The login is a link, so that it is never read by us and that a refreshed token is written to the
    user's own file (codex 0.163 writes through the link): a copy would use up the refresh token and
    log the user out.  HOME is ours too, because codex looks for skills in it and its shell commands
    are login shells.
    """
    home, codex = (environment.private(request.state / name) for name in ("home", "codex"))
    users = request.env.get("CODEX_HOME") or os.path.join(request.env.get("HOME", ""), ".codex")
    login = Path(users, "auth.json")
    if login.is_absolute() and login.exists():
        with contextlib.suppress(FileExistsError):  # linked by an earlier dispatch, or just now
            (codex / "auth.json").symlink_to(login)
    return {"HOME": str(home), "CODEX_HOME": str(codex)}, footprint.files([os.path.realpath(login)])


def _waits(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "error" and "waiting for network" in message_of(event)


def _final(output: Output, events: Events, request: Request) -> str:
    """The final message.  Where a stream was cut, only one that proves its own end: whole JSON."""
    from_file = reasons.decoded(output.files.get(ANSWER) or b"")
    text = from_file if output.cut and from_file else events.message or from_file
    if output.cut:
        try:
            whole = request.schema is not None and isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            whole = False
        return text if whole else ""
    return text
