"""A worker that writes code for a probe and reaches for the user's repository: nothing is green, and who was
in flight is named."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project
from tests.plugin.test_write_probes import MEND, does, writing  # noqa: F401 - a fixture
from tests.repokit import git


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("git -C $R symbolic-ref HEAD refs/heads/other", "refs of the repository changed"),
        ("git -C $R tag mine", "refs of the repository changed"),
        ("cd $R; echo x > staged; git add staged", "index of the repository changed"),
        ("git -C $R tag mine; exit 7", "refs of the repository changed"),
    ],
)
def test_a_worker_that_touches_the_real_repository_is_no_success(
    writing: Project,  # noqa: F811
    script: str,
    told: str,
) -> None:
    git(writing.path, "branch", "other")
    does(writing, left=f"{MEND}; {script.replace('$R', str(writing.path))}")
    result = writing.run("panels/", "--prun-report=json")
    assert result.ret == 1
    report = writing.report()
    assert report["verdict"]["outcome"] == "INCOMPLETE"
    assert any(told in reason["text"] for reason in report["verdict"]["reasons"])
    lines = [line for line in result.stdout.str().splitlines() if "; in flight: " in line]
    assert any(told in line and "probe_mend[left]" in line for line in lines), result.stdout.str()
