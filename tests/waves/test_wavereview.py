"""A wave is put before its panel: in pieces by vendor, each a real change review in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from prun_review import git as ours
from prun_review.errors import LaunchError, TreeError
from prun_review.tasks import Course, Review
from prun_review.vault import Vault
from prun_review.wavereview import checkout, pieces, review
from prun_review.waves import reviewed
from prun_review.wavesteps import Finish, ReviewWave, due
from tests.change.kit import Scene, defect
from tests.repokit import cache_home, git, repository
from tests.waves.changekit import Project, Waves, edited, project
from tests.waves.coursekit import manifest, task

WAVE = 1


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(path))
        yield path


@pytest.fixture
def here(tmp_path: Path) -> Project:
    return project(tmp_path)


def wave(here: Project, *work: tuple[str, Mapping[str, str | None]]) -> Waves:
    """A reviewed wave: who wrote what, task by task, put together."""
    tasks = [task(f"{n:03}", WAVE) for n in range(1, len(work) + 1)]
    waves = Waves.of(here, manifest(*tasks, task("900", 2), panel=[WAVE]))
    for one, (executor, text) in zip(tasks, work, strict=True):
        waves.work(one.id, text, executor)
    waves.join(WAVE)
    assert isinstance(due(waves.course), ReviewWave)
    return waves


def cut(waves: Waves) -> list[tuple[str, tuple[str, ...]]]:
    """The pieces; they lead from the base of the wave to its head without a gap."""
    found = pieces(waves.project.vault, waves.course, waves.course.manifest.waves[0])
    held = waves.course.waves[WAVE]
    ends = [found[0].base, *(piece.head for piece in found)]
    assert [piece.base for piece in found] == ends[:-1]
    assert ends[0] == held.base
    assert waves.project.vault.tree_of(ends[-1]) == waves.project.vault.tree_of(held.head)
    return [(piece.vendor, piece.tasks) for piece in found]


# --- to pieces --------------------------------------------------------------------------------


def test_a_wave_of_one_vendor_is_one_piece(here: Project) -> None:
    waves = wave(here, ("codex", {"README": "one\n"}), ("codex", {"shop/new.py": "two\n"}))
    assert cut(waves) == [("openai", ("task-001", "task-002"))]
    [piece] = pieces(here.vault, waves.course, waves.course.manifest.waves[0])
    assert (piece.base, piece.head) == (here.base, waves.course.waves[WAVE].head)


def test_what_a_vendor_wrote_is_one_piece_in_the_order_of_its_first_task(here: Project) -> None:
    work = [
        ("sonnet", {"README": "one\n"}),
        ("codex", {"shop/a.py": "a\n"}),
        ("sonnet", {"shop/b.py": "b\n"}),
    ]
    assert cut(wave(here, *work)) == [("anthropic", ("task-001", "task-003")), ("openai", ("task-002",))]


def test_who_wrote_nothing_is_in_no_piece(here: Project) -> None:
    assert cut(wave(here, ("codex", {}), ("sonnet", {"README": "x\n"}))) == [("anthropic", ("task-002",))]


def test_what_builds_on_another_vendors_work_stays_behind_it(here: Project) -> None:
    """The third was opened again on the second's work: before it, it does not apply."""
    work = [("codex", {"README": "x\n"}), ("sonnet", {"shop/cart.py": edited(3, to="two")})]
    tasks = [task("001", WAVE), task("002", WAVE), task("003", WAVE)]
    waves = Waves.of(here, manifest(*tasks, panel=[WAVE]))
    for one, (executor, text) in zip(
        tasks, [*work, ("codex", {"shop/cart.py": edited(3, to="three")})], strict=True
    ):
        waves.work(one.id, text, executor)
    assert len(waves.join(WAVE).conflicts) == 1
    waves.work("task-003", {"shop/cart.py": edited(3, to="both")}, "codex")
    waves.join(WAVE)
    assert cut(waves) == [("openai", ("task-001",)), ("anthropic", ("task-002",)), ("openai", ("task-003",))]


def test_what_would_come_to_another_whole_in_another_order_stays_where_it_is(here: Project) -> None:
    """The third takes back what the second did: before it, there is nothing to be taken back."""
    work = [("codex", {"README": "x\n"}), ("sonnet", {"shop/cart.py": edited(3, to="two")})]
    tasks = [task("001", WAVE), task("002", WAVE), task("003", WAVE)]
    waves = Waves.of(here, manifest(*tasks, panel=[WAVE]))
    for one, (executor, text) in zip(tasks, [*work, ("codex", {"shop/cart.py": edited(3)})], strict=True):
        waves.work(one.id, text, executor)
    assert len(waves.join(WAVE).conflicts) == 1
    waves.work("task-003", {"shop/cart.py": edited(), "shop/new.py": "new\n"}, "codex")
    waves.join(WAVE)
    assert cut(waves) == [("openai", ("task-001",)), ("anthropic", ("task-002",)), ("openai", ("task-003",))]


def test_commits_of_nobody_are_refused(here: Project) -> None:
    waves = wave(here, ("codex", {"README": "x\n"}), ("sonnet", {"shop/new.py": "y\n"}))
    held = waves.course.waves[WAVE]
    tree = here.vault.replaced(here.vault.tree_of(held.head), [b"README"], [])
    head = here.vault.commit(tree, (held.head,), "whose?\n")
    course = replace(waves.course, waves={**waves.course.waves, WAVE: replace(held, head=head)})
    with pytest.raises(TreeError, match="are not those of its tasks"):
        pieces(here.vault, course, course.manifest.waves[0])


# --- the folder that is reviewed --------------------------------------------------------------


def test_the_folder_is_a_plain_checkout_of_two_commits_and_gone_afterwards(
    here: Project, cache: Path
) -> None:
    (here.repo / "shop/link").symlink_to("price.py")
    (here.repo / "shop/run.sh").write_text("#!/bin/sh\n")
    (here.repo / "shop/run.sh").chmod(0o755)
    (here.repo / ".gitattributes").write_text("* text=auto eol=crlf\n")
    git(here.repo, "add", "-A")
    git(here.repo, "commit", "-q", "-m", "more")
    base = here.vault.commit_of("HEAD")
    head = here.vault.commit(here.wrote(base, {"README": "new\n"}).tree, (base,), "head\n")
    before = _bytes(here.repo)
    with checkout(here.vault, base, head) as folder:
        assert folder.is_relative_to(cache)
        assert git(folder, "rev-parse", "HEAD") == head
        assert git(folder, "rev-parse", "HEAD^") == base
        assert git(folder, "status", "--porcelain") == ""
        assert git(folder, "diff", "--name-only", base, head) == "README"
        assert (folder / "README").read_bytes() == b"new\n"
        assert os.readlink(folder / "shop/link") == "price.py"
        assert os.access(folder / "shop/run.sh", os.X_OK)
        assert git(folder, "log", "--format=%s") == "head\nmore\nfirst"
    assert not folder.exists()
    assert _bytes(here.repo) == before


def _bytes(repo: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in repo.rglob("*") if p.is_file()}


# --- the reviews ------------------------------------------------------------------------------


@dataclass
class Panels:
    """The scene's own panels, run by its own pytest."""

    scene: Scene
    asked: list[dict[str, Any]] = field(default_factory=list)
    spoil: Callable[[dict[str, Any]], None] = lambda document: None

    def __call__(
        self, paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]
    ) -> dict[str, Any]:
        self.asked.append({"paths": tuple(paths), "base": base, "head": head, "authors": tuple(authors)})
        assert Path(head, ".git").is_dir()
        shutil.rmtree(self.scene.path / "reports", ignore_errors=True)
        done = self.scene.review("--prun-head", head, "--prun-authors", ",".join(authors), base=base)
        assert (self.scene.path / "reports/latest").exists(), done.output
        document = self.scene.report.document
        self.spoil(document)
        return document


@dataclass
class Shop:
    """A project whose stand-ins ``left`` and ``right`` write code and review it."""

    scene: Scene
    waves: Waves
    panels: Panels

    def review(self, **how: Any) -> tuple[Course, tuple[Review, ...]]:
        found = review(self.waves.project.vault, self.waves.course, WAVE, self.panels, **how)
        return reviewed(self.waves.course, WAVE, found), found


def shop(tmp: Path, *work: tuple[str, Mapping[str, str | None]]) -> Shop:
    scene = Scene(tmp / "scene", config='cross_examine = "off"')
    scene.git("checkout", "-q", "main")
    return shop_of(scene, tmp, *work)


def shop_of(scene: Scene, tmp: Path, *work: tuple[str, Mapping[str, str | None]]) -> Shop:
    vault = Vault.create(tmp / "vault", ours.find(scene.path))
    waves = wave(
        Project(scene.path, vault, vault.commit_of("HEAD")), *((f"vendor-{n}", text) for n, text in work)
    )
    scene.knows("src/auth.py", "src/shop.py", "src/new.py", "src/other.py")
    scene.answers({})
    return Shop(scene, waves, Panels(scene))


NEW: Mapping[str, str | None] = {"src/new.py": "def new():\n    return eval(input())\n"}
OTHER: Mapping[str, str | None] = {"src/other.py": "def other():\n    return 2\n"}
BAD = defect("runs what is typed", "src/new.py", 2, "return eval(input())")


def test_each_vendors_piece_is_reviewed_with_its_author_told_and_both_pass(tmp_path: Path) -> None:
    here = shop(tmp_path, ("left", NEW), ("right", OTHER))
    before = _bytes(here.scene.path / ".git")
    course, found = here.review()
    assert [(r.authors, r.tasks, r.outcome, r.panels) for r in found] == [
        (("vendor-left",), ("task-001",), "PASS", ("panels/",)),
        (("vendor-right",), ("task-002",), "PASS", ("panels/",)),
    ]
    assert "vendor-left wrote it" in found[0].line
    assert len({r.run for r in found}) == 2
    assert all((here.scene.path / ".prun/runs" / r.run).is_dir() for r in found)
    assert [ask["authors"] for ask in here.panels.asked] == [("vendor-left",), ("vendor-right",)]
    diffs = [call["beside"]["CHANGE.diff"] for call in here.scene.calls]
    assert ["src/new.py" in d for d in diffs] == [True, True, False, False]
    assert ["src/other.py" in d for d in diffs] == [False, False, True, True]
    assert course.waves[WAVE].status == "succeeded"
    assert not any(Path(ask["head"]).exists() for ask in here.panels.asked)
    assert _bytes(here.scene.path / ".git") == before


def test_what_is_not_made_in_the_folder_keeps_nothing_from_passing(tmp_path: Path) -> None:
    """A link that leaves the tree, a submodule, and names that git has to quote."""
    scene = Scene(tmp_path / "scene", config='cross_examine = "off"')
    scene.git("checkout", "-q", "main")
    (scene.path / "src/out").symlink_to("/etc/hosts")
    scene.write(
        {'src/caf\u00e9 "q".txt': "x\n", "src/crlf.txt": "a\r\n", ".gitattributes": "* text=auto ident\n"}
    )
    scene.git("add", "-A")
    scene.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib/sub")
    scene.git("commit", "-q", "-m", "odd")
    here = shop_of(scene, tmp_path, ("left", NEW))
    _, [found] = here.review()
    assert (found.outcome, found.line) == ("PASS", "PASS (vendor-left wrote it: right alone counts)")


def test_what_the_panel_finds_stops_the_next_wave_with_the_verdict(tmp_path: Path) -> None:
    here = shop(tmp_path, ("left", OTHER), ("right", NEW))
    here.scene.answers({"when": "eval(input())", "findings": [BAD]}, {})
    course, found = here.review()
    assert [r.outcome for r in found] == ["PASS", "FAIL"]
    assert found[1].line.startswith("FAIL")
    assert found[0].findings == ()
    assert found[1].findings == (f"{BAD['severity']}: {BAD['file']}:{BAD['line']}: {BAD['title']}",)
    assert (course.waves[WAVE].status, course.waves[WAVE].reason) == ("failed", "panel")
    assert (course.outcomes["task-900"].status, course.outcomes["task-900"].reason) == ("not-run", "panel")
    assert isinstance(due(course), Finish)


def test_an_author_cannot_pass_its_own_piece(tmp_path: Path) -> None:
    """The other vendor does not answer: what the author says of its own work counts for nothing."""
    here = shop(tmp_path, ("left", NEW))
    here.scene.answers({"of": "left"}, {"of": "right", "exit": 9})
    course, [found] = here.review()
    assert found.outcome == "INCOMPLETE"
    assert course.waves[WAVE].reason == "panel"
    here.scene.answers({"of": "right"}, {"of": "left", "exit": 9})
    assert here.review()[1][0].outcome == "INCOMPLETE"  # an outage is an outage


def test_after_a_piece_that_did_not_pass_nothing_is_asked(tmp_path: Path) -> None:
    here = shop(tmp_path, ("left", NEW), ("right", OTHER))
    here.scene.answers({"when": "eval(input())", "findings": [BAD]}, {})
    course, found = here.review()
    assert [r.outcome for r in found] == ["FAIL"]
    assert len(here.panels.asked) == 1
    assert course.waves[WAVE].reason == "panel"


def test_a_change_of_the_panels_themselves_does_not_pass(tmp_path: Path) -> None:
    probe = (Path("panels") / "probe_change.py").as_posix()
    here = shop(tmp_path, ("left", {probe: "# nothing is asked any more\n"}))
    _, [found] = here.review()
    assert found.outcome == "INCOMPLETE"


# --- what does not count ----------------------------------------------------------------------


def answered(base: str, head: str, authors: Sequence[str]) -> dict[str, Any]:
    """A document as short as one can be."""
    facts = {
        "run_id": "r",
        "started": 0.0,
        "authors": list(authors),
        "revision": {"base": base, "head": head},
    }
    verdict = {"outcome": "PASS", "reasons": [], "folders": {}, "counts": {}, "line": "PASS"}
    return {"run_id": "r", "facts": facts, "verdict": verdict}


def told(document: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The document with some of its facts changed."""
    whole: dict[str, Any] = json.loads(json.dumps(document))
    whole["facts"] |= {k: v for k, v in changes.items() if k in ("authors",)}
    whole["facts"]["revision"] |= {k: v for k, v in changes.items() if k in ("base", "head", "dirty")}
    return whole | {k: v for k, v in changes.items() if k in ("verdict", "run_id", "facts")}


PARTIAL = {"outcome": "PASS", "reasons": [{"code": "partial", "text": "1 of 2", "outcome": "PASS"}]}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "other base": ({"base": "0" * 40}, "it reviewed something else"),
    "other head": ({"head": "0" * 40}, "it reviewed something else"),
    "edited": ({"dirty": True}, "what it reviewed is not what was written"),
    "no author": ({"authors": []}, "it did not know who wrote it"),
    "other author": ({"authors": ["anthropic"]}, "it did not know who wrote it"),
    "no verdict": ({"verdict": None}, "unfinished"),
    "a part": ({"verdict": PARTIAL}, "partial"),
    "no facts": ({"facts": None}, "its document cannot be read"),
    "odd verdict": ({"verdict": "PASS"}, "its document cannot be read"),
    "no run": ({"run_id": ""}, "it has no run"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_verdict_on_something_else_is_none(here: Project, case: str) -> None:
    waves = wave(here, ("codex", {"README": "x\n"}))
    changes, said = WRONG[case]

    def ask(paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]) -> Mapping[str, Any]:
        return told(answered(base, git(Path(head), "rev-parse", "HEAD"), authors), **changes)

    [found] = review(here.vault, waves.course, WAVE, ask)
    assert found.outcome == "INCOMPLETE"
    assert said in found.line
    assert reviewed(waves.course, WAVE, [found]).waves[WAVE].reason == "panel"


def test_the_same_without_a_fault_passes(here: Project) -> None:
    """What the table above changes is all that keeps it from passing."""
    waves = wave(here, ("codex", {"README": "x\n"}))
    heads: list[str] = []

    def ask(paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]) -> Mapping[str, Any]:
        heads.append(head)
        return answered(base, git(Path(head), "rev-parse", "HEAD"), authors)

    [found] = review(here.vault, waves.course, WAVE, ask, within="shop/")
    assert found == Review("r", ("panels/",), ("openai",), ("task-001",), "PASS", "PASS")
    assert heads[0].endswith("/head/shop")


def test_a_review_that_cannot_be_begun_is_incomplete_and_says_why(here: Project) -> None:
    waves = wave(here, ("codex", {"README": "x\n"}), ("sonnet", {"shop/new.py": "y\n"}))

    def ask(paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]) -> Mapping[str, Any]:
        raise LaunchError("pytest is not here")

    [found] = review(here.vault, waves.course, WAVE, ask)
    assert (found.run, found.outcome) == ("", "INCOMPLETE")
    assert found.line == "INCOMPLETE (there is no review: pytest is not here)"
    [found] = review(here.vault, waves.course, WAVE, ask, stop=lambda: "interrupted")
    assert found.line == "INCOMPLETE (it was not begun: interrupted)"


def test_a_piece_that_changes_nothing_more_has_nothing_to_be_looked_at(here: Project) -> None:
    waves = wave(here, ("codex", {"README": "x\n"}), ("sonnet", {"README": "x\n"}))
    seen: list[tuple[str, ...]] = []

    def ask(paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]) -> Mapping[str, Any]:
        seen.append(tuple(authors))
        return answered(base, git(Path(head), "rev-parse", "HEAD"), authors)

    found = review(here.vault, waves.course, WAVE, ask)
    assert seen == [("openai",)]
    assert [r.outcome for r in found] == ["PASS", "PASS"]
    assert "nothing differs" in found[1].line
    assert reviewed(waves.course, WAVE, found).waves[WAVE].status == "succeeded"


def test_a_shallow_repository_will_do(tmp_path: Path) -> None:
    source = repository(tmp_path / "source")
    git(source, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{source}", "repo")
    vault = Vault.create(tmp_path / "vault", ours.find(tmp_path / "repo"))
    here = Project(tmp_path / "repo", vault, vault.commit_of("HEAD"))
    head = vault.commit(here.wrote(here.base, {"README": "new\n"}).tree, (here.base,), "head\n")
    with checkout(vault, here.base, head) as folder:
        assert git(folder, "log", "--format=%s") == "head\nsecond"
        assert git(folder, "status", "--porcelain") == ""
