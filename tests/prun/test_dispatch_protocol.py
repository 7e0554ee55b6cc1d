"""``dispatch``, line by line: output, exit status, state directory, what the worker gets, FALLBACK."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.errors import PrunError
from prun_review.prun import announce, statedir
from prun_review.prun.task import Task, dispatch
from tests.prun.kit import FALLBACK, RESULT, Desk, command, landed

WRITES = f"""printf '%s' '{RESULT}' > "$RESULT"; echo "said so" """


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_result_is_kept_and_one_line_tells_the_state_directory(desk: Desk) -> None:
    began = int(time.time())
    done = desk.dispatch(
        WRITES, env={"MARK": "of the caller", "ANTHROPIC_API_KEY": "k", "CODEX_API_KEY": "c"}
    )
    state = desk.state
    assert (done.returncode, done.stdout) == (0, f"STATE-DIR {state}\n")
    assert done.stderr.splitlines()[-1] == "said so"
    assert desk.result.read_text() == RESULT

    origin = hashlib.sha256(f"{desk.folder}\n".encode()).hexdigest()[:8]
    assert re.fullmatch(rf"prun-task-{origin}-u1-\d+-[0-9a-f]{{16}}", state.name)
    assert (state / "pre-mtime").read_text() == "0\n"
    assert began <= int((state / "timestamp").read_text()) <= time.time()
    assert (state / "result-file").read_text() == f"{desk.result}\n"
    assert (state / "dispatch-pid").read_text() == state.name.split("-")[4] + "\n"
    assert (state / "tail").read_text() == "said so\n"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700

    sent = "exec --sandbox danger-full-access --skip-git-repo-check --ignore-user-config -c"
    assert (desk.seen / "argv").read_text().split() == [*sent.split(), "model_reasoning_effort=xhigh", "-"]
    assert (desk.seen / "stdin").read_text() == desk.prompt.read_text()
    assert (desk.seen / "pwd").read_text() == f"{state / 'work'}\n"
    env = (desk.seen / "env").read_text()
    assert "MARK=of the caller\n" in env
    assert "CODEX_API_KEY=c\n" in env
    assert "ANTHROPIC" not in env


def test_environment_variables_change_the_command(desk: Desk) -> None:
    (desk.folder / "own").mkdir()
    (desk.folder / "bin" / "codex").rename(desk.folder / "own" / "kodex")
    env = {
        "CODEX_BIN": "own/kodex",
        "CODEX_DISPATCH_SANDBOX": "read-only",
        "CODEX_DISPATCH_REASONING": "low",
        "CODEX_DISPATCH_ISOLATE_MCP": "Off",
        "PRUN_SCRATCH_CWD": str(desk.folder / "clone"),
        "PRUN_STALL_THRESHOLD": "soon",
        "CODEX_DISPATCH_TIMEOUT": "never",
    }
    assert desk.dispatch("exit 3", env=env).returncode == 3
    words = (desk.seen / "argv").read_text().split()
    assert words == ["exec", "--sandbox", "read-only", "--skip-git-repo-check", "-"]
    assert (desk.seen / "pwd").read_text() == f"{desk.folder / 'clone'}\n"
    assert not (desk.state / "work").exists()


def test_empty_variables_are_unset_ones_and_effort_is_passed_on(desk: Desk) -> None:
    env = {
        "CODEX_BIN": "",
        "CODEX_DISPATCH_SANDBOX": "",
        "PRUN_SCRATCH_CWD": "",
        "CODEX_DISPATCH_REASONING": "low",
    }
    assert desk.dispatch("", env=env).returncode == 0
    words = (desk.seen / "argv").read_text().split()
    assert words[2] == "danger-full-access"
    assert "model_reasoning_effort=low" in words


@pytest.mark.parametrize(
    ("play", "code"),
    [
        ("echo out; echo err >&2", 0),
        ("echo out; echo err >&2; exit 1", 1),
        ('echo out; echo err >&2; : > "$RESULT"', 0),
        ("echo out; echo err >&2; kill -9 $$", 137),
    ],
    ids=["exit 0", "exit 1", "empty result", "killed"],
)
def test_without_a_result_the_output_is_salvaged(desk: Desk, play: str, code: int) -> None:
    done = desk.dispatch(play)
    assert (done.returncode, done.stdout.count("\n")) == (code, 1)
    assert desk.result.read_text() == FALLBACK.format(unit="u1") + "out\nerr\n"
    assert [p.name for p in desk.result.parent.iterdir()] == ["u1.md"]


def test_output_that_is_no_text_is_salvaged_byte_by_byte_and_shown_harmlessly(desk: Desk) -> None:
    done = desk.dispatch(
        r"i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; printf '\377\0\033[2Jend\n'"
    )
    assert desk.result.read_bytes().endswith(b"line 99\n\xff\0\x1b[2Jend\n")
    assert "line 0\n" in desk.result.read_text(errors="replace")
    shown = done.stderr.splitlines()[-80:]
    assert shown[0] == "line 21"
    assert shown[-1] == "\ufffdend"
    assert "line 20\n" not in done.stderr


def test_a_large_prompt_arrives_whole(desk: Desk) -> None:
    desk.prompt.write_text(f"/review {desk.result}\n" + "x" * 200_000 + "\nend")
    assert desk.dispatch(WRITES).returncode == 0
    assert (desk.seen / "stdin").read_bytes() == desk.prompt.read_bytes()


def test_a_worker_that_reads_nothing_is_not_waited_for(desk: Desk) -> None:
    (desk.folder / "bin" / "codex").write_text("#!/bin/sh\nexit 5\n")
    desk.prompt.write_text("x" * 200_000)
    assert desk.dispatch("").returncode == 5


# --- the result path in the prompt --------------------------------------------------------------


def test_a_prompt_that_does_not_name_the_result_is_told(desk: Desk) -> None:
    desk.prompt.write_text("Do it.")
    desk.dispatch(WRITES)
    sent = (desk.seen / "stdin").read_text()
    assert sent.startswith("Do it.\n")
    assert f"\n{desk.result}\n" in sent
    for part in ('"# u1 result"', '"Conclusion:"', '"Files:"', '"Open items:"', '"Verification:"'):
        assert part in sent
    assert (desk.state / "prompt.md").read_text() == sent
    assert desk.prompt.read_text() == "Do it."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Write /r/u1.md", True),
        ("Write `/r/u1.md`, please", True),
        ("cat > /r/u1.md\nmore", True),
        ("To /r/u1.md.", True),
        ("", False),
        ("Write /r/u1.md.bak", False),
        ("Write /r/u1.md0 or x/r/u1.md or ../r/u1.md", False),
        ("Write r/u1.md or /r/u1_md", False),
        ("Write /r/u1.md/u1.md", False),
    ],
)
def test_what_counts_as_naming_the_result(text: str, told: bool) -> None:
    assert announce.named(text.encode(), ["/r/u1.md"]) is told


def test_no_announce_sends_the_prompt_as_it_is(desk: Desk) -> None:
    desk.prompt.write_text("Do it.")
    desk.dispatch(WRITES, "--no-announce")
    assert (desk.seen / "stdin").read_text() == "Do it."


def test_a_relative_result_path_counts_from_the_caller(desk: Desk) -> None:
    desk.dispatch("", result_file="results/u1.md")
    assert (desk.state / "result-file").read_text() == f"{desk.result}\n"
    assert desk.result.read_text().startswith("# u1 result (FALLBACK")


# --- what stood there before --------------------------------------------------------------------


def test_a_result_of_an_earlier_run_is_none_and_is_not_lost(desk: Desk) -> None:
    landed(desk.result, "# u1 result\nConclusion: of yesterday\n")
    before = int(desk.result.stat().st_mtime)
    done = desk.dispatch("echo nothing new")
    assert done.returncode == 0
    assert (desk.state / "pre-mtime").read_text() == f"{before}\n"
    assert desk.result.read_text() == FALLBACK.format(unit="u1") + "nothing new\n"
    aside = desk.result.with_name(f"u1.md.aside-{desk.state.name[-16:]}")
    assert aside.read_text() == "# u1 result\nConclusion: of yesterday\n"
    assert str(aside) in done.stderr


@pytest.mark.parametrize(
    "play",
    [
        'echo more >> "$RESULT"',
        'touch "$RESULT"',  # looked at again and left as it was: that is the worker's word
        'printf "# v1" > "$RESULT.new"; touch -r "$RESULT" "$RESULT.new"; mv "$RESULT.new" "$RESULT"',
    ],
    ids=["appended", "touched", "other content of the same size and time"],
)
def test_a_result_that_the_worker_changed_is_its_result(desk: Desk, play: str) -> None:
    landed(desk.result, "# u1")
    desk.dispatch(play)
    assert "FALLBACK" not in desk.result.read_text()
    assert [p.name for p in desk.result.parent.iterdir()] == ["u1.md"]


@pytest.mark.parametrize(
    "play",
    ['mkdir -p "$RESULT/x"', 'mkfifo "$RESULT"', 'ln -s /nowhere "$RESULT"', 'rm -rf "${RESULT%/*}"'],
    ids=["directory", "fifo", "dangling link", "folder removed"],
)
def test_what_is_no_file_is_no_result(desk: Desk, play: str) -> None:
    assert desk.dispatch(play).returncode == 0
    assert desk.result.read_text() == FALLBACK.format(unit="u1")
    assert not desk.result.is_symlink()


def test_neither_result_nor_fallback_is_never_a_success(desk: Desk) -> None:
    done = desk.dispatch('rm -rf "${RESULT%/*}"; : > "${RESULT%/*}"')
    assert done.returncode == 1
    assert "neither a result nor a FALLBACK" in done.stderr


def test_a_worker_that_replaces_the_tail_changes_nothing(desk: Desk) -> None:
    (desk.folder / "secret").write_text("secret")
    done = desk.dispatch(f"echo mine; cd ..; rm tail; ln -s {desk.folder}/secret tail")
    assert desk.result.read_text() == FALLBACK.format(unit="u1") + "mine\n"
    assert "secret" not in done.stderr


# --- what cannot be dispatched ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"unit": "a/b"}, "alphanumeric"),
        ({"unit": "u1\r"}, "CRLF"),
        ({"unit": "u1\n"}, "alphanumeric"),
        ({"unit": ""}, "alphanumeric"),
        ({"unit": "ünit"}, "alphanumeric"),
        ({"prompt_file": "missing.md"}, "prompt file not found: missing.md"),
        ({"prompt_file": ""}, "prompt file not found"),
        ({"prompt_file": "/"}, "prompt file not found"),
        ({"prompt_file": "{}/fifo"}, "prompt file not found"),
        ({"result_file": "{}/u1.md\r"}, "CRLF"),
        ({"result_file": ""}, "--result-file"),
        ({"result_file": "{}/bin"}, "no ordinary file"),
        ({"result_file": "/dev/null"}, "no ordinary file"),
        ({"result_file": "{}/prompt.md/u1.md"}, "no result file"),
        ({"TMPDIR": "{}/prompt.md/tmp"}, "failed to create state-dir"),
        ({"PRUN_SCRATCH_CWD": "{}/prompt.md/tmp"}, "failed to create scratch cwd"),
    ],
)
def test_what_cannot_be_dispatched_is_told_before_anything_is_spent(
    desk: Desk, changes: dict[str, str], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(desk.folder / "fifo")
    given: dict[str, Any] = {name: value.format(desk.folder) for name, value in changes.items()}
    env = desk.env | {name: given.pop(name) for name in list(given) if name.isupper()}
    asked = replace(Task(str(desk.prompt), str(desk.result), "u1"), **given)
    with pytest.raises(PrunError, match=re.escape(told)) as raised:
        dispatch(asked, env)
    assert raised.value.exit_status == 4  # which the command line tells as 2
    assert capfd.readouterr().out == ""
    assert not desk.seen.exists()


@pytest.mark.parametrize("wrong", ["--unit-id a/b", "--unit-id", "--unknown", "--unit u1"])
def test_a_wrong_call_exits_2_and_prints_nothing(desk: Desk, wrong: str) -> None:
    done = command("dispatch", *desk.words()[:4], *wrong.split(), env=desk.env, cwd=desk.folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unreadable_prompt_and_a_read_only_temporary_directory(desk: Desk) -> None:
    desk.tmp.mkdir()
    desk.tmp.chmod(0o500)
    assert desk.dispatch("").returncode == 2
    desk.tmp.chmod(0o700)
    desk.prompt.chmod(0)
    assert desk.dispatch("").returncode == 2


@pytest.mark.parametrize(
    ("make", "code"),
    [("rm bin/codex", 127), ("chmod -x bin/codex", 127), ("printf 'no program' > bin/codex", 126)],
    ids=["missing", "not executable", "no program"],
)
def test_a_worker_that_cannot_be_started(desk: Desk, make: str, code: int) -> None:
    assert os.system(f"cd '{desk.folder}' && {make}") == 0
    done = desk.dispatch("", env={"PATH": f"{desk.folder}/bin:/nowhere"})
    assert (done.returncode, done.stdout) == (code, f"STATE-DIR {desk.state}\n")
    body = desk.result.read_text().removeprefix(FALLBACK.format(unit="u1"))
    assert body.startswith("\ndispatch-task: ")
    assert "codex" in body


def test_where_the_state_directory_goes(tmp_path: Path) -> None:
    place = f"{os.getcwd()}/tmp2"
    for told, meant in (("/x/", "/x"), ("/x", "/x"), ("", "/tmp"), ("/", "/"), ("tmp2", place)):
        assert str(statedir.base({"TMPDIR": told})) == meant
    assert str(statedir.base({})) == "/tmp"


def test_a_working_directory_is_told_as_the_shell_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "link")
    assert statedir.here({"PWD": str(tmp_path / "link")}) == str(tmp_path / "link")
    for untrue in (str(tmp_path), "link", "", "/nowhere"):
        assert statedir.here({"PWD": untrue}) == str(tmp_path / "real")


def test_a_working_directory_that_vanished_has_no_hash(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = desk.folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert statedir.create("u1", desk.result, b"", desk.env).path.name.startswith("prun-task-nohash-u1-")
