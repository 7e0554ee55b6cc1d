"""What a whole is told to lack: reviews of what it holds, files that commands could not see; git is real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from prun_review import wholeness
from prun_review.git import Entry
from prun_review.rebuilding import Accepted
from prun_review.tasks import Manifest, Review
from prun_review.wholeness import Put
from tests.waves.changekit import Project, Waves, project
from tests.waves.coursekit import manifest, task


@pytest.fixture
def here(tmp_path: Path) -> Project:
    return project(tmp_path)


def reviewed(here: Project, *seen: str) -> tuple[Waves, Put, list[Accepted]]:
    """A wave of two tasks of which its panel saw some."""
    of = manifest(task("001", 1), task("002", 1), panel=[1])
    waves = Waves.of(here, of)
    waves.work("task-001", {"README": "one\n"})
    waves.work("task-002", {"shop/new.py": "two\n"})
    joined = waves.join(1)
    review = Review("run-1", of.waves[0].panel, ("openai",), seen, "PASS", "PASS")
    held = replace(waves.course.waves[1], reviews=(review,))
    waves.course = replace(waves.course, waves={1: held})
    parents = {"task-001": here.base, "task-002": joined.commits["task-001"]}
    accepted = [
        Accepted(t, waves.course.outcomes[t.id], parents[t.id], joined.commits[t.id]) for t in of.tasks
    ]
    return waves, wholeness.put(here.vault, here.base, accepted, of), accepted


def wrong(here: Project, waves: Waves, put: Put, accepted: list[Accepted], of: Manifest) -> tuple[str, ...]:
    return wholeness.violations(here.vault, put, accepted, waves.course, of)


def test_what_a_panel_has_not_seen_is_not_well(here: Project) -> None:
    waves, put, accepted = reviewed(here, "task-001", "task-002")
    of = waves.course.manifest
    assert wrong(here, waves, put, accepted, of) == ()
    unseen = "the panel of wave 1 has not seen what is put together of task-002"
    # What was done again is another change than the one that was reviewed.
    assert wrong(here, waves, replace(put, redone=("task-002",)), accepted, of) == (unseen,)
    other = replace(of, waves=(replace(of.waves[0], panel=("panels/other",)),))
    [told] = wrong(here, waves, put, accepted, other)
    assert told == unseen.replace("task-002", "task-001, task-002")
    waves, put, accepted = reviewed(here, "task-001")
    assert wrong(here, waves, put, accepted, of) == (unseen,)


def test_what_no_command_could_see_is_told(here: Project) -> None:
    waves, put, _ = reviewed(here, "task-001", "task-002")
    link = Entry(b"library", "160000", here.base)
    twin, away, large = here.vault.store((), [b"x", b"../outside", b"*.png filter=lfs diff=lfs\n"])
    more = [
        link,
        Entry(b"readme", "100644", twin),
        Entry(b"away", "120000", away),
        Entry(b"shop/.gitattributes", "100644", large),
        Entry(b"shop/near", "120000", twin),
    ]
    tree = here.vault.replaced(here.vault.tree_of(put.joined.head), (), more)
    head = here.vault.commit(tree, (put.joined.head,), "more")
    put = replace(put, joined=replace(put.joined, head=head))
    tests = wholeness.Tests(("true",), ("true", "make test"))
    assert wholeness.unrun(here.vault, put, waves.course, waves.course.manifest, tests) == (
        "tests of the configuration, since --test names others: make test",
        "anything of submodules, whose folders were empty: library",
        "anything of links that leave the tree, which were not there: away",
        "anything of files in Git LFS, of which only the pointers were there",
        "a system on which names that differ in case only are one: README, readme",
    )
    moved = replace(put, onto=put.joined.head)
    told = wholeness.unrun(here.vault, moved, waves.course, waves.course.manifest, tests)
    assert told[-1] == f"a review: the panels saw it on {here.base[:12]}, and not on {head[:12]}"
