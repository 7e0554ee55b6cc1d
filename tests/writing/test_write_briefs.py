"""``mode``, ``scope`` and ``verify`` of a brief: what becomes of them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prun_review import probes
from prun_review.errors import BriefError
from prun_review.model import Brief, Contract


def resolved(**fields: Any) -> Brief:
    return probes.resolve(
        fields, docstring="Do {what}.", params={"what": "auth"}, folder=Path("/nowhere"), timeout=60
    )


def test_a_review_is_what_it_was() -> None:
    brief = resolved()
    assert (brief.mode, brief.access, brief.contract.kind, brief.scope) == (
        "review",
        "read",
        "findings",
        "tree",
    )
    assert (brief.writes, brief.spares, brief.verify, brief.creates) == ((), (), (), ())


def test_what_a_writing_brief_becomes() -> None:
    brief = resolved(mode="write", scope=["src/{what}", "tests/**"], verify=["pytest -q tests/{what} {}"])
    assert (brief.mode, brief.access, brief.contract) == ("write", "write", Contract("change"))
    assert brief.writes == ("src/auth", "tests/**")
    assert brief.verify == ("pytest -q tests/auth {}",)
    assert brief.scope == "tree"
    assert resolved(mode="write").writes == ()
    assert resolved(mode="write", access="full").access == "full"
    assert resolved(mode="write", contract="task").contract == Contract("task")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"mode": "edit"}, "mode is 'edit'"),
        ({"mode": "write", "scope": "diff"}, "scope is 'diff' beside mode='write'"),
        ({"mode": "write", "scope": "src"}, "a list of patterns"),
        ({"mode": "write", "scope": [3]}, "scope is [3]"),
        ({"mode": "write", "scope": ["../x"]}, "leaves the reviewed tree"),
        ({"mode": "write", "scope": ["/etc"]}, "leaves the reviewed tree"),
        ({"mode": "write", "verify": "pytest"}, "verify is 'pytest'"),
        ({"mode": "write", "verify": ["  "]}, "verify is ['  ']"),
        ({"mode": "write", "scope": []}, "scope is empty"),
        ({"mode": "write", "max_diff": 9}, "max_diff goes with scope='diff'"),
        ({"mode": "write", "access": "read"}, "access is 'read' beside mode='write'"),
        ({"mode": "write", "access": "run"}, "one of write, full"),
        ({"mode": "write", "contract": "findings"}, "contract 'findings' beside mode='write'"),
        ({"mode": "write", "contract": "prose"}, "contract 'prose' beside mode='write'"),
        ({"mode": "write", "contract": probes.choice("a", "b")}, "contract 'choice' beside mode='write'"),
        ({"contract": "change"}, "contract 'change' beside mode='review'"),
        ({"contract": "task"}, "contract 'task' beside mode='review'"),
        ({"access": "write"}, "access is 'write'"),
        ({"scope": ["src"]}, "scope is a list, and nothing is written"),
        ({"verify": ["pytest"]}, "verify goes with mode='write'"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BriefError) as refused:
        resolved(**fields)
    assert words in str(refused.value)


def test_the_marker_takes_them() -> None:
    mark = probes.brief(mode="write", scope=["src"], verify=["true"]).mark
    assert mark.kwargs == {"mode": "write", "scope": ["src"], "verify": ["true"]}
    assert probes.merge([mark.kwargs, {"mode": "review"}])["mode"] == "write"
    assert "mode" in probes.SHAPING
    assert "verify" not in probes.SHAPING
