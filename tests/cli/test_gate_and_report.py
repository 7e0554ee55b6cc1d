"""``prun-review gate`` and ``report`` on run directories: derived again, and never green by mistake."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review import beginning, document, rundir
from prun_review.model import Plan, Reason
from prun_review.policy import Policy
from tests.cli.driver import call, prun_review, surroundings
from tests.cli.runkit import CLEAN, CODEX, FACTS, SONNET, both, store
from tests.gatekit import FOLDER, LEAK, SQL, lost, result
from tests.renderers.sample import HOSTILE
from tests.renderers.test_escape import is_active


def gate(root: Path, *args: str) -> tuple[int, dict[str, Any]]:
    """Exit status and parsed standard output of ``gate --json``."""
    status, out, errors = call("gate", *args, "--json", cwd=root)
    assert errors == ""
    found = json.loads(out)
    assert set(found) == {"outcome", "reasons", "folders", "counts"}
    assert all(set(reason) == {"code", "text", "outcome"} for reason in found["reasons"])
    outcomes = {reason["outcome"] for reason in found["reasons"]}
    assert outcomes <= {"FAIL", "INCOMPLETE", "PASS"}
    assert found["outcome"] in outcomes | {"PASS"}
    return status, found


def codes(found: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in found["reasons"]]


def test_a_clean_run_of_two_vendors_passes(tmp_path: Path) -> None:
    store(tmp_path)
    status, found = gate(tmp_path)
    assert (status, found["outcome"], found["folders"]) == (0, "PASS", {FOLDER: "PASS"})
    assert found["counts"]["answered"] == 2


def test_as_a_real_process_with_words_for_people_on_standard_error(tmp_path: Path) -> None:
    path = store(tmp_path, both(SQL))
    done = prun_review("gate", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["outcome"] == "FAIL"
    assert done.stderr.startswith(f"{path.name}: FAIL (1 critical)\n  [consensus] ")


@pytest.mark.parametrize(
    ("results", "changes", "outcome", "code"),
    [
        (both(SQL), {}, "FAIL", "consensus"),
        ((CLEAN[0], lost(SONNET)), {}, "INCOMPLETE", "failed:timeout"),
        (CLEAN[:1], {}, "INCOMPLETE", "missing-result"),
        ((), {}, "INCOMPLETE", "missing-result"),
        (CLEAN, {"ended": False}, "INCOMPLETE", "unfinished"),
        (both(SQL), {"ended": False}, "FAIL", "unfinished"),
        (CLEAN, {"plan": Plan((CODEX, SONNET), partial="2 of 9 units, -k")}, "INCOMPLETE", "partial"),
        ((), {"plan": Plan(())}, "INCOMPLETE", "nothing-asked"),
        (CLEAN, {"facts": replace(FACTS, stopped="interrupted")}, "INCOMPLETE", "stopped"),
        (CLEAN, {"facts": replace(FACTS, items_failed=1)}, "FAIL", "probe-failed"),
        (CLEAN, {"facts": replace(FACTS, unreported=(CODEX.id,))}, "INCOMPLETE", "unreported"),
        (CLEAN, {"facts": replace(FACTS, integrity=(Reason("tampered", "x"),))}, "INCOMPLETE", "tampered"),
    ],
)
def test_everything_else_is_not_green(
    tmp_path: Path, results: Any, changes: dict[str, Any], outcome: str, code: str
) -> None:
    store(tmp_path, results, **changes)
    status, found = gate(tmp_path)
    assert (status, found["outcome"]) == (1, outcome)
    assert code in codes(found)


def edit(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        (file,) = path.glob(name)
        text = change(file.read_text())
        file.unlink()
        file.write_text(text)

    return damage


def remove(name: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        (found,) = path.glob(name)
        found.unlink()

    return damage


DAMAGE: dict[str, Callable[[Path], None]] = {
    "verdict-forged": edit("run.json", lambda text: text.replace('"FAIL', '"PASS')),
    "document-cut": edit("run.json", lambda text: text[:-30]),
    "document-empty": edit("run.json", lambda text: ""),
    "document-list": edit("run.json", lambda text: "[]"),
    "document-of-the-future": edit(
        "run.json", lambda t: t.replace('"schema_version": 1', '"schema_version": 9')
    ),
    "facts-odd": edit("run.json", lambda text: text.replace('"started"', '"begun"')),
    "plan-altered": edit("plan.json", lambda text: text.replace("codex", "coDex")),
    "plan-emptied": edit("plan.json", lambda text: '{"units": []}'),
    "plan-removed": remove("plan.json"),
    "document-removed": remove("run.json"),
    "result-removed": remove("units/*codex*/result.json"),
    "result-altered": edit("units/*codex*/result.json", lambda text: text.replace('"critical"', '"low"')),
    "result-replaced": edit("units/*codex*/result.json", lambda text: "{}"),
    "ledger-removed": remove("ledger.jsonl"),
    "ledger-emptied": edit("ledger.jsonl", lambda text: ""),
    "ledger-cut": edit("ledger.jsonl", lambda text: text[:-20]),
    "ledger-binary": edit("ledger.jsonl", lambda text: "\x00\x01" * 40),
}


@pytest.mark.parametrize("results", [CLEAN, both(SQL)], ids=["clean", "failing"])
@pytest.mark.parametrize("name", sorted(DAMAGE))
def test_a_damaged_or_forged_run_is_never_green(tmp_path: Path, name: str, results: Any) -> None:
    path = store(tmp_path, results)
    before = gate(tmp_path)[1]
    DAMAGE[name](path)
    status, out, _ = call("gate", path.name, "--json", cwd=tmp_path)
    found = json.loads(out)
    unchanged = name in ("verdict-forged", "result-altered") and results is CLEAN
    if unchanged:  # nothing in it to forge: the same bytes
        assert (status, found) == (0, before)
    else:
        assert status == 1
        assert found["outcome"] in ("INCOMPLETE", "FAIL")
        assert set(codes(found)) - set(codes(before))


def test_a_forged_verdict_is_not_believed(tmp_path: Path) -> None:
    path = store(tmp_path, both(SQL))
    DAMAGE["verdict-forged"](path)
    assert '"outcome": "PASS"' in (path / "run.json").read_text()
    status, found = gate(tmp_path)
    assert (status, found["outcome"]) == (1, "FAIL")
    assert {"consensus", "document-refused"} <= set(codes(found))


def test_tampering_counts_in_a_report_mode_folder_too(tmp_path: Path) -> None:
    facts = replace(FACTS, folders={FOLDER: Policy(mode="report")})
    path = store(tmp_path, both(LEAK), facts=facts)
    assert gate(tmp_path)[0] == 0
    DAMAGE["result-replaced"](path)
    status, found = gate(tmp_path)
    assert (status, found["outcome"]) == (1, "INCOMPLETE")
    assert "result-refused" in codes(found)


def test_the_latest_run_is_taken_and_others_by_name_or_path(tmp_path: Path) -> None:
    old = store(tmp_path, both(SQL), now=1.8e9)
    store(tmp_path, CLEAN, now=1.8e9 + 3600)
    assert gate(tmp_path)[1]["outcome"] == "PASS"
    (tmp_path / "deep").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.prun_review]\n")
    assert gate(tmp_path / "deep")[1]["outcome"] == "PASS"
    assert gate(tmp_path, old.name)[1]["outcome"] == "FAIL"
    assert gate(tmp_path, str(old))[1]["outcome"] == "FAIL"
    assert gate(tmp_path / "deep", f"../.prun/runs/{old.name}")[1]["outcome"] == "FAIL"
    moved = tmp_path / "elsewhere"
    shutil.copytree(old, moved)
    assert gate(tmp_path, "elsewhere")[1]["outcome"] == "FAIL"
    (tmp_path / "reports" / old.name).mkdir(parents=True)
    (tmp_path / "reports" / "latest").symlink_to(old.name)
    assert gate(tmp_path, "reports/latest")[1]["outcome"] == "FAIL"


@pytest.mark.parametrize("args", [(), ("nope",), ("../nope",), (".",), ("",)])
def test_no_run_is_a_usage_error(tmp_path: Path, args: tuple[str, ...]) -> None:
    for verb in ("gate", "report"):
        status, out, errors = call(verb, *args, cwd=tmp_path)
        assert (status, out) == (2, "")
        assert "remedy: " in errors


def test_an_exception_while_judging_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("::error::\x1b[2J")

    monkeypatch.setattr(document, "gather", broken)
    status, found = gate(tmp_path)
    assert (status, found["outcome"]) == (1, "INCOMPLETE")
    assert found["reasons"] == [
        {
            "code": "unreadable-run",
            "text": "the run cannot be judged: ZeroDivisionError: ::error::",
            "outcome": "INCOMPLETE",
        }
    ]


# --- report -----------------------------------------------------------------------------------


def test_report_shows_the_run_in_the_format_asked_for(tmp_path: Path) -> None:
    path = store(tmp_path, both(SQL))
    terminal = prun_review("report", cwd=tmp_path)
    assert (terminal.returncode, terminal.stderr) == (0, "")
    assert terminal.stdout.startswith(f"prun_review {path.name}: finished, 2 panels, 1 question, 2 units\n")
    assert "\nVERDICT: FAIL (1 critical)\n" in terminal.stdout
    status, out, _ = call("report", path.name, "--format", "markdown", cwd=tmp_path)
    assert (status, out.splitlines()[0]) == (0, "# Review: FAIL (1 critical)")
    status, out, _ = call("report", str(path), "--format", "json", cwd=tmp_path)
    assert (status, json.loads(out)) == (0, json.loads((path / "run.json").read_text()))


def test_the_help_of_report_lists_the_formats_there_are(tmp_path: Path) -> None:
    status, out, errors = call("report", "--help", cwd=tmp_path)
    assert (status, errors) == (0, "")
    assert "--format FORMAT terminal, markdown, json, adr" in " ".join(out.split())
    (tmp_path / "poems.py").write_text(
        "from types import SimpleNamespace\nfrom prun_review.hookspecs import hookimpl\n"
        "@hookimpl\ndef prun_renderers():\n    return [SimpleNamespace(name='poem', suffix='.txt')]\n"
    )
    info = tmp_path / "poems-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: poems\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[prun_review]\npoems = poems\n")
    env = surroundings(tmp_path, PYTHONPATH=str(tmp_path))
    told = prun_review("report", "-h", cwd=tmp_path, env=env)
    assert "terminal, markdown, json, adr, poem" in " ".join(told.stdout.split())
    (tmp_path / "poems.py").write_text("raise ImportError('100 % broken')")
    told = prun_review("report", "--help", cwd=tmp_path, env=env)
    assert (told.returncode, told.stderr) == (0, "")
    assert "json, adr; no others: extension 'poems' cannot be loaded" in " ".join(told.stdout.split())
    assert "100 % broken" in " ".join(told.stdout.split())


def test_report_writes_a_file_and_nothing_else(tmp_path: Path) -> None:
    store(tmp_path, both(SQL))
    out = tmp_path / "out"
    out.mkdir()
    assert call("report", "--format", "markdown", "--out", str(out / "r.md"), cwd=tmp_path) == (0, "", "")
    assert [p.name for p in out.iterdir()] == ["r.md"]
    assert (out / "r.md").read_text().startswith("# Review: FAIL")
    status, text, errors = call("report", "--out", str(out / "r.md" / "below-a-file"), cwd=tmp_path)
    assert (status, text) == (2, "")
    assert f"prun-review report: {out}/r.md" in errors
    assert "the report cannot be written" in errors


def test_report_of_a_run_without_an_end_shows_what_came(tmp_path: Path) -> None:
    store(tmp_path, (result(CODEX, SQL),), ended=False)
    status, out, _ = call("report", cwd=tmp_path)
    assert status == 0
    assert ": started, " in out
    assert "critical  src/auth.py:12 SQL injection in find_user" in out
    assert "VERDICT: INCOMPLETE (" in out
    assert "[unfinished]" in out


def test_report_of_a_damaged_run_says_so(tmp_path: Path) -> None:
    path = store(tmp_path)
    DAMAGE["facts-odd"](path)
    status, out, errors = call("report", cwd=tmp_path)
    assert (status, out) == (2, "")
    assert "prun-review report: " in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("name", ["terminal", "markdown", "json"])
def test_a_hostile_run_is_inert_in_every_output(tmp_path: Path, name: str) -> None:
    store(tmp_path, both(replace(SQL, title=HOSTILE, detail=HOSTILE, quote=HOSTILE, suggestion=HOSTILE)))
    for args in (("report", "--format", name), ("gate",), ("gate", "--json")):
        _, out, errors = call(*args, cwd=tmp_path)
        assert not is_active(out)
        assert not is_active(errors)
        assert "\x1b" not in out + errors


# --- a latest run that asked nothing ----------------------------------------------------------


def aborted(root: Path, why: str = "--prun-jobs: 0 is too few", now: float = 1.9e9) -> Path:
    """A start that came to nothing, as the plugin records it."""
    run = rundir.create(root, now=now)
    beginning.write_abort(run, why)
    run.close()
    return run.path


@pytest.mark.parametrize("verb", ["report", "status"])
@pytest.mark.parametrize("named", [[], ["latest"]])
def test_an_aborted_start_names_the_last_run_with_answers(
    tmp_path: Path, verb: str, named: list[str]
) -> None:
    reviewed = store(tmp_path)
    store(tmp_path, (lost(CODEX), lost(SONNET)), now=1.85e9)
    aborted(tmp_path, "earlier", now=1.89e9)
    latest = aborted(tmp_path)
    status, out, errors = call(verb, *named, cwd=tmp_path)
    assert (status, latest.name in out) == (0, True)
    assert errors == (
        f"prun-review {verb}: the latest run asked nothing (--prun-jobs: 0 is too few); "
        f"the last run with answers is {reviewed.name}: prun-review {verb} {reviewed.name}\n"
    )
    assert call(verb, latest.name, cwd=tmp_path)[2] == ""
    assert call(verb, reviewed.name, cwd=tmp_path)[2] == ""
    assert gate(tmp_path, *named)[1]["outcome"] == "INCOMPLETE"


def test_a_latest_run_with_units_is_no_aborted_start(tmp_path: Path) -> None:
    store(tmp_path)
    store(tmp_path, (lost(CODEX), lost(SONNET)), now=1.85e9)
    assert call("report", cwd=tmp_path)[2] == ""
    other = tmp_path / "other"
    other.mkdir()
    aborted(other, "\x1b[2J::error::x")
    errors = call("report", cwd=other)[2]
    assert "no earlier run has answers" in errors
    assert "\x1b" not in errors


def test_a_run_that_is_beginning_is_no_aborted_start(tmp_path: Path) -> None:
    store(tmp_path)
    run = rundir.create(tmp_path, now=1.9e9)
    try:
        status, out, errors = call("status", cwd=tmp_path)
    finally:
        run.close()
    assert (status, errors) == (0, "")
    assert "beginning" in out


@pytest.mark.parametrize("verb", ["report", "gate", "status", "watch"])
def test_the_word_latest_is_the_latest_run(tmp_path: Path, verb: str) -> None:
    store(tmp_path, both(SQL))
    path = store(tmp_path, now=1.85e9)
    status, out, errors = call(verb, "latest", cwd=tmp_path)
    assert (status, path.name in out + errors) == (0, True)


# --- how it came about ----------------------------------------------------------------------------


def test_explain_prints_the_derivation_and_nothing_else(tmp_path: Path) -> None:
    path = store(tmp_path, both(SQL))
    status, out, errors = call("gate", "--explain", cwd=tmp_path)
    assert (status, errors) == (1, "")
    first, second, *rest = out.splitlines()
    assert (first, second) == (path.name, "FAIL (1 critical)")
    assert f"  FAIL <- {FOLDER}" in rest
    assert any(line.startswith("      FAIL <- [consensus] critical: ") for line in rest)


def test_explain_as_json_is_the_same_verdict_with_its_derivation(tmp_path: Path) -> None:
    store(tmp_path, both(SQL))
    _, plain = gate(tmp_path)
    status, out, errors = call("gate", "--explain", "--json", cwd=tmp_path)
    found = json.loads(out)
    assert (status, errors) == (1, "")
    assert found.pop("explain")["outcome"] == "FAIL"
    assert found == plain


def test_explain_takes_a_partial_run_as_the_gate_does(tmp_path: Path) -> None:
    store(tmp_path, CLEAN, plan=Plan((CODEX, SONNET), partial="2 of 9 units, -k"))
    status, out, _ = call("gate", "--explain", cwd=tmp_path)
    assert status == 1
    assert "    INCOMPLETE: [partial] partial: 2 of 9 units, -k" in out.splitlines()


def test_explain_of_a_run_that_cannot_be_judged(tmp_path: Path) -> None:
    path = store(tmp_path)
    edit("run.json", lambda text: text.replace('"started"', '"begun"'))(path)
    status, out, _ = call("gate", path.name, "--explain", cwd=tmp_path)
    assert status == 1
    assert out.splitlines()[1].startswith("INCOMPLETE: ")


def test_foreign_text_in_an_explanation_is_inert(tmp_path: Path) -> None:
    hostile = replace(SQL, title=HOSTILE, detail=HOSTILE, category=HOSTILE)
    store(tmp_path, (result(CODEX, hostile), CLEAN[1]))
    _, out, _ = call("gate", "--explain", cwd=tmp_path)
    assert not is_active(out)
    assert all(len(line) < 700 for line in out.splitlines())
