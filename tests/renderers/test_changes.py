"""Reports of a reviewed change: what was looked at, what the change brought about, what persons accept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from prun_review import document
from prun_review.model import ChangedFile, Finding, Place, Plan
from prun_review.policy import Policy
from prun_review.renderers import RENDERERS
from prun_review.renderers.escape import columns
from prun_review.renderers.terminal import Terminal
from tests.gate_situations import PAIR
from tests.gatekit import (
    DIGEST,
    LEAK,
    SQL,
    SQL_REWORDED,
    STYLE,
    about,
    carry,
    changed,
    facts,
    outage,
    result,
    review_change,
)
from tests.renderers.sample import HOSTILE
from tests.renderers.sample import document as plain_document
from tests.renderers.test_escape import is_active

DIFF = tuple(about(u, "src/auth.py") for u in PAIR)
FILES = (
    ChangedFile("src/auth.py", "src/login.py", "renamed", "text", 12, 3),
    ChangedFile("docs/a.md", "docs/a.md", "modified", "text", 1, 0),
    ChangedFile("logo.png", "", "added", "binary"),
    ChangedFile("panels/probe.py", "panels/probe.py", "modified", "text", 2, 2),
)
ADDED = replace(SQL, placement="added", side="new")
REWORDED = replace(SQL_REWORDED, placement="added", side="new")
DELETED = replace(
    LEAK, title="The check of the token is gone", file="src/login.py", line=40, end_line=44, side="old",
    placement="deleted",
)  # fmt: skip
CAUSED = replace(
    STYLE, title="The caller passes one argument too few", severity="high", file="src/web.py", line=7,
    end_line=7, placement="outside", caused=True, cause=Place("src/auth.py", 12),
)  # fmt: skip
CLAIMED = replace(CAUSED, title="Totals drift", file="src/pay.py", caused=False, cause=Place("src/x.py"))
BESIDE = replace(LEAK, placement="pre-existing", beside=True)


def built(text: str = "", **fields: Any) -> dict[str, Any]:
    """A change with everything in it; ``text`` in every word that is not ours."""

    def said(finding: Finding) -> Finding:
        cause = finding.cause and replace(finding.cause, file=finding.cause.file + text)
        return replace(
            finding, title=finding.title + text, file=f"{finding.file}{text}", cause=cause, quote=text or None
        )

    files = tuple(replace(f, path=f.path + text, note=text) for f in FILES)
    run = facts(
        **{
            **changed(),
            "change": files,
            "alters": (f"panels/probe.py{text}",),
            "alters_paths": (f"panels/probe.py{text}",),
            "alters_digest": DIGEST,
            "gate": Policy(uncovered=("docs/**",)),
            "acceptances": (
                outage(expired=True, until="2026-11-01", by=f"Ada{text}"),
                review_change(until="2026-12-31", reason=f"asks more{text}"),
            ),
            "carried": (carry(said(replace(SQL, title="Old blocker", file="src/old.py"))),),
            **fields,
        }
    )
    found = [said(f) for f in (ADDED, DELETED, CAUSED, CLAIMED, BESIDE)]
    results = (result(DIFF[0], *found), result(DIFF[1], said(REWORDED), said(BESIDE)))
    return document.build(run, Plan(DIFF), results)


CHANGE = """\
CHANGE: 4 files, +15 -5
  base bbbbbbbbbbbb, merge base aaaaaaaaaaaa, head cccccccccccc
  logo.png (added, binary, +0 -0)
    looked at by NOBODY: binary: nobody has seen its content
  src/auth.py (was src/login.py) (renamed, +12 -3)
    looked at by panels/security/probe_shop.py::probe_injection[auth]
  docs/a.md (modified, +1 -0)
    looked at by nobody: ignored by gate.uncovered, no probe asked about it
  panels/probe.py (modified, +2 -2)
    looked at by nobody: changes the review itself
  changes the review itself: panels/probe.py; digest
    sha256:abababababababababababababababababababababababababababababababab

ACCEPTED BY PERSONS
  EXPIRED, counts for nothing: outage of codex, accepted by Ada until
    2026-11-01: status page
  review-change
    sha256:abababababababababababababababababababababababababababababababab,
    accepted by Ada until 2026-12-31: asks more

CARRIED OVER FROM EARLIER RUNS ON THIS HEAD
  FAIL: critical: Old blocker (src/old.py:12), from run r1

FINDINGS: 2 consensus, 3 single
  INTRODUCED BY THE CHANGE: 3
  consensus: held by independent executors
    critical  src/auth.py:12 SQL injection in find_user
"""


def test_the_terminal_tells_of_the_change_word_for_word() -> None:
    made = built()
    assert document.validate(made) == []
    out = RENDERERS["terminal"](made)
    assert CHANGE in out
    assert "src/login.py:40-44 (old side) The check of the token is gone\n" in out
    assert "  CAUSED BY THE CHANGE, ELSEWHERE: 1\n" in out
    assert "[outside, caused by src/auth.py:12]" in out
    assert "[outside, said to be caused by src/x.py]" in out
    assert "  BESIDE THE CHANGE (REPORTED ONLY): 1\n" in out
    assert out.index("INTRODUCED BY") < out.index("CAUSED BY THE") < out.index("BESIDE THE CHANGE (")
    assert "1 high beside the change" in out
    verdict = out[out.index("VERDICT: FAIL") :]
    assert "uncovered" in verdict


@pytest.mark.parametrize(
    "expected",
    [
        "## Change: 4 files, +15 -5\n\nbase bbbbbbbbbbbb, merge base aaaaaaaaaaaa, head cccccccccccc\n",
        "| status | kind | lines | file | looked at by |",
        "| added | binary | +0 -0 | `logo.png` | **NOBODY: binary: nobody has seen its content** |",
        "| renamed | text | +12 -3 | `src/auth.py (was src/login.py)` | panels/security/probe\\_shop.py",
        "| modified | text | +1 -0 | `docs/a.md` | nobody: ignored by gate.uncovered, no probe asked about",
        "## Accepted by persons\n\n- EXPIRED, counts for nothing: outage of codex, accepted by Ada until 20",
        "## Carried over from earlier runs on this head\n\n- FAIL: critical: Old blocker (src/old.py:12), ",
        "### Introduced by the change (3)\n\n#### Consensus (1): held by independent executors\n",
        "##### critical: SQL injection in find\\_user\n\n`src/auth.py:12`, **blocking**, codex, sonnet  \nF",
        "`src/login.py:40-44 (old side)`, **blocking**, codex  \nINCOMPLETE \\[unresolved\\]: ",
        "\ndeleted  \n",
        "### Caused by the change, elsewhere (1)\n\n#### Single (1): held by one voice only\n",
        "outside, caused by src/auth.py:12",
        "### Beside the change (reported only) (1)\n\n#### Consensus (1)",
    ],
)
def test_the_markdown_report_of_a_change_says(expected: str) -> None:
    assert expected in RENDERERS["markdown"](built())


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE * 20, "日" * 900, "\n" * 40, "|a|b|`c`"])
@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_names_and_reasons_of_a_hostile_change_stay_inert(name: str, text: str) -> None:
    made = built(text)
    assert document.validate(made) == []
    out = RENDERERS[name](made)
    assert not is_active(out)
    assert "\x1b" not in out
    if name == "terminal":
        assert max(columns(line) for line in Terminal(width=60)(made).splitlines()) <= 60
    if name == "markdown":
        rows = [line for line in out.splitlines() if line.startswith(("| added", "| renamed", "| modified"))]
        assert len(rows) == len(FILES)
        assert {line.count("|") - line.count("\\|") for line in rows} == {6}


def test_a_long_change_is_cut_in_the_reports_and_what_nobody_saw_stands_first() -> None:
    files = (*(ChangedFile(f"docs/{n}.md") for n in range(300)), ChangedFile("src/last.py", "src/last.py"))
    made = built(change=files, carried=(), alters=())
    terminal, markdown = RENDERERS["terminal"](made), RENDERERS["markdown"](made)
    assert terminal.index("src/last.py (modified") < terminal.index("docs/0.md (modified")
    assert "and 281 more files in the report" in terminal
    assert "and 101 more in the JSON report" in markdown
    assert markdown.count("| modified |") == 200


def test_a_finding_in_doubt_stands_with_what_the_change_introduced() -> None:
    doubtful = (replace(SQL, placement="context"), replace(LEAK, placement=""), replace(STYLE, file=None))
    made = document.build(
        facts(**changed("src/auth.py")), Plan(DIFF), (result(DIFF[0], *doubtful), result(DIFF[1]))
    )
    assert {f["origin"] for f in made["findings"]} == {"introduced"}


@pytest.mark.parametrize(
    ("members", "origin", "lead"),
    [
        ((BESIDE, BESIDE), "pre-existing", "pre-existing"),
        ((BESIDE, replace(LEAK, placement="added")), "introduced", "added"),
        ((replace(LEAK, placement="outside", caused=True), BESIDE), "caused", "outside"),
        (
            (replace(LEAK, placement="outside", caused=True), replace(LEAK, placement="added")),
            "introduced",
            "outside",
        ),
        ((replace(LEAK, placement="deleted"), replace(LEAK, placement="context")), "introduced", "deleted"),
    ],
)
def test_what_a_change_has_to_do_with_a_group(
    members: tuple[Finding, Finding], origin: str, lead: str
) -> None:
    results = tuple(map(result, DIFF, members))
    (row,) = document.build(facts(**changed("src/auth.py")), Plan(DIFF), results)["findings"]
    assert (row["origin"], row["placement"]) == (origin, lead)
    assert row["blocking"] is (origin != "pre-existing")


@pytest.mark.parametrize("name", ["terminal", "markdown"])
def test_without_a_change_nothing_is_said_of_one(name: str) -> None:
    made = document.build(facts(), Plan(PAIR), (result(PAIR[0], SQL), result(PAIR[1], SQL_REWORDED)))
    assert made["change"] is None
    assert {(f["origin"], f["placement"], f["side"], f["cause"]) for f in made["findings"]} == {
        ("", "", None, None)
    }
    for shown in (made, plain_document()):
        out = RENDERERS[name](shown).lower()
        assert "change" not in out.replace("would change its mind", "").replace("changes included", "")
        assert "looked at by" not in out


@pytest.mark.parametrize("name", ["terminal", "markdown"])
def test_what_persons_accept_is_told_without_a_change_too(name: str) -> None:
    run = facts(acceptances=(outage(),), carried=(carry(SQL),))
    out = RENDERERS[name](document.build(run, Plan(PAIR), tuple(map(result, PAIR))))
    assert "outage of codex, accepted by Ada until 2026-12-05: status page" in out
    assert "from run r1" in out
