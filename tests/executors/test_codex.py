"""codex: command line, homes, and every failure row, with a stand-in that replays the real streams."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.config import load
from prun_review.errors import ConfigError, LaunchError
from prun_review.executors import reasons
from prun_review.executors.codex import Codex
from prun_review.model import Contract, Exit, Usage
from prun_review.ports import Output, Seen, Sign, Supervision
from tests.executors.driving import FAKE, JSON, Bench, bare_request, calls, options, stand_in, with_path

BILLED = Usage(input_tokens=120, cached_tokens=20, output_tokens=30)

ANSWERS = ["ok", "tool", "warning", "progress"]
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
    "server-error": "network",
    "idle": "network",
    "refused": "network",
    "malformed": "network",
    "invalid-prompt": "bad-request",
    "output-limit": "turn-limit",
    "no-key": "not-logged-in",
    "expired": "not-logged-in",
    "refresh-race": "refresh-token-race",
    "sandbox": "sandbox",
    "bad-flag": "bad-request",
    "no-dir": "unknown",
    "no-input": "unknown",
    "prompt-too-long": "prompt-too-long",
    "panic": "unknown",
    "quota-stderr": "quota-exhausted",
    "quota-stdout": "quota-exhausted",
    "disk-full": "disk-full",
    "silent-exit": "unknown",
    "empty": "no-answer",
    "killed": "killed",
    "no-end": "no-answer",
    "no-message": "no-answer",
    "null-message": "no-answer",
    "cut-at-64k": "no-answer",
    "failed-after-all": "network",
    "exit-1": "unknown",
}


def codex(**fields: object) -> Codex:
    return Codex.configured(load({"executor": {"codex": fields}}).executor("codex"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_how_a_dispatch_is_watched_and_what_it_provides() -> None:
    assert codex().supervision == Supervision(startup=120.0, stall=None, stagger=0.25, grace=20.0)
    told = codex(startup=0, stall=30, stagger=0, grace=5, provides=["mcp:x"])
    assert told.supervision == Supervision(startup=0.0, stall=30.0, stagger=0.0, grace=5.0)
    assert sorted(told.provides) == ["mcp:x"]
    assert not codex().provides


@pytest.mark.parametrize("scenario", ANSWERS)
def test_answer_is_the_last_message_of_a_completed_turn(bench: Bench, scenario: str) -> None:
    folder = stand_in(bench.root / "bin", "codex", {"scenario": scenario, "payload": {"verdict": "last"}})
    bench = with_path(bench, folder)
    executor = codex()
    _, _, reading = bench.run(executor, bench.request(executor))
    assert (reading.status, reading.reason) == ("answered", "ok")
    assert json.loads(reading.text) == {"verdict": "last"}
    assert reading.payload is None
    assert reading.usage == BILLED


@pytest.mark.parametrize(("scenario", "reason"), FAILURES.items())
def test_every_failure_row(bench: Bench, scenario: str, reason: str) -> None:
    bench = with_path(bench, stand_in(bench.root / "bin", "codex", {"scenario": scenario}))
    executor = codex()
    _, output, reading = bench.run(executor, bench.request(executor))
    assert (reading.status, reading.reason) == ("failed", reason), output
    assert reading.message
    assert reason in reasons.CODES


@pytest.mark.parametrize("scenario", ["http-429", "quota", "usage-limit"])
def test_a_failed_turn_beside_exit_status_0_is_a_failure(bench: Bench, scenario: str) -> None:
    rules = {"scenario": scenario, "end": 0}
    bench = with_path(bench, stand_in(bench.root / "bin", "codex", rules))
    _, output, reading = bench.run(codex(), bench.request(codex()))
    assert (output.exit.code, reading.reason) == (0, FAILURES[scenario])


def test_a_notice_in_the_place_of_the_answer_is_none(bench: Bench) -> None:
    rules = {"scenario": "ok", "text": "You've hit your usage limit. Try again in 3 hours."}
    bench = with_path(bench, stand_in(bench.root / "bin", "codex", rules))
    _, _, reading = bench.run(codex(), bench.request(codex()))
    assert (reading.status, reading.reason, reading.retry_after) == ("failed", "quota-exhausted", 10800.0)


def test_message_of_a_raw_error_body_is_the_sentence_inside(bench: Bench) -> None:
    bench = with_path(bench, stand_in(bench.root / "bin", "codex", {"scenario": "http-400"}))
    _, _, reading = bench.run(codex(), bench.request(codex()))
    assert reading.message == "Invalid schema for response_format"


@pytest.mark.parametrize(
    ("scenario", "until", "said"),
    [
        ("result-then-sleep", b"turn.completed", "time limit"),
        ("signalled-success", b"turn.started", "time limit"),
        ("network", b"waiting for network", "waiting for network"),
        ("hang", b"turn.started", "time limit"),
    ],
)
def test_what_we_end_is_never_an_answer(bench: Bench, scenario: str, until: bytes, said: str) -> None:
    bench = with_path(bench, stand_in(bench.root / "bin", "codex", {"scenario": scenario}))
    _, _, reading = bench.run(codex(), bench.request(codex()), stop_when=until)
    assert (reading.status, reading.reason) == ("failed", "timeout")
    assert said in reading.message


def test_prompt_goes_to_stdin_whole_and_the_answer_does_not_echo_it(bench: Bench) -> None:
    folder = stand_in(bench.root / "bin", "codex", {"scenario": "ok"})
    bench = with_path(bench, folder)
    prompt = "Review é\n" + "x" * 300_000
    command, _, _ = bench.run(codex(), bench.request(codex(), prompt))
    assert calls(folder)[0]["prompt"] == prompt
    assert max(map(len, command.argv)) < 4096


def test_command_line_of_a_review(bench: Bench) -> None:
    executor = codex(model="gpt-x", effort="xhigh", args=["-c", "a=1"])
    request = bench.request(executor, located=FAKE)
    command = executor.command(request)
    given = options(command.argv)
    assert command.argv[:2] == ("/opt/program", "exec")
    assert command.argv[-3:] == ("-c", "a=1", "-")
    assert given["-C"] == [str(bench.tree)]
    assert given["-m"] == ["gpt-x"]
    assert "-s" not in given, "codex would prefer it to the permission profile"
    assert 'default_permissions="prun-review"' in given["-c"]
    assert 'web_search="disabled"' in given["-c"]
    assert "project_doc_max_bytes=0" in given["-c"]
    assert "model_reasoning_effort=xhigh" in given["-c"]
    assert {"--json", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--strict-config"} <= set(
        given
    )
    assert json.loads(command.files["schema.json"])["required"] == ["verdict"]
    assert executor.identity.startswith("gpt-x effort:xhigh args:")


def test_without_model_effort_and_schema_the_options_are_left_out(bench: Bench) -> None:
    executor = codex()
    command = executor.command(bench.request(executor, schema=None, located=FAKE))
    assert not {"-m", "--output-schema"} & set(command.argv)
    assert "reasoning" not in " ".join(command.argv)
    assert command.files == {}
    assert executor.identity == "default effort:default"


def profile(argv: Sequence[str]) -> dict[str, Any]:
    """The permission profile on a command line."""
    given = [tomllib.loads(word) for word in options(argv)["-c"] if word.startswith("permissions.")]
    found: dict[str, Any] = {}
    for table in given:
        found |= table["permissions"]["prun-review"]
    return found


@pytest.mark.parametrize("contained", [False, True])
@pytest.mark.parametrize("access", ["read", "run", "full"])
def test_the_shell_sees_what_access_and_containment_allow(bench: Bench, access: str, contained: bool) -> None:
    (bench.root / "home" / ".ssh").mkdir()
    beside = bench.root / 'it\'s "beside" é'
    request = bench.request(codex(), access=access, located=FAKE)
    command = codex().command(replace(request, beside=beside, contained=contained))
    rules = profile(command.argv)["filesystem"]
    assert rules[":minimal"] == rules[str(beside)] == "read"
    disk = access == "full" and not contained
    assert rules.get(":root") == ("read" if disk else None)
    assert rules.get(str(bench.root / "home" / ".ssh")) == ("deny" if disk else None)
    assert rules.get(":tmpdir") == ("write" if access == "full" else None)
    assert rules[":workspace_roots"] == {".": "write" if disk else "read"}
    assert profile(command.argv)["network"] == {"enabled": False}
    assert 'web_search="disabled"' in command.argv
    (told,) = [word for word in command.argv if word.startswith("shell_environment_policy.include_only=")]
    names = tomllib.loads(told)["shell_environment_policy"]["include_only"]
    assert "PRUN_DISPATCH" in names
    assert not [name for name in names if "KEY" in name or "TOKEN" in name or "PROXY" in name]


def test_a_question_with_sources_gets_the_web(bench: Bench) -> None:
    request = bench.request(codex(), access="full", located=FAKE)
    brief = replace(request.unit.brief, contract=Contract(sources=True))
    command = codex().command(replace(request, unit=replace(request.unit, brief=brief)))
    assert 'web_search="disabled"' not in command.argv
    assert 'web_search="live"' in command.argv
    assert profile(command.argv)["network"] == {"enabled": True}


def test_homes_are_clean_private_and_hold_the_login_as_a_link(bench: Bench) -> None:
    login = bench.root / "home" / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text("{}")
    (login.parent / "config.toml").write_text("[mcp_servers.x]\ncommand='x'\n")
    for _ in range(2):
        command = codex().command(bench.request(codex(), located=FAKE))
    home = Path(command.env["CODEX_HOME"])
    assert [p.name for p in home.iterdir()] == ["auth.json"]
    assert (home / "auth.json").readlink() == login
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert Path(command.env["HOME"]).is_relative_to(bench.root / "state")
    assert Path(command.env["TMPDIR"]).is_dir()


def test_a_state_folder_that_cannot_be_made_fails_the_unit(bench: Bench) -> None:
    (bench.root / "state").rmdir()
    (bench.root / "state").write_text("in the way")
    with pytest.raises(LaunchError, match=r"(?s)state/home.*remedy"):
        codex().command(bench.request(codex(), located=FAKE))


def test_child_sees_its_own_vendors_names_only(bench: Bench) -> None:
    folder = stand_in(bench.root / "bin", "codex", {"scenario": "ok"})
    bench = with_path(bench, folder, "relative/bin", bench.tree)
    bench.env |= {
        "ANTHROPIC_API_KEY": "a",
        "CODEX_API_KEY": "c",
        "AWS_SECRET": "s",
        "MINE": "m",
        "HTTPS_PROXY": "p",
    }
    executor = codex(env=["MINE"])
    bench.run(executor, bench.request(executor))
    seen = calls(folder)[0]["env"]
    assert {seen["CODEX_API_KEY"], seen["MINE"], seen["HTTPS_PROXY"], seen["TERM"]} == {"c", "m", "p", "dumb"}
    assert not {"ANTHROPIC_API_KEY", "AWS_SECRET"} & set(seen)
    assert "relative/bin" not in seen["PATH"]
    assert str(bench.tree) not in seen["PATH"]


def test_another_vendors_key_cannot_be_configured() -> None:
    with pytest.raises(ConfigError, match=r"(?s)executor.codex.*ANTHROPIC_API_KEY.*remedy"):
        codex(env=["ANTHROPIC_API_KEY"])


def event(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


DONE = event(type="turn.completed", usage={"input_tokens": 1})
SAID = event(type="item.completed", item={"type": "agent_message", "text": '{"verdict": "x"}'})


@pytest.mark.parametrize(
    ("stdout", "files", "cut", "text"),
    [
        (SAID + DONE, {}, "", '{"verdict": "x"}'),
        (b"\xef\xbb\xbf" + SAID + b"not json\n{\n" + DONE, {}, "", '{"verdict": "x"}'),
        (DONE, {"last.json": b'{"verdict": "f"}'}, "", '{"verdict": "f"}'),
        (DONE, {"last.json": b'{"verdict": "f"}'}, "kept the last 9 bytes", '{"verdict": "f"}'),
        (DONE, {"last.json": b'{"verdict": "f'}, "kept the first 9 bytes", None),
        (event(type="item.completed", item={"type": "agent_message", "text": None}) + DONE, {}, "", None),
        (SAID + event(type="turn.failed", error={"message": "x"}), {}, "", None),
        (SAID + event(type="turn.completed") + event(type="turn.failed"), {}, "", None),
        (SAID, {"last.json": b'{"verdict": "x"}'}, "", None),
        (b"", {}, "", None),
    ],
)
def test_which_text_is_the_answer(
    bench: Bench, stdout: bytes, files: dict[str, bytes], cut: str, text: str | None
) -> None:
    request = bench.request(codex(), located=FAKE)
    reading = codex().read(Output(Exit(0), stdout, b"", files, cut), request)
    assert (reading.text or None, reading.status) == (text, "answered" if text else "failed")


def test_prose_from_a_cut_stream_is_no_answer(bench: Bench) -> None:
    request = bench.request(codex(), schema=None, located=FAKE)
    reading = codex().read(Output(Exit(0), DONE, b"", {"last.json": b"half a sen"}, "kept 10 bytes"), request)
    assert (reading.status, reading.reason) == ("failed", "no-answer")
    assert "kept 10 bytes" in reading.message


@pytest.mark.parametrize("ended_by", ["timeout", "cancelled", "lost", "spawn"])
def test_no_way_of_ending_it_gives_an_answer(bench: Bench, ended_by: str) -> None:
    request = bench.request(codex(), located=FAKE)
    reading = codex().read(Output(Exit(0, ended_by), SAID + DONE, b""), request)
    assert reading.status == "failed"
    assert reading.reason == ("spawn-failed" if ended_by == "spawn" else ended_by)


WAITING = event(type="error", message="Reconnecting... waiting for network (Connection failed)")
STARTED = event(type="turn.started")


@pytest.mark.parametrize(
    ("stdout", "sign"),
    [
        (b"", Sign()),
        (STARTED, Sign()),
        (SAID, Sign()),
        (SAID + DONE, Sign("finished")),
        (SAID + DONE.rstrip(), Sign()),
        (SAID + DONE + STARTED, Sign()),
        (SAID + event(type="turn.failed", error={"message": "x"}), Sign("finished")),
        (event(type="error", message="x"), Sign()),
        (WAITING * 2, Sign()),
        (STARTED + WAITING * 3, Sign("hopeless", "network")),
        (WAITING * 3 + WAITING[:9], Sign()),
        (WAITING * 9 + STARTED, Sign()),
        (WAITING + STARTED + WAITING * 2, Sign()),
        (event(type="item.completed", item={"text": "waiting for network"}) * 3, Sign()),
        (b'"turn.completed"}\n' * 3, Sign()),
        (b"\xff\n" * 9, Sign()),
        (b"[" * 60_000 + b"\n" + SAID + DONE, Sign("finished")),
        (DONE + b"[" * 60_000 + b"\n", Sign()),
    ],
)
def test_what_a_running_dispatch_gives_away(stdout: bytes, sign: Sign) -> None:
    assert codex().sign(Seen({"tail": len(stdout)}, stdout, b"")) == sign


WORDS = st.sampled_from(["turn.completed", "turn.failed", "item.completed", "error", "agent_message", "x"])
EVENTS = st.fixed_dictionaries(
    {"type": WORDS | JSON},
    optional={
        "usage": st.fixed_dictionaries({"input_tokens": JSON, "output_tokens": JSON}) | JSON,
        "error": st.fixed_dictionaries({"message": JSON}) | JSON,
        "message": JSON,
        "item": st.fixed_dictionaries({"type": WORDS | JSON, "text": JSON}) | JSON,
    },
)
LINES = EVENTS.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40)


@given(
    st.lists(LINES, max_size=6),
    st.binary(max_size=40),
    st.sampled_from([0, 1, 2, 101, -9, None]),
    st.booleans(),
)
def test_hostile_output_never_raises(lines: list[bytes], other: bytes, code: int | None, prose: bool) -> None:
    executor = codex()
    reading = executor.read(
        Output(Exit(code), b"\n".join(lines), other, {"last.json": other}), bare_request(prose)
    )
    assert executor.sign(Seen({}, b"\n".join(lines) + b"\n", other)).kind in ("", "finished", "hopeless")
    assert reading.status in ("answered", "failed")
    assert reading.reason in reasons.CODES
    assert (reading.status == "answered") == (reading.reason == "ok")
    assert reading.message.isprintable()
    if code != 0:
        assert reading.status == "failed"


@pytest.mark.parametrize(
    "bomb", [b"[" * 200_000, b'{"a":' * 100_000, b'{"n": ' + b"9" * 6000 + b"}", b"\0" * 70_000]
)
def test_bombs_are_passed_over(bomb: bytes) -> None:
    reading = codex().read(Output(Exit(0), bomb + b"\n" + SAID + DONE, bomb), bare_request(False))
    assert reading.text == '{"verdict": "x"}'
