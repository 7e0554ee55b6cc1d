"""``prun-review baseline``, ``accept`` and ``compare`` on stored runs."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review import beginning, document, rundir
from prun_review.acceptance import parse
from prun_review.baseline import parse as parse_baseline
from prun_review.cli.accept import chosen
from prun_review.errors import ConfigError
from prun_review.fingerprints import fingerprint
from prun_review.model import Acceptance, Finding, Known, Result, Revision
from prun_review.policy import Policy
from tests.cli.driver import call, prun_review
from tests.cli.runkit import CLEAN, CODEX, FACTS, SONNET, both, store
from tests.gatekit import CASE, FOLDER, LEAK, SQL, SQL_REWORDED, STYLE, lost, result

NAME = fingerprint(CASE, SQL)
FOUND = (result(CODEX, SQL, LEAK), result(SONNET, SQL_REWORDED, STYLE))
OTHER = f"{FOLDER}/probe_shop.py::probe_injection[billing]"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A trusted root."""
    (tmp_path / "pyproject.toml").write_text("[tool.prun_review]\n")
    return tmp_path


def tell(text: str) -> str:
    """What is printed for people, on one line."""
    return " ".join(text.split())


def rows(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run / "run.json").read_text())["findings"]
    return found


def id_of(run: Path, title: str) -> str:
    return next(str(row["id"]) for row in rows(run) if row["title"] == title)


def snapshot(run: Path) -> dict[str, bytes]:
    return {str(p.relative_to(run)): p.read_bytes() for p in sorted(run.rglob("*")) if p.is_file()}


# --- baseline ---------------------------------------------------------------------------------


def test_a_baseline_of_a_run(root: Path) -> None:
    revision = Revision("c" * 40, "7" * 40)
    run = store(root, FOUND, facts=replace(FACTS, revision=revision, version="0.1.0"))
    before = snapshot(run)
    status, out, errors = call("baseline", "-o", "known.json", cwd=root)
    assert (status, out) == (0, "")
    assert f"known.json: 2 known findings (1 critical, 1 high) of run {run.name}" in errors
    assert "left out: 1 that cannot gate" in errors
    assert "pytest panels/ --prun-baseline known.json" in errors
    made = parse_baseline((root / "known.json").read_text(), "known.json")
    assert (made.run, made.commit, made.tree, made.version) == (run.name, "c" * 40, "7" * 40, "0.1.0")
    assert {k.finding.title for k in made.entries} == {SQL.title, LEAK.title}
    assert snapshot(run) == before


@pytest.mark.parametrize(
    ("option", "titles"),
    [
        ((), {SQL.title, LEAK.title}),
        (("--all",), {SQL.title, LEAK.title, STYLE.title}),
        (("--blocking",), {SQL.title}),
    ],
)
def test_what_goes_in(root: Path, option: tuple[str, ...], titles: set[str]) -> None:
    run = store(root, FOUND, facts=replace(FACTS, folders={FOLDER: Policy(unresolved=-1)}))
    assert call("baseline", run.name, *option, "-o", "new/known.json", cwd=root)[0] == 0
    made = parse_baseline((root / "new/known.json").read_text(), "known.json")
    assert {k.finding.title for k in made.entries} == titles


def test_the_same_run_makes_the_same_file(root: Path) -> None:
    run = store(root, FOUND)
    for name in ("a.json", "b.json"):
        assert call("baseline", run.name, "-o", name, cwd=root)[0] == 0
    assert (root / "a.json").read_bytes() == (root / "b.json").read_bytes()


def test_a_run_with_nothing_makes_an_empty_baseline(root: Path) -> None:
    store(root, CLEAN)
    _, _, errors = call("baseline", "-o", "known.json", cwd=root)
    assert "known.json: 0 known findings of run" in errors
    assert parse_baseline((root / "known.json").read_text(), "x").entries == ()


def test_an_incomplete_run_is_taken_and_told(root: Path) -> None:
    store(root, (result(CODEX, SQL), lost(SONNET)))
    status, _, errors = call("baseline", "-o", "known.json", cwd=root)
    assert status == 0
    assert "the run is INCOMPLETE: what it did not see is not in the baseline and will gate" in errors


def test_a_run_that_did_not_end_is_refused(root: Path) -> None:
    run = store(root, FOUND, ended=False)
    status, _, errors = call("baseline", "-o", "known.json", cwd=root)
    assert status == 2
    assert f"run {run.name} did not come to its end (started)" in errors
    stopped = store(root, FOUND, facts=replace(FACTS, stopped="interrupted"), now=1.8e9 + 9)
    status, _, errors = call("baseline", stopped.name, "-o", "known.json", cwd=root)
    assert status == 2
    assert "did not come to its end (interrupted)" in errors
    living = rundir.create(root, now=1.8e9 + 20)
    try:
        assert call("baseline", living.path.name, "-o", "known.json", cwd=root)[0] == 2
    finally:
        living.close()
    assert not (root / "known.json").exists()


def refused_start(root: Path, now: float = 1.9e9) -> Path:
    """A start that came to nothing, as the plugin records it."""
    run = rundir.create(root, now=now)
    beginning.write_abort(run, "'nosuch' is no run")
    run.close()
    return run.path


def test_a_run_that_answered_nothing_makes_no_baseline(root: Path) -> None:
    """A refused call in between must not forget what was known."""
    good = root / "known.json"
    good.write_text("kept")
    none = [store(root, (lost(CODEX), lost(SONNET))), refused_start(root)]
    for name in ("latest", *(run.name for run in none)):
        status, out, errors = call("baseline", name, "-o", "known.json", cwd=root)
        assert (status, out) == (2, "")
        named = none[-1].name if name == "latest" else name
        assert f"nothing was answered in run {named}" in tell(errors)
        assert "remedy: name a run that has answers" in tell(errors)
        assert good.read_text() == "kept"
    assert "('nosuch' is no run)" in errors


def test_latest_is_the_last_run_that_has_answers(root: Path) -> None:
    run = store(root, FOUND)
    store(root, (lost(CODEX), lost(SONNET)), now=1.85e9)
    newest = refused_start(root)
    told = f"the latest run ({newest.name}) has no answers; taken is {run.name}, the last one that has"
    for name in ((), ("latest",)):
        status, _, errors = call("baseline", *name, "-o", "known.json", cwd=root)
        assert (status, told in errors) == (0, True)
        assert parse_baseline((root / "known.json").read_text(), "x").run == run.name
    status, _, errors = accept(root, "latest", NAME)
    assert (status, told in errors) == (0, True)
    status, out, errors = call("compare", run.name, "latest", cwd=root)
    assert (status, told in errors) == (0, True)
    assert out.startswith(f"# {run.name} and {run.name}")
    assert call("gate", "latest", cwd=root)[0] == 1


def test_latest_is_a_run_that_goes_on(root: Path) -> None:
    store(root, FOUND)
    living = rundir.create(root, now=1.9e9)
    try:
        status, _, errors = call("baseline", "latest", "-o", "known.json", cwd=root)
    finally:
        living.close()
    assert (status, "is still being written" in errors) == (2, True)


def entry(finding: Finding, case: str = CASE) -> Known:
    return Known(fingerprint(case, finding), case, FOLDER, finding)


def test_what_was_known_and_could_not_be_found_is_kept(root: Path) -> None:
    """A partial run must not forget what the rest knew; what is gone is forgotten."""
    elsewhere, gone = entry(SQL, OTHER), entry(replace(STYLE, title="Mended"))
    facts = replace(FACTS, known=(entry(SQL), elsewhere, gone), baseline="known.json")
    run = store(root, FOUND, facts=facts)
    _, _, errors = call("baseline", run.name, "-o", "known.json", cwd=root)
    assert "kept of known.json, since nobody was soundly asked: 1" in tell(errors)
    made = parse_baseline((root / "known.json").read_text(), "x")
    assert {(k.case, k.finding.title) for k in made.entries} == {
        (CASE, SQL.title),
        (CASE, LEAK.title),
        (OTHER, SQL.title),
    }
    half = store(root, (result(CODEX, LEAK), lost(SONNET)), facts=facts, now=1.8e9 + 9)
    assert call("baseline", half.name, "-o", "half.json", cwd=root)[0] == 0
    made = parse_baseline((root / "half.json").read_text(), "x")
    assert {k.finding.title for k in made.entries} == {SQL.title, LEAK.title, "Mended"}


def test_a_baseline_settles_the_next_run(root: Path) -> None:
    run = store(root, FOUND)
    assert document.verdict_of(json.loads((run / "run.json").read_text())).outcome == "FAIL"
    assert call("baseline", run.name, "-o", "known.json", cwd=root)[0] == 0
    known = parse_baseline((root / "known.json").read_text(), "x").entries
    again = store(root, FOUND, facts=replace(FACTS, known=known, baseline="known.json"), now=1.8e9 + 9)
    status, out, _ = call("gate", again.name, cwd=root)
    assert (status, json.loads(out)["outcome"]) == (0, "PASS")


# --- accept -----------------------------------------------------------------------------------


def accept(root: Path, *args: str, reason: str = "an internal tool", by: str = "Ada") -> tuple[int, str, str]:
    return call("accept", *args, "--reason", reason, "--by", by, cwd=root)


def accepted(root: Path) -> tuple[Acceptance, ...]:
    return parse((root / "prun-accept.toml").read_text(encoding="utf-8"), "x", 1.8e9)


@pytest.mark.parametrize("how", ["id", "fingerprint", "the beginning of one"])
def test_a_finding_is_accepted_by_any_of_its_names(root: Path, how: str) -> None:
    run = store(root, FOUND)
    before = snapshot(run)
    name = {"id": id_of(run, SQL.title), "fingerprint": NAME, "the beginning of one": NAME[:9]}[how]
    status, out, errors = accept(root, run.name, name)
    assert (status, out) == (0, "")
    assert f"({NAME}) is accepted by Ada: {root / 'prun-accept.toml'}" in tell(errors)
    assert "from the next run on it does not gate, unless it is more severe than critical" in tell(errors)
    assert f"in this run it led to FAIL; run {run.name} stays FAIL" in tell(errors)
    [one] = accepted(root)
    assert (one.subject, one.by, one.reason, one.until, one.case) == (
        NAME,
        "Ada",
        "an internal tool",
        "",
        CASE,
    )
    assert [f.title for f in one.also] == [SQL_REWORDED.title]
    assert snapshot(run) == before


def test_an_acceptance_settles_the_next_run_and_ends_with_its_day(root: Path) -> None:
    run = store(root, (result(CODEX, SQL), result(SONNET, SQL_REWORDED)))
    assert accept(root, "latest", NAME, "--until", "2099-01-01")[0] == 0
    [one] = accepted(root)
    assert one.until == "2099-01-01"
    for acceptance, outcome in ((one, "PASS"), (replace(one, expired=True), "FAIL")):
        facts = replace(FACTS, acceptances=(acceptance,))
        again = store(root, (result(CODEX, SQL), result(SONNET, SQL_REWORDED)), facts=facts, now=1.8e9 + 9)
        _, out, _ = call("gate", again.name, cwd=root)
        assert json.loads(out)["outcome"] == outcome
    assert json.loads(call("gate", run.name, cwd=root)[1])["outcome"] == "FAIL"


LOGGED = replace(
    SQL,
    title="Tokens are logged in clear text",
    detail="Whoever reads the log can take over a session of another person.",
    severity="high",
    quote="log.info(token)",
)
TWO = (result(CODEX, SQL), result(SONNET, LOGGED))
"""Near each other and of one category: one defect or two, nobody knows."""


def outcome_of(root: Path, results: Iterable[Result], **fields: Any) -> str:
    run = store(root, results, facts=replace(FACTS, **fields), now=1.8e9 + 9)
    return str(json.loads(call("gate", run.name, cwd=root)[1])["outcome"])


@pytest.mark.parametrize("finding", [SQL, LOGGED])
def test_of_what_may_be_two_only_the_one_that_is_named_is_accepted(root: Path, finding: Finding) -> None:
    run = store(root, TWO)
    [row] = rows(run)
    assert row["class"] == "uncertain"
    [member] = [m for m in row["members"] if m["title"] == finding.title]
    status, _, errors = accept(root, run.name, member["id"])
    assert status == 0
    assert f"{finding.severity} uncertain: {finding.title}" in tell(errors)
    [one] = accepted(root)
    assert (one.subject, one.also) == (fingerprint(CASE, finding), ())
    both = (result(CODEX, LOGGED), result(SONNET, LOGGED))
    for results in (TWO, both) if finding is SQL else (TWO,):
        assert outcome_of(root, results, acceptances=(one,)) in ("FAIL", "INCOMPLETE")
    assert accept(root, run.name, fingerprint(CASE, SQL if finding is LOGGED else LOGGED))[0] == 0
    assert outcome_of(root, TWO, acceptances=accepted(root)) == "PASS"


def test_what_may_be_two_is_listed_where_neither_is_named(root: Path) -> None:
    run = store(root, (result(CODEX, SQL), result(SONNET, LOGGED)))
    status, _, errors = accept(root, run.name, "f1-")
    assert status == 2
    assert "may be more than one defect, and each is answered for by itself" in tell(errors)
    assert all(f.title in errors for f in (SQL, LOGGED))
    assert not (root / "prun-accept.toml").exists()


def test_every_title_that_is_accepted_is_told(root: Path) -> None:
    run = store(root, FOUND)
    errors = tell(accept(root, run.name, NAME)[2])
    assert f"and so is what others said of it: {SQL_REWORDED.title} (src/auth.py:13)" in errors


def test_a_baseline_holds_what_may_be_two_as_two(root: Path) -> None:
    run = store(root, TWO)
    assert call("baseline", run.name, "-o", "known.json", cwd=root)[0] == 0
    entries = parse_baseline((root / "known.json").read_text(), "x").entries
    assert {(k.finding.title, k.finding.severity, k.also) for k in entries} == {
        (SQL.title, "critical", ()),
        (LOGGED.title, "high", ()),
    }
    assert outcome_of(root, TWO, known=entries) == "PASS"
    only = tuple(k for k in entries if k.finding.title == SQL.title)
    assert outcome_of(root, (result(CODEX, LOGGED), result(SONNET, LOGGED)), known=only) == "FAIL"


TORN = replace(SQL, grounding="ungrounded")


@pytest.mark.parametrize(
    ("results", "led"),
    [
        ((result(CODEX, TORN), result(SONNET)), "INCOMPLETE"),
        ((result(CODEX, SQL), result(SONNET)), "INCOMPLETE"),
        ((result(CODEX, replace(SQL, severity="low")), result(SONNET)), ""),
    ],
    ids=["ungrounded", "single", "harmless"],
)
def test_a_person_may_answer_for_anything(root: Path, results: Iterable[Result], led: str) -> None:
    run = store(root, results)
    status, _, errors = accept(root, run.name, NAME)
    assert status == 0
    assert (f"in this run it led to {led}" if led else "in this run it blocked nothing") in tell(errors)
    again = store(root, results, facts=replace(FACTS, acceptances=accepted(root)), now=1.8e9 + 9)
    assert json.loads(call("gate", again.name, cwd=root)[1])["outcome"] == "PASS"


def test_what_stands_in_the_file_stays(root: Path) -> None:
    lines = ["# ours ", "[[outage]]", 'executor = "codex"', 'by = "Bob"', 'reason = "é"']
    text = "\r\n".join([*lines, "until = 2020-01-20 # over"])
    file = root / "prun-accept.toml"
    file.write_bytes(text.encode())
    file.chmod(0o600)
    run = store(root, FOUND)
    assert accept(root, run.name, NAME)[0] == 0
    first = file.read_bytes()
    assert first.startswith(text.encode() + b"\n\n[[finding]]\n")
    assert accept(root, run.name, id_of(run, LEAK.title))[0] == 0
    assert file.read_bytes().startswith(first + b"\n[[finding]]\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [a.kind for a in accepted(root)] == ["outage", "finding", "finding"]
    assert not list(root.glob("*.part*"))


def test_what_is_accepted_already_is_told(root: Path) -> None:
    run = store(root, FOUND)
    assert accept(root, run.name, NAME, "--until", "2099-01-01")[0] == 0
    before = (root / "prun-accept.toml").read_bytes()
    status, _, errors = accept(root, run.name, NAME, by="Bob")
    assert status == 0
    assert "is accepted already, accepted by Ada until 2099-01-01; nothing was written" in tell(errors)
    assert (root / "prun-accept.toml").read_bytes() == before


def test_what_was_accepted_as_less_or_until_yesterday_is_accepted_anew(root: Path) -> None:
    low = store(root, (result(CODEX, replace(SQL, severity="low")), result(SONNET)))
    assert accept(root, low.name, NAME)[0] == 0
    run = store(root, FOUND, now=1.8e9 + 9)
    assert accept(root, run.name, NAME)[0] == 0
    assert [a.finding.severity for a in accepted(root) if a.finding] == ["low", "critical"]
    file = root / "prun-accept.toml"
    file.write_text(file.read_text().replace('by = "Ada"', 'by = "Ada"\nuntil = 2020-01-01'))
    assert accept(root, run.name, NAME)[0] == 0
    assert len(accepted(root)) == 3


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("no-such", NAME), "no-such"),
        (("latest", "f1-0000000000000000"), "holds no finding 'f1-0000000000000000'; it holds"),
        (("latest", "f1-"), "means 3 findings of run"),
        (("latest", ""), "holds no finding ''"),
        (("latest", NAME, "--until", "soon"), "until is 'soon', which is no day"),
        (("latest", NAME, "--until", "2020-01-01"), "until is '2020-01-01', which is over already"),
        (("latest", NAME, "--until", "2027-02-30"), "which is no day"),
    ],
)
def test_what_cannot_be_accepted_is_refused(root: Path, args: tuple[str, ...], says: str) -> None:
    store(root, FOUND)
    status, out, errors = accept(root, *args)
    assert (status, out) == (2, "")
    assert says in tell(errors)
    assert "remedy: " in errors
    assert not (root / "prun-accept.toml").exists()


def test_the_findings_that_may_be_meant_are_listed_by_their_short_names(root: Path) -> None:
    long = replace(SQL, title="words " * 99, quote=None, line=40)
    many = (replace(LEAK, title=f"leak of {n * 'x'} {n}", line=n + 1) for n in range(12))
    run = store(root, (result(CODEX, SQL, long, *many), result(SONNET)))
    listed = accept(root, run.name, "f1-nothing")[2].splitlines()
    assert "holds no finding 'f1-nothing'; it holds" in listed[0]
    rows_told = [line.strip() for line in listed if line.strip().startswith("f1-")]
    assert len(rows_told) == 10
    assert f"{NAME}  critical: {SQL.title} ({SQL.file}:{SQL.line})" in rows_told
    assert max(map(len, rows_told)) < 220
    assert "and 4 more" in [line.strip() for line in listed]
    assert not [row["id"] for row in rows(run) if str(row["id"]) in "".join(listed)]


def test_findings_of_one_fingerprint_are_listed_by_their_ids() -> None:
    base = {
        "fingerprint": "f1-a",
        "severity": "low",
        "class": "single",
        "title": "t",
        "file": "",
        "line": None,
    }
    with pytest.raises(ConfigError, match=r"(?s)\n  one  low: t \(no place\)\n  two  low: t"):
        chosen([{**base, "id": "one"}, {**base, "id": "two"}], "f1-a", "r")


def test_a_severity_that_nobody_knows_is_not_accepted(root: Path) -> None:
    run = store(root, (result(CODEX, replace(SQL, severity="fatal")), result(SONNET)))
    status, _, errors = accept(root, run.name, NAME)
    assert status == 2
    assert "nothing is as severe as what nobody knows" in tell(errors)


@pytest.mark.parametrize(("reason", "by", "says"), [(" ", "Ada", "reason is"), ("r", "\u2800", "by is")])
def test_nobody_answers_for_nothing(root: Path, reason: str, by: str, says: str) -> None:
    run = store(root, FOUND)
    status, _, errors = accept(root, run.name, NAME, reason=reason, by=by)
    assert status == 2
    assert says in errors
    assert not (root / "prun-accept.toml").exists()


@pytest.mark.parametrize("content", [b"[[outage]\n", b"\xff\n", b"[[outages]]\n", b"finding = []\n"])
def test_a_file_that_does_not_parse_is_left_alone(root: Path, content: bytes) -> None:
    run = store(root, FOUND)
    (root / "prun-accept.toml").write_bytes(content)
    status, _, errors = accept(root, run.name, NAME)
    assert status == 2
    assert "prun-accept.toml" in errors
    assert (root / "prun-accept.toml").read_bytes() == content


@pytest.mark.parametrize("target", ["../elsewhere.toml", "inside.toml"])
def test_a_link_is_not_written_through(root: Path, target: str) -> None:
    """Neither would a run read it."""
    run = store(root, FOUND)
    real = (root / target).resolve()
    real.write_text("")
    os.symlink(target, root / "prun-accept.toml")
    status, _, errors = accept(root, run.name, NAME)
    assert status == 2
    assert "an ordinary file that no link leads to" in tell(errors)
    assert real.read_text() == ""
    real.unlink()
    assert accept(root, run.name, NAME)[0] == 2


def test_a_folder_behind_a_link_is_not_written_into(root: Path) -> None:
    (root / "pyproject.toml").write_text('[tool.prun_review]\naccept = "ci/accept.toml"\n')
    run = store(root, FOUND)
    outside = root.parent / f"{root.name}-outside"
    outside.mkdir()
    os.symlink(outside, root / "ci")
    assert accept(root, run.name, NAME)[0] == 2
    assert list(outside.iterdir()) == []
    (root / "ci").unlink()
    assert accept(root, run.name, NAME)[0] == 0
    assert (root / "ci/accept.toml").is_file()


def test_hostile_text_of_a_finding_stays_in_its_string(root: Path) -> None:
    bad = replace(
        SQL,
        title='x"\n[[outage]]\nexecutor = "codex"\u202e\x1b[2J\x00\\',
        quote="\"\"\"\n[[review-change]]\n'''",
        detail="\x7f\u2028\ud83d",
    )
    run = store(root, (result(CODEX, bad), result(SONNET)))
    done = prun_review("accept", run.name, "f1-", "--reason", 'a "b" \x85', "--by", "A\\", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr
    table = tomllib.loads((root / "prun-accept.toml").read_text(encoding="utf-8"))
    assert list(table) == ["finding"]
    [one] = accepted(root)
    assert (one.by, one.reason) == ("A\\", 'a "b"')
    assert one.finding is not None
    assert one.finding.title.startswith('x" [[outage]] executor = "codex"')
    assert all(line.isprintable() for line in (root / "prun-accept.toml").read_text().splitlines())


def test_in_a_review_of_a_change_the_base_is_named(root: Path) -> None:
    revision = Revision("c" * 40, "7" * 40, base="b" * 40, merge_base="a" * 40)
    run = store(root, FOUND, facts=replace(FACTS, revision=revision))
    _, _, errors = accept(root, run.name, NAME)
    assert "commit it to the base" in errors
    assert accepted(root)[0].commit == "c" * 40


# --- compare ----------------------------------------------------------------------------------


def test_two_runs_are_compared_in_every_form(root: Path) -> None:
    a = store(root, FOUND)
    b = store(root, (result(CODEX, SQL), result(SONNET)), now=1.8e9 + 9)
    status, out, errors = call("compare", a.name, b.name, "--format", "json", cwd=root)
    assert (status, errors) == (0, "")
    made = json.loads(out)
    assert (made["a"]["run_id"], made["b"]["run_id"]) == (a.name, b.name)
    assert {kind: len(rows) for kind, rows in made["findings"].items()} == {
        "new": 0, "fixed": 2, "flipped": 1, "same": 0, "perhaps": 0, "unclear": 0,
    }  # fmt: skip
    status, out, _ = call("compare", str(a), "latest", cwd=root)
    assert status == 0
    assert out.startswith(f"# {a.name} and {b.name}")
    assert "## Fixed (2)" in out
    status, out, _ = call("compare", str(a), "latest", "--format", "text", cwd=root)
    assert status == 0
    assert out.startswith(f"{a.name} and {b.name}\n")
    assert "\nFIXED: 2\n  severity  place" in out


def test_a_run_is_judged_again_and_its_stored_findings_do_not_count(root: Path) -> None:
    a, b = store(root, FOUND), store(root, FOUND, now=1.8e9 + 9)
    value = json.loads((b / "run.json").read_text())
    (b / "run.json").write_text(json.dumps({**value, "findings": []}))
    made = json.loads(call("compare", a.name, b.name, "--format", "json", cwd=root)[1])
    assert len(made["findings"]["same"]) == 3
    assert made["verdict"]["after"]["outcome"] == "FAIL"
    (b / "plan.json").unlink()
    made = json.loads(call("compare", a.name, b.name, "--format", "json", cwd=root)[1])
    assert made["findings"]["fixed"] == []
    assert [row["why"] for row in made["not_comparable"]] == ["nobody was asked in the second run"]


def test_a_run_that_is_none_is_refused(root: Path) -> None:
    a = store(root, FOUND)
    for pair in ((a.name, "no-such"), ("no-such", a.name)):
        status, out, errors = call("compare", *pair, cwd=root)
        assert (status, out) == (2, "")
        assert "no-such" in errors


def test_commits_that_are_not_there_are_said(root: Path) -> None:
    a = store(root, both(SQL), facts=replace(FACTS, revision=Revision("c" * 40, "7" * 40)))
    b = store(root, both(SQL), facts=replace(FACTS, revision=Revision("d" * 40, "8" * 40)), now=1.8e9 + 9)
    status, out, errors = call("compare", a.name, b.name, cwd=root)
    assert status == 0
    assert "files that were renamed in between are not followed: not in a git repository" in errors
    assert "## Same (1)" in out


def test_a_damaged_run_is_told_and_not_taken(root: Path) -> None:
    run = store(root, FOUND)
    value = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**value, "facts": {"run_id": 3}}))
    for args in (("baseline", run.name, "-o", "k.json"), ("compare", run.name, run.name)):
        status, _, errors = call(*args, cwd=root)
        assert status == 2
        assert "the run is damaged" in errors
    assert accept(root, run.name, NAME)[0] == 2
    assert not (root / "k.json").exists()
