"""``prun-review integrate`` on stored runs of real workers; git and the commands are real."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prun_review import rundir, wavedocument
from prun_review.locks import Lock
from prun_review.wavebeginning import Selection
from tests.cli.driver import call
from tests.repokit import cache_home, git
from tests.waves.wavekit import DIR, DONE, Project, T, project, states

LIB = "def price(n):\n    return 3 * n\n"
USED = "from lib import price\n\nassert price(1) == 3\n"


@pytest.fixture(autouse=True, scope="module")
def cache() -> Iterator[Path]:
    with cache_home() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place))
        yield place


@dataclass
class Shop:
    """A project with a run that has ended."""

    root: Path

    @property
    def run(self) -> Path:
        return next(path for path in rundir.stored(self.root) if not path.name.startswith("2999"))

    @property
    def id(self) -> str:
        return self.run.name

    @property
    def report(self) -> str:
        return (self.root / DIR / "integration-report.md").read_text()

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / DIR / "report.json").read_text())
        return found

    def integrate(self, *args: str) -> tuple[int, str, str]:
        return call("integrate", DIR, *args, cwd=self.root)

    def whole(self, *args: str) -> str:
        """What git says in the store of what was put together."""
        return git(self.run / "whole", *args)

    def moved(self, **text: str) -> str:
        """The user commits meanwhile."""
        for name, content in text.items():
            (self.root / name.replace("__", "/")).write_text(content)
        git(self.root, "add", "-A", "src")
        git(self.root, "commit", "-q", "-m", "meanwhile")
        return git(self.root, "rev-parse", "HEAD")


def ran(made: Project, expected: str = "completed") -> Shop:
    document = made.done()
    assert document["status"] == expected, json.dumps(document["tasks"], indent=1)
    return Shop(made.root)


def edit(old: str, new: str, file: str = "src/shared.txt") -> str:
    return f"sed -i s/{old}/{new}/ {file}; {DONE}"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Two waves: two tasks edit one file in different places, a third builds on the first."""
    made = project(
        tmp_path_factory.mktemp("original"),
        T(1, 1, script=edit("one", "ONE")),
        T(2, 1, script=edit("three", "THREE")),
        T(3, 2, [1], script=f"tr A-Z a-z < src/shared.txt > src/low.txt; {DONE}"),
        validation={
            1: "grep -q ONE src/shared.txt && grep -q THREE src/shared.txt",
            2: "test -f src/low.txt",
        },
    )
    return ran(made)


@pytest.fixture
def shop(original: Shop, tmp_path: Path) -> Shop:
    """A copy of it, to be spoiled."""
    shutil.copytree(original.root, tmp_path / "shop", symlinks=True)
    return Shop(tmp_path / "shop")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# --- all is well ------------------------------------------------------------------------------


def test_a_whole_that_is_green(shop: Shop) -> None:
    tree = git(shop.root, "status", "--porcelain")  # which may refresh the index
    before = contents(shop.root / ".git")
    code, out, errors = shop.integrate("--test", "grep -q one src/low.txt", "--test", "test ! -e nothing")
    assert code == 0, (out, errors)
    assert out.splitlines()[0] == f"whole: prun/{shop.id} is {shop.document['integration']['head'][:12]}"
    assert out.count("  passed: ") == 4
    assert contents(shop.root / ".git") == before
    assert git(shop.root, "status", "--porcelain") == f"{tree}\n?? {DIR}/integration-report.md".strip()

    document = shop.document
    assert wavedocument.validate(document) == []
    assert document == json.loads((shop.run / "waves.json").read_text())
    whole = document["integration"]
    assert (whole["status"], whole["applied"], whole["message"]) == ("whole", "", "")
    assert [c["command"] for c in whole["checks"]] == [
        "grep -q ONE src/shared.txt && grep -q THREE src/shared.txt",
        "test -f src/low.txt",
        "grep -q one src/low.txt",
        "test ! -e nothing",
    ]
    assert whole["head"] == document["head"]  # nothing moved, so it is what the run came to
    assert shop.whole("rev-parse", f"prun/{shop.id}") == whole["head"]
    assert shop.whole("log", "--format=%s|%an", f"{document['base']}..{whole['head']}").splitlines() == [
        "task-003-part: Part 3|hand",
        "task-002-part: Part 2|hand",
        "task-001-part: Part 1|hand",
    ]
    assert "| Branch Merge | ✅ | 3 of 3 tasks put together |" in shop.report
    assert "test ! -e nothing" in shop.report
    assert f"prun-review integrate {DIR} --apply" in errors


def test_apply_brings_one_branch_and_nothing_else(shop: Shop) -> None:
    before = contents(shop.root / ".git")
    code, _, errors = shop.integrate("--apply")
    assert code == 0, errors
    after = contents(shop.root / ".git")
    assert {name: text for name, text in after.items() if name in before} == before
    packs = {name for name in after.keys() - before.keys() if name.startswith("objects/pack/pack-")}
    branch = f"refs/heads/prun/{shop.id}"
    assert after.keys() - before.keys() - packs == {branch, f"logs/{branch}"}
    assert {Path(name).suffix for name in packs} == {".pack", ".idx"}
    assert after[branch].decode().strip() == shop.document["integration"]["head"]
    assert shop.document["integration"]["applied"] == f"prun/{shop.id}"
    assert f"git merge prun/{shop.id}" in errors
    git(shop.root, "fsck", "--strict")
    git(shop.root, "merge", "-q", "--ff-only", f"prun/{shop.id}")
    assert (shop.root / "src/shared.txt").read_text() == "ONE\ntwo\nTHREE\n"
    # Once more: HEAD holds it already, and so does the branch.
    assert shop.integrate("--apply", "--onto", shop.document["base"])[0] == 0


def test_a_branch_that_is_somebody_elses_is_left_alone_and_the_report_is_there(shop: Shop) -> None:
    git(shop.root, "branch", f"prun/{shop.id}", "HEAD")
    code, _, errors = shop.integrate("--apply")
    assert code == 2
    assert "is there already, with another commit" in errors
    assert git(shop.root, "rev-parse", f"prun/{shop.id}") == git(shop.root, "rev-parse", "HEAD")
    assert shop.document["integration"]["status"] == "whole"
    assert shop.document["integration"]["applied"] == ""


def test_a_branch_that_cannot_be_made_is_told_and_nothing_is_left(shop: Shop) -> None:
    git(shop.root, "branch", "prun")
    before = contents(shop.root / ".git")
    code, _, errors = shop.integrate("--apply")
    assert (code, contents(shop.root / ".git") == before) == (2, True), errors
    assert f"there is a branch prun, so git can make no branch prun/{shop.id}" in errors
    assert shop.document["integration"]["applied"] == ""


HOSTILE = """\
[core]
	fsmonitor = {hook}
	hooksPath = {hooks}
	alternateRefsCommand = {hook}
	attributesFile = {attributes}
	logAllRefUpdates = always
[uploadpack]
	packObjectsHook = {hook}
[gc]
	auto = 1
	autoDetach = false
[filter "x"]
	smudge = {hook}
	clean = {hook}
	required = true
[merge "x"]
	driver = {hook}
[diff]
	external = {hook}
[remote "origin"]
	url = ext::{hook}
	promisor = true
[fetch]
	writeCommitGraph = true
"""


def test_apply_runs_nothing_of_a_repository_and_changes_only_its_own_branch(shop: Shop) -> None:
    ran, hooks, hook = shop.root.parent / "ran", shop.root.parent / "hooks", shop.root.parent / "hook"
    hook.write_text(f"#!/bin/sh\necho $0 >> {shlex.quote(str(ran))}\n")
    hook.chmod(0o755)
    names = ("reference-transaction", "post-merge", "post-checkout", "post-index-change", "pre-auto-gc")
    for folder in (hooks, shop.root / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for name in names:
            shutil.copy(hook, folder / name)
    attributes = shop.root / ".git/info/attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=x merge=x diff=x\n")
    with (shop.root / ".git/config").open("a") as config:
        config.write(HOSTILE.format(hook=hook, hooks=hooks, attributes=attributes))
    (shop.root / ".git/FETCH_HEAD").write_text("x\n")
    before = contents(shop.root)
    code, _, errors = shop.integrate("--apply", "--test", "true")
    assert code == 0, errors
    assert not ran.exists()
    after = contents(shop.root)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    changed = {name for name in changed if not name.startswith((".prun/", ".git/objects/pack/pack-"))}
    ours = {f".git/refs/heads/prun/{shop.id}", f".git/logs/refs/heads/prun/{shop.id}"}
    assert changed == {*ours, f"{DIR}/integration-report.md", f"{DIR}/report.json"}


def test_json_is_the_document_and_nothing_else(shop: Shop) -> None:
    code, out, _ = shop.integrate("--json")
    assert code == 0
    assert json.loads(out) == shop.document


def test_tests_of_the_configuration_run_unless_others_are_named(shop: Shop) -> None:
    table = shop.root / "pyproject.toml"
    table.write_text(
        table.read_text().replace("[tool.prun_review.waves]", '[tool.prun_review.waves]\ntests = ["false"]')
    )
    assert shop.integrate()[0] == 1
    assert shop.document["integration"]["message"] == "did not pass on the whole: false"
    assert shop.integrate("--test", "true")[0] == 0


def test_each_command_finds_fresh_files(shop: Shop) -> None:
    code, out, _ = shop.integrate("--test", "touch left", "--test", "test ! -e left")
    assert code == 0, out


# --- what is not well -------------------------------------------------------------------------


def test_two_green_branches_are_not_a_green_merge(tmp_path: Path) -> None:
    """One renames a function with all its callers, the other calls it anew: git sees no conflict."""
    python = f"PYTHONPATH=src {sys.executable}"
    files = {"src/lib.py": LIB, "src/used.py": USED}
    rename = f"sed -i s/price/cost/ src/lib.py src/used.py; {DONE}"
    caller = f"cp src/used.py src/more.py; {DONE}"
    made = project(
        tmp_path,
        T(1, 1, script=rename, front=f"verify: ['{python} src/used.py']\n"),
        T(2, 1, script=caller, front=f"verify: ['{python} src/more.py']\n"),
        files=files,
    )
    shop = ran(made)
    before = contents(shop.root / ".git")
    code, out, errors = shop.integrate(
        "--apply", "--test", f"for f in src/*.py; do {python} $f || exit 1; done"
    )
    assert code == 1
    assert out.startswith("failed: ")
    whole = shop.document["integration"]
    assert (whole["status"], whole["conflicts"], whole["applied"]) == ("failed", [], "")
    [check_] = whole["checks"]
    assert check_["code"] == 1
    assert "cannot import name 'price'" in check_["said"]
    assert "did not pass on the whole: for f in" in shop.report
    assert contents(shop.root / ".git") == before
    assert "it is not applied, for not all of it is well" in errors
    # Whoever wants it all the same takes it by hand, with the command that is told.
    [told] = [line for line in errors.splitlines() if "all the same: " in line]
    git(shop.root, *shlex.split(told.split("all the same: git ")[1]))
    assert git(shop.root, "rev-parse", f"prun/{shop.id}") == whole["head"]


def test_nothing_was_run_is_told(tmp_path: Path) -> None:
    shop = ran(project(tmp_path, T(1, 1, front="verify: ['true # pytest']\n"), validation={1: "true"}))
    code, out, _ = shop.integrate()
    assert code == 0
    told = "NOT run on the whole: the project's own tests: neither --test nor"
    assert out.splitlines()[-1].startswith(told)
    assert "| Tests | ⚠️ | 1 of 1 passed; none of it was run on the whole |" in shop.report
    (shop.root / DIR / "manifest.json").write_text(
        (shop.root / DIR / "manifest.json").read_text().replace('"validation": "true"', '"validation": ""')
    )
    code, out, _ = shop.integrate()
    assert code == 0
    told = "NOT run on the whole: anything at all: no wave names a validation, and neither --test nor"
    assert out.splitlines()[-1].startswith(told)
    assert "- [ ] not run on the whole: anything at all" in shop.report
    code, out, errors = shop.integrate("--json")
    assert json.loads(out) == shop.document
    assert told in errors.splitlines()[-1]
    assert "NOT run" not in shop.integrate("--test", "true")[1]


def test_a_run_that_failed_is_never_applied(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 1, script="exit 3"), T(3, 2, [1]))
    shop = ran(made, "failed")
    code, out, _ = shop.integrate("--apply")
    assert code == 1
    assert shop.document["integration"]["status"] == "whole"  # of what was accepted
    assert "the run itself is failed" in out
    assert git(shop.root, "branch", "--list", "prun/*") == ""


def test_a_run_that_accepted_nothing(tmp_path: Path) -> None:
    shop = ran(project(tmp_path, T(1, 1, script="exit 3")), "failed")
    code, out, _ = shop.integrate()
    assert code == 1
    assert "no change was accepted" in out


def test_a_run_that_was_stopped_by_a_commit_is_gone_on_from_and_applied(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 1))
    first = f"{made.directory}/logs/task-001-part.log"
    mine = f"git -C {made.root} -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m mine"
    made.script(2, f"until grep -q 'ended after' {first}; do sleep 0.1; done; {mine}; {DONE}")
    shop = ran(made, "stopped")
    assert states(shop.document) == {"001": "succeeded:ok", "002": "failed:repository-changed"}
    assert len([line for line in made.told if line.startswith("was that you?")]) == 1
    code, out, errors = shop.integrate()
    assert code == 1
    again = f"prun-review run {DIR} --resume"
    assert f"task-001-part succeeded before the run ended: {again} goes on with it" in out
    assert f"next: Run what is left, and keep what succeeded: {again}" in errors
    made.script(1, "exit 9")  # not asked again
    made.script(2, f"echo two > two.txt; {DONE}")
    assert made.done(Selection(resume=True))["status"] == "completed"
    code, out, errors = shop.integrate("--apply")
    assert code == 0, errors
    assert f"applied: your repository has the branch prun/{shop.id} now" in out
    assert f"**Generated**: {shop.document['finished'][:10]}" in shop.report
    assert shop.document["finished"] not in shop.report  # it is younger than the end of the run


def test_a_conflict_that_the_run_settled_comes_out_the_same(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        T(1, 1, script=edit("two", "TWO")),
        T(2, 1, script=edit("two", "zwei"), again=edit("TWO", "TWO-zwei")),
        T(3, 1, script=f"echo x > src/other.txt; {DONE}"),
        T(4, 2, [2], script=edit("zwei", "deux")),
    )
    shop = ran(made)
    assert [t["reopened"] for t in shop.document["tasks"]] == [0, 1, 0, 0]
    code, out, _ = shop.integrate("--test", "grep -q TWO-deux src/shared.txt")
    assert code == 0, out
    assert shop.document["integration"]["head"] == shop.document["head"]


def test_a_conflict_that_was_never_settled_is_a_run_that_failed_and_no_damage(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        T(1, 1, script=edit("two", "TWO")),
        T(2, 1, script=edit("two", "zwei"), again="exit 3"),
    )
    shop = ran(made, "failed")
    code, out, errors = shop.integrate("--apply")
    assert code == 1, errors
    assert out.startswith("whole: ")
    assert shop.whole("show", f"{shop.document['integration']['head']}:src/shared.txt") == "one\nTWO\nthree"


def test_a_run_that_went_on_from_another_one(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        T(1, 1, script=edit("one", "ONE")),
        T(2, 1, script="exit 3"),
        T(3, 1, script=edit("three", "THREE")),
        T(4, 2, [1, 2, 3], script=f"tr A-Z a-z < src/shared.txt > src/low.txt; {DONE}"),
    )
    ran(made, "failed")
    made.script(2, f"echo x > src/other.txt; {DONE}")
    document = made.done(Selection(resume=True))
    assert document["status"] == "completed", json.dumps(document, indent=1)
    shop = Shop(made.root)
    code, out, errors = shop.integrate("--test", "test -f src/other.txt && grep -q three src/low.txt")
    assert code == 0, (out, errors)
    assert shop.document["integration"]["head"] == document["head"]


def test_whoever_is_told_to_end_leaves_nothing_behind(shop: Shop, cache: Path) -> None:
    """That a launcher which is closed ends what it started is proven elsewhere."""
    outputs = f"prun_review/copies/{shop.id}*/plain-*/work/check-1/output"
    test = "echo begun; sleep 61"
    argv = [sys.executable, "-m", "prun_review", "integrate", DIR, "--apply", "--test", test]

    def begun() -> bool:
        with suppress(FileNotFoundError):
            return any(b"begun" in path.read_bytes() for path in cache.glob(outputs))
        return False

    with subprocess.Popen(argv, cwd=shop.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as started:
        assert wait_for(lambda: begun() or started.poll() is not None)
        started.terminate()
        assert b"interrupted" in (started.communicate(timeout=60)[1] or b"")
    assert started.returncode == 130
    assert not list(cache.glob(f"prun_review/copies/{shop.id}*/plain-*"))
    assert shop.document["integration"] is None
    assert git(shop.root, "branch", "--list", "prun/*") == ""
    assert shop.integrate()[0] == 0


def wait_for(true: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while not true() and time.monotonic() < until:
        time.sleep(0.1)
    return true()


def test_an_empty_command_is_none(shop: Shop) -> None:
    code, _, errors = shop.integrate("--test", " ")
    assert code == 2
    assert "an empty command would pass" in errors


# --- HEAD moved -------------------------------------------------------------------------------


def test_head_moved_and_all_of_it_follows(shop: Shop) -> None:
    head = shop.moved(src__mine="mine\n")
    code, out, errors = shop.integrate("--apply", "--test", "test -f src/mine")
    assert code == 0, (out, errors)
    whole = shop.document["integration"]["head"]
    assert whole != shop.document["head"]
    assert git(shop.root, "rev-parse", f"{whole}~3") == head
    assert shop.whole("diff", "--name-status", shop.document["head"], whole) == "A\tsrc/mine"
    assert "HEAD is" in errors
    assert git(shop.root, "rev-parse", "HEAD") == head


def test_head_moved_into_the_way_and_the_conflict_is_named(shop: Shop) -> None:
    before = shop.moved(**{"src__shared.txt": "eins\ntwo\nthree\n"})
    code, out, errors = shop.integrate("--apply", "--test", "true")
    assert code == 1
    assert out.startswith("conflicts: ")
    whole = shop.document["integration"]
    [conflict] = whole["conflicts"]
    assert (conflict["task"], conflict["paths"]) == ("task-001-part", ["src/shared.txt"])
    assert "eins" in conflict["text"]
    assert "ONE" in conflict["text"]
    assert conflict["onto"] == before
    assert whole["message"] == "task-003-part not tried, for what they build on is not in it"
    assert whole["checks"] == []
    assert "nothing is run on it, since it is not whole" in errors
    # The others are in it, and nothing of the one that clashes.
    assert shop.whole("show", f"{whole['head']}:src/shared.txt") == "eins\ntwo\nTHREE"
    assert shop.whole("log", "--format=%s", f"{before}..{whole['head']}") == "task-002-part: Part 2"
    assert git(shop.root, "branch", "--list", "prun/*") == ""
    assert "conflict of task-001-part in src/shared.txt" in shop.report
    # On what the run started from it still is whole.
    assert shop.integrate("--onto", "HEAD~1")[0] == 0


OTHER = """
[tool.prun_review.executor.other]
type = "command"
vendor = "other"
lineage = "other"
contracts = ["task"]
argv = ["/bin/false"]
"""


def clashing(tmp: Path, again: str, **more: Any) -> Shop:
    """A run whose first task clashes with what the user commits meanwhile, and what it does when it is asked
    again; the second builds on it."""
    made = project(
        tmp,
        T(1, 1, script=edit("one", "ONE"), again=again, **more),
        T(2, 2, [1], script=f"echo x > src/other.txt; {DONE}"),
    )
    shop = ran(made)
    shop.moved(**{"src__shared.txt": "eins\ntwo\nthree\n"})
    return shop


def test_a_task_is_done_again_where_that_is_asked_for(tmp_path: Path) -> None:
    shop = clashing(tmp_path, edit("eins", "EINS"))
    table = shop.root / "pyproject.toml"  # who did it before, does it, whoever does tasks now
    table.write_text(table.read_text().replace('executor = "hand"', 'executor = "other"') + OTHER)
    before = contents(shop.root / ".git")
    assert shop.integrate()[0] == 1  # it is not asked for
    assert not list((tmp_path / "scripts").glob("*.2.prompt"))
    code, out, errors = shop.integrate("--reopen", "1", "--test", "grep -q EINS src/shared.txt")
    assert code == 0, (out, errors)
    assert contents(shop.root / ".git") == before
    whole = shop.document["integration"]
    assert (whole["status"], whole["conflicts"]) == ("whole", [])
    assert shop.whole("show", f"{whole['head']}:src/shared.txt") == "EINS\ntwo\nthree"
    assert shop.whole("log", "--format=%s", f"{git(shop.root, 'rev-parse', 'HEAD')}..{whole['head']}") == (
        "task-002-part: Part 2\ntask-001-part: Part 1"
    )
    [prompt] = (tmp_path / "scripts").glob("*.2.prompt")
    told = prompt.read_text()
    assert "eins" in told
    assert "+ONE" in told
    # The run itself is what it was; what was done again is kept beside it, and nobody is asked twice.
    assert json.loads((shop.run / "waves.json").read_text()) == shop.document
    assert wavedocument.validate(shop.document) == []
    [row] = shop.document["again"]
    assert (row["task"], row["status"], row["executor"]) == ("task-001-part", "succeeded", "hand")
    assert row["onto"] == row["base"] == git(shop.root, "rev-parse", "HEAD")
    assert f"task-001-part was done again by hand on {row['base'][:12]}: succeeded" in shop.report
    before = shop.document["integration"]["head"]
    (tmp_path / "scripts/task-001.2.sh").write_text("exit 3")
    assert shop.integrate("--apply")[0] == 0
    assert shop.document["integration"]["head"] == before == git(shop.root, "rev-parse", f"prun/{shop.id}")
    assert "task-001-part was done again by hand" in out
    # Also where HEAD moved on since: its own change counts, wherever it was made.
    git(shop.root, "branch", "-D", f"prun/{shop.id}")
    head = shop.moved(src__mine="mine\n")
    code, out, errors = shop.integrate("--reopen", "1", "--test", "grep -q EINS src/shared.txt")
    assert code == 0, (out, errors)
    assert shop.document["integration"]["onto"] == head
    assert len(list((shop.run / "units").glob("*task-001*"))) == 3
    # But not where it is no more what the run vouches for.
    patch = shop.run / "units" / row["unit"] / "change.patch"
    patch.write_text(patch.read_text().replace("+EINS", "+EVIL"))
    code, _, errors = shop.integrate("--apply")
    assert code == 1
    assert f"what task-001-part wrote in units/{row['unit']} is not taken over" in errors
    assert [c["task"] for c in shop.document["integration"]["conflicts"]] == ["task-001-part"]


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ("exit 3", "in vain: unknown"),
        (edit("eins", "EINS").removesuffix(DONE) + "true", "in vain: no-marker"),
        (f"echo x > elsewhere; {DONE}", "in vain: breach"),
        (DONE, "in vain: nothing-written"),
    ],
)
def test_what_is_done_again_in_vain_is_told_and_the_conflict_stays(
    tmp_path: Path, again: str, said: str
) -> None:
    shop = clashing(tmp_path, again, scope="## Scope\nMODIFY: src/shared.txt")
    code, out, _ = shop.integrate("--reopen", "2", "--apply")
    assert code == 1
    whole = shop.document["integration"]
    assert whole["status"] == "conflicts"
    assert [c["task"] for c in whole["conflicts"]] == ["task-001-part"]
    assert f"task-001-part was done again {said}" in whole["message"], out
    # Whoever integrates it the next time is told of it, and not asked to pay for it.
    code, out, _ = shop.integrate()
    assert code == 1
    [row] = shop.document["again"]
    assert (row["status"], f"in vain: {row['reason']}") == ("failed", said)
    why = row["reason"].replace("unknown", "exit status 3")  # which says more
    assert f"task-001-part was done again by hand on {row['base'][:12]}: {why}" in out
    assert f"task-001-part was done again by hand on {row['base'][:12]}: {why}" in shop.report
    assert git(shop.root, "branch", "--list", "prun/*") == ""


@pytest.mark.parametrize("isolation", ["copy", "worktree"])
def test_what_is_done_again_may_stand_on_a_commit_of_the_run(tmp_path: Path, isolation: str) -> None:
    """The user's repository has none of the commit that the first task makes there."""
    made = project(
        tmp_path,
        T(1, 1, script=f"echo x > src/other.txt; {DONE}"),
        T(2, 1, script=edit("one", "ONE"), again=f"test -f src/other.txt; {edit('eins', 'EINS')}"),
    )
    shop = ran(made)
    table = made.root / "pyproject.toml"
    table.write_text(table.read_text().replace("executor = ", f'isolation = "{isolation}"\nexecutor = ', 1))
    shop.moved(**{"src__shared.txt": "eins\ntwo\nthree\n"})
    code, out, errors = shop.integrate("--reopen", "1", "--test", "grep -q EINS src/shared.txt")
    assert code == 0, (out, errors)
    [row] = shop.document["again"]
    assert row["base"] != row["onto"] == git(shop.root, "rev-parse", "HEAD")
    assert git(shop.root, "worktree", "list").count("\n") == 0


def test_how_often_is_bounded(shop: Shop) -> None:
    assert shop.integrate("--reopen", "11")[0] == 2
    assert shop.integrate("--reopen", "-1")[0] == 2


def test_onto_what_is_no_commit(shop: Shop) -> None:
    code, _, errors = shop.integrate("--onto", "nowhere")
    assert code == 2
    assert "'nowhere' is no commit" in errors
    git(shop.root, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    git(shop.root, "tag", "main", "HEAD~1")
    code, _, errors = shop.integrate("--onto", "main")  # git would take the tag
    assert code == 2
    assert "'main' is ambiguous: refs/tags/main" in errors


# --- the manifest as it is now ----------------------------------------------------------------


def test_a_task_that_was_changed_since_is_not_well(shop: Shop) -> None:
    place = shop.root / DIR / "tasks/task-002-part.md"
    place.write_text(place.read_text().replace("Part 2", "Part 2, but better"))
    code, _, _ = shop.integrate()
    assert code == 1
    assert shop.document["integration"]["message"] == "task-002-part was changed since it was run"


def test_a_scope_that_was_narrowed_since_is_held_against_it(shop: Shop) -> None:
    place = shop.root / DIR / "tasks/task-003-part.md"
    place.write_text(place.read_text() + "\n## Scope\nCREATE: src/lower.txt\n")
    assert shop.integrate()[0] == 1
    assert (
        "task-003-part changed what its scope does not name: src/low.txt"
        in shop.document["integration"]["message"]
    )


def test_a_contract_that_was_changed_is_not_well(tmp_path: Path) -> None:
    contract = f"{DIR}/contracts/types.py"
    files = {contract: "X = 1\n"}
    made = project(
        tmp_path,
        T(1, 1, script=f"echo x >> {contract}; {DONE}", front="contracts: [contracts/types.py]\n"),
        files=files,
    )
    shop = ran(made)
    assert shop.integrate("--test", "true")[0] == 1
    assert shop.document["integration"]["message"] == "the contract contracts/types.py was changed"
    assert "changed the contract contracts/types.py" in shop.report


def test_what_came_into_the_manifest_after_the_run_is_not_well(tmp_path: Path) -> None:
    """A task that was never run, a panel that saw nothing, and one that wrote nothing and is another now."""
    made = project(tmp_path, T(1, 1), T(2, 1, script=DONE))
    shop = ran(made)
    assert shop.integrate()[0] == 0
    place = shop.root / DIR / "tasks/task-002-part.md"
    place.write_text(place.read_text().replace("Part 2", "Part 2, but better"))
    place.with_name("task-003-part.md").write_text(
        place.read_text().replace("task-002", "task-003").replace("wave: 1", "wave: 2")
    )
    manifest = json.loads((shop.root / DIR / "manifest.json").read_text())
    manifest["waves"][0]["panel"] = ["panels/review"]
    manifest["waves"].append({"number": 2, "tasks": [{"id": "task-003-part", "agent": "shop:hand-expert"}]})
    (shop.root / DIR / "manifest.json").write_text(json.dumps(manifest))
    code, out, errors = shop.integrate("--apply", "--test", "true")
    assert code == 1, (out, errors)
    wrong = [
        "task-002-part was changed since it was run",
        "task-003-part came into the manifest after the run",
        "the panel of wave 1 has not seen what is put together of task-001-part",
    ]
    assert shop.document["integration"]["wrong"] == wrong
    assert "| Boundary Violations | ❌ | 3 found |" in shop.report
    assert git(shop.root, "branch", "--list", "prun/*") == ""


def test_a_manifest_with_errors_is_not_integrated(shop: Shop) -> None:
    (shop.root / DIR / "manifest.json").write_text("{")
    code, _, errors = shop.integrate()
    assert code == 2
    assert "its manifest has errors" in errors


# --- records that do not agree ----------------------------------------------------------------


def opening(shop: Shop, number: int) -> Path:
    """The unit directory of a task's last opening."""
    [task] = [t for t in shop.document["tasks"] if t["id"].startswith(f"task-{number:03}")]
    return shop.run / "units" / str(task["unit"])


def waves_json(shop: Shop, change: Callable[[dict[str, Any]], None], vouched: bool = False) -> None:
    """Change waves.json, by hand or as the run would have written it."""
    document = json.loads((shop.run / "waves.json").read_text())
    change(document)
    if vouched:
        store = rundir.RunDir(shop.run)
        store.write_waves(document, durable=False)
        store.close()
    else:
        (shop.run / "waves.json").write_text(json.dumps(document))


def other_patch(shop: Shop) -> None:
    path = opening(shop, 1) / "change.patch"
    path.write_text(path.read_text().replace("+ONE", "+EVIL"))


def other_result(shop: Shop) -> None:
    (opening(shop, 2) / "result.json").write_bytes((opening(shop, 1) / "result.json").read_bytes())


def half_a_document(shop: Shop) -> None:
    (shop.run / "waves.json").write_text("{")


def swapped_commits(document: dict[str, Any]) -> None:
    first, second = document["tasks"][:2]
    first["commit"], second["commit"] = second["commit"], first["commit"]


def other_base(document: dict[str, Any]) -> None:
    document["base"] = document["waves"][0]["base"] = document["tasks"][0]["commit"]


def other_tree(document: dict[str, Any]) -> None:
    document["tasks"][0]["patch"]["tree"] = document["tasks"][1]["patch"]["tree"]


TAMPERED: dict[str, tuple[Callable[[Shop], None], str]] = {
    "another patch": (other_patch, "is not the change that its result speaks of"),
    "no patch": (lambda s: (opening(s, 2) / "change.patch").unlink(), "cannot be read"),
    "another result": (other_result, "its sha256 is not in the ledger"),
    "no result": (
        lambda s: (opening(s, 2) / "result.json").unlink(),
        "its result is not what the document says",
    ),
    "edited document": (
        lambda s: waves_json(s, lambda d: d.update(status="completed", stopped=" ")),
        "its sha256 is not in the ledger",
    ),
    "no document": (lambda s: (s.run / "waves.json").unlink(), "there is no run of"),
    "half a document": (half_a_document, "its waves.json cannot be read"),
    "no ledger": (lambda s: (s.run / "ledger.jsonl").unlink(), "its sha256 is not in the ledger"),
    "other commits": (
        lambda s: waves_json(s, swapped_commits, True),
        "do not make the commits that it tells of",
    ),
    "other head": (
        lambda s: waves_json(s, lambda d: d["waves"][1].update(head=d["waves"][0]["head"]), True),
        "did not come to what its patches make",
    ),
    "other base of a wave": (
        lambda s: waves_json(s, lambda d: d["waves"][1].update(base=d["base"]), True),
        "did not start from what came before it",
    ),
    "a base that is gone": (lambda s: waves_json(s, other_base, True), "is gone"),
    "a base by name": (
        lambda s: waves_json(s, lambda d: d.update(base="HEAD"), True),
        "it does not say which commit it started from",
    ),
    "another tree": (lambda s: waves_json(s, other_tree, True), "its result is not what the document says"),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_records_that_do_not_agree_are_refused_and_nothing_is_written(shop: Shop, case: str) -> None:
    spoil, said = TAMPERED[case]
    spoil(shop)
    before = {p: p.read_bytes() for p in (shop.root / DIR).rglob("*") if p.is_file()}
    code, out, errors = shop.integrate("--apply")
    assert (code, out) == (2, "")
    assert said in errors
    assert git(shop.root, "branch", "--list", "prun/*") == ""
    assert {p: p.read_bytes() for p in (shop.root / DIR).rglob("*") if p.is_file()} == before


def test_whoever_wrote_into_the_runs_own_store_changed_nothing(shop: Shop) -> None:
    """It is not read: not its objects, not its branch, and not its configuration."""
    expected = shop.document["head"]
    store = shop.run / "git"
    objects = [
        p for p in (store / "objects").rglob("*") if p.is_file() and p.parent.name not in ("info", "pack")
    ]
    assert len(objects) > 5
    for path in objects:
        path.chmod(0o600)
        path.write_bytes(b"broken")
    (store / "config").write_text(
        f"[core]\n\tfsmonitor = touch {shop.root}/ran\n[alias]\n\tlog = !touch {shop.root}/ran\n"
    )
    (store / "repository").write_text("/nowhere")
    code, out, errors = shop.integrate("--apply")
    assert code == 0, (out, errors)
    assert git(shop.root, "rev-parse", f"prun/{shop.id}") == expected
    git(shop.root, "fsck", "--strict")
    assert not (shop.root / "ran").exists()


# --- which run --------------------------------------------------------------------------------


def test_a_run_of_another_directory_is_refused(shop: Shop) -> None:
    shutil.copytree(shop.root / DIR, shop.root / "parallel/TS-0010-other")
    code, _, errors = call("integrate", "parallel/TS-0010-other", "--run", shop.id, cwd=shop.root)
    assert code == 2
    assert f"it is a run of {DIR}, not of parallel/TS-0010-other" in errors
    code, _, errors = call("integrate", "parallel/TS-0010-other", cwd=shop.root)
    assert code == 2
    assert "there is no run of parallel/TS-0010-other" in errors


def test_where_the_last_run_has_no_end_no_other_one_is_taken_in_its_stead(shop: Shop) -> None:
    newer = shop.run.with_name("29990101T000000Z-abcd")
    shutil.copytree(shop.run, newer)
    (newer / "waves.json").write_text(
        json.dumps({**json.loads((newer / "waves.json").read_text()), "finished": None})
    )
    code, _, errors = shop.integrate("--apply")
    assert code == 2, errors
    assert f"the last run, {newer.name}, cannot be integrated: it has no end" in errors
    assert git(shop.root, "branch", "--list", "prun/*") == ""
    assert shop.integrate("--run", shop.id)[0] == 0


def test_a_run_that_lives_is_not_touched(shop: Shop) -> None:
    lock = Lock(shop.run / "lock")
    try:
        code, _, errors = shop.integrate("--run", shop.id)
        assert code == 2
        assert "is still being written" in errors
        assert "cannot be integrated: it still runs" in shop.integrate()[2]
    finally:
        lock.release()


def test_a_run_that_came_with_the_repository_is_refused(shop: Shop) -> None:
    git(shop.root, "add", "-f", ".prun")
    git(shop.root, "commit", "-q", "-m", "planted")
    code, _, errors = shop.integrate()
    assert code == 2
    assert "git tracks" in errors


def test_a_project_below_the_root_of_its_repository(tmp_path: Path) -> None:
    """Scopes, contracts and commands start at the project."""
    contract = f"{DIR}/contracts/types.py"
    made = project(
        tmp_path,
        T(1, 1, scope="## Scope\nCREATE: task-001.txt", front="contracts: [contracts/types.py]\n"),
        T(2, 2),
        validation={1: "test -f src/shared.txt"},
        files={contract: "X = 1\n"},
    )
    top = tmp_path / "top"
    top.mkdir()
    shutil.rmtree(made.root / ".git")
    made.root.rename(top / "shop")
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "all")
    made.root = top / "shop"
    made.script(1, f"echo x > shop/task-001.txt; {DONE}")
    made.script(2, f"echo x > shop/task-002.txt; {DONE}")
    shop = ran(made)
    there = ("test -f task-001.txt", "true & test -f task-001.txt", "false; test -f task-001.txt")
    code, out, errors = shop.integrate(*(word for test in there for word in ("--test", test)), "--apply")
    assert code == 0, (out, errors)
    assert git(top, "show", f"prun/{shop.id}:shop/task-001.txt") == "x"
    made.script(2, f"echo x >> shop/{contract}; {DONE}")
    shop = ran(made)
    assert shop.integrate()[0] == 1
    assert shop.document["integration"]["message"] == "the contract contracts/types.py was changed"
    assert "changed by task-002" in shop.report
    assert "task-002 changed the contract contracts/types.py" in shop.report
