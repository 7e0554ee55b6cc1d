"""Nothing that a worker, or the user's own repository, configures for git is executed by the harness."""

from __future__ import annotations

from pathlib import Path

import pytest

from prun_review import cli
from prun_review import git as ours
from prun_review.errors import TreeError
from prun_review.shadow import Shadow
from prun_review.vault import Vault
from tests.copies import kit
from tests.copies.kit import Bench, codes, unit
from tests.copies.traps import TRAPS, Trap, canary
from tests.repokit import git, repository

IDS = [trap.name for trap in TRAPS]


def test_there_are_seventeen() -> None:
    assert len(set(IDS)) == 17


@pytest.mark.parametrize("trap", TRAPS, ids=IDS)
def test_what_a_worker_configures_is_not_executed(bench: Bench, tmp_path: Path, trap: Trap) -> None:
    program = canary(tmp_path)
    executed = tmp_path / "executed"
    copy = bench.open()
    trap.arm(copy.path, program)
    executed.unlink(missing_ok=True)
    (copy.path / "src/a.py").write_text("edited\n")

    patch = copy.harvest(unit())
    base = bench.vault.tree_of(bench.base)
    bench.vault.merge(base, patch.tree, bench.vault.store_patch(bench.base, bench.text()))
    bench.vault.branch("run1", bench.vault.commit(patch.tree, (bench.base,), "x"))
    bench.vault.deliver(ours.find(bench.repo), "run1")
    with bench.copies.plain(patch.tree):
        assert not executed.exists()
    assert "src/a.py" in {file.path for file in patch.files}
    assert codes(patch) & {"git-directory", "nested-repository"}

    copy.keep()
    trap.spring(copy.path)  # plain git: the trap is a trap
    assert executed.exists()
    executed.unlink()

    bench.copies.close()
    assert cli.main(["clean", "--older-than", "0", "--force"]) == 0
    assert not copy.folder.exists()
    assert not executed.exists()


@pytest.mark.parametrize("trap", TRAPS, ids=IDS)
def test_what_the_users_repository_configures_is_not_executed(tmp_path: Path, trap: Trap) -> None:
    repo = repository(tmp_path / "repo", kit.BASE)
    executed = tmp_path / "executed"
    trap.arm(repo, canary(tmp_path))
    (repo / "src/a.py").write_text("edited\n")
    executed.unlink(missing_ok=True)
    bench = kit.bench_of(repo, tmp_path)
    with bench.copies:
        copy = bench.open()
        (copy.path / "README").write_text("new\n")
        patch = copy.harvest(unit())
        bench.vault.branch("run1", bench.vault.commit(patch.tree, (bench.base,), "x"))
        bench.vault.deliver(ours.find(repo), "run1")
    assert not executed.exists()
    trap.spring(repo)
    assert executed.exists()
    assert git(repo, "-c", "core.fsmonitor=false", "cat-file", "-p", "prun/run1:README") == "new"


WRITTEN = {
    "config": '[filter "evil"]\n\tsmudge = @\n\tclean = @\n[core]\n\tfsmonitor = @\n[diff]\n\texternal = @\n',
    "commondir": "../elsewhere\n",
    "info/attributes": "* filter=evil\n",
    "info/exclude": "*\n",
    "objects/info/alternates": "/elsewhere\n",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_into_the_runs_own_git_directory_is_not_obeyed(
    bench: Bench, tmp_path: Path, name: str
) -> None:
    """A worker that is not contained can write there, by its path."""
    program = canary(tmp_path)
    copy = bench.open()
    kit.work(copy.path, kit.EDIT)
    with (bench.vault.path / name).open("a") as file:
        file.write(WRITTEN[name].replace("@", str(program)))
    if name == "config":
        (bench.vault.path / "info/attributes").write_text(WRITTEN["info/attributes"])
    for use in (lambda: copy.harvest(unit()), lambda: bench.copies.plain(bench.base).__enter__()):
        with pytest.raises(TreeError, match="changed by somebody"):
            use()
    if name != "info/exclude":
        with pytest.raises(TreeError, match="not as it was made"):
            Vault.open(bench.vault.path)
    assert not (tmp_path / "executed").exists()


def test_a_shadow_that_was_written_to_is_not_obeyed(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", kit.BASE)
    shadow = Shadow(tmp_path / "shadow", ours.find(repo), "sha1")
    assert shadow.run("write-tree")
    (tmp_path / "shadow/config").write_text(WRITTEN["config"].replace("@", str(canary(tmp_path))))
    with pytest.raises(TreeError, match="changed by somebody: config"):
        shadow.run("status")
