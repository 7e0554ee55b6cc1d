"""Anthropic's ``claude -p``: command line, result envelope, failures (measured with 2.1.197 and 2.1.332).

Isolation: ``--setting-sources ""`` keeps settings, hooks and CLAUDE.md of user and reviewed tree out,
``--strict-mcp-config`` its MCP servers.  The file tools are confined to the working directory, the
snapshot, and to what lies beside it; what is outside is denied, also through a symbolic link.  HOME
stays the user's, because the login lives there; contained, and with a key or token in the environment,
it gets an empty one.

``CLAUDE_CODE_SUBPROCESS_ENV_SCRUB`` is not set: without Bash it has nothing to scrub, and with it the
Bash of 2.1.332 does not start where bubblewrap and socat are not both installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prun_review.config import ExecutorConfig
from prun_review.errors import BriefError
from prun_review.executors import (
    claude_events,
    claude_rules,
    claude_usage,
    environment,
    footprint,
    reasons,
    untrusted,
)
from prun_review.model import Brief, Reading, Usage
from prun_review.ports import UNWATCHED, Command, Located, Missing, Output, Request, Seen, Sign, Supervision

FIXED = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "API_TIMEOUT_MS": "120000",
}
"""No hidden title call, no update, and an end to retries: the default of 10 takes over three minutes."""

STARTUP = 120.0
"""Seconds to its first event: 20 at once on 2 cores took 31 s each."""
STAGGER = 0.25
"""Seconds between two starts: all of them refresh the one login."""

STREAM = ("--output-format", "stream-json", "--verbose", "--include-partial-messages")
"""An event for all that happens, and for every piece of an answer while it is written: without the
pieces an answer of 64,000 tokens is a quarter of an hour of silence, and a stall.  They take about
290 bytes each, 0.5 MB for 5,000 tokens; claude 2.1.332."""

MAX_SCHEMA = 120_000
"""Bytes of a schema: it travels in argv, where Linux allows 128 KiB for one argument."""

HARMLESS = {
    **dict.fromkeys(("--model", "--fallback-model", "--effort", "--max-turns", "--max-budget-usd"), 1),
    **dict.fromkeys(("--betas", "--name"), 1),
}
"""Options of which ``args`` may hold any in the profile ``untrusted``, and how many values each takes."""
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""Variables any of which takes the place of the login in the user's home."""

REMEDY = "pip install '.[vendors]' in a clone of prun_review, or put claude on PATH, or set path in {place}"

_BY_STATUS = {
    400: "bad-request",
    401: "not-logged-in",
    403: "bad-request",
    404: "model-not-found",
    413: "prompt-too-long",
    429: "rate-limited",
    500: "over-capacity",
    503: "over-capacity",
    529: "over-capacity",
}
_BY_SUBTYPE = {
    "error_max_turns": "turn-limit",
    "error_max_budget_usd": "turn-limit",
    "error_max_structured_output_retries": "no-answer",
}


@dataclass(slots=True)
class Claude:
    """Executor for ``claude -p``.

    ``access``: ``read`` and ``run`` give it Read, Grep and Glob and nothing else.  It gets no Bash
    for ``run`` either: claude has no sandbox of its own, and an allow-list of git commands is none
    (``git diff --no-index`` reads anywhere, ``git log --output`` writes anywhere).  ``full`` adds
    Edit, Write and an unconfined Bash.  Where it writes code it has all of these, of Bash only what
    :mod:`.claude_rules` allows or ``full``, and never git's commands that change history.
    """

    name: str
    vendor: str
    lineage: str
    contracts: frozenset[str]
    identity: str
    limit: int | None
    names: tuple[str, ...]
    """Environment variables that its child may see."""
    model: str
    further: tuple[str, ...] = ()
    """Those of ``names`` that its table adds."""
    path: str = ""
    effort: str = ""
    args: tuple[str, ...] = ()
    write_commands: tuple[str, ...] = ()
    paid: bool = True
    native: bool = True
    provides: frozenset[str] = frozenset()
    supervision: Supervision = UNWATCHED
    suffix: str = ""

    @classmethod
    def configured(cls, table: ExecutorConfig) -> Claude:
        """From its table; ``ConfigError`` where the table asks for another vendor's key."""
        model = table.model or "sonnet"
        place = f"[tool.prun_review.executor.{table.name}]"
        return cls(
            name=table.name,
            vendor=table.vendor or "anthropic",
            lineage=table.lineage or "claude",
            contracts=frozenset(
                table.contracts or ("findings", "choice", "prose", "examination", "change", "task")
            ),
            identity=environment.identity(model, table.effort, (*table.args, *table.write_commands)),
            limit=table.limit or None,
            names=environment.vendor_names("anthropic", table.env, place),
            further=table.env,
            model=model,
            path=table.path,
            effort=table.effort,
            args=table.args,
            write_commands=table.write_commands,
            provides=frozenset(table.provides),
            supervision=environment.supervision(table, startup=STARTUP, stagger=STAGGER),
        )

    def locate(self, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        """Configured path, PATH, then the package ``claude-agent-sdk``."""
        return environment.find(
            "claude",
            env,
            forbidden,
            configured=self.path,
            package="claude_agent_sdk/_bundled/claude",
            remedy=REMEDY.format(place=f"[tool.prun_review.executor.{self.name}]"),
        )

    def version_argv(self, located: Located) -> tuple[str, ...]:
        """``claude --version``."""
        return (*located.argv, "--version")

    def login_argv(self, located: Located) -> tuple[str, ...] | None:
        """``claude auth status``: exit status 0 for a login, a token or a key."""
        return (*located.argv, "auth", "status")

    def child_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """Base, network and Anthropic's own names, with retries bounded and updates off."""
        return environment.child_env(env, self.names, FIXED)

    def command(self, request: Request) -> Command:
        """The command line of a review; ``BriefError`` for a schema too large for argv."""
        argv = [*request.located.argv, "-p", "--model", self.model, *STREAM]
        argv += ["--no-session-persistence", "--setting-sources", "", "--strict-mcp-config"]
        argv += ["--disable-slash-commands"]
        # It takes all words up to the next option, and --tools always follows.
        argv += ["--add-dir", str(request.beside)] if request.beside else []
        argv += ["--effort", self.effort] if self.effort else []
        if request.schema is not None:
            schema = environment.sent(request.schema)
            if len(schema) > MAX_SCHEMA:
                raise BriefError(
                    f"the contract's schema has {len(schema)} bytes; claude takes at most {MAX_SCHEMA}",
                    place=request.unit.place,
                    remedy="fewer or shorter options and criteria",
                )
            argv += ["--json-schema", schema]
        argv += claude_rules.tools(request.unit.brief, self.write_commands)
        homes, login = _homes(request)
        return Command(
            argv=(*argv, *self.args),
            env=environment.agents_env(request, self.names, {**FIXED, **homes}),
            cwd=request.tree,
            stdin=request.prompt.encode("utf-8", "replace"),
            readable=(
                *footprint.of_program(request.located.argv[0], request.env.get("PATH", "")),
                *environment.workshop(request),
            ),
            writable=login,
        )

    def sign(self, seen: Seen) -> Sign:
        """``finished`` once the result has come and nothing but system events after it."""
        if not seen.stdout.endswith(b"\n"):
            return Sign()
        lines = seen.stdout.rstrip(b"\n").split(b"\n")
        while len(lines) > 1 and claude_events.parsed(lines[-1]).get("type") == "system":
            lines.pop()
        if len(lines) > 1 or seen.sizes.get("tail", 0) <= len(seen.stdout):
            found = claude_events.parsed(lines[-1]).get("type") == "result"
        else:  # the line began before what is seen; quotes inside an answer's own text are escaped
            found = lines[-1].endswith(b"}") and any(key in lines[-1] for key in _RESULT_KEYS)
        return Sign("finished") if found else Sign()

    def read(self, output: Output, request: Request) -> Reading:
        """Exit status 0, ``is_error`` false and a structured output make an answer; never ``subtype``."""
        result = claude_events.envelope(output.stdout)
        # A dispatch that was ended has no result; what its events had told by then is spent all the same.
        usage = claude_usage.billed(result) if result else claude_usage.so_far(output.stdout)
        said = _said(result) or reasons.decoded(output.stdout or output.stderr)[-2000:]
        stopped = reasons.ended(output.exit, reasons.line(said), usage)
        if stopped is not None:
            return stopped
        if not result:
            return _without_envelope(output, usage)
        if result.get("is_error") is False and output.exit.code != 0:
            return reasons.failed(
                "unknown", f"exit status {output.exit.code} beside a result without an error", usage
            )
        if result.get("is_error") is not False:
            return reasons.failed(_reason(result, said), said or "an error without a word", usage)
        payload, text = result.get("structured_output"), result.get("result")
        if request.schema is not None:
            if isinstance(payload, dict):
                return Reading(
                    "answered", payload=payload, usage=usage, touched=claude_events.touched(output.stdout)
                )
            reason = reasons.notice(said) or "no-answer"
            return reasons.failed(reason, f"no structured output; it said: {said}", usage)
        notice = reasons.notice(said)
        if notice:
            return reasons.failed(notice, f"in place of an answer: {said}", usage)
        if isinstance(text, str) and text.strip() and result.get("num_turns") != 0:
            touched = claude_events.touched(output.stdout)
            return Reading("answered", text=text, usage=usage, touched=touched)
        return reasons.failed("no-answer", f"no turn was made or no text given: {said}", usage)

    def exposes(self, brief: Brief, env: Mapping[str, str], *, contained: bool) -> tuple[str, ...]:
        """Without Bash its tools reach nothing but snapshot and change (measured), contained or not."""
        found = (*untrusted.arguments(self.args, HARMLESS), *untrusted.names(self.further))
        if brief.mode == "write":
            found = (untrusted.WRITES, *found)
        if brief.access == "full" or brief.contract.sources:
            found = ("its Bash is not confined: it sees the vendor's key and the network", *found)
        return found


def _homes(request: Request) -> tuple[dict[str, str], tuple[Path, ...]]:
    """Variables that say where its home is, and what of the user's home a contained one needs.

    An empty home where a key or token makes the login unnecessary; else the login's own folder and
    file, which it refreshes.
    """
    if not request.contained:
        return {}, ()
    if any(request.env.get(name) for name in KEYS):
        home = environment.private(request.state / "home")
        return {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(environment.private(home / ".claude"))}, ()
    home = Path(request.env.get("HOME") or "/")
    folder = request.env.get("CLAUDE_CONFIG_DIR")
    return {}, footprint.files([folder] if folder else [str(home / ".claude"), str(home / ".claude.json")])


def _without_envelope(output: Output, usage: Usage) -> Reading:
    """No result object on stdout: cut, never finished, or a message in place of one."""
    stdout, stderr = reasons.decoded(output.stdout).strip(), reasons.decoded(output.stderr).strip()
    if output.cut:
        return reasons.failed("no-answer", f"the result was cut: {output.cut}", usage)
    said = stdout[-2000:] if stdout and not stdout.startswith("{") else stderr[-2000:]
    default = "no-answer" if output.exit.code == 0 else "unknown"
    size = f"{len(output.stdout)} bytes on stdout are not one JSON result"
    where = f"exit status {output.exit.code}; {size if output.stdout else 'nothing on stdout'}"
    return reasons.failed(reasons.classify(said, default), f"{where}: {said}" if said else where, usage)


_RESULT_KEYS = (b'"type":"result"', b'"terminal_reason":')
"""What stands behind the answer in a result event, as 2.1.332 and 2.1.197 write it."""


def _said(result: Mapping[str, Any]) -> str:
    """The envelope's own words: ``result``, or ``errors`` where a limit of the run was hit."""
    text, errors = result.get("result"), result.get("errors")
    if isinstance(text, str):
        return text
    return "; ".join(e for e in errors if isinstance(e, str)) if isinstance(errors, list) else ""


def _reason(result: Mapping[str, Any], said: str) -> str:
    """The text first, as it tells a quota from a rate limit; then the status, then the subtype.

    Not the other way round: a 401 whose text speaks of a used refresh token is a race, not a login.
    """
    status, subtype = result.get("api_error_status"), result.get("subtype")
    by_status = _BY_STATUS.get(status, "unknown") if isinstance(status, int) else "unknown"
    by_subtype = _BY_SUBTYPE.get(subtype, by_status) if isinstance(subtype, str) else by_status
    return reasons.classify(said, by_subtype) if by_subtype != "no-answer" else by_subtype
