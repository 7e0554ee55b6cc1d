"""command: any argv template as an executor; the commands here are real shell scripts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.config import load
from prun_review.errors import BriefError, ConfigError
from prun_review.executors import environment, reasons
from prun_review.executors.command import AnyCommand
from prun_review.model import Exit
from prun_review.ports import Located, Missing, Output, Seen, Sign, Supervision
from tests.executors.driving import FAKE, SCHEMA, Bench, bare_request

ORIGIN = {"vendor": "acme", "lineage": "roadrunner"}


def command(*argv: str, **fields: object) -> AnyCommand:
    table = {"type": "command", "argv": list(argv), **ORIGIN, **fields}
    return AnyCommand.configured(load({"executor": {"third": table}}).executor("third"))


def script(bench: Bench, body: str) -> str:
    path = bench.root / "third"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("body", "status", "reason", "said"),
    [
        ("cat", "answered", "ok", ""),
        ("cat; exit 3", "failed", "unknown", "exit status 3"),
        ("cat >&2; exit 1", "failed", "unknown", "the prompt"),
        ("echo '429 Too Many Requests' >&2; exit 1", "failed", "rate-limited", "429"),
        ("echo 'You have hit your usage limit'", "failed", "quota-exhausted", "usage limit"),
        ("echo 'usage limit' >&2", "failed", "quota-exhausted", "usage limit"),
        ("true", "failed", "no-answer", "empty"),
        ("printf '  \\n'", "failed", "no-answer", "empty"),
        ("kill -9 $$", "failed", "killed", "out of memory"),
        ("exit 137", "failed", "killed", "out of memory"),
        ("echo 'rate limited, retry-after: 7' >&2; exit 1", "failed", "rate-limited", "7"),
        ("echo 'line 404 of the /login handler' >&2; exit 1", "failed", "unknown", "404"),
        ("echo 'The login answers 429 for a used refresh token already.'", "answered", "ok", ""),
    ],
)
def test_exit_status_and_stdout_decide(bench: Bench, body: str, status: str, reason: str, said: str) -> None:
    executor = command(script(bench, body))
    _, _, reading = bench.run(executor, bench.request(executor, "the prompt {}"))
    assert (reading.status, reading.reason) == (status, reason)
    assert said in reading.message
    assert ("the prompt {}" in reading.text or "The login" in reading.text) == (status == "answered")


HEADER = {"conclusion": "c", "files": "f", "open_items": "o", "verification": "v"}
WHOLE = json.dumps({**HEADER, "findings": []}).encode()
FENCED = b"# u result\nConclusion: c\n\nText.\n\n```json\n" + WHOLE + b"\n```"


@pytest.mark.parametrize(
    ("stdout", "before", "finished"),
    [
        (WHOLE, 0, True),
        (WHOLE + b"\n\n", 0, True),
        (WHOLE, 9, False),
        (WHOLE[:-1], 0, False),
        (b'{"progress": 1}', 0, False),
        (b"so far: " + WHOLE, 0, False),
        (FENCED, 0, True),
        (FENCED, 999_999, True),
        (FENCED[:-3], 0, False),
        (FENCED[:-2], 0, False),
        (FENCED + b"\nMore follows", 0, False),
        (FENCED.replace(b"json", b"text"), 0, False),
        (b"```json\n{}\n```", 0, False),
        (b"```", 0, False),
        (b"}" * 60_000, 0, False),
        (b"\xff}", 0, False),
        (b'{"a":' * 9_000 + b"}", 0, False),
    ],
)
def test_only_a_whole_answer_of_our_contracts_is_a_finished_one(
    stdout: bytes, before: int, finished: bool
) -> None:
    seen = Seen({"tail": len(stdout) + before}, stdout, b"")
    assert command("third").sign(seen) == Sign("finished" if finished else "")
    assert command("third", "{out}").sign(seen) == Sign()


def test_how_a_dispatch_is_watched_and_what_it_provides() -> None:
    assert command("third").supervision == Supervision(startup=0.0, stall=None, stagger=0.0, grace=20.0)
    told = command("third", startup=9, stall=0, stagger=1, grace=5, provides=["mcp:x"])
    assert told.supervision == Supervision(startup=9.0, stall=0.0, stagger=1.0, grace=5.0)
    assert sorted(told.provides) == ["mcp:x"]
    assert not command("third").provides


def test_placeholders_are_filled_and_other_braces_stay(bench: Bench) -> None:
    program = script(bench, 'cat >/dev/null; printf "%s|" "$@"; cat "$4"; pwd')
    executor = command(program, "-C{tree}", "--model", "{model}", "{schema}", '{"a": 1}', model="m-1")
    request = bench.request(executor)
    _, _, reading = bench.run(executor, request)
    *words, rest = reading.text.split("|")
    assert words == [f"-C{bench.tree}", "--model", "m-1", str(request.out / "schema.json"), '{"a": 1}']
    assert rest == f"{environment.sent(SCHEMA)}{bench.tree}\n"


def test_the_change_is_a_directory_or_nothing(bench: Bench) -> None:
    executor = command(script(bench, 'cat >/dev/null; printf "<%s>" "$1"'), "{change}")
    request = bench.request(executor, schema=None)
    assert bench.run(executor, request)[2].text == "<>"
    assert bench.run(executor, replace(request, beside=bench.root))[2].text == f"<{bench.root}>"


def test_an_answer_file_wins_over_stdout_where_it_is_named(bench: Bench) -> None:
    executor = command(script(bench, 'echo progress; printf answer > "$1"'), "{out}")
    _, _, reading = bench.run(executor, bench.request(executor, schema=None))
    assert reading.text == "answer"
    executor = command(script(bench, "echo progress"), "{out}")
    _, _, reading = bench.run(executor, bench.request(executor, schema=None))
    assert (reading.status, reading.reason) == ("failed", "no-answer")


def test_child_gets_no_key_that_is_not_listed(bench: Bench) -> None:
    bench.env |= {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "ACME_KEY": "k"}
    executor = command(script(bench, "env"), env=["ACME_KEY"])
    _, _, reading = bench.run(executor, bench.request(executor, schema=None))
    seen = dict(line.split("=", 1) for line in reading.text.splitlines())
    assert seen["ACME_KEY"] == "k"
    assert not {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} & set(seen)


def test_a_schema_is_needed_where_the_template_names_one(bench: Bench) -> None:
    executor = command("third", "{schema}")
    assert executor.contracts == {"findings", "choice"}
    with pytest.raises(BriefError, match=r"(?s)third takes a schema.*prose.*remedy"):
        executor.command(bench.request(executor, schema=None, located=FAKE))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, r"needs its argv.*remedy: argv ="),
        ({"argv": ["{model}"], "model": "m"}, r"begins with '\{model\}'.*absolute"),
        ({"argv": ["./third"]}, r"begins with './third'.*absolute"),
        ({"argv": ["third", "{tre}"]}, r"unknown placeholder \{tre\}.*\{tree\}"),
        ({"argv": ["third", "{model}"]}, r"no model is set.*model ="),
        ({"argv": ["third"], "vendor": ""}, r"needs its vendor.*corroborate"),
        ({"argv": ["third"], "lineage": ""}, r"needs its lineage.*corroborate"),
    ],
)
def test_a_table_that_cannot_work_is_said(table: dict[str, object], words: str) -> None:
    config = load({"executor": {"third": {"type": "command", **ORIGIN, **table}}})
    with pytest.raises(ConfigError, match=rf"(?s)\[tool.prun_review.executor.third\].*{words}"):
        AnyCommand.configured(config.executor("third"))


def test_program_is_found_on_path_or_where_it_is_configured(bench: Bench) -> None:
    program = script(bench, "true")
    env = {"PATH": f"/usr/bin:{bench.root}"}
    assert command("third").locate(env, ()) == Located((program,), "PATH")
    assert command("other", path=program).locate(env, ()) == Located((program,), "configured")
    missing = command("third").locate({"PATH": "/usr/bin"}, ())
    assert isinstance(missing, Missing)
    assert "third" in missing.why
    assert "[tool.prun_review.executor.third]" in missing.remedy


@given(
    st.binary(max_size=60),
    st.binary(max_size=60),
    st.sampled_from([0, 1, -15, None]),
    st.sampled_from(["", "timeout", "cancelled", "lost", "spawn", "output", "stall", "startup", "network"]),
    st.sampled_from(["", "kept the first 60 bytes"]),
)
def test_hostile_output_never_raises(
    out: bytes, err: bytes, code: int | None, ended_by: str, cut: str
) -> None:
    reading = command("third").read(Output(Exit(code, ended_by), out, err, {}, cut), bare_request(True))
    assert reading.reason in reasons.CODES
    assert reading.message.isprintable()
    assert (reading.status == "answered") == (reading.reason == "ok")
    if reading.status == "answered":
        assert (code, ended_by, cut) == (0, "", "")
