"""Analyser reports as foreign data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.executors.readers import pylint_json2, read_sarif
from prun_review.executors.reports import MAX_RESULTS, Context, strict_json
from prun_review.executors.rules import kind_of, lineage_of, override
from prun_review.executors.sarif import sarif
from prun_review.executors.sources import Sources, read_bytes
from prun_review.executors.suppressions import Suppressions
from prun_review.model import CATEGORIES, SEVERITIES, Finding
from tests.executors.driving import JSON


def log(*results: Any, driver: Any = None, **run: Any) -> bytes:
    """A SARIF log with one run."""
    tool = {"driver": {"name": "Tool"} if driver is None else driver}
    return json.dumps(
        {"version": "2.1.0", "runs": [{"tool": tool, "results": list(results), **run}]}
    ).encode()


def result(**changes: Any) -> dict[str, Any]:
    """A complete result."""
    region = {"startLine": 3, "endLine": 4, "snippet": {"text": "x = 1\n"}}
    place = {"artifactLocation": {"uri": "src/a.py"}, "region": region}
    made = {
        "ruleId": "R1",
        "message": {"text": "Something  is\nwrong."},
        "locations": [{"physicalLocation": place}],
    }
    return {key: value for key, value in {**made, **changes}.items() if value is not ...}


def at(uri: Any, **region: Any) -> dict[str, Any]:
    """A result at a place."""
    place = {"artifactLocation": uri if isinstance(uri, dict) else {"uri": uri}, "region": region}
    return result(locations=[{"physicalLocation": place}])


def test_a_result_becomes_a_finding() -> None:
    (finding,) = read_sarif(log(result()))
    assert finding == Finding(
        title="Something is wrong",
        detail="Something is wrong.\nTool: R1",
        file="src/a.py",
        line=3,
        end_line=4,
        severity="medium",
        quote="x = 1",
        rule="R1",
        lineage="tool",
    )


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/x/../a.py", "src/a.py"),
        ("my%20dir/a%23b%25.py", "my dir/a#b%.py"),
        ("a%FFb.py", "a\udcffb.py"),
        ("src\\win\\a.py", "src/win/a.py"),
        ("C:\\x\\a.py", "C:/x/a.py"),
        ("../outside.py", "../outside.py"),
        ("file:///tree/src/a.py", "src/a.py"),
        ("file:/tree/src/a.py", "src/a.py"),
        ("FILE://localhost/tree/src/a.py", "src/a.py"),
        ("file:///tree/../etc/passwd", "/etc/passwd"),
        ("file:///treetop/a.py", "/treetop/a.py"),
        ("/copy/src/a.py", "src/a.py"),
        ({"uri": "src/a.py", "uriBaseId": "ROOT"}, "src/a.py"),
        ({"uri": "a.py", "uriBaseId": "SRC"}, "src/a.py"),
        ({"uri": "a.py", "uriBaseId": "NOSUCH"}, "a.py"),
        ({"uri": "a.py", "uriBaseId": "LOOP"}, "l/l/l/l/l/l/l/l/a.py"),
        ({"index": 1}, "second.py"),
        ({"index": 9}, None),
        ({"index": -1}, None),
        ("", None),
        ("a\0b", None),
        (None, None),
        (7, None),
        (["a.py"], None),
    ],
)
def test_paths(uri: Any, file: str | None) -> None:
    bases = {
        "ROOT": {"uri": "file:///tree/"},
        "SRC": {"uri": "src/", "uriBaseId": "ROOT"},
        "LOOP": {"uri": "l/", "uriBaseId": "LOOP"},
    }
    artifacts = [{"location": {"uri": "first.py"}}, {"location": {"uri": "second.py"}}]
    data = log(at(uri, startLine=1), originalUriBaseIds=bases, artifacts=artifacts)
    (finding,) = sarif(data, Context(roots=("/tree", "/copy"))).findings
    assert finding.file == file


def test_without_a_tree_the_log_s_own_bases_are_taken_away() -> None:
    bases = {"SRCROOT": {"uri": "file:///home/me/my%20repo/"}}
    data = log(
        at("file:///home/me/my%20repo/src/a.py"),
        at({"uri": "b.py", "uriBaseId": "SRCROOT"}),
        originalUriBaseIds=bases,
    )
    assert [f.file for f in read_sarif(data)] == ["src/a.py", "b.py"]


@pytest.mark.parametrize(
    ("region", "lines"),
    [
        ({"startLine": 3}, (3, 3)),
        ({"startLine": 3, "endLine": 5}, (3, 5)),
        ({"startLine": 3, "endLine": 2}, (3, 3)),
        ({"startLine": 0, "endLine": 2}, (None, None)),
        ({"startLine": -1}, (None, None)),
        ({"startLine": True}, (None, None)),
        ({"startLine": "3"}, (None, None)),
        ({"startLine": 3.0}, (None, None)),
        ({"startLine": 10**15}, (None, None)),
        ({"startLine": 3, "endLine": 10**15}, (3, 3)),
        ({}, (None, None)),
    ],
)
def test_lines(region: dict[str, Any], lines: tuple[int | None, int | None]) -> None:
    (finding,) = read_sarif(log(at("a.py", **region)))
    assert (finding.line, finding.end_line) == lines


@pytest.mark.parametrize(
    ("driver", "changes", "severity"),
    [
        ({"name": "ruff"}, {"ruleId": "F401", "level": "error"}, "low"),
        ({"name": "ruff"}, {"ruleId": "F821", "level": "error"}, "high"),
        ({"name": "Bandit"}, {"ruleId": "B608", "level": "warning"}, "high"),
        ({"name": "Bandit"}, {"ruleId": "B404", "level": "error"}, "low"),
        ({"name": "Sonar"}, {"ruleId": "B608", "level": "note"}, "low"),
        ({"name": "Other"}, {"level": "error"}, "medium"),
        ({"name": "Other"}, {"level": "none"}, "info"),
        ({"name": "Other"}, {"level": 5}, "medium"),
        ({"name": "Q", "rules": [{"id": "R1", "properties": {"security-severity": "9.1"}}]}, {}, "critical"),
        ({"name": "Q", "rules": [{"id": "R1", "properties": {"security-severity": "7.0"}}]}, {}, "high"),
        ({"name": "Q", "rules": [{"id": "R1", "properties": {"security-severity": "nan"}}]}, {}, "medium"),
        ({"name": "Q", "rules": [{"id": "R1", "defaultConfiguration": {"level": "note"}}]}, {}, "low"),
        (
            {"name": "Q", "rules": [{"id": "R9", "defaultConfiguration": {"level": "note"}}]},
            {"ruleId": ..., "ruleIndex": 0},
            "low",
        ),
    ],
)
def test_severity_is_the_rule_s_not_the_level_s(driver: Any, changes: dict[str, Any], severity: str) -> None:
    (finding,) = read_sarif(log(result(**changes), driver=driver))
    assert finding.severity == severity


def test_messages_by_id_with_arguments_and_rule_names() -> None:
    rule = {"id": "R1", "name": "no-such", "messageStrings": {"m": {"text": "{0} has no {1}{7}"}}}
    message = {"id": "m", "arguments": ["cart", "lines"]}
    (finding,) = read_sarif(log(result(message=message), driver={"name": "T", "rules": [rule]}))
    assert finding.title == "cart has no lines{7} (no-such)"


def test_what_says_that_nothing_is_wrong_is_no_finding() -> None:
    data = log(result(kind="pass"), result(kind="notApplicable"), result(baselineState="absent"), result())
    assert len(read_sarif(data)) == 1


def test_suppressed_results_are_findings_that_are_marked() -> None:
    data = log(
        result(suppressions=[{"kind": "inSource"}]),
        result(suppressions=[{"kind": "external", "status": "rejected"}]),
        result(suppressions=[]),
        result(suppressions="yes"),
    )
    assert len(read_sarif(data)) == 4
    assert sarif(data, Context()).suppressed == {0}


def test_what_the_tool_could_not_do_is_told() -> None:
    def note(text: str, uri: str | None = None, level: str = "error") -> dict[str, Any]:
        place = [{"physicalLocation": {"artifactLocation": {"uri": uri}}}] if uri else []
        return {"level": level, "message": {"text": text}, "locations": place}

    notes = [note("syntax error in it", "a.py"), note("exception", "b.py"), note("slow", "c.py", "warning")]
    invocations = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]
    report = sarif(log(invocations=invocations), Context())
    assert [(f.file, f.severity) for f in report.findings] == [("a.py", "high")]
    assert report.failures == ("Tool says that it did not succeed", "b.py: exception")
    unreadable = sarif(log({**at("a.py", startLine=1), "ruleId": "E902"}, driver={"name": "ruff"}), Context())
    assert (unreadable.findings, len(unreadable.failures)) == ((), 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"version": "1.0.0", "runs": []}',
        b'{"version": 2.1, "runs": []}',
        b'{"version": "2.1.0"}',
        b'{"version": "2.1.0", "runs": {}}',
        b'{"version": "2.1.0", "runs": [null]}',
        b'{"version": "2.1.0", "runs": [{}]}',
        b'{"version": "2.1.0", "runs": [{"results": null}]}',
        b'{"version": "2.1.0", "runs": [{"results": [7]}]}',
        b'{"version": "2.1.0", "runs": [], "runs": []}',
        b'{"version": "2.1.0", "runs": [{"results": [{"rank": NaN}]}]}',
        b'{"version": "2.1.0", "runs": ' + b"[" * 200_000,
        b'{"version": "2.1.0", "runs": [{"results": [{"rank": ' + b"1" * 5000 + b"}]}]}",
        b'{"version": "2.1.0", "runs": []} trailing',
        b'\xff{"version": "2.1.0", "runs": []}',
        '{"version": "2.1.0", "runs": []}'.encode("utf-16"),
    ],
)
def test_what_is_no_sarif_is_an_error_and_never_an_empty_list(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_sarif(data)


def test_a_byte_order_mark_is_taken() -> None:
    assert len(read_sarif(b"\xef\xbb\xbf" + log(result()))) == 1


def test_too_many_results_are_an_error_not_a_cut() -> None:
    data = b'{"version": "2.1.0", "runs": [{"results": [' + b"{}," * MAX_RESULTS + b"{}]}]}"
    with pytest.raises(ValueError, match="more than 50000"):
        read_sarif(data)


def is_strict(data: bytes) -> bool:
    """Whether this is JSON without NaN and the like."""
    try:
        strict_json(data)
    except ValueError:
        return False
    return True


@settings(max_examples=150, deadline=None)
@given(
    changes=st.dictionaries(
        st.sampled_from(
            ["ruleId", "message", "locations", "level", "kind", "rule", "ruleIndex", "suppressions"]
        ),
        JSON,
    )
)
def test_wrong_types_inside_a_result_lose_no_result(changes: dict[str, Any]) -> None:
    data = log(result(**changes), result(ruleId="last"))
    if not is_strict(data):
        with pytest.raises(ValueError, match="strict JSON"):
            read_sarif(data)
        return
    found = read_sarif(data)
    skipped = changes.get("kind") in ("pass", "notApplicable")
    assert len(found) == 2 - skipped
    for finding in found:
        assert finding.severity in SEVERITIES
        assert finding.category in CATEGORIES
        assert finding.title.strip() == finding.title != ""
        assert "\n" not in finding.title
        finding.title.encode()
        finding.detail.encode()


@settings(max_examples=100, deadline=None)
@given(run=JSON, note=JSON)
def test_anything_else_is_read_or_refused_but_never_crashes(run: Any, note: Any) -> None:
    for value in (
        run,
        {"results": [], "invocations": note, "tool": note, "artifacts": note, "properties": note},
    ):
        data = json.dumps({"version": "2.1.0", "runs": [value]}).encode()
        usable = isinstance(value, dict) and isinstance(value.get("results"), list)
        if is_strict(data) and usable and all(isinstance(r, dict) for r in value["results"]):
            assert len(sarif(data, Context()).findings) <= len(value["results"]) + 8
        else:
            with pytest.raises(ValueError, match=r"."):
                sarif(data, Context())


# --- pylint -----------------------------------------------------------------------------------


def message(**changes: Any) -> dict[str, Any]:
    """A message of pylint's json2."""
    made = {
        "type": "error",
        "messageId": "E0602",
        "symbol": "undefined-variable",
        "message": "Undefined variable 'x'",
        "line": 2,
        "endLine": None,
        "path": "../copy/a.py",
        "absolutePath": "/copy/a.py",
    }
    return {**made, **changes}


def messages(*items: Any) -> bytes:
    """A json2 report."""
    return json.dumps({"messages": list(items), "statistics": {}}).encode()


def test_a_message_of_pylint_becomes_a_finding() -> None:
    report = pylint_json2(messages(message()), Context(roots=("/copy",)))
    (finding,) = report.findings
    assert (finding.file, finding.line, finding.end_line) == ("a.py", 2, 2)
    assert finding.title == "Undefined variable 'x' (undefined-variable)"
    assert (finding.severity, finding.rule, finding.lineage) == ("high", "E0602", "pylint")


def test_pylint_s_fatal_messages_are_failures() -> None:
    report = pylint_json2(messages(message(type="fatal", message="crash")), Context(roots=("/copy",)))
    assert (report.findings, report.failures) == ((), ("a.py: crash",))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"messages": {}}', b'{"messages": [1]}'])
def test_what_is_no_json2_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        pylint_json2(data, Context())


@settings(max_examples=100, deadline=None)
@given(
    changes=st.dictionaries(
        st.sampled_from(["messageId", "symbol", "message", "line", "path", "absolutePath"]), JSON
    )
)
def test_wrong_types_inside_a_message_lose_no_message(changes: dict[str, Any]) -> None:
    data = messages(message(**changes))
    if is_strict(data):
        assert len(pylint_json2(data, Context()).findings) == 1


# --- rules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "severity", "category"),
    [
        ({"ruff": "F821", "pylint": "E0602"}, "high", "correctness"),
        ({"ruff": "PLE0602", "pylint": "E0602"}, "high", "correctness"),
        ({"ruff": "B006", "pylint": "W0102"}, "medium", "correctness"),
        ({"ruff": "S608", "bandit": "B608"}, "high", "security"),
        ({"ruff": "S307", "bandit": "B307", "pylint": "W0123"}, "high", "security"),
        ({"ruff": "E722", "pylint": "W0702"}, "medium", "error-handling"),
        ({"ruff": "F401", "pylint": "W0611"}, "low", "maintainability"),
        ({"ruff": "SIM115", "pylint": "R1732"}, "medium", "resource"),
    ],
)
def test_one_kind_of_defect_is_rated_alike_whoever_sees_it(
    tools: dict[str, str], severity: str, category: str
) -> None:
    kinds = {kind_of(tool, rule) for tool, rule in tools.items()}
    assert len(kinds) == 1
    (kind,) = kinds
    assert kind is not None
    assert (kind.severity, kind.category) == (severity, category)
    assert kind.phrase


@pytest.mark.parametrize(
    ("tool", "rule", "severity"),
    [
        ("pylint", "E9999", "medium"),
        ("pylint", "W9999", "low"),
        ("pylint", "C0301", "info"),
        ("bandit", "B699", "low"),
        ("ruff", "B099", "low"),
        ("ruff", "E501", "info"),
        ("ruff", "PLR0913", "info"),
        ("ruff", "RUF012", None),
        ("eslint", "F821", None),
    ],
)
def test_rules_that_no_table_names(tool: str, rule: str, severity: str | None) -> None:
    kind = kind_of(tool, rule)
    assert (kind.severity if kind else None) == severity


@pytest.mark.parametrize(
    ("rule", "lineage"),
    [
        ("F821", "pyflakes"),
        ("E722", "pycodestyle"),
        ("W605", "pycodestyle"),
        ("B006", "flake8-bugbear"),
        ("BLE001", "flake8-blind-except"),
        ("SIM115", "flake8-simplify"),
        ("C901", "mccabe"),
        ("C408", "flake8-comprehensions"),
        ("T100", "flake8-debugger"),
        ("S608", "bandit"),
        ("PLE0602", "pylint"),
        ("PLW0120", "pylint"),
        ("RUF012", "ruff"),
        ("FURB101", "ruff"),
        ("FBT001", "ruff"),
        ("invalid-syntax", "ruff"),
    ],
)
def test_lineages_of_ruff(rule: str, lineage: str) -> None:
    assert lineage_of("ruff", rule) == lineage
    assert lineage_of("Other", rule) == "other"


def test_overrides() -> None:
    table = {"F": "info", "F8": "high", "F821": "low"}
    assert [override(table, rule) for rule in ("F821", "F822", "F401", "E1")] == ["low", "high", "info", ""]


# --- sources and suppressions -----------------------------------------------------------------


def test_only_ordinary_files_below_the_tree_are_read(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (tree / "sub" / "a.py").write_text("inside")
    (tree / "file-link").symlink_to(tmp_path / "secret")
    (tree / "dir-link").symlink_to(tmp_path)
    os.mkfifo(tree / "fifo")
    assert read_bytes(tree, "sub/a.py") == b"inside"
    for name in (
        "../secret",
        "sub/../../secret",
        "/etc/passwd",
        "file-link",
        "dir-link/secret",
        "fifo",
        "sub",
        "",
        "gone",
        "a\0b",
        ".",
    ):
        assert read_bytes(tree, name) is None, name


def test_quotes_are_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(
        b"\xef\xbb\xbfone\r\ntwo\x0c still\rthree\n\xff four\n\n  \n" + b"x" * 5000
    )
    sources = Sources(tmp_path)
    assert sources.lines("a.py")[:4] == ("one", "two\x0c still", "three", "\ufffd four")

    def quote(line: int, end: int) -> tuple[int | None, int | None, str | None]:
        found = sources.quoted(Finding("t", file="a.py", line=line, end_line=end, quote="tool's own"))
        return found.line, found.end_line, found.quote

    assert quote(1, 1) == (1, 1, "one")
    assert quote(1, 99) == (1, 7, "one\ntwo\x0c still\nthree")
    assert quote(5, 5) == (5, 5, "tool's own")
    assert quote(99, 99) == (7, 7, "x" * 400)
    nowhere = Finding("t", file="gone.py", line=3, quote="tool's own")
    assert sources.quoted(nowhere) == nowhere


CODE = """\
import os  # NOQA:F401,E501
'''# noqa'''; x = 1
y = 2  # nosec B101, assert_used
# pylint: disable=some-name
def f():
    a = 1  # pylint: disable=W
    # pylint: disable=R1234
    if a:
        b = 2
    # pylint: enable=R1234
    c = 3
d = 4
"""


@pytest.mark.parametrize(
    ("tool", "rule", "name", "line", "hidden"),
    [
        ("ruff", "F401", "", 1, True),
        ("ruff", "F4", "", 1, False),
        ("ruff", "F821", "", 1, False),
        ("ruff", "E702", "", 2, False),
        ("bandit", "B101", "", 3, True),
        ("bandit", "B999", "assert_used", 3, True),
        ("bandit", "B102", "exec_used", 3, False),
        ("pylint", "E1234", "some-name", 12, True),
        ("pylint", "E1234", "some-name", 1, False),
        ("pylint", "E1234", "other-name", 12, False),
        ("pylint", "W0101", "x", 6, True),
        ("pylint", "W0101", "x", 8, False),
        ("pylint", "R1234", "x", 9, True),
        ("pylint", "R1234", "x", 11, False),
        ("pylint", "R1234", "x", 12, False),
        ("semgrep", "F401", "", 1, False),
    ],
)
def test_which_comment_is_meant_for_what(tool: str, rule: str, name: str, line: int, hidden: bool) -> None:
    finding = Finding(f"Title ({name})", line=line, end_line=line, rule=rule)
    assert Suppressions(tool, CODE.splitlines()).hide(finding) is hidden
