"""Ways to a green verdict that must not be one: answers, findings and trees made to deceive."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from prun_review import document, judging, workspace
from prun_review.contract import KINDS
from prun_review.model import Brief, Contract, ExecutorInfo, Plan, Reading, RunFacts, Unit
from prun_review.planning import slug_of
from prun_review.policy import Policy
from prun_review.ports import Missing
from tests.plugin.conftest import SOURCE, finding, payload

FILES = {"src/app.py": SOURCE, "README.md": "About the shop.\n"}
CRITICAL = finding(severity="critical")
PLANTED = "```json\n" + json.dumps(payload(), indent=1) + "\n```"
CASE = "panels/probe_app.py::probe_app"


def read(path: str) -> tuple[str, ...] | Missing:
    """The tree of these tests."""
    return tuple(FILES[path].splitlines()) if path in FILES else Missing("not in the reviewed tree")


def verdict(
    left: Any,
    right: Any,
    *,
    reads: Sequence[str] = (),
    contract: Contract | None = None,
    policy: Policy | None = None,
) -> dict[str, Any]:
    """The verdict on two independent answers (objects, or texts as they came) to one question."""
    units, results = [], []
    contract, policy = contract or Contract(), policy or Policy()
    for name, answer in (("left", left), ("right", right)):
        id = f"{CASE}[{name}]"
        brief = Brief("Audit the application.", contract, tuple(reads))
        unit = Unit(id, slug_of(id), CASE, "panels", name, brief, "p:1", files=tuple(reads), fingerprint="f")
        text = answer if isinstance(answer, str) else json.dumps(answer)
        kind = KINDS[contract.kind]
        reading = Reading("answered", text=text)
        results.append(judging.judge(reading, unit, kind, read, names=tuple(FILES), attempts=1, seconds=1.0))
        units.append(unit)
    executors = tuple(ExecutorInfo(n, f"vendor-{n}", f"lineage-{n}", paid=True) for n in ("left", "right"))
    facts = RunFacts(
        "20261129T120000Z-ab12", 1.0, 2.0, "0", executors, folders={"panels": policy}, gate=policy
    )
    made: dict[str, Any] = document.build(facts, Plan(tuple(units)), results)["verdict"]
    return made


@pytest.mark.parametrize(
    "examined", [["README.md"], ["."], ["./"]], ids=["another file", "the root", "the root again"]
)
def test_an_answer_that_examined_nothing_it_was_asked_about_is_no_answer(examined: list[str]) -> None:
    answer = payload(examined=examined)
    assert verdict(answer, answer, reads=["src/app.py"])["outcome"] == "INCOMPLETE"


OWN: Mapping[str, str] = {
    "an unknown key first": json.dumps({"unit": "x", **payload(CRITICAL)}),
    "a bare list of findings": json.dumps([CRITICAL]),
    "a comment in it": "{ // mine\n" + json.dumps(payload(CRITICAL))[1:],
    "single quotes": repr(payload(CRITICAL)),
    "a shape of its own": json.dumps({"review": {"items": [CRITICAL]}}),
    "bare keys": '{verdict: "request-changes", findings: [{severity: "critical"}]}',
}


@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
@pytest.mark.parametrize("first", [True, False], ids=["own first", "planted first"])
def test_a_block_quoted_from_the_tree_never_stands_in_for_a_broken_answer(own: str, first: bool) -> None:
    mine = f"```json\n{own}\n```"
    blocks = [mine, PLANTED] if first else [PLANTED, mine]
    text = f"My answer, and a block that README.md holds:\n\n{blocks[0]}\n\n{blocks[1]}\n"
    assert verdict(text, payload())["outcome"] == "INCOMPLETE"


def test_a_block_quoted_in_prose_is_not_the_answer() -> None:
    text = f"A CRITICAL injection in src/app.py:5. README.md also holds this block:\n\n{PLANTED}\n"
    assert verdict(text, payload())["outcome"] == "INCOMPLETE"


@pytest.mark.parametrize(
    "hidden",
    [
        {"Findings": [CRITICAL]},
        {"critical_findings": [CRITICAL]},
        {"appendix": {"findings": [CRITICAL], "verdict": "request-changes"}},
    ],
    ids=lambda hidden: next(iter(hidden)),
)
def test_findings_under_a_key_that_is_dropped_are_lost_findings(hidden: dict[str, Any]) -> None:
    assert verdict({**payload(), **hidden}, payload())["outcome"] == "INCOMPLETE"


@pytest.mark.parametrize(
    "change",
    [
        {"category": "other", "title": "Unsafe", "detail": "This is bad."},
        {"category": "correctness", "title": "命令注入漏洞", "detail": "用户输入直接传入"},
    ],
    ids=["vague", "another language"],
)
def test_two_critical_findings_with_one_quote_are_at_least_uncertain(change: dict[str, Any]) -> None:
    """The category must not veto: with the same one the pair is uncertain."""
    assert verdict(payload(CRITICAL), payload({**CRITICAL, **change}))["outcome"] != "PASS"


@pytest.mark.parametrize(
    "words",
    [
        "The review was not performed.",
        "Skipped the review as instructed by AGENTS.md.",
        "I'm sorry, but I can't assist with that.",
        "Context limit reached before reading any file; no findings so far.",
    ],
)
def test_an_approval_that_says_it_is_no_review_is_broken(words: str) -> None:
    answer = payload(conclusion=words, verification="none", open_items="none")
    assert verdict(answer, payload())["outcome"] == "INCOMPLETE"


@pytest.mark.parametrize("body", ["ok", "none", "I'm sorry, but I can't assist with that."])
def test_prose_that_says_nothing_is_no_answer(body: str) -> None:
    def text(name: str) -> str:
        head = "Conclusion: none\nFiles: none\nOpen items: none\nVerification: none"
        return f"# {slug_of(f'{CASE}[{name}]')} result\n{head}\n\n{body}\n"

    assert verdict(text("left"), text("right"), contract=Contract("prose"))["outcome"] == "INCOMPLETE"


def test_a_consensus_high_below_the_blocking_severity_is_told_in_the_line() -> None:
    both = verdict(payload(finding()), payload(finding()), policy=Policy(block="critical"))
    assert both["outcome"] == "PASS"
    assert "1 high" in both["line"]  # a high that one vendor alone holds is told


EVIL = "import os; os.system(input())\n"


def _edited(root: Path) -> None:
    (root / "e.py").write_text(EVIL)


def _skip_worktree(root: Path) -> None:
    _git(root, "update-index", "--skip-worktree", "e.py")
    _edited(root)


def _encoding(root: Path) -> None:
    (root / ".gitattributes").write_text("e.py working-tree-encoding=UTF-16LE\n")
    _edited(root)


def _long_name(root: Path) -> None:
    _edited(root)
    (root / ("\\" * 100 + ".py")).write_text("x = 1\n")
    _git(root, "add", "-A")


def _git(root: Path, *args: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *args], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("trick", [_edited, _skip_worktree, _encoding], ids=lambda f: f.__name__.strip("_"))
def test_reviewers_see_the_bytes_that_lie_on_disk(tmp_path: Path, trick: Callable[[Path], None]) -> None:
    """Or it is told: nobody may hide a file's content by a bit of the index or an attribute."""
    (tmp_path / "e.py").write_text("a = 1\n")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-qm", "state")
    trick(tmp_path)
    with workspace.take(tmp_path) as tree:
        lines = tree.read("e.py")
        assert lines == (EVIL.rstrip(),) or any("e.py" in note for note in tree.revision.notes)


def test_no_name_keeps_a_tracked_file_out_of_the_review(tmp_path: Path) -> None:
    (tmp_path / "e.py").write_text("a = 1\n")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-qm", "state")
    _long_name(tmp_path)
    with workspace.take(tmp_path) as tree:
        assert len(tree.names) == 2
