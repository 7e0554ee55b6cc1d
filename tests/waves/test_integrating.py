"""Changes put together with real git: what goes together, what does not, and that nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from prun_review.integrating import Change, join, outside, put_together
from prun_review.tasks import FAILED, PENDING, Scope
from tests.repokit import git
from tests.waves.changekit import Project, Text, Waves, edited, project, scope, titled
from tests.waves.coursekit import manifest, task


@pytest.fixture
def here(tmp_path: Path) -> Project:
    return project(tmp_path)


def two(here: Project, one: Text, other: Text, **scopes: Scope) -> Waves:
    """A wave of two tasks that left these files."""
    tasks = [
        task("001", 1, scope=scopes.get("mine", Scope())),
        task("002", 1, scope=scopes.get("yours", Scope())),
    ]
    waves = Waves.of(here, manifest(*tasks))
    waves.work("task-001", one)
    waves.work("task-002", other, "sonnet")
    return waves


def test_changes_are_commits_in_manifest_order_by_who_wrote_them(here: Project) -> None:
    waves = Waves.of(here, manifest(titled(task("001", 1), "The  cart\nof users"), task("002", 1)))
    waves.work("task-002", {"shop/cart.py": edited(15), "shop/new.py": "new\n"}, "sonnet")
    waves.work("task-001", {"shop/cart.py": edited(1)})
    joined = waves.join(1)
    assert joined.conflicts == ()
    told = here.vault.run("log", "--format=%an|%s|%H", f"{here.base}..{joined.head}").decode().splitlines()
    assert told == [
        f"sonnet|task-002|{joined.commits['task-002']}",
        f"codex|task-001: The cart of users|{joined.commits['task-001']}",
    ]
    assert here.text(joined.head, "shop/cart.py") == edited(1, 15)
    assert here.text(joined.commits["task-001"], "shop/cart.py") == edited(1)
    assert (waves.course.waves[1].status, waves.course.waves[1].head) == ("succeeded", joined.head)


def test_the_same_changes_make_the_same_commits(here: Project, tmp_path: Path) -> None:
    first = two(here, {"shop/cart.py": edited(1)}, {"shop/cart.py": edited(9)}).join(1)
    (tmp_path / "again").mkdir()
    git(tmp_path, "clone", "-q", str(here.repo), str(tmp_path / "again/repo"))
    again = project_of(tmp_path / "again")
    assert two(again, {"shop/cart.py": edited(1)}, {"shop/cart.py": edited(9)}).join(1) == first


def project_of(tmp: Path) -> Project:
    from prun_review import git as ours
    from prun_review.vault import Vault

    vault = Vault.create(tmp / "vault", ours.find(tmp / "repo"))
    return Project(tmp / "repo", vault, vault.commit_of("HEAD"))


def test_two_who_edit_the_same_lines_open_the_second_again_and_no_side_is_dropped(here: Project) -> None:
    waves = two(here, {"shop/cart.py": edited(3, to="one")}, {"shop/cart.py": edited(3, 15, to="two")})
    joined = waves.join(1)
    [conflict] = joined.conflicts
    assert (conflict.task, conflict.paths, conflict.others) == ("task-002", ("shop/cart.py",), ("task-001",))
    assert "line3 = one" in conflict.text
    assert "line3 = two" in conflict.text
    assert conflict.onto == joined.head == joined.commits["task-001"]
    assert here.text(joined.head, "shop/cart.py") == edited(
        3, to="one"
    )  # nothing of the second, not half of it
    held = waves.course.outcomes["task-002"]
    assert (held.status, held.reopened, held.conflict) == (PENDING, 1, conflict)

    both = edited(3, to="one").replace("line15 = 15", "line15 = two")
    waves.work("task-002", {"shop/cart.py": both}, "sonnet")
    again = waves.join(1)
    assert again.conflicts == ()
    assert here.text(again.head, "shop/cart.py") == both
    assert here.vault.run("rev-parse", f"{again.head}^").decode().strip() == joined.head


def test_the_second_time_it_fails(here: Project) -> None:
    waves = two(here, {"shop/cart.py": edited(3, to="one")}, {"shop/cart.py": edited(3, to="two")})
    waves.course = replace(waves.course, reopen=0)
    waves.join(1)
    held = waves.course.outcomes["task-002"]
    assert (held.status, held.reason, held.commit) == (FAILED, "conflict", "")
    assert held.message == "conflict in shop/cart.py with task-001"


MOVED: Text = {"shop/price.py": None, "shop/cost.py": "def price(n):\n    return 3 * n\n"}
PRICED: Text = {"shop/price.py": "def price(n):\n    return 4 * n\n"}
CLASHES: dict[str, tuple[Text, Text, tuple[str, ...], str]] = {
    "modify/delete": ({"shop/price.py": None}, PRICED, ("shop/price.py",), "modify/delete"),
    "delete/modify": (PRICED, {"shop/price.py": None}, ("shop/price.py",), "modify/delete"),
    "rename/delete": (MOVED, {"shop/price.py": None}, ("shop/cost.py",), "rename/delete"),
    "rename/rename": (
        MOVED,
        {"shop/price.py": None, "shop/worth.py": "def price(n):\n    return 3 * n\n"},
        ("shop/cost.py", "shop/price.py", "shop/worth.py"),
        "rename/rename",
    ),
    "add/add": ({"shop/new.py": "one\n"}, {"shop/new.py": "two\n"}, ("shop/new.py",), "contents"),
    "file/folder": ({"shop/new": "one\n"}, {"shop/new/x.py": "two\n"}, (), "file/directory"),
    "binary": ({"README": "\0one"}, {"README": "\0two"}, ("README",), "README"),
}


@pytest.mark.parametrize("case", CLASHES)
def test_what_does_not_go_together_is_left_out_whole(here: Project, case: str) -> None:
    one, other, paths, said = CLASHES[case]
    waves = two(here, one, other)
    alone = here.vault.tree_of(waves.course.outcomes["task-001"].patch.tree)  # type: ignore[union-attr]
    joined = waves.join(1)
    [conflict] = joined.conflicts
    assert conflict.task == "task-002"
    assert not paths or conflict.paths == paths
    assert conflict.paths
    assert said in conflict.text
    assert here.vault.tree_of(joined.head) == alone


def test_a_change_follows_a_rename_where_its_scope_allows_it(here: Project) -> None:
    joined = two(here, MOVED, PRICED).join(1)
    assert joined.conflicts == ()
    assert here.text(joined.head, "shop/cost.py") == "def price(n):\n    return 4 * n\n"
    assert "shop/price.py" not in here.names(joined.head)


@pytest.mark.parametrize(
    "other",
    [
        scope(modify=("shop/price.py",)),
        scope(modify=("shop",), boundary=("shop/cost.py",)),
        scope(boundary=("**/c*",)),
    ],
)
def test_a_change_that_a_rename_takes_out_of_its_scope_is_a_conflict(here: Project, other: Scope) -> None:
    waves = two(here, MOVED, PRICED, yours=other)
    [conflict] = waves.join(1).conflicts
    assert (conflict.task, conflict.paths, conflict.others) == ("task-002", ("shop/cost.py",), ("task-001",))
    assert "which its scope does not name" in conflict.text


def test_the_same_file_made_by_two_is_a_conflict_though_git_sees_none(here: Project) -> None:
    same: Text = {"shop/new.py": "same\n"}
    made = scope(create=("shop/new.py",))
    [conflict] = two(here, same, same, mine=made, yours=scope(create=("shop/n*.py",))).join(1).conflicts
    assert (conflict.task, conflict.paths, conflict.others) == ("task-002", ("shop/new.py",), ("task-001",))
    assert conflict.text == "made by two tasks: shop/new.py (also by task-001)"


@pytest.mark.parametrize(
    ("one", "other"), [(("shop/new.py",), ()), ((), ("shop/new.py",)), (("shop/x.py",), ("shop/new.py",))]
)
def test_who_made_a_file_that_another_changed_alike_is_no_conflict(
    here: Project, one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    same: Text = {"shop/new.py": "same\n"}
    tasks = scope(create=one, modify=("shop",)), scope(create=other, modify=("shop",))
    joined = two(here, same, same, mine=tasks[0], yours=tasks[1]).join(1)
    assert joined.conflicts == ()
    assert (
        joined.commits["task-001"] != joined.commits["task-002"]
    )  # nothing differs, and yet it was accepted
    assert here.text(joined.head, "shop/new.py") == "same\n"


def test_scopes_start_at_the_project_and_paths_at_the_repository(here: Project) -> None:
    same: Text = {"shop/new.py": "same\n"}
    made = scope(create=("new.py",))
    waves = two(here, same, same, mine=made, yours=made)
    assert put_together(here.vault, waves.course, 1).conflicts == ()
    [conflict] = waves.join(1, "shop/").conflicts
    assert conflict.paths == ("shop/new.py",)


def test_of_one_opened_again_the_files_of_those_before_are_known(here: Project) -> None:
    """Also those that were accepted in the round before."""
    made = scope(create=("shop/new.py",), modify=("shop/cart.py",))
    one: Text = {"shop/new.py": "same\n", "shop/cart.py": edited(3, to="one")}
    waves = two(here, one, {"shop/cart.py": edited(3, to="two")}, mine=made, yours=made)
    assert waves.join(1).conflicts[0].paths == ("shop/cart.py",)
    waves.work("task-002", {"shop/new.py": "mine now\n"})
    [conflict] = waves.join(1).conflicts
    assert conflict.text == "made by two tasks: shop/new.py (also by task-001)"


def test_who_changed_nothing_is_accepted_with_the_tip_that_it_met(here: Project) -> None:
    waves = two(here, {}, {"README": "x\n"})
    joined = waves.join(1)
    assert joined.commits["task-001"] == here.base
    assert joined.commits["task-002"] == joined.head != here.base


def test_who_changed_nothing_after_others_met_their_tip(here: Project) -> None:
    joined = two(here, {"README": "x\n"}, {}).join(1)
    assert joined.commits["task-002"] == joined.commits["task-001"] == joined.head


@pytest.mark.parametrize(
    ("of", "paths", "beyond"),
    [
        (scope(), {"shop/a.py", "README"}, ()),
        (scope(boundary=("b*",)), {"shop/a.py", "shop/b.py", "bin"}, ("shop/b.py",)),
        (scope(modify=("**",)), {"shop/a.py", "README"}, ("README",)),
        (scope(create=("a.py",)), {"shop/a.py", "shop/c.py", "a.py"}, ("a.py", "shop/c.py")),
        (scope(modify=("a.py",), boundary=("**",)), {"shop/a.py"}, ("shop/a.py",)),
    ],
)
def test_what_a_task_must_not_touch(of: Scope, paths: set[str], beyond: tuple[str, ...]) -> None:
    assert outside(task("001", 1, scope=of), paths, "shop/") == beyond


def test_a_later_wave_starts_from_what_the_earlier_one_came_to(here: Project) -> None:
    waves = Waves.of(here, manifest(task("001", 1), task("002", 2, "001")))
    waves.work("task-001", {"README": "one\n"})
    first = waves.join(1)
    waves.work("task-002", {"README": "one\ntwo\n"})
    assert waves.course.outcomes["task-002"].patch.base == first.head  # type: ignore[union-attr]
    joined = waves.join(2)
    assert here.text(joined.head, "README") == "one\ntwo\n"


def test_what_is_told_of_many_conflicts_is_bounded_and_names_each(here: Project) -> None:
    names = [f"many/{n:03}.txt" for n in range(60)]
    one, other = ({name: f"{word} {name}\n" * 40 for name in names} for word in ("one", "two"))
    changes = [
        Change(task("001", 1), here.base, here.wrote(here.base, one).tree),
        Change(task("002", 1), here.base, here.wrote(here.base, other).tree),
    ]
    [conflict] = join(here.vault, here.base, changes).conflicts
    assert conflict.paths == tuple(names)
    assert len(conflict.text) <= 20_000
    assert all(name in conflict.text for name in names)


def test_nothing_of_the_users_repository_changes(here: Project) -> None:
    before = {p: p.read_bytes() for p in (here.repo / ".git").rglob("*") if p.is_file()}
    two(here, MOVED, {"shop/cart.py": edited(3)}).join(1)
    assert {p: p.read_bytes() for p in (here.repo / ".git").rglob("*") if p.is_file()} == before
