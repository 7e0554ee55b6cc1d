"""``prun-review crosscheck`` on real files of all three kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.codec import encode
from prun_review.contract import render_result
from prun_review.model import Answer, Finding, Findings, Header
from prun_review.payload import payload_of
from tests.cli.driver import call, prun_review, surroundings
from tests.cli.runkit import both, store
from tests.gatekit import broken, choose, lost, result, unit

SQL = Finding(
    "SQL injection in find_user",
    "The user name is put into the SQL query by string formatting.",
    "src/auth.py",
    12,
    12,
    "critical",
    "security",
    quote="cursor.execute(f'select {name}')",
)
LEAK = Finding(
    "File handle is never closed", "It leaks a descriptor.", "src/store.py", 80, 82, "high", "resource"
)


def answer(*findings: Finding) -> Answer:
    header = Header("defects found", "src/auth.py", "none", "read")
    return Answer(header, "request-changes", ("src/auth.py", "src/store.py"), Findings(findings))


def sarif(*findings: Finding) -> dict[str, Any]:
    results = [
        {
            "ruleId": "S608",
            "level": "error",
            "message": {"text": f.title},
            "locations": [
                {"physicalLocation": {"artifactLocation": {"uri": f.file}, "region": {"startLine": f.line}}}
            ],
        }
        for f in findings
    ]
    return {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t"}}, "results": results}]}


def write(folder: Path, kind: str, *findings: Finding) -> str:
    if kind == "stored":
        text = json.dumps(encode(result(unit("codex"), *findings)))
    elif kind == "sarif":
        text = json.dumps(sarif(*findings))
    elif kind == "markdown":
        text = render_result("unit-1", answer(*findings))
    else:
        text = json.dumps(payload_of(answer(*findings)))
    name = f"{kind}-{len(list(folder.iterdir()))}"
    (folder / name).write_text(text)
    return name


@pytest.mark.parametrize("right", ["json", "markdown", "stored", "sarif"])
@pytest.mark.parametrize("left", ["json", "markdown", "stored", "sarif"])
def test_every_kind_pairs_with_every_kind(tmp_path: Path, left: str, right: str) -> None:
    files = write(tmp_path, left, SQL, LEAK), write(tmp_path, right, SQL)
    status, out, errors = call("crosscheck", *files, "--json", cwd=tmp_path)
    assert (status, errors) == (0, "")
    pairs = json.loads(out)
    assert [(p["left"], p["right"], p["outcome"]) for p in pairs] == [(0, 0, "match"), (1, None, "alone")]
    assert set(pairs[0]) == {
        *("left", "right", "outcome", "score", "reason"),
        *("left_title", "right_title", "left_place", "right_place"),
    }
    assert pairs[0]["left_place"] == "src/auth.py:12"
    assert (pairs[1]["right_title"], pairs[1]["right_place"]) == (None, None)


def test_80_columns_show_all_of_both_sides(tmp_path: Path) -> None:
    long = replace(SQL, file="src/" + "deep/" * 12 + "login.py", title="SQL injection " + "in words " * 10)
    files = write(tmp_path, "json", long, LEAK), write(tmp_path, "markdown", long)
    done = prun_review("crosscheck", *files, cwd=tmp_path, env=surroundings(tmp_path, COLUMNS="80"))
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("match 1.00: ")
    assert lines[-1] == "1 match, 1 alone"
    told = " ".join(done.stdout.split())
    assert told.replace(" ", "").count(f"{long.file}:12criticalSQLinjection{'inwords' * 10}") == 2
    assert (
        "alone: nothing like it on the right left: src/store.py:80-82 high File handle is never closed"
        in told
    )
    assert "..." not in done.stdout


def test_a_pair_is_three_lines_where_they_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    files = write(tmp_path, "json", SQL), write(tmp_path, "stored", SQL)
    _, out, _ = call("crosscheck", *files, cwd=tmp_path)
    head, left, right, counts = out.splitlines()
    assert head.startswith("match 1.00: same file")
    assert left == "  left: src/auth.py:12 critical SQL injection in find_user"
    assert right == "  right: src/auth.py:12 critical SQL injection in find_user"
    assert counts == "1 match"


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (lost(unit("codex")), "without a valid answer: failed (timeout): codex: timeout"),
        (broken(unit("codex"), SQL), "without a valid answer: broken (contract)"),
        (choose(unit("codex"), "jsonl"), "another kind of question"),
        ({**encode(lost(unit("codex"))), "colour": 3}, "unknown key 'colour'"),
    ],
)
def test_a_stored_result_without_findings_to_rely_on_is_refused(
    tmp_path: Path, stored: Any, told: str
) -> None:
    (tmp_path / "result.json").write_text(json.dumps(stored if isinstance(stored, dict) else encode(stored)))
    good = write(tmp_path, "json", SQL)
    status, out, errors = call("crosscheck", "result.json", good, cwd=tmp_path)
    assert (status, out) == (2, "")
    assert told in errors


def test_results_of_a_run_pair_as_they_lie_there(tmp_path: Path) -> None:
    path = store(tmp_path, both(SQL))
    files = sorted(str(found.relative_to(tmp_path)) for found in path.glob("units/*/result.json"))
    status, out, _ = call("crosscheck", *files, "--json", cwd=tmp_path)
    assert (status, [p["outcome"] for p in json.loads(out)]) == (0, ["match"])


def test_its_help_says_what_it_takes(tmp_path: Path) -> None:
    _, out, _ = call("crosscheck", "--help", cwd=tmp_path)
    for word in ("result.json", "SARIF 2.1.0", "fenced json block", "schemas/findings.json"):
        assert word in out


def test_nothing_on_either_side_gives_an_empty_list(tmp_path: Path) -> None:
    header = Header("clean", "src/auth.py", "none", "read all of it")
    text = json.dumps(payload_of(Answer(header, "approve", ("src/auth.py",))))
    (tmp_path / "clean").write_text(text)
    status, out, _ = call("crosscheck", "clean", "clean", "--json", cwd=tmp_path)
    assert (status, json.loads(out)) == (0, [])
    assert call("crosscheck", "clean", "clean", cwd=tmp_path)[1] == "no findings on either side\n"


CUT = json.dumps(payload_of(answer(SQL)))[:-20]
BROKEN = json.dumps({**(payload_of(answer(SQL)) or {}), "verdict": "maybe", "examined": 3})


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", ("neither SARIF nor a stored result nor a valid answer", "empty-answer")),
        (b"just words", ("neither SARIF nor a stored result nor a valid answer", "no-payload")),
        (b"\xff\xfe\x00", ("not UTF-8 at byte 0",)),
        (CUT.encode(), ("neither SARIF nor a stored result nor a valid answer",)),
        (BROKEN.encode(), ("/verdict", "/examined")),
        (json.dumps(sarif(SQL))[:-20].encode(), ("malformed SARIF",)),
        (b'{"version": "2.1.0", "runs": 3}', ("malformed SARIF",)),
        (b"[" * 100_000, ("neither SARIF nor a stored result nor a valid answer",)),
        (b'{"a": ' * 100_000, ("neither SARIF nor a stored result nor a valid answer",)),
        (b"\x1b]0;t\x07{::error::}", ("neither SARIF nor a stored result nor a valid answer",)),
    ],
    ids=["empty", "prose", "bytes", "cut", "broken", "cut-sarif", "odd-sarif", "deep", "deeper", "hostile"],
)
def test_a_malformed_file_is_refused_with_its_place(
    tmp_path: Path, data: bytes, told: tuple[str, ...]
) -> None:
    (tmp_path / "bad").write_bytes(data)
    good = write(tmp_path, "json", SQL)
    for files in (("bad", good), (good, "bad")):
        status, out, errors = call("crosscheck", *files, cwd=tmp_path)
        assert (status, out) == (2, "")
        assert "prun-review crosscheck: bad: " in errors
        assert "remedy: " in errors
        assert all(text in errors for text in told)
        assert "Traceback" not in errors
        assert "\x1b" not in errors


def test_missing_and_unreadable_files_are_usage_errors(tmp_path: Path) -> None:
    good = write(tmp_path, "json", SQL)
    for name in ("missing", "."):
        status, out, errors = call("crosscheck", good, name, cwd=tmp_path)
        assert (status, out) == (2, "")
        assert f"{name}: cannot be read: " in errors


def test_what_was_mended_is_told_on_standard_error(tmp_path: Path) -> None:
    payload = payload_of(answer(SQL)) or {}
    payload["findings"][0]["line"] = "twelve"
    (tmp_path / "mended").write_text(json.dumps(payload))
    done = prun_review("crosscheck", "mended", "mended", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert "/findings/0/line" in done.stderr
    assert json.loads(done.stdout)[0]["outcome"] in ("match", "uncertain")
