"""claude: command line, environment, every failure row; a stand-in replays the real envelopes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.config import load
from prun_review.errors import BriefError, ConfigError
from prun_review.executors import reasons
from prun_review.executors.claude import Claude
from prun_review.model import Contract, Exit, Usage
from prun_review.ports import Output, Seen, Sign, Supervision
from tests.executors.driving import (
    FAKE,
    JSON,
    SCHEMA,
    TEXT,
    Bench,
    bare_request,
    calls,
    options,
    stand_in,
    with_path,
)

BILLED = Usage(input_tokens=140, cached_tokens=20, output_tokens=30, cost_usd=0.000816)

FAILURES = {
    "http-400": "bad-request",
    "http-401": "not-logged-in",
    "http-403": "bad-request",
    "http-404": "model-not-found",
    "http-413": "prompt-too-long",
    "http-429": "rate-limited",
    "http-500": "over-capacity",
    "http-503": "over-capacity",
    "at-capacity": "over-capacity",
    "context-length": "prompt-too-long",
    "quota": "quota-exhausted",
    "usage-limit": "quota-exhausted",
    "usage-reset": "quota-exhausted",
    "usage-epoch": "quota-exhausted",
    "rate-limit": "rate-limited",
    "rate-limit-told": "rate-limited",
    "cut": "network",
    "server-error": "over-capacity",
    "idle": "network",
    "refused": "network",
    "malformed": "network",
    "invalid-prompt": "bad-request",
    "output-limit": "turn-limit",
    "no-key": "not-logged-in",
    "expired": "not-logged-in",
    "refresh-race": "refresh-token-race",
    "sandbox": "sandbox",
    "prompt-too-long": "prompt-too-long",
    "max-turns": "turn-limit",
    "max-budget": "turn-limit",
    "schema-retries": "no-answer",
    "interrupted": "unknown",
    "bad-flag": "bad-request",
    "no-dir": "unknown",
    "no-input": "unknown",
    "panic": "unknown",
    "quota-stderr": "quota-exhausted",
    "quota-stdout": "quota-exhausted",
    "disk-full": "disk-full",
    "silent-exit": "unknown",
    "empty": "no-answer",
    "slash": "bad-request",
    "killed": "killed",
    "no-end": "no-answer",
    "no-message": "no-answer",
    "null-message": "no-answer",
    "cut-at-64k": "no-answer",
    "failed-after-all": "network",
    "exit-1": "unknown",
}


def claude(**fields: object) -> Claude:
    return Claude.configured(load({"executor": {"sonnet": fields}}).executor("sonnet"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def rule(bench: Bench, **fields: object) -> Bench:
    return with_path(bench, stand_in(bench.root / "bin", "claude", fields))


def test_how_a_dispatch_is_watched_and_what_it_provides() -> None:
    assert claude().supervision == Supervision(startup=120.0, stall=None, stagger=0.25, grace=20.0)
    told = claude(startup=0, stall=30, stagger=0, grace=5, provides=["mcp:x"])
    assert told.supervision == Supervision(startup=0.0, stall=30.0, stagger=0.0, grace=5.0)
    assert sorted(told.provides) == ["mcp:x"]
    assert not claude().provides


@pytest.mark.parametrize("scenario", ["ok", "progress"])
def test_answer_is_the_structured_output(bench: Bench, scenario: str) -> None:
    bench = rule(bench, scenario=scenario, payload={"verdict": "x"})
    _, _, reading = bench.run(claude(), bench.request(claude()))
    assert (reading.status, reading.payload, reading.text) == ("answered", {"verdict": "x"}, "")
    assert reading.usage == BILLED


def test_prose_is_an_answer_where_prose_was_asked_for(bench: Bench) -> None:
    bench = rule(bench, scenario="ok", text="It is fine.")
    command, _, reading = bench.run(claude(), bench.request(claude(), schema=None))
    assert (reading.status, reading.payload, reading.text) == ("answered", None, "It is fine.")
    assert "--json-schema" not in command.argv


@pytest.mark.parametrize(("scenario", "reason"), FAILURES.items())
def test_every_failure_row(bench: Bench, scenario: str, reason: str) -> None:
    bench = rule(bench, scenario=scenario)
    _, output, reading = bench.run(claude(), bench.request(claude()))
    assert (reading.status, reading.reason) == ("failed", reason), output
    assert reading.message
    assert reason in reasons.CODES


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I looked and it is fine.", "no-answer"),
        ("The handler of /login answers 401 unauthorized for a used refresh token already.", "no-answer"),
        ("You've hit your usage limit", "quota-exhausted"),
        ('{"verdict": "x"}', "no-answer"),
    ],
)
def test_prose_beside_success_is_no_answer_to_a_schema(bench: Bench, text: str, reason: str) -> None:
    bench = rule(bench, scenario="ok", text=text)
    _, output, reading = bench.run(claude(), bench.request(claude()))
    assert (output.exit.code, reading.status, reading.reason) == (0, "failed", reason)


@pytest.mark.parametrize("scenario", ["http-429", "usage-limit", "max-turns"])
def test_an_error_beside_exit_status_0_is_one(bench: Bench, scenario: str) -> None:
    bench = rule(bench, scenario=scenario, end=0)
    _, output, reading = bench.run(claude(), bench.request(claude()))
    assert (output.exit.code, reading.reason) == (0, FAILURES[scenario])


@pytest.mark.parametrize("scenario", ["http-429", "max-turns", "slash", "silent-exit", "killed"])
def test_failures_are_failures_for_prose_too(bench: Bench, scenario: str) -> None:
    bench = rule(bench, scenario=scenario)
    _, output, reading = bench.run(claude(), bench.request(claude(), schema=None))
    assert reading.status == "failed", output


@pytest.mark.parametrize(
    ("scenario", "until", "code"),
    [("result-then-sleep", b"result", -15), ("hang", b"waiting", -15), ("signalled-success", b"waiting", 0)],
)
def test_what_we_end_is_never_an_answer(bench: Bench, scenario: str, until: bytes, code: int) -> None:
    bench = rule(bench, scenario=scenario)
    _, output, reading = bench.run(claude(), bench.request(claude()), stop_when=until)
    assert output.exit.code == code
    assert b'"subtype": "success"' in output.stdout or scenario == "hang"
    assert (reading.status, reading.reason) == ("failed", "timeout")


def test_billed_tokens_are_reported_of_a_failure_too(bench: Bench) -> None:
    bench = rule(bench, scenario="http-500")
    _, _, reading = bench.run(claude(), bench.request(claude()))
    assert reading.usage == BILLED


def told(event: dict[str, object], parent: str | None = None) -> bytes:
    return json.dumps({"type": "stream_event", "event": event, "parent_tool_use_id": parent}).encode() + b"\n"


def start(read: int, cached: int, parent: str | None = None) -> bytes:
    usage = {"input_tokens": read, "cache_read_input_tokens": cached, "output_tokens": 1}
    return told({"type": "message_start", "message": {"usage": usage}}, parent)


def delta(written: int, parent: str | None = None) -> bytes:
    return told({"type": "message_delta", "usage": {"output_tokens": written}}, parent)


@pytest.mark.parametrize(
    ("stdout", "usage"),
    [
        (b"", Usage()),
        (start(100, 20), Usage(120, 20, 1)),
        (start(100, 20) + delta(7) + delta(30), Usage(120, 20, 30)),
        (start(100, 20) + delta(30) + start(5, 115) + delta(9), Usage(240, 135, 39)),
        (start(100, 0) + start(50, 0, "sub") + delta(8, "sub") + delta(30), Usage(150, 0, 38)),
        (start(100, 20) + delta(30)[:-9], Usage(120, 20, 1)),
        (delta(30), Usage()),
        (json.dumps({"type": "assistant", "text": start(9, 9).decode()}).encode() + b"\n", Usage()),
        (told({"type": "message_start", "message": {"usage": {"input_tokens": -5}}}), Usage()),
    ],
)
@pytest.mark.parametrize("ended_by", ["timeout", "stall", ""])
def test_what_was_spent_before_a_dispatch_was_ended_is_told(
    stdout: bytes, usage: Usage, ended_by: str
) -> None:
    """Units that time out one after the other must not be free for a budget."""
    reading = claude().read(Output(Exit(-15 if ended_by else 1, ended_by), stdout, b""), bare_request())
    assert (reading.status, reading.usage) == ("failed", usage)


def test_prompt_goes_to_stdin_whole(bench: Bench) -> None:
    bench = rule(bench, scenario="ok")
    prompt = "Review é\n" + "x" * 300_000
    command, _, _ = bench.run(claude(), bench.request(claude(), prompt))
    assert calls(bench.root / "bin")[0]["prompt"] == prompt
    assert not [word for word in command.argv if "xxx" in word]


def test_command_line_of_a_review(bench: Bench) -> None:
    executor = claude(effort="xhigh", args=["--max-turns", "9"])
    command = executor.command(bench.request(executor, located=FAKE))
    given = options(command.argv)
    assert command.argv[:2] == ("/opt/program", "-p")
    assert command.argv[-2:] == ("--max-turns", "9")
    assert command.cwd == bench.tree
    assert given["--model"] == ["sonnet"]
    assert given["--effort"] == ["xhigh"]
    assert given["--setting-sources"] == [""]
    assert given["--tools"] == ["Read,Grep,Glob"]
    assert given["--permission-mode"] == ["dontAsk"]
    assert "$schema" not in json.loads(given["--json-schema"][0])
    assert json.loads(given["--json-schema"][0])["required"] == SCHEMA["required"]
    assert given["--output-format"] == ["stream-json"]
    assert {"--verbose", "--include-partial-messages"} <= set(given)
    assert {"--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"} <= set(given)
    assert executor.identity.startswith("sonnet effort:xhigh args:")


@pytest.mark.parametrize(("access", "bash"), [("read", False), ("run", False), ("full", True)])
def test_only_full_access_brings_a_shell(bench: Bench, access: str, bash: bool) -> None:
    command = claude().command(bench.request(claude(), access=access, located=FAKE))
    assert any("Bash" in word for word in command.argv) == bash
    assert any("Write" in word for word in command.argv) == bash


def test_a_schema_too_large_for_argv_is_said(bench: Bench) -> None:
    schema = {"enum": ["x" * 121_000]}
    with pytest.raises(BriefError, match=r"(?s)121.*120000.*remedy"):
        claude().command(bench.request(claude(), schema=schema, located=FAKE))


def test_child_sees_its_own_vendors_names_only(bench: Bench) -> None:
    bench = rule(bench, scenario="ok")
    bench.env |= {
        "ANTHROPIC_API_KEY": "a",
        "OPENAI_API_KEY": "o",
        "AWS_SECRET": "s",
        "MINE": "m",
        "API_TIMEOUT_MS": "9",
    }
    executor = claude(env=["MINE"])
    bench.run(executor, bench.request(executor))
    seen = calls(bench.root / "bin")[0]["env"]
    assert (seen["ANTHROPIC_API_KEY"], seen["MINE"], seen["HOME"]) == ("a", "m", bench.env["HOME"])
    assert not {"OPENAI_API_KEY", "AWS_SECRET"} & set(seen)
    assert seen["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert seen["API_TIMEOUT_MS"] == "120000"
    assert Path(seen["TMPDIR"]).is_relative_to(bench.root / "units")


def test_another_vendors_key_cannot_be_configured() -> None:
    with pytest.raises(ConfigError, match=r"(?s)executor.sonnet.*OPENAI_API_KEY.*remedy"):
        claude(env=["OPENAI_API_KEY"])


def envelope(**fields: object) -> bytes:
    base = {"type": "result", "subtype": "success", "is_error": False, "structured_output": {"verdict": "x"}}
    return json.dumps({k: v for k, v in {**base, **fields}.items() if v is not ...}).encode()


GOOD = envelope()
MESSAGE = b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "{\\"verdict\\": 1}"}]}}\n'
RETRY = b'{"type": "system", "subtype": "api_retry"}\n'
BIG = envelope(structured_output={"verdict": "y" * 70_000}, terminal_reason="completed")


@pytest.mark.parametrize(
    ("stdout", "finished"),
    [
        (b"", False),
        (RETRY * 9, False),
        (MESSAGE, False),
        (RETRY + GOOD + b"\n", True),
        (RETRY + GOOD, False),
        (RETRY + GOOD + b"\n" + RETRY, True),
        (RETRY + GOOD + b"\n" + MESSAGE, False),
        (envelope(is_error=True) + b"\n", True),
        (BIG.replace(b": ", b":") + b"\n", True),
        (BIG.replace(b": ", b":")[:-1] + b"\n", False),
        (BIG.replace(b"terminal_reason", b"terminal").replace(b": ", b":") + b"\n", False),
        (MESSAGE.replace(b"verdict", b"v" * 70_000).replace(b": ", b":"), False),
        (b"\xff\n" * 9, False),
        (b"[" * 60_000 + b"\n", False),
    ],
)
def test_what_a_running_dispatch_gives_away(stdout: bytes, finished: bool) -> None:
    seen = Seen({"tail": len(stdout)}, stdout[-65_536:], b"")
    assert claude().sign(seen) == Sign("finished" if finished else "")


@pytest.mark.parametrize(
    ("stdout", "answered"),
    [
        (GOOD, True),
        (b"\xef\xbb\xbf" + GOOD + b"\n\n", True),
        (b'a warning\n{"type":"system"}\n' + GOOD, True),
        (envelope(structured_output=...), False),
        (envelope(structured_output=None, result='{"verdict": "x"}'), False),
        (envelope(structured_output=[1]), False),
        (envelope(structured_output="x"), False),
        (envelope(is_error=True), False),
        (envelope(is_error=...), False),
        (envelope(is_error=0), False),
        (envelope(is_error="false"), False),
        (envelope(type="system"), False),
        (GOOD[:-9], False),
        (GOOD[:-1] + b', "n": NaN}', False),
        (GOOD + GOOD, False),
        (b"[\n" + GOOD + b"\n", True),
        (GOOD + b"\n" + envelope(is_error=True) + b"\n", False),
        (envelope(is_error=True) + b"\n" + GOOD + b"\n", True),
        (GOOD + b'\n{"type":"result","is_err', True),
        (GOOD + b'\n{"type":"system"}\n' * 99, True),
        (b'half of an event"}\n' + GOOD + b"\n", True),
        (envelope(structured_output={"verdict": "a\u2028b"}).replace(b"\\u2028", b"\xe2\x80\xa8"), True),
        (json.dumps(json.loads(GOOD), indent=1).encode(), True),
        (MESSAGE, False),
        (b"\0" * 70_000, False),
        (b"[" * 200_000, False),
        (b'{"a":' * 100_000, False),
        (b'{"type": "result", "n": ' + b"9" * 6000 + b"}", False),
        (b"\x9d\xb0\xa1" + GOOD, False),
        (b"", False),
    ],
)
def test_what_counts_as_an_answer(stdout: bytes, answered: bool) -> None:
    reading = claude().read(Output(Exit(0), stdout, b""), bare_request())
    assert reading.status == ("answered" if answered else "failed")
    assert reading.reason in reasons.CODES
    assert answered or reading.message


def test_a_cut_result_says_which_bytes_were_kept() -> None:
    output = Output(
        Exit(0), b'{"type": "result", "result": "' + b"x" * 9000, b"", cut="stdout: the first 9,030 bytes"
    )
    reading = claude().read(output, bare_request())
    assert (reading.status, reading.reason) == ("failed", "no-answer")
    assert "the first 9,030 bytes" in reading.message


def test_the_last_event_of_a_stream_that_was_cut_at_its_front_is_whole() -> None:
    kept = b'rest of a piece"}\n' + RETRY + GOOD + b"\n"
    reading = claude().read(
        Output(Exit(0), kept, b"", cut="tail: kept the last 33,554,432 bytes"), bare_request()
    )
    assert (reading.status, reading.payload) == ("answered", {"verdict": "x"})


@pytest.mark.parametrize("ended_by", ["timeout", "cancelled", "lost", "spawn"])
def test_no_way_of_ending_it_gives_an_answer(ended_by: str) -> None:
    reading = claude().read(Output(Exit(0, ended_by), GOOD, b""), bare_request())
    assert reading.status == "failed"
    assert reading.reason == ("spawn-failed" if ended_by == "spawn" else ended_by)


ENVELOPES = st.fixed_dictionaries(
    {"type": st.just("result"), "is_error": st.booleans() | JSON},
    optional={
        "subtype": st.sampled_from(["success", "error_max_turns"]) | JSON,
        "result": TEXT | JSON,
        "errors": st.lists(TEXT | JSON, max_size=2) | JSON,
        "structured_output": st.fixed_dictionaries({"verdict": TEXT}) | JSON,
        "api_error_status": st.sampled_from([400, 429]) | JSON,
        "total_cost_usd": JSON,
        "num_turns": JSON,
        "modelUsage": st.dictionaries(TEXT, st.fixed_dictionaries({"inputTokens": JSON}) | JSON, max_size=2)
        | JSON,
    },
)


@given(
    ENVELOPES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60),
    st.binary(max_size=40),
    st.sampled_from([0, 1, 143, -9, None]),
    st.booleans(),
)
def test_hostile_output_never_raises(stdout: bytes, stderr: bytes, code: int | None, prose: bool) -> None:
    reading = claude().read(Output(Exit(code), stdout, stderr), bare_request(prose))
    assert claude().sign(Seen({}, stdout + b"\n", stderr)).kind in ("", "finished")
    assert reading.status in ("answered", "failed")
    assert reading.reason in reasons.CODES
    assert (reading.status == "answered") == (reading.reason == "ok")
    assert reading.message.isprintable()
    if reading.status == "answered":
        assert code == 0
        assert json.loads(stdout)["is_error"] is False


def test_a_question_with_sources_gets_the_web(bench: Bench) -> None:
    request = bench.request(claude(), access="full", located=FAKE)
    brief = replace(request.unit.brief, contract=Contract(sources=True))
    with_web = claude().command(replace(request, unit=replace(request.unit, brief=brief))).argv
    without = claude().command(request).argv
    assert with_web[with_web.index("--tools") + 1].endswith("WebFetch,WebSearch")
    assert {"WebFetch", "WebSearch"} <= set(with_web[with_web.index("--allowedTools") :])
    assert "Web" not in " ".join(without[without.index("--tools") :])


def test_the_change_beside_is_a_directory_of_its_own_and_swallows_no_option(bench: Bench) -> None:
    request = bench.request(claude(), located=FAKE)
    argv = claude(args=["--max-turns", "9"]).command(replace(request, beside=bench.root / "beside")).argv
    at = argv.index("--add-dir")
    assert argv[at + 1] == str(bench.root / "beside")
    assert argv[at + 2].startswith("--")
    assert "--add-dir" not in claude().command(request).argv


@pytest.mark.parametrize("contained", [False, True])
@pytest.mark.parametrize("key", [{}, {"ANTHROPIC_API_KEY": "k"}, {"CLAUDE_CODE_OAUTH_TOKEN": "t"}])
def test_a_contained_one_with_a_key_gets_an_empty_home(
    bench: Bench, key: dict[str, str], contained: bool
) -> None:
    home = bench.root / "home"
    (home / ".claude").mkdir()
    (home / ".claude.json").write_text("{}")
    bench.env |= key
    command = claude().command(replace(bench.request(claude(), located=FAKE), contained=contained))
    if contained and key:
        assert Path(command.env["HOME"]).is_relative_to(bench.root / "state")
        assert Path(command.env["CLAUDE_CONFIG_DIR"]).is_relative_to(command.env["HOME"])
        assert command.writable == ()
    else:
        assert command.env["HOME"] == str(home)
        assert command.writable == ((home / ".claude", home / ".claude.json") if contained else ())


def test_a_configured_folder_takes_the_place_of_the_home(bench: Bench) -> None:
    folder = bench.root / "configured"
    folder.mkdir()
    bench.env["CLAUDE_CONFIG_DIR"] = str(folder)
    command = claude().command(replace(bench.request(claude(), located=FAKE), contained=True))
    assert (command.env["CLAUDE_CONFIG_DIR"], command.writable) == (str(folder), (folder,))
