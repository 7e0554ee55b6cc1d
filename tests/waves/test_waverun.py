"""Runs of waves with workers that are shell scripts: what becomes of tasks, waves and what comes after."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prun_review import rundir, wavedocument
from prun_review.errors import ConfigError, ExecutorError, PlanError
from prun_review.planning import Proposal
from prun_review.renderers import waveterminal
from prun_review.rundir import RunView
from prun_review.vault import Vault
from prun_review.wavebeginning import Selection
from prun_review.wavetaking import newest
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, DONE, Project, T, drain, project, states


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield place


def three_waves(tmp_path: Path) -> Project:
    """The middle one fails in part."""
    return project(
        tmp_path,
        T(1, 1),
        T(2, 2, [1], script=f"test -f task-001.txt; echo no > task-002.txt; exit 3; {DONE}"),
        T(3, 2, [1], script=f"cat task-001.txt > task-003.txt; {DONE}"),
        T(4, 3, [2]),
        T(5, 3, [3], script=f"cat task-001.txt task-003.txt > task-005.txt; {DONE}"),
        validation={1: "test -f task-001.txt", 3: "test -f task-005.txt && ! test -e task-002.txt"},
    )


def test_what_depends_on_a_failure_is_skipped_and_all_else_goes_on(tmp_path: Path) -> None:
    made = three_waves(tmp_path)
    before = [made.git(*args.split()) for args in ("for-each-ref", "status --porcelain", "rev-parse HEAD")]
    document = made.done()
    assert states(document) == {
        **{"001": "succeeded:ok", "002": "failed:unknown", "003": "succeeded:ok"},
        **{"004": "skipped:dependency", "005": "succeeded:ok"},
    }
    assert document["status"] == "failed"
    assert document["tasks"][3]["message"] == "task-002-part failed (unknown)"
    assert [w["validation"] and w["validation"]["code"] for w in document["waves"]] == [0, None, 0]
    assert wavedocument.validate(document) == []
    after = [made.git(*args.split()) for args in ("for-each-ref", "status --porcelain", "rev-parse HEAD")]
    assert after == before
    assert json.loads((made.directory / "report.json").read_text()) == document
    [path] = rundir.stored(made.root)
    assert RunView(path).waves() == document
    vault = Vault.open(path / "git")
    assert vault.run("rev-parse", f"refs/heads/prun/{path.name}").decode().strip() == document["head"]
    held = {e.name.decode() for e in vault.entries(document["head"])} & {f"task-00{n}.txt" for n in range(6)}
    assert held == {"task-001.txt", "task-003.txt", "task-005.txt"}
    assert made.lines[-1] == "[PROGRESS] execution status=failed"
    assert "[PROGRESS] wave=2 task=task-002 status=failed error=unknown" in made.lines


def test_nothing_runs_after_a_validation_that_did_not_pass(tmp_path: Path) -> None:
    says = "echo what is wrong; exit 4"
    made = project(tmp_path, T(1, 1), T(2, 2), T(3, 3, [2]), validation={1: says})
    document = made.done()
    assert states(document) == {
        "001": "succeeded:ok",
        "002": "not-run:validation",
        "003": "not-run:validation",
    }
    [first, *others] = document["waves"]
    assert (first["status"], first["reason"]) == ("failed", "validation")
    assert (first["validation"]["command"], first["validation"]["code"]) == (says, 4)
    assert first["validation"]["said"] == "what is wrong"
    assert [(w["status"], w["reason"]) for w in others] == [("not-run", "validation")] * 2
    assert document["status"] == "failed"


def test_a_bare_python_expression_validates(tmp_path: Path) -> None:
    old = 'from pathlib import Path; print(Path("task-001.txt").read_text())'
    document = project(tmp_path, T(1, 1), validation={1: old}).done()
    check = document["waves"][0]["validation"]
    assert (check["command"], check["code"], check["said"]) == (old, 0, "task-001")
    assert document["status"] == "completed"


def shared(made: Project, document: dict[str, Any]) -> str:
    """The file that all edit, as it is in the whole."""
    vault = Vault.open(next(rundir.stored(made.root)) / "git")
    entries = [e for e in vault.entries(document["head"]) if e.name == b"src/shared.txt"]
    return b"".join(vault.contents(entries)).decode()


FIRST = f"sed -i s/two/2/ src/shared.txt; {DONE}"
SECOND = f"sed -i s/two/zwei/ src/shared.txt; {DONE}"


@pytest.mark.parametrize(
    ("again", "ends", "whole"),
    [
        (f"sed -i 's/^2$/2 zwei/' src/shared.txt; {DONE}", "succeeded:ok", "2 zwei"),
        (f"git show HEAD:src/shared.txt | sed s/2/zwei/ > src/shared.txt; {DONE}", "succeeded:ok", "zwei"),
        ("exit 0", "failed:no-marker", "2"),
    ],
)
def test_of_two_who_edit_the_same_lines_one_is_opened_again(
    tmp_path: Path, again: str, ends: str, whole: str
) -> None:
    made = project(tmp_path, T(1, 1, script=FIRST), T(2, 1, script=SECOND, again=again), T(3, 2, [2]))
    document = made.done()
    assert states(document)["001"] == "succeeded:ok"
    assert states(document)["002"] == ends
    assert shared(made, document) == f"one\n{whole}\nthree\n"
    second = document["tasks"][1]
    assert (second["reopened"], second["attempts"]) == (1, 2)
    assert second["unit"].startswith("TS-0009-shop-task-002-part-hand-2-")
    assert second["conflict"]["paths"] == ["src/shared.txt"]
    assert second["conflict"]["others"] == ["task-001-part"]
    prompt = (made.scripts / "task-002.2.prompt").read_text()
    assert "+zwei" in prompt  # what it wrote before
    assert "src/shared.txt" in prompt
    assert "<<<<<<<" in prompt
    told = "task-002-part is opened again: conflict in src/shared.txt with task-001-part"
    assert made.told.count(told) == 1, made.told
    assert made.lines.count("[PROGRESS] wave=1 task=task-002 status=started") == 2
    assert states(document)["003"] == ("succeeded:ok" if ends == "succeeded:ok" else "skipped:dependency")


def test_the_second_conflict_is_the_end_of_a_task(tmp_path: Path) -> None:
    """Two tasks are opened again at once: the second of them meets the first one's new change."""
    third = f"sed -i s/two/trois/ src/shared.txt; {DONE}"
    made = project(
        tmp_path,
        T(1, 1, script=FIRST),
        T(2, 1, script=SECOND, again=f"sed -i 's/^2$/zwei/' src/shared.txt; {DONE}"),
        T(3, 1, script=third, again=f"sed -i 's/^2$/trois/' src/shared.txt; {DONE}"),
        T(4, 2, [3]),
    )
    document = made.done()
    assert states(document) == {
        **{"001": "succeeded:ok", "002": "succeeded:ok"},
        **{"003": "failed:conflict", "004": "skipped:dependency"},
    }
    kept = document["tasks"][2]
    assert kept["reopened"] == 1
    [path] = rundir.stored(made.root)
    vault = Vault.open(path / "git")
    [entry] = [e for e in vault.entries(document["head"]) if e.name == b"src/shared.txt"]
    assert vault.contents([entry]) == [b"one\nzwei\nthree\n"]
    # What could not be joined is there all the same.
    assert b"+trois" in (path / "units" / kept["unit"] / "change.patch").read_bytes()


def test_with_reopen_0_the_first_conflict_is_the_end(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1, script=FIRST), T(2, 1, script=SECOND))
    assert states(made.done(reopen=0)) == {"001": "succeeded:ok", "002": "failed:conflict"}


def test_results_of_the_plan_are_what_those_who_wait_for_tasks_read(tmp_path: Path) -> None:
    made = three_waves(tmp_path)
    run = made.run()
    try:
        run.start(say=made.told.append)
        assert [unit.id for unit in run.plan.units] == [f"{DIR}::task-00{n}-part" for n in range(1, 6)]
        given = drain(run)
        run.finish()
    finally:
        run.close()
    [path] = rundir.stored(made.root)
    view = RunView(path)
    assert not view.dispatcher_alive()
    plan = view.plan()
    assert plan == run.plan
    stored = {unit.id: view.result_of(unit) for unit in run.plan.units}
    assert stored == run.results == {result.unit: result for result in given}
    assert [(r.status, r.reason) for r in run.results.values() if r.unit.endswith(("2-part", "4-part"))] == [
        ("failed", "unknown"),
        ("not-run", "dependency"),
    ]
    good = run.results[f"{DIR}::task-005-part"]
    assert good.ok
    assert b"+++ b/task-005.txt" in view.patch_of(good)


# --- going on ---------------------------------------------------------------------------------


def test_what_succeeded_is_taken_over_and_the_rest_is_done_again(tmp_path: Path) -> None:
    made = three_waves(tmp_path)
    first = made.done()
    made.script(2, f"echo yes > task-002.txt; {DONE}")
    made.script(1, "exit 9")  # not asked again
    made.script(4, f"cat task-002.txt > task-004.txt; {DONE}")
    for prompt in made.scripts.glob("*.prompt"):
        prompt.unlink()
    second = made.done(Selection(resume=True))
    # The last validation wants that task 2 came to nothing.
    assert states(second) == {f"00{n}": "succeeded:ok" for n in range(1, 6)}
    assert [w["reason"] for w in second["waves"]] == ["ok", "ok", "validation"]
    assert sorted(p.name for p in made.scripts.glob("*.prompt")) == ["task-002.prompt", "task-004.prompt"]
    assert any("3 of 5 tasks taken over" in line for line in made.told), made.told
    assert [t["unit"] for t in first["tasks"]][::2] == [t["unit"] for t in second["tasks"]][::2]
    path = next(rundir.stored(made.root))
    for task in second["tasks"]:
        assert (path / "units" / task["unit"] / "change.patch").is_file(), task["id"]
    tree = {e.name for e in Vault.open(path / "git").entries(second["head"])}
    assert {f"task-00{n}.txt".encode() for n in range(1, 6)} <= tree


def test_a_whole_run_is_gone_on_from_without_a_dispatch(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1]), validation={2: "test -f task-002.txt"})
    first = made.done()
    for prompt in made.scripts.glob("*.prompt"):
        prompt.unlink()
    second = made.done(Selection(resume=True))
    assert first["status"] == second["status"] == "completed"
    assert first["head"] == second["head"]
    assert not list(made.scripts.glob("*.prompt"))


@pytest.mark.parametrize("ill", ["patch", "result", "waves", "unit"])
def test_nothing_is_taken_from_records_that_were_altered(tmp_path: Path, ill: str) -> None:
    made = project(tmp_path, T(1, 1), T(2, 1))
    first = made.done()
    [path] = rundir.stored(made.root)
    place = path / "units" / first["tasks"][0]["unit"]
    victim = {
        "patch": place / "change.patch",
        "result": place / "result.json",
        "unit": place / "unit.json",
        "waves": path / "waves.json",
    }[ill]
    victim.write_bytes(victim.read_bytes().replace(b"task-001", b"task-901"))
    for prompt in made.scripts.glob("*.prompt"):
        prompt.unlink()
    if ill == "waves":
        with pytest.raises(Exception, match="not in the ledger"):
            made.done(Selection(resume=True))
        return
    second = made.done(Selection(resume=True))
    assert second["status"] == "completed"
    assert [p.name for p in made.scripts.glob("*.prompt")] == ["task-001.prompt"]
    assert any("task-001-part is not taken over" in line for line in made.told), made.told


def test_from_a_wave_on_all_is_done_anew(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1]))
    with pytest.raises(PlanError, match="no earlier run"):
        made.done(Selection(from_wave=2))
    first = made.done()
    for prompt in made.scripts.glob("*.prompt"):
        prompt.unlink()
    second = made.done(Selection(from_wave=2))
    assert (first["status"], second["status"]) == ("completed", "completed")
    assert [p.name for p in made.scripts.glob("*.prompt")] == ["task-002.prompt"]


def test_only_some_tasks(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 1), T(3, 2, [1]), T(4, 2, [2]))
    with pytest.raises(PlanError, match="task-003-part needs task-001-part"):
        made.done(Selection(only=("task-003",)))
    document = made.done(Selection(only=("task-001", "task-003-part")))
    assert states(document) == {
        **{"001": "succeeded:ok", "002": "not-run:not-selected"},
        **{"003": "succeeded:ok", "004": "not-run:not-selected"},
    }
    assert document["status"] == "partial"


def asked(*numbers: int, **more: str) -> list[Proposal]:
    ids = [f"{DIR}::task-{n:03}-part" for n in numbers]
    return [Proposal(i, i, DIR, "hand", **more) for i in ids]  # type: ignore[arg-type]


def test_what_pytest_selects_and_what_of_it_cannot_be_run(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 1), T(3, 2, [1]), T(4, 3, [3]), T(5, 2, [2]))
    run = made.run()
    try:
        run.start(
            [*asked(2, 3, 4, 5), *asked(1, not_asked="skipped", text="by its mark")], say=made.told.append
        )
        drain(run)
        outcome = run.finish(reported={unit.id for unit in run.plan.units})
    finally:
        run.close()
    assert [n.reason for n in run.plan.not_asked] == ["skipped"]
    ends = {r.unit[-8:-5]: (r.status, r.reason, r.message) for r in run.results.values()}
    assert ends["002"][:2] == ends["005"][:2] == ("valid", "ok")
    missing = "it needs task-{}-part, which is neither selected nor done"
    assert ends["003"] == ("not-run", "dependency", missing.format("001"))
    assert ends["004"] == ("not-run", "dependency", missing.format("003"))
    assert [unit.id[-8:-5] for unit in run.plan.units] == ["002", "003", "005", "004"]
    assert outcome.verdict.outcome == "INCOMPLETE"
    assert outcome.document["status"] == "partial"


def test_a_task_that_no_report_spoke_of_is_missing(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 1))
    for reported, expected in (({1, 2}, "PASS"), ({1}, "INCOMPLETE")):
        run = made.run()
        try:
            run.start(asked(1, 2), say=made.told.append)
            drain(run)
            spoken = {f"{DIR}::task-00{n}-part" for n in reported}
            assert run.finish(reported=spoken).verdict.outcome == expected
        finally:
            run.close()


def test_the_former_run_is_one_of_the_same_directory(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1))
    made.done()
    shutil.copytree(made.directory, made.directory.with_name("TS-0010-other"))
    assert newest(made.root, DIR) == next(rundir.stored(made.root))
    assert newest(made.root, "parallel/TS-0010-other") is None


def test_a_mended_task_that_is_committed_is_gone_on_with_from_where_the_run_began(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1], "exit 9"), validation={1: "test ! -e late"})
    first = made.done()
    assert states(first) == {"001": "succeeded:ok", "002": "failed:unknown"}
    made.script(1, "exit 9")  # not asked again
    made.script(2, f"cat task-001.txt > two.txt; {DONE}")
    mended = made.directory / "tasks/task-002-part.md"
    mended.write_text(mended.read_text() + "\nMended.\n")
    (made.root / "late").write_text("of a commit that the run did not begin with")
    made.git("add", ".")
    made.git("commit", "-q", "-m", "a task is mended")
    head = made.git("rev-parse", "HEAD").strip()
    second = made.done(Selection(resume=True))
    assert (second["status"], second["base"]) == ("completed", first["base"])
    told = f"resume: goes on from {first['base'][:12]}, where it began; HEAD is {head[:12]} now"
    assert made.told.count(told) == 1
    assert not [line for line in made.told if "uncommitted" in line]
    assert "Mended." in (made.scripts / "task-002.prompt").read_text()
    path = next(rundir.stored(made.root))
    tree = {e.name for e in Vault.open(path / "git").entries(second["head"])}
    assert b"two.txt" in tree
    assert b"late" not in tree
    third = made.done(Selection(from_wave=2))
    assert (third["status"], third["base"]) == ("completed", first["base"])


def test_where_the_commit_is_gone_that_the_run_began_with_it_is_refused(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1))
    made.done()
    made.git("commit", "-q", "--amend", "-m", "another first one")
    made.git("reflog", "expire", "--expire=all", "--all")
    made.git("gc", "-q", "--prune=now")
    with pytest.raises(PlanError, match="is not here any more"):
        made.done(Selection(resume=True))
    assert len(list(rundir.stored(made.root))) == 1  # nothing is left of what could not begin


# --- what workers get -------------------------------------------------------------------------


def test_a_prompt_that_a_person_made_is_given_word_for_word(tmp_path: Path) -> None:
    text = "TASK-001: Users\nAgent: hand-expert\n\n=== CONTEXT ===\n  two  spaces, a tab\tand ünïcode\n"
    text += f"COMPLETION SIGNAL:\n{DONE}\n"
    made = project(tmp_path, T(1, 1), files={f"{DIR}/prompts/task-001.txt": text})
    assert made.done()["status"] == "completed"
    assert text.strip() in (made.scripts / "task-001.prompt").read_text()


def test_later_waves_see_what_was_accepted_and_not_what_was_refused(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        T(1, 1, script=f"echo 1 >> src/shared.txt; {DONE}", scope="## Scope\nMODIFY: src/shared.txt\n"),
        T(2, 1, script=f"echo x > outside; {DONE}", scope="## Scope\nCREATE: inside.txt\n"),
        T(3, 2, script=f"tail -1 src/shared.txt > seen.txt; ! test -e outside; {DONE}"),
    )
    document = made.done()
    assert states(document) == {"001": "succeeded:ok", "002": "failed:breach", "003": "succeeded:ok"}
    [path] = rundir.stored(made.root)
    third = path / "units" / document["tasks"][2]["unit"] / "change.patch"
    assert b"+1\n" in third.read_bytes()
    kept = document["tasks"][1]["patch"]["kept"]
    assert (Path(kept) / "outside").is_file()
    assert kept in document["tasks"][1]["message"]


def test_secrets_are_masked_in_copies_and_what_is_never_sent_is_not_there(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = project(
        tmp_path,
        T(1, 1, script=f"cat src/settings.py > seen.txt; ls -a > listed.txt; {DONE}"),
        T(2, 1, script=f"echo x >> src/settings.py; {DONE}"),
        files={"src/settings.py": f'TOKEN = "{token}"\n', ".env": "PASSWORD=x\n"},
    )
    document = made.done()
    assert states(document) == {"001": "succeeded:ok", "002": "failed:breach"}
    assert "masked-file" in document["tasks"][1]["message"]
    [path] = rundir.stored(made.root)
    text = (path / "units" / document["tasks"][0]["unit"] / "change.patch").read_text()
    assert token not in text
    assert "+TOKEN = " in text
    assert "+.gitignore" in text
    assert "+.env" not in text


def test_who_does_a_task(tmp_path: Path) -> None:
    config = '[tool.prun_review.executor.other]\ntype = "command"\nvendor = "b"\nlineage = "b"\n'
    config += 'contracts = ["task"]\nargv = ["/bin/sh", "-c", "cat > /dev/null; echo other > other.txt; touch'
    config += ' .claude-task-complete; echo done"]\n'
    made = project(tmp_path, T(1, 1), T(2, 1, front="executor: other\n"), config=config)
    by = [task["executor"] for task in made.done()["tasks"]]
    assert by == ["hand", "other"]
    # One chosen for the run does not overrule a task's own wish, but everything else.
    by = [t["executor"] for t in made.done(Selection(executor="other", only=("task-001",)))["tasks"]]
    assert by == ["other", ""]
    agents: dict[str, Any] = {"agents": {"shop:": "hand"}, "executor": "nobody"}
    assert [t["executor"] for t in made.done(**agents)["tasks"]] == ["hand", "other"]
    with pytest.raises(ConfigError, match="task-001-part: there is no executor 'nobody'"):
        made.done(executor="nobody")
    with pytest.raises(ConfigError, match="task-001-part: ruff does not write code"):
        made.done(executor="ruff")


# --- what speaks against a run ----------------------------------------------------------------


def test_a_worker_that_moves_the_repository_stops_the_run(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 1), T(3, 2, [1]))
    git = "git -c user.name=x -c user.email=x@example.org -C"
    made.script(1, f"{git} {made.root} commit -q --allow-empty -m mine; {DONE}")
    made.script(2, f"sleep 30; {DONE}")
    document = made.done()
    assert document["status"] == "stopped"
    assert "refs of the repository changed" in document["stopped"]
    assert "in flight: task-001-part, task-002-part" in document["stopped"]
    assert states(document)["001"] == "failed:repository-changed"
    assert states(document)["002"] == "failed:cancelled"
    assert states(document)["003"].split(":")[0] in ("not-run", "skipped")


def test_what_a_worker_says_of_files_and_is_not_so_is_noted_and_no_failure(tmp_path: Path) -> None:
    block = json.dumps({"task_completed": True, "files_created": ["app/q.py"], "files_modified": []})
    made = project(tmp_path, T(1, 1, script=f"echo two > two.txt; echo '{block}'; {DONE}"), T(2, 1))
    document = made.done()
    assert document["status"] == "completed"
    notes = [
        "app/q.py is said to be changed, and is as it was",
        "two.txt was changed, and the answer does not say so",
    ]
    assert [task["notes"] for task in document["tasks"]] == [notes, []]  # who says nothing is not noted
    assert wavedocument.validate(document) == []
    log = (made.directory / "logs/task-001-part.log").read_text()
    assert all(f"note: {text}\n" in log for text in notes)
    page = waveterminal.render(document)
    assert all(f"  task-001-part: {text}\n" in page for text in notes)


def test_what_is_staged_meanwhile_stops_the_run_too(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2))
    made.script(1, f"cd {made.root}; echo x > staged; git add staged; cd - ; {DONE}")
    document = made.done()
    assert document["status"] == "stopped"
    assert "index of the repository changed" in document["stopped"]


def test_an_edited_work_tree_is_told_and_stops_nothing(tmp_path: Path) -> None:
    """People edit while a run goes on; a worker that is not contained can, too."""
    made = project(tmp_path, T(1, 1))
    (made.root / "src/shared.txt").write_text("edited before\n")
    assert made.done()["status"] == "completed"
    assert not [text for text in made.told if "changed while it ran" in text]
    made.script(1, f"echo new > new; echo x >> {made.root}/src/shared.txt; {DONE}")
    assert made.done()["status"] == "completed"
    assert [text for text in made.told if "changed while it ran" in text]


def test_logs_tell_what_was_done_and_are_found_by_short_id(tmp_path: Path) -> None:
    from prun_review.wavelogs import find

    made = project(
        tmp_path,
        T(1, 1, script=f"echo x > x; {DONE}", front="verify: ['grep x x', 'echo very-secret-value']\n"),
    )
    document = made.done()
    log = find(made.directory, "task-001")
    assert log == find(made.directory, "task-001-part") == made.directory / document["tasks"][0]["log"]
    text = log.read_text()
    assert "what was asked for is done" in text
    assert "[we ran: grep x x] passed" in text
    assert "very-secret-value" not in text
    with pytest.raises(ConfigError, match="task-002 has no log"):
        find(made.directory, "task-002")


def test_logs_that_cannot_be_written_end_no_run(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1))
    (made.directory / "logs").write_text("in the way")
    assert made.done()["status"] == "completed"
    assert len([line for line in made.told if "logs cannot be written" in line]) == 1


def test_uncommitted_changes_of_other_files_than_the_directory_s_are_named_once(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1, script=f"cat src/shared.txt > seen; {DONE}"))
    task = made.directory / "tasks/task-001-part.md"
    task.write_text(f"{task.read_text()}\nEdited.\n")  # the files of the directory count as they are
    made.done()
    assert not [line for line in made.told if "uncommitted" in line]
    (made.root / "src/shared.txt").write_text("edited\n")
    document = made.done()
    told = [line for line in made.told if "uncommitted changes are not in the copies" in line]
    assert told == [
        "uncommitted changes are not in the copies that tasks work in: src/shared.txt; they start from HEAD"
    ]
    path = next(rundir.stored(made.root))
    assert b"+one" in (path / "units" / document["tasks"][0]["unit"] / "change.patch").read_bytes()


def test_everything_that_is_wrong_is_told_and_nothing_is_made(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [7]), T(3, 2, [2]))
    with pytest.raises(ConfigError) as caught:
        made.done()
    text = str(caught.value)
    assert "task-007" in text
    assert "task-002" in text.replace("task-002-part.md", "")
    assert not (made.root / ".prun").exists()
    assert not (made.directory / "logs").exists()
    (made.directory / "manifest.json").write_text('{"tech_spec_id": "TS-0009", "waves": []}')
    for file in (made.directory / "tasks").iterdir():
        file.unlink()
    with pytest.raises(ConfigError, match="there is no task to run"):
        made.done()


def test_a_run_that_cannot_begin_leaves_nothing(tmp_path: Path) -> None:
    config = '[tool.prun_review.executor.gone]\ntype = "command"\nvendor = "b"\nlineage = "b"\n'
    config += 'contracts = ["task"]\nargv = ["/nowhere/of/that/name"]\n'
    made = project(tmp_path, T(1, 1), config=config)
    with pytest.raises(ExecutorError, match="/nowhere/of/that/name") as caught:
        made.done(executor="gone")
    assert "--executor NAME" in caught.value.remedy
    assert list(rundir.stored(made.root)) == []
    assert made.done()["status"] == "completed"


def test_a_worker_sees_no_more_of_the_environment_than_reviewers_do(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1, script=f"env > seen; {DONE}"))
    document = made.done()
    [path] = rundir.stored(made.root)
    text = (path / "units" / document["tasks"][0]["unit"] / "change.patch").read_text()
    assert "+PATH=" in text
    assert "FAKE_API_KEY" not in text
    assert os.environ.get("HOME", "/nowhere") == "/" or f"+HOME={os.environ.get('HOME')}\n" not in text
