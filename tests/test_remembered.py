"""Baseline and acceptances at the beginning of a run, on real repositories: whose word counts, and where
known findings stand by now."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.acceptance import parse as parse_acceptances
from prun_review.acceptance import table_of
from prun_review.baseline import Baseline, text_of
from prun_review.beginning import check
from prun_review.config import Config, load
from prun_review.consensus import Group
from prun_review.errors import ConfigError, TreeError
from prun_review.extensions import executors, manager
from prun_review.fingerprints import core, fingerprint
from prun_review.folding import Member
from prun_review.keeping import acceptance
from prun_review.model import Finding, Known, RunFacts
from prun_review.ports import Executor
from prun_review.remembered import Remembered, guarded, name_of, remembered
from prun_review.renames import between
from prun_review.settling import GONE, settle
from prun_review.workspace import ReviewedTree, take

from .repokit import cache_home, git, repository, write

CASE = "panels/probe_a.py::probe_a"
LINES = [f"value_{n} = compute_{n}(argument_{n})\n" for n in range(60)]
FILE = "".join(LINES)
FOUND = Finding(
    "The argument is never checked",
    "It may be None.",
    "src/a.py",
    31,
    severity="high",
    quote="value_30 = compute_30(argument_30)",
    grounding="exact",
)
REWORDED = replace(
    FOUND,
    title="Argument is not checked for None",
    detail="It may be None, and the call fails.",
    quote=None,
)


@pytest.fixture(autouse=True, scope="module")
def home() -> Iterator[Path]:
    with cache_home() as path, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path))
        yield path


def entry(finding: Finding = FOUND, *also: Finding) -> Known:
    return Known(fingerprint(CASE, finding), CASE, "panels", core(finding), also=tuple(map(core, also)))


def there(grounding: str = "exact") -> Known:
    """The entry, and what became of its quote."""
    return replace(entry(), finding=replace(entry().finding, grounding=grounding))


def baseline(*entries: Known, commit: str = "") -> str:
    return text_of(Baseline(entries or (entry(),), "run", commit, "", "0"))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"src/a.py": FILE, "panels/probe_a.py": "def probe_a(): 'x'\n"})


def commit(repo: Path, message: str = "more") -> str:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", message)
    return git(repo, "rev-parse", "HEAD")


@contextmanager
def taken(repo: Path, config: Config) -> Iterator[ReviewedTree]:
    """The tree as a run takes it."""
    with take(
        repo,
        base=config.base,
        head=config.head,
        root=repo,
        guarded=(*config.guarded, config.accept, *guarded(config, repo)),
        panel_names=config.panels,
        panels=[str(repo / name) for name in config.panels],
    ) as tree:
        yield tree


def look(repo: Path, accepted: str = "", **options: Any) -> Remembered:
    config = load({}, {"baseline": "known.json", **options})
    with taken(repo, config) as tree:
        acceptances = parse_acceptances(accepted, "prun-accept.toml", 1.8e9)
        return remembered(config, repo, tree, acceptances)


def held(found: Remembered, *findings: Finding) -> int:
    """How many of these findings of a run are known."""
    groups = [
        Group(f"u#{n}", CASE, "single", f.severity, "", (Member("codex", "unit", f),), "")
        for n, f in enumerate(findings)
    ]
    return len(settle(RunFacts("r", 0.0, known=found.known, acceptances=found.acceptances), groups).known)


# --- where known findings stand ---------------------------------------------------------------


def test_a_known_finding_moves_with_its_quote(repo: Path) -> None:
    write(repo, {"known.json": baseline()})
    assert look(repo).known == (there(),)
    write(repo, {"src/a.py": "# head\n" * 100 + FILE})
    commit(repo)
    found = look(repo)
    assert [k.finding.line for k in found.known] == [131]
    assert held(found, replace(FOUND, line=131)) == 1
    assert held(found, replace(REWORDED, line=131)) == 1
    assert held(found, replace(REWORDED, line=31)) == 0


def test_a_quote_that_is_gone_moves_nothing(repo: Path) -> None:
    write(repo, {"known.json": baseline(), "src/a.py": FILE.replace("compute_30", "other")})
    commit(repo)
    found = look(repo)
    assert found.known == (there("ungrounded"),)
    assert held(found, FOUND) == 1  # a quote that nobody proved, and the very words
    assert held(found, REWORDED) == 0


def test_a_copy_that_a_change_adds_is_not_what_was_known(repo: Path) -> None:
    base = git(repo, "rev-parse", "HEAD")
    write(repo, {"src/a.py": FILE + "\n" * 20 + LINES[30]})
    commit(repo)
    write(repo, {"known.json": baseline()})
    found = look(repo, base=base)
    assert found.known == (there("line-only"),)
    assert held(found, FOUND) == 1
    assert held(found, replace(FOUND, line=81, placement="added")) == 0
    assert held(found, replace(FOUND, placement="added")) == 0  # which of the two was there is not known
    write(repo, {"src/a.py": "".join([*LINES[:30], *LINES[31:], "\n" * 20, LINES[30]])})
    git(repo, "commit", "-q", "-m", "move", "src/a.py")
    assert held(look(repo, base=base), replace(FOUND, line=80, placement="added")) == 1  # it was moved


@pytest.mark.parametrize("edited", [False, True], ids=["as it was", "and edited"])
def test_a_renamed_file_is_followed(repo: Path, edited: bool) -> None:
    write(repo, {"known.json": baseline(entry(FOUND, REWORDED), commit=git(repo, "rev-parse", "HEAD"))})
    git(repo, "mv", "src/a.py", "src/b.py")
    if edited:
        write(repo, {"src/b.py": "# head\n" * 9 + FILE})
    for step in (
        lambda: None,
        lambda: commit(repo),
        lambda: git(repo, "commit", "--allow-empty", "-qm", "x"),
    ):
        step()  # in the work tree, committed, and with a commit in between
        found = look(repo)
        [known] = found.known
        line = 40 if edited else 31
        assert (known.finding.file, known.finding.line, known.note) == (
            "src/b.py",
            line,
            "renamed from src/a.py",
        )
        assert [f.file for f in known.also] == ["src/b.py"]
        assert held(found, replace(FOUND, file="src/b.py", line=line)) == 1
        assert held(found, replace(REWORDED, file="src/b.py", line=line)) == 1
        assert held(found, replace(FOUND, file="src/a.py")) == 1  # under the name that it was stored with
        assert held(found, replace(FOUND, file="src/c.py")) == 0
        assert found.notes == ()


def test_a_file_that_is_another_one_now_is_not_followed(repo: Path) -> None:
    """A new file under the old name is what the finding is looked for in, whatever was renamed."""
    write(repo, {"known.json": baseline(commit=git(repo, "rev-parse", "HEAD"))})
    git(repo, "mv", "src/a.py", "src/b.py")
    write(repo, {"src/a.py": "nothing = 1\n"})
    commit(repo)
    [known] = look(repo).known
    assert (known.finding.file, known.note) == ("src/a.py", "")


def test_a_file_that_is_gone_is_said_to_be(repo: Path) -> None:
    write(repo, {"known.json": baseline(commit=git(repo, "rev-parse", "HEAD")), "src/z.py": "z = 1\n"})
    git(repo, "rm", "-q", "src/a.py")
    commit(repo)
    assert [k.note for k in look(repo).known] == [GONE]


@pytest.mark.parametrize("sha", ["d" * 40, "main", "", "d" * 39])
def test_an_unknown_commit_is_said_once_and_maps_nothing(repo: Path, sha: str) -> None:
    write(repo, {"known.json": baseline(entry(), entry(replace(FOUND, line=3)), commit=sha)})
    git(repo, "mv", "src/a.py", "src/b.py")
    commit(repo)
    found = look(repo)
    assert {k.note for k in found.known} == {GONE}
    assert [("is not in the repository" in note) for note in found.notes] == [True] * bool(sha)


def test_an_unknown_commit_matters_only_where_a_file_is_missing(repo: Path) -> None:
    write(repo, {"known.json": baseline(commit="d" * 40)})
    assert look(repo).notes == ()


def test_an_acceptance_is_followed_alike(repo: Path) -> None:
    group = Group("u#1", CASE, "single", "high", "", (Member("codex", "u", FOUND),), "")
    before = acceptance(group, "Ada", "r", "", git(repo, "rev-parse", "HEAD"))
    write(repo, {"known.json": baseline()})
    git(repo, "mv", "src/a.py", "src/b.py")
    write(repo, {"src/b.py": "# head\n" + FILE})
    commit(repo)
    [now] = look(repo, table_of(before)).acceptances
    assert now.finding is not None
    assert (now.finding.file, now.finding.line, now.note) == ("src/b.py", 32, "renamed from src/a.py")
    other = '[[outage]]\nexecutor = "codex"\nby = "Ada"\nreason = "r"\nuntil = 2027-01-16\n'
    assert [a.kind for a in look(repo, other).acceptances] == ["outage"]


# --- whose word counts ------------------------------------------------------------------------


def test_without_a_baseline_nothing_is_known(repo: Path) -> None:
    assert look(repo, baseline="") == Remembered()


def test_of_a_tree_the_file_on_disk_counts(repo: Path) -> None:
    write(repo, {"known.json": baseline()})  # untracked
    assert look(repo).known == (there(),)


def test_of_a_change_of_the_work_tree_the_base_has_the_word(repo: Path) -> None:
    mine = entry(replace(FOUND, title="What the change would like to be known"))
    write(repo, {"known.json": baseline()})
    base = commit(repo)
    write(repo, {"known.json": baseline(entry(), mine), "src/a.py": FILE + "x = 1\n"})
    assert look(repo, base=base).known == (there(),)
    commit(repo)
    assert look(repo, base=base).known == (there(),)
    git(repo, "rm", "-q", "known.json")
    assert look(repo, base=base).known == (there(),)


def test_a_baseline_that_the_change_brings_waits_until_it_is_merged(repo: Path) -> None:
    base = git(repo, "rev-parse", "HEAD")
    write(repo, {"known.json": baseline(), "src/a.py": FILE + "x = 1\n"})
    commit(repo)
    found = look(repo, base=base)
    assert found.known == ()
    assert found.notes == ("the baseline known.json is new in this change: it counts once it is merged",)
    assert look(repo).known == (there(),)


def test_of_a_change_a_file_that_git_does_not_know_counts(repo: Path) -> None:
    """Continuous integration fetches it from elsewhere: it is no part of the change."""
    base = git(repo, "rev-parse", "HEAD")
    write(repo, {"src/a.py": FILE + "x = 1\n"})
    commit(repo)
    write(repo, {"known.json": baseline()})
    assert look(repo, base=base).known == (there(),)
    git(repo, "add", "-N", "known.json")
    assert look(repo, base=base).known == ()


def test_a_change_of_the_baseline_alters_the_review(repo: Path) -> None:
    write(repo, {"known.json": baseline()})
    base = commit(repo)
    write(repo, {"known.json": baseline(entry(), entry(replace(FOUND, line=3)))})
    commit(repo)
    for name, altering in (
        ("known.json", ("known.json",)),
        ("./known.json", ("known.json",)),
        ("other.json", ()),
    ):
        with taken(repo, load({}, {"base": base, "baseline": name})) as tree:
            assert tree.alters == altering
            assert tree.brings("known.json") is bool(altering)


def test_of_another_checkout_the_trusted_root_has_the_word(repo: Path, tmp_path: Path) -> None:
    write(repo, {"known.json": baseline()})
    base = commit(repo)
    head = tmp_path / "head"
    git(tmp_path, "clone", "-q", str(repo), str(head))
    mine = entry(replace(FOUND, title="What the head would like to be known"))
    write(head, {"known.json": baseline(mine), "src/a.py": FILE + "x = 1\n"})
    commit(head)
    for where in (str(head), "main"):
        assert look(repo, base=base, head=where).known == (there(),)
    with taken(repo, load({}, {"base": base, "head": str(head), "baseline": "known.json"})) as tree:
        assert tree.alters == ("known.json",)


def built_in() -> Mapping[str, Executor]:
    return executors(manager(), Config())


@pytest.mark.parametrize("name", ["../known.json", "/etc/known.json", "a/../../b", ".", ".."])
def test_a_baseline_outside_of_the_trusted_root_is_refused(repo: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="lies outside of the trusted root"):
        check(load({}, {"baseline": name}), repo, built_in())


def test_a_baseline_is_named_as_the_trusted_root_has_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "ci").mkdir(parents=True)
    os.symlink(root, tmp_path / "other")
    for given in (
        "ci/known.json",
        "./ci//known.json",
        str(root / "ci/known.json"),
        str(tmp_path / "other/ci/known.json"),
    ):
        assert name_of(load({}, {"baseline": given}), root) == "ci/known.json"
    assert name_of(Config(), root) == ""
    os.symlink("../elsewhere", root / "link")
    assert name_of(load({}, {"baseline": "link/known.json"}), root) == "link/known.json"


@pytest.mark.parametrize("name", ["head/known.json", "link/known.json"])
def test_a_baseline_in_the_head_is_refused(repo: Path, name: str) -> None:
    write(repo, {"head/known.json": baseline()})
    os.symlink("head", repo / "link")
    with pytest.raises(ConfigError, match="lies in the reviewed head"):
        check(load({}, {"baseline": name, "head": "head"}), repo, built_in())


def test_a_file_that_is_none_is_refused(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such baseline") as missing:
        look(repo)
    assert "prun-review baseline RUN -o FILE" in missing.value.remedy
    write(tmp_path, {"elsewhere.json": baseline()})
    os.symlink(tmp_path / "elsewhere.json", repo / "known.json")
    with pytest.raises(ConfigError, match=r"the baseline cannot be read: known\.json: a link"):
        look(repo)
    (repo / "known.json").unlink()
    os.mkfifo(repo / "known.json")
    with pytest.raises(ConfigError, match="not an ordinary file"):
        look(repo)
    (repo / "known.json").unlink()
    write(repo, {"known.json": b"\xff\xfe"})
    with pytest.raises(ConfigError, match="not UTF-8"):
        look(repo)
    write(repo, {"known.json": baseline()[:-30]})
    with pytest.raises(ConfigError, match=r"known\.json: not a baseline"):
        look(repo)


# --- what was renamed between two commits -----------------------------------------------------


def test_renames_between_two_commits(repo: Path) -> None:
    write(repo, {"src/sub dir/é\n.py": FILE.replace("value", "other"), "top.py": "t = 1\n" * 30})
    old = commit(repo)
    git(repo, "mv", "src/a.py", "src/b.py")
    git(repo, "mv", "src/sub dir/é\n.py", "src/plain.py")
    git(repo, "mv", "top.py", "bottom.py")
    new = commit(repo)
    assert between(repo, old, new) == {
        "src/a.py": "src/b.py",
        "src/sub dir/é%0A.py": "src/plain.py",
        "top.py": "bottom.py",
    }
    assert between(repo / "src", old, new) == {"a.py": "b.py", "sub dir/é%0A.py": "plain.py"}
    assert between(repo, new, old)["src/b.py"] == "src/a.py"
    assert between(repo, old, old) == {}


@pytest.mark.parametrize("sha", ["d" * 40, "HEAD", "--all"])
def test_renames_need_commits_that_are_there(repo: Path, sha: str) -> None:
    with pytest.raises(TreeError, match="is not in the repository"):
        between(repo, sha, git(repo, "rev-parse", "HEAD"))
