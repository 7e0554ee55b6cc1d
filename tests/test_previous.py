"""Blockers of earlier runs: found again on the same head, whatever lies in between, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review import document, previous, rundir
from prun_review.errors import RunDirError
from prun_review.model import Carried, Finding, Opinion, Plan, Result, Revision, RunFacts, Verdict
from prun_review.policy import Policy
from prun_review.previous import LOOK, carried
from prun_review.rundir import RunDir
from tests import examkit, gatekit
from tests.examkit import CANNOT_TELL, REFUTE, claim, confirm
from tests.gate_situations import AGREED, CLEAN, PAIR, SONNET, UNGROUNDED, held
from tests.gatekit import CASE, FOLDER, LEAK, PERHAPS, SQL, SQL_REWORDED, result
from tests.storekit import NOW, attempt

HEAD = Revision("c" * 40, "7" * 40, base="b" * 40, merge_base="a" * 40)
OTHER = replace(HEAD, tree="8" * 40)
REBASED = replace(HEAD, merge_base="d" * 40)


def run(
    root: Path,
    results: Sequence[Result] = AGREED,
    *,
    at: float = NOW,
    revision: Revision = HEAD,
    ended: bool = True,
    close: bool = True,
    **fields: Any,
) -> RunDir:
    """A stored run of both vendors; ``ended`` False: killed when all had answered."""
    store = rundir.create(root, now=at)
    plan = Plan(PAIR)
    facts = gatekit.facts(run_id=store.id, started=at, revision=revision, **fields)
    store.write_plan(plan)
    store.write_document(document.start(facts, plan))
    for unit in PAIR:
        for found in (r for r in results if r.unit == unit.id):
            attempt(store, unit)
            store.finish(found)
    if ended:
        store.write_document(document.build(replace(facts, finished=at + 9), plan, results))
    if close:
        store.close()
    return store


def look(root: Path, which: str = "latest", revision: Revision = HEAD, **more: Any) -> tuple[Carried, ...]:
    return carried(root, which, tree=revision.tree, merge_base=revision.merge_base, **more)[0]


def notes(root: Path, which: str = "latest", revision: Revision = HEAD) -> tuple[str, ...]:
    return carried(root, which, tree=revision.tree, merge_base=revision.merge_base)[1]


def judged(facts: RunFacts, results: Sequence[Result]) -> Verdict:
    facts = replace(facts, change=gatekit.changed("src/auth.py")["change"])
    return document.verdict_of(document.build(facts, Plan(PAIR), results))


@pytest.mark.parametrize("which", ["latest", "id", "path"])
def test_a_blocker_of_the_same_head(tmp_path: Path, which: str) -> None:
    old = run(tmp_path)
    (found,) = look(tmp_path, {"id": old.id, "path": str(old.path)}.get(which, which))
    assert (found.run, found.finding) == (old.id, AGREED[0].findings[0].id)
    assert (found.severity, found.title, found.place) == ("critical", SQL.title, "src/auth.py:12")
    assert (found.outcome, found.folder) == ("FAIL", FOLDER)
    assert [m.title for m in found.members] == [SQL.title, SQL_REWORDED.title]


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        (held(SQL, PERHAPS), "INCOMPLETE"),
        (held(UNGROUNDED), "INCOMPLETE"),
        (held(SQL, replace(SQL_REWORDED, severity="medium")), "INCOMPLETE"),
        (held(SQL), "INCOMPLETE"),
        (held(replace(SQL, severity="medium")), None),
        (held(replace(SQL, beside=True), replace(SQL_REWORDED, beside=True)), None),
        (CLEAN, None),
    ],
)
def test_only_what_blocked_is_carried_as_it_was(
    tmp_path: Path, results: Sequence[Result], outcome: str | None
) -> None:
    run(tmp_path, results)
    assert [c.outcome for c in look(tmp_path)] == ([outcome] if outcome else [])


@pytest.mark.parametrize(
    ("results", "kind"),
    [
        (held(SQL), "single"),
        (held(SQL, PERHAPS), "uncertain"),
        (held(UNGROUNDED), "ungrounded"),
        (AGREED, "consensus"),
    ],
)
def test_what_is_carried_tells_its_case_and_class(
    tmp_path: Path, results: Sequence[Result], kind: str
) -> None:
    run(tmp_path, results)
    assert [(c.case, c.kind, c.examined) for c in look(tmp_path)] == [(CASE, kind, "")]


@pytest.mark.parametrize(
    ("word", "outcome", "examined"),
    [
        (confirm("critical"), "FAIL", "confirmed"),
        (REFUTE, "INCOMPLETE", "refuted"),
        (CANNOT_TELL, "INCOMPLETE", "unresolved"),
    ],
)
def test_a_killed_run_carries_what_its_second_wave_came_to(
    tmp_path: Path, word: Opinion, outcome: str, examined: str
) -> None:
    store = run(tmp_path, held(SQL), ended=False, close=False)
    question = replace(claim(f"{PAIR[0].slug}#1"), id="x-0123456789ab")
    wave = examkit.examined((question, {"sonnet": word}))
    store.write_examination(wave)
    for found in wave.results:
        store.finish(found)
    store.close()
    assert [(c.outcome, c.examined) for c in look(tmp_path)] == [(outcome, examined)]


@pytest.mark.parametrize("revision", [OTHER, REBASED, replace(HEAD, tree="")])
@pytest.mark.parametrize("which", ["latest", "named"])
def test_another_head_is_another_review(tmp_path: Path, revision: Revision, which: str) -> None:
    old = run(tmp_path)
    wanted = old.id if which == "named" else which
    assert look(tmp_path, wanted, revision) == ()
    (note,) = notes(tmp_path, wanted, revision)
    assert "head" in note
    assert "carried over" in note


def test_a_run_without_a_tree_is_of_no_head(tmp_path: Path) -> None:
    run(tmp_path, revision=Revision())
    assert look(tmp_path, revision=Revision()) == ()


def test_a_tree_that_is_reviewed_as_it_is_has_a_head_too(tmp_path: Path) -> None:
    whole = Revision("c" * 40, "7" * 40)
    run(tmp_path, revision=whole)
    assert len(look(tmp_path, revision=whole)) == 1
    assert look(tmp_path) == ()


def test_running_again_until_it_is_green_does_not_work(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert judged(gatekit.facts(revision=HEAD), AGREED).outcome == "FAIL"
    kept: tuple[Carried, ...] = ()
    for n in range(1, 4):
        kept = look(tmp_path)
        assert [c.run for c in kept] == [first.id], n
        said = judged(gatekit.facts(revision=HEAD, carried=kept), CLEAN)
        assert (said.outcome, [r.code for r in said.reasons]) == ("FAIL", ["carried"])
        again = run(tmp_path, CLEAN, at=NOW + 100 * n, carried=kept)
        assert [c.run for c in look(tmp_path, again.id)] == [first.id], "a chain of named runs keeps it too"
    assert judged(gatekit.facts(revision=OTHER, carried=look(tmp_path, revision=OTHER)), CLEAN).line == "PASS"
    said = judged(gatekit.facts(revision=HEAD, carried=kept), AGREED)
    assert [r.code for r in said.reasons] == ["consensus"], "held again, it is judged again"


@pytest.mark.parametrize(
    "between",
    [
        {"results": CLEAN},
        {"results": (), "ended": False},
        {"results": CLEAN, "revision": OTHER},
        {"results": CLEAN, "stopped": "interrupted"},
    ],
    ids=["a run without --prun-previous", "a killed one", "another head", "an interrupted one"],
)
def test_a_run_in_between_loses_nothing(tmp_path: Path, between: dict[str, Any]) -> None:
    first = run(tmp_path)
    run(tmp_path, **{"at": NOW + 100, **between})
    assert [c.run for c in look(tmp_path)] == [first.id]


def test_a_killed_run_holds_what_it_was_answered(tmp_path: Path) -> None:
    killed = run(tmp_path, ended=False)
    assert [(c.run, c.outcome) for c in look(tmp_path)] == [(killed.id, "FAIL")]


def test_each_defect_is_carried_once_and_the_harder_word_counts(tmp_path: Path) -> None:
    run(tmp_path, AGREED)
    run(tmp_path, held(replace(SQL, line=14, end_line=14), PERHAPS), at=NOW + 100)
    newest = run(tmp_path, (*held(SQL_REWORDED, PERHAPS),), at=NOW + 200)
    found = look(tmp_path)
    assert [c.outcome for c in found] == ["INCOMPLETE", "FAIL"]
    assert found[0].run == newest.id
    run(tmp_path, AGREED, at=NOW + 300)  # one of the two that may be one is held: the other is open still
    assert [c.outcome for c in look(tmp_path)] == ["FAIL", "INCOMPLETE"]


def test_other_defects_are_carried_beside_each_other(tmp_path: Path) -> None:
    run(tmp_path, held(LEAK, LEAK))
    run(tmp_path, AGREED, at=NOW + 100)
    assert [c.title for c in look(tmp_path)] == [SQL.title, LEAK.title]


def test_what_a_folder_in_report_mode_held_never_blocked(tmp_path: Path) -> None:
    run(tmp_path, folders={FOLDER: Policy(mode="report")})
    assert look(tmp_path) == ()


def test_an_outage_there_made_one_word_enough(tmp_path: Path) -> None:
    results = (gatekit.lost(PAIR[0], reason="network"), result(SONNET, SQL))
    run(tmp_path, results, acceptances=(gatekit.outage(),))
    assert [c.outcome for c in look(tmp_path)] == ["FAIL"]


def known(root: Path, revision: Revision = HEAD, **more: Any) -> list[tuple[str, str]]:
    """Code and text of what could not be known."""
    found = carried(root, "latest", tree=revision.tree, merge_base=revision.merge_base, **more)
    assert all(doubt.outcome == "INCOMPLETE" for doubt in found.doubts)
    return [(doubt.code, doubt.text) for doubt in found.doubts]


def test_this_run_itself_is_passed_over(tmp_path: Path) -> None:
    here = run(tmp_path, ended=False, close=False)
    try:
        found = carried(tmp_path, "latest", tree=HEAD.tree, merge_base=HEAD.merge_base, here=here.path)
        assert found == ((), ("no stored run is on this head: no blocker is carried over",), ())
    finally:
        here.close()


def test_what_a_run_on_this_head_will_find_is_not_known(tmp_path: Path) -> None:
    live = run(tmp_path, ended=False, close=False)
    try:
        ((code, text),) = known(tmp_path)
        assert code == "previous-running"
        assert live.id in text
        assert look(tmp_path) == ()
        assert known(tmp_path, OTHER) == []
        assert known(tmp_path, REBASED) == []
        with pytest.raises(RunDirError, match="still being written"):
            look(tmp_path, live.id)
    finally:
        live.close()
    assert known(tmp_path) == []
    assert len(look(tmp_path)) == 1


def test_the_head_of_a_run_that_only_begins_is_not_known(tmp_path: Path) -> None:
    live = rundir.create(tmp_path, now=NOW)
    try:
        ((code, text),) = known(tmp_path)
        assert (code, live.id in text) == ("previous-running", True)
        (live.path / "run.json").write_text('{"schema_version": 1, "fac')
        assert [code for code, _ in known(tmp_path)] == ["previous-running"]
    finally:
        live.close()


def test_folders_in_which_no_run_began_do_not_hide_one(tmp_path: Path) -> None:
    first = run(tmp_path)
    for n in range(LOOK + 1):
        empty = tmp_path / ".prun/runs" / f"20991231T00{n // 60:02}{n % 60:02}Z-{n:04x}"
        empty.mkdir()
        (empty / "lock").write_text("")
    assert [c.run for c in look(tmp_path)] == [first.id]
    assert known(tmp_path) == []


def test_more_runs_than_are_looked_at_forbid_green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previous, "LOOK", 2)
    run(tmp_path)
    run(tmp_path, CLEAN, at=NOW + 100)
    assert known(tmp_path) == []
    run(tmp_path, CLEAN, at=NOW + 200)
    assert look(tmp_path) == ()
    ((code, text),) = known(tmp_path)
    assert code == "previous-unknown"
    assert "more than 2 stored runs" in text


def alter(store: RunDir, name: str, old: str, new: str) -> None:
    path = store.path / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_blocker_that_somebody_takes_out_of_the_stored_run_is_missed(tmp_path: Path) -> None:
    store = run(tmp_path)
    alter(store, "run.json", '"blocking": true', '"blocking": false')
    for which in ("latest", store.id):
        with pytest.raises(RunDirError, match="altered"):
            look(tmp_path, which)


def test_a_result_that_somebody_alters_in_a_killed_run_is_missed(tmp_path: Path) -> None:
    store = run(tmp_path, ended=False)
    alter(store, f"units/{PAIR[0].slug}/result.json", "critical", "low")
    with pytest.raises(RunDirError, match="altered"):
        look(tmp_path)


def test_facts_that_this_version_does_not_know_are_an_error(tmp_path: Path) -> None:
    store = run(tmp_path, close=False)
    whole = json.loads((store.path / "run.json").read_text())
    whole["facts"]["of_the_future"] = True
    store.write_document(whole)
    store.close()
    with pytest.raises(RunDirError, match="of_the_future") as caught:
        look(tmp_path)
    assert "--prun-previous" in str(caught.value)


def test_findings_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    store = run(tmp_path, close=False)
    whole = json.loads((store.path / "run.json").read_text())
    whole["findings"][0]["members"][0]["line"] = "twelve"
    store.write_document(whole)
    store.close()
    with pytest.raises(RunDirError, match="line"):
        look(tmp_path)


def test_a_directory_in_which_no_run_began_is_passed_over(tmp_path: Path) -> None:
    rundir.create(tmp_path, now=NOW + 100).close()
    first = run(tmp_path)
    assert [c.run for c in look(tmp_path)] == [first.id]


@pytest.mark.parametrize("which", ["20200101T000000Z-abcd", "nothing", "../.."])
def test_a_run_that_is_not_there(tmp_path: Path, which: str) -> None:
    with pytest.raises(RunDirError, match="is no run"):
        look(tmp_path, which)


def test_without_any_run_there_is_nothing_to_carry(tmp_path: Path) -> None:
    assert carried(tmp_path, "latest", tree="7" * 40) == (
        (),
        ("no stored run is on this head: no blocker is carried over",),
        (),
    )


def test_a_document_of_an_older_version_says_what_it_can(tmp_path: Path) -> None:
    store = run(tmp_path, close=False)
    whole = json.loads((store.path / "run.json").read_text())
    del whole["change"]
    for row in whole["findings"]:
        for key in ("outcome", "origin", "placement", "side", "cause"):
            del row[key]
    store.write_document(whole)
    store.close()
    (found,) = look(tmp_path)
    assert isinstance(found.members[0], Finding)
    assert found.outcome == "INCOMPLETE", "what it led to was not said; it is not green in any case"
