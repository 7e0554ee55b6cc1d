"""Situations of a reviewed change, as rows for :mod:`tests.test_change_gate`: each way to green, abused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prun_review.model import Acceptance, Answer, NotAsked, Reason, Result, Unit
from prun_review.policy import Policy
from tests.gate_situations import (
    AGREED,
    ASKS,
    BILLING,
    CLEAN,
    CODEX,
    MINI,
    PAIR,
    SINGLE,
    SONNET,
    UNGROUNDED,
    Row,
    held,
    skipped,
)
from tests.gatekit import (
    DIGEST,
    FOLDER,
    HEADER,
    LEAK,
    PERHAPS,
    SQL,
    SQL_REWORDED,
    about,
    broken,
    carry,
    changed,
    choose,
    lost,
    outage,
    result,
    review_change,
    unit,
)


def examining(of: Unit, *names: str) -> Result:
    return result(of, answer=Answer(HEADER, "comment", names))


AUTH = changed("src/auth.py")
BOTH = changed("src/auth.py", "docs/a.md")
BESIDE = replace(SQL, beside=True, placement="pre-existing")
BESIDE_REWORDED = replace(SQL_REWORDED, beside=True, placement="context")
ADVICE = "panels/advice"
TWO_MODES = {"folders": {FOLDER: Policy(), ADVICE: Policy(mode="report")}}
ADVISORS = tuple(unit(name, f"{ADVICE}/probe_x.py::probe_x") for name in ("codex", "sonnet"))
HALF = tuple(about(u, "src/auth.py", "docs/a.md") for u in PAIR)
DIFF = tuple(about(u, "src/auth.py") for u in PAIR)
ONE_PART = tuple(about(u, "docs/a.md") for u in BILLING)
RUFF, PYLINT = unit("ruff"), unit("pylint")
ANALYSERS = tuple(about(u, "src/auth.py", "src/b.py", scope="tree") for u in (RUFF, PYLINT))
EVERY = ("src/auth.py", "docs/a.md", "x.sh")
ALL = tuple(examining(u, *EVERY) for u in PAIR)
ALTERED = {
    **AUTH,
    "alters": ("panels/probe.py",),
    "alters_paths": ("panels/probe.py",),
    "alters_digest": DIGEST,
}
MASKED = ("src/auth.py:3 Secret Keyword", "src/auth.py:9 Private Key", "src/b.py:1 AWS Access Key")


def doubt(code: str) -> dict[str, Any]:
    return {**AUTH, "doubts": (Reason(code, "it cannot be known"),)}


AWAY = lost(CODEX, reason="network")
GONE = lost(SONNET, "not-run", "quota-exhausted")


def ignoring(*patterns: str) -> dict[str, Any]:
    return {"gate": Policy(uncovered=patterns)}


def untouched(case: str = "panels/security/probe_x.py::probe_x") -> NotAsked:
    return skipped("untouched", case)


def away(*acceptances: Acceptance) -> dict[str, Any]:
    return {"acceptances": acceptances or (outage(),)}


def renamed(old: str, new: str) -> dict[str, Any]:
    made = changed(new, status="renamed")
    return {**made, "change": (replace(made["change"][0], old_path=old),)}


def row(name: str, outcome: str, results: tuple[Result, ...] = CLEAN, *codes: str, **more: Any) -> Row:
    return Row(name, outcome, results, codes, **more)


COVERAGE = [
    row("whole-tree questions cover what their answers name", "PASS", ALL, facts=BOTH, line="PASS"),
    row("whole-tree questions cover nothing that no answer names", "INCOMPLETE", CLEAN, "uncovered",
        facts=BOTH, says="docs/a.md (no answer names it as examined; it was put to"),
    row("diff questions cover what they hold", "PASS", units=DIFF, facts=AUTH, line="PASS"),
    row("half of the files is enough for an answer and not for the change", "INCOMPLETE", CLEAN, "uncovered",
        units=HALF, facts=BOTH, says="1 of 2 changed files not covered by any answer: docs/a.md"),
    row("each half looked at by one vendor", "PASS",
        (examining(HALF[0], "src/auth.py"), examining(HALF[1], "docs/a.md")), units=HALF, facts=BOTH),
    row("a folder names no file", "INCOMPLETE",
        tuple(examining(u, "src", "docs", ".") for u in HALF), "uncovered", units=HALF, facts=BOTH),
    row("an answer that names a file of another question", "INCOMPLETE", ALL, "uncovered",
        units=DIFF, facts=BOTH, says="docs/a.md (no probe asked about it)"),
    row(
        "a file that no question holds", "INCOMPLETE", CLEAN, "uncovered",
        units=DIFF, facts=BOTH, says="1 of 2 changed files not covered by any answer: docs/a.md",
        line="INCOMPLETE (2 of 2 units answered; uncovered)",
    ),
    row("a question for a choice covers nothing", "INCOMPLETE",
        tuple(choose(u, "jsonl") for u in ASKS), "uncovered",
        units=ASKS, facts={**AUTH, "folders": {"panels/design": Policy()}}),
    row("one part of a split case is not answered", "INCOMPLETE",
        (*CLEAN, lost(BILLING[0]), lost(BILLING[1], "not-run", "budget")),
        "failed:timeout", "not-run", "one-vendor", "uncovered",
        units=(*DIFF, *ONE_PART), facts=BOTH, says="docs/a.md (no answer to rely on; it was put to"),
    row("a broken answer covers nothing", "INCOMPLETE", (broken(CODEX), broken(SONNET)),
        "contract", "contract", "one-vendor", "uncovered", units=DIFF, facts=AUTH),
    row("a folder in report mode covers nothing", "INCOMPLETE",
        (*CLEAN, *map(result, ADVISORS)), "uncovered",
        units=(*DIFF, *ADVISORS), facts={**BOTH, **TWO_MODES}, says="docs/a.md (no probe asked about it)"),
    row("code moved to where only a folder in report mode looks", "INCOMPLETE",
        tuple(map(result, ADVISORS)), "uncovered",
        units=ADVISORS, plan={"not_asked": (untouched(),)}, facts={**AUTH, **TWO_MODES}),
    row("every folder is in report mode: what they looked at is looked at", "PASS",
        tuple(map(result, ADVISORS)), units=ADVISORS,
        facts={**AUTH, "folders": {ADVICE: Policy(mode="report")}},
        line="PASS (every folder asked is in report mode: nothing gates)"),
    *(row(f"nobody sees the content of a {kind} file", "INCOMPLETE", CLEAN, "uncovered",
          facts=changed("x.bin", kind=kind), says=f"x.bin ({kind}: nobody has seen its content)")
      for kind in ("binary", "lfs", "submodule", "withheld")),
    row("an excluded file", "INCOMPLETE", ALL, "uncovered", facts=changed("x.sh", kind="excluded"),
        says="x.sh (excluded: left out of what is reviewed"),
    row("a file of which only what is masked differs", "INCOMPLETE", ALL, "uncovered",
        facts=changed("x.sh", kind="masked"), says="x.sh (masked: only what is masked as a secret differs"),
    *(row(f"a {kind} is covered as text", "PASS", ALL, facts=changed("x.sh", kind=kind), line="PASS")
      for kind in ("mode", "link")),
    row("who reviews the head cannot see a deleted file", "INCOMPLETE", CLEAN, "uncovered",
        facts=changed("src/guard.py", status="deleted")),
    row("a diff question sees a deleted file", "PASS",
        units=DIFF, facts=changed("src/auth.py", status="deleted"), line="PASS"),
    row("analysers cover what they went through", "PASS", (result(RUFF), result(PYLINT)),
        units=ANALYSERS, facts=AUTH, line="PASS"),
    row("analysers do not cover what they did not go through", "INCOMPLETE",
        (result(RUFF), result(PYLINT)), "uncovered", units=ANALYSERS, facts=changed("src/b.py")),
    row("an analyser that claims a file it was not given", "INCOMPLETE",
        (result(RUFF), result(PYLINT)), "uncovered",
        units=tuple(about(u, "src/b.py", scope="tree") for u in (RUFF, PYLINT)), facts=AUTH),
    # --- the policy's word
    row("ignored and not looked at is said", "PASS",
        units=DIFF, facts={**BOTH, **ignoring("docs/**")},
        line="PASS (1 of 2 changed files looked at by nobody: ignored by gate.uncovered)"),
    row("ignored and looked at is not worth a word", "PASS", ALL,
        facts={**BOTH, **ignoring("docs/**")}, line="PASS"),
    row("everything ignored is the policy's word, and is said", "PASS",
        units=DIFF, facts={**changed("a.c", "b.c"), **ignoring("**")},
        line="PASS (2 of 2 changed files looked at by nobody: ignored by gate.uncovered)"),
    row("moved into an ignored folder is not ignored", "INCOMPLETE", CLEAN, "uncovered",
        units=DIFF, facts={**renamed("src/guard.py", "docs/guard.py"), **ignoring("docs/**")}),
    row("moved within an ignored folder is", "PASS",
        units=DIFF, facts={**renamed("docs/a.md", "docs/b.md"), **ignoring("docs/**")}),
    row("a pattern that cannot be understood ignores nothing", "INCOMPLETE", CLEAN, "uncovered",
        units=DIFF, facts={**BOTH, **ignoring("../**", "")}),
    row("the patterns of a folder are not those of the run", "INCOMPLETE", CLEAN, "uncovered",
        units=DIFF, facts={**BOTH, "folders": {FOLDER: Policy(uncovered=("**",))}}),
    # --- nothing asked
    row("nothing asked, all ignored", "PASS", (), units=(), plan={"not_asked": (untouched(),)},
        facts={**BOTH, **ignoring("src/**", "docs/**")},
        line="PASS (nothing asked: all 2 changed files are ignored by gate.uncovered; "
        "1 case untouched by the change)"),
    row("nothing asked, not all ignored", "INCOMPLETE", (), "nothing-asked", "uncovered",
        units=(), plan={"not_asked": (untouched(),)}, facts={**BOTH, **ignoring("docs/**")}),
    row("nothing asked because there are no probes, all ignored", "INCOMPLETE", (), "nothing-asked",
        units=(), facts={**BOTH, **ignoring("**")}),
    row("nothing asked because of skip marks, all ignored", "INCOMPLETE", (), "nothing-asked",
        units=(), plan={"not_asked": (skipped("skipped"),)}, facts={**BOTH, **ignoring("**")}),
    row("nothing asked, one brief broken, all ignored", "INCOMPLETE", (), "brief",
        units=(), plan={"not_asked": (untouched(), skipped("brief", CODEX.case))},
        facts={**BOTH, **ignoring("**")}),
    row("untouched cases are a remark", "PASS", units=DIFF, facts=AUTH,
        plan={"not_asked": (untouched(),)}, line="PASS (1 case untouched by the change)"),
    row("untouched without a change is a hole", "INCOMPLETE", CLEAN, "not-asked:untouched",
        plan={"not_asked": (untouched(),)}),
    row("a diff probe without a base", "INCOMPLETE", CLEAN, "not-asked:no-base",
        plan={"not_asked": (skipped("no-base"),)}),
    row("an empty change", "INCOMPLETE", CLEAN, "empty-change", facts=changed(), says="--prun-base"),
    row("an empty change, nothing asked", "INCOMPLETE", (), "empty-change", units=(),
        plan={"not_asked": (untouched(),)}, facts={**changed(), **ignoring("**")}),
]  # fmt: skip

BESIDES = [
    row("both hold what stood there before", "PASS", (result(CODEX, BESIDE), result(SONNET, BESIDE_REWORDED)),
        facts=AUTH, line="PASS (1 critical beside the change)"),
    row("one holds what stood there before", "PASS", held(BESIDE),
        facts=AUTH, line="PASS (1 critical beside the change)"),
    row("beside for one member only: it gates", "FAIL", held(BESIDE, SQL_REWORDED), "consensus", facts=AUTH,
        line="FAIL (1 critical)"),
    row("perhaps the same as one beside the change", "INCOMPLETE", held(PERHAPS, BESIDE), "uncertain",
        facts=AUTH),
    row("what the tree does not hold is not beside", "INCOMPLETE",
        held(replace(UNGROUNDED, beside=True)), "ungrounded", facts=AUTH),
    row("beside under the rule single", "PASS", (result(CODEX, BESIDE),), units=(CODEX,),
        facts={**AUTH, **SINGLE}, line="PASS (1 critical beside the change)"),
    row("beside, of an unknown severity", "INCOMPLETE", held(replace(BESIDE, severity="blocker")),
        "unknown-severity", facts=AUTH),
    row("another defect is caused elsewhere", "FAIL",
        held(replace(SQL, placement="outside", caused=True),
             replace(SQL_REWORDED, placement="outside", caused=True)), "consensus", facts=AUTH),
    row("a low one beside the change is not worth a word", "PASS", held(replace(BESIDE, severity="low")),
        facts=AUTH, line="PASS"),
]  # fmt: skip

PERSONS = [
    # --- a change of the review itself
    row("the review is changed", "INCOMPLETE", CLEAN, "changes-review", facts=ALTERED,
        says=f'digest = "{DIGEST}", by and reason into prun-accept.toml'),
    row("and accepted", "PASS", facts={**ALTERED, "acceptances": (review_change(),)},
        line="PASS (1 file of the review itself changed (panels/probe.py), accepted by Ada)"),
    row("accepted with a bare digest in the facts", "PASS",
        facts={**ALTERED, "alters_digest": "ab" * 32, "acceptances": (review_change(),)}),
    row("accepted is another change", "INCOMPLETE", CLEAN, "changes-review",
        facts={**ALTERED, "acceptances": (review_change("sha256:" + "cd" * 32),)}),
    row("accepted, and expired", "INCOMPLETE", CLEAN, "changes-review",
        facts={**ALTERED, "acceptances": (review_change(expired=True),)}),
    row("accepted as an outage", "INCOMPLETE", CLEAN, "changes-review",
        facts={**ALTERED, "acceptances": (outage(DIGEST),)}),
    row("changed, and no digest was recorded", "INCOMPLETE", CLEAN, "changes-review",
        facts={**ALTERED, "alters_digest": "", "acceptances": (review_change(""),)}),
    row("accepted, and the rest is not covered", "INCOMPLETE", CLEAN, "uncovered", units=DIFF,
        facts={**ALTERED, **BOTH, "acceptances": (review_change(),)}),
    row("a changed panel is not counted as uncovered too", "INCOMPLETE", CLEAN, "changes-review",
        units=DIFF, facts={**ALTERED, **changed("src/auth.py", "panels/probe.py")}),
    row("only the review is changed, accepted, nothing to ask", "PASS", (), units=(),
        plan={"not_asked": (untouched(),)},
        facts={**ALTERED, **changed("panels/probe.py", "docs/a.md"), **ignoring("docs/**"),
               "acceptances": (review_change(),)},
        says="of 2 changed files 1 change the review itself and 1 are ignored"),
    row("only the review is changed, not accepted", "INCOMPLETE", (), "changes-review", units=(),
        plan={"not_asked": (untouched(),)}, facts={**ALTERED, **changed("panels/probe.py")}),
    # --- an executor that is away
    row("codex away, sonnet clean", "PASS", (AWAY, CLEAN[1]), facts=away(),
        line="PASS (codex away for 1 unit (network), accepted by Ada until 2026-12-05)"),
    row("codex away, sonnet holds a critical alone", "FAIL", (AWAY, result(SONNET, SQL)), "single-finding",
        facts=away(),
        line="FAIL (1 critical; codex away for 1 unit (network), accepted by Ada until 2026-12-05)"),
    row("codex not run because its quota was gone", "PASS",
        (lost(CODEX, "not-run", "quota-exhausted"), CLEAN[1]), facts=away()),
    row("away, and all of the change looked at by the other", "PASS", (AWAY, CLEAN[1]),
        units=DIFF, facts={**AUTH, **away()}),
    row("an outage that expired", "INCOMPLETE", (AWAY, CLEAN[1]), "failed:network", "one-vendor",
        facts=away(outage(expired=True))),
    row("an outage of somebody else", "INCOMPLETE", (AWAY, CLEAN[1]), "failed:network", "one-vendor",
        facts=away(outage("sonnet"))),
    row("an outage of both, one answered", "PASS", (AWAY, CLEAN[1]), facts=away(outage(), outage("sonnet"))),
    row("an outage of both, nobody answered", "INCOMPLETE", (AWAY, GONE),
        "failed:network", "not-run", "one-vendor", facts=away(outage(), outage("sonnet"))),
    row("an outage of both under the rule single", "INCOMPLETE", (AWAY, GONE), "failed:network", "not-run",
        facts={**SINGLE, **away(outage(), outage("sonnet"))}),
    row("an outage of the only one asked, rule single", "INCOMPLETE", (AWAY,), "failed:network",
        units=(CODEX,), facts={**SINGLE, **away()}),
    row("an outage of the only one asked", "INCOMPLETE", (AWAY,), "failed:network", "one-vendor",
        units=(CODEX,), facts=away()),
    row("two analysers away, nobody answered", "INCOMPLETE",
        (lost(RUFF, reason="network"), lost(PYLINT, reason="network")),
        "failed:network", "failed:network", "one-vendor", units=(RUFF, PYLINT),
        facts=away(outage("ruff"), outage("pylint"))),
    row("two analysers, one away", "PASS", (lost(RUFF, reason="network"), result(PYLINT)),
        units=(RUFF, PYLINT), facts=away(outage("ruff"))),
    row("an executor's name accepted as a change of the review", "INCOMPLETE", (AWAY, CLEAN[1]),
        "failed:network", "one-vendor", facts=away(review_change("codex"))),
    row("an analyser does not stand in for both vendors", "INCOMPLETE", (AWAY, GONE, result(RUFF)),
        "failed:network", "not-run", "one-vendor", units=(*PAIR, RUFF),
        facts=away(outage(), outage("sonnet"))),
    row("the other model of the same vendor does not stand in", "INCOMPLETE", (AWAY, result(MINI)),
        "failed:network", "one-vendor", units=(CODEX, MINI), facts=away()),
    row("an executor that answered is not away: what it found counts", "FAIL", AGREED, "consensus",
        facts=away(), line="FAIL (1 critical)"),
    row("it answered with a critical, the other is clean: as ever", "INCOMPLETE", held(SQL), "unresolved",
        facts=away(), line="INCOMPLETE (2 of 2 units answered; unresolved; 1 critical to be settled)"),
    row("it answered and found a blocker, the other is lost", "INCOMPLETE",
        (result(CODEX, SQL), lost(SONNET, reason="network")), "failed:network", "one-vendor", "unresolved",
        facts=away()),
    row("it answered, and broke the contract", "INCOMPLETE", (broken(CODEX, SQL), CLEAN[1]),
        "contract", "one-vendor", "unresolved", facts=away()),
    row("no result at all is no outage", "INCOMPLETE", (CLEAN[1],), "missing-result", "one-vendor",
        facts=away()),
    *(row(f"{reason} is no outage", "INCOMPLETE", (lost(CODEX, status, reason), CLEAN[1]),
          f"failed:{reason}" if status == "failed" else "not-run", "one-vendor", facts=away())
      for status, reason in (
          ("failed", "timeout"), ("failed", "altered"), ("failed", "snapshot-changed"),
          ("failed", "internal"), ("failed", "no-answer"), ("failed", "prompt-too-long"),
          ("failed", "interrupted"),
          ("not-run", "stopped"), ("not-run", "interrupted"), ("not-run", "dispatch-off"),
          ("not-run", "budget"), ("not-run", "brief"), ("not-run", "disk-full"), ("not-run", "stale"))),
    row("one case away, the other whole", "PASS", (*CLEAN, lost(BILLING[0], reason="network"),
        result(BILLING[1])), units=(*PAIR, *BILLING), facts=away()),
    row("only in the case without it one word is enough to fail", "FAIL",
        (*held(LEAK), lost(BILLING[0], reason="network"), result(BILLING[1], SQL)), "single-finding",
        units=(*PAIR, *BILLING), facts=away(),
        line="FAIL (1 critical; also incomplete: unresolved; codex away for 1 unit (network), "
        "accepted by Ada until 2026-12-05; 1 high to be settled)"),
]  # fmt: skip

KNOWN = [
    *(row(f"{code} forbids green", "INCOMPLETE", CLEAN, code, facts=doubt(code),
          line=f"INCOMPLETE (2 of 2 units answered; {code})", says="it cannot be known")
      for code in ("several-merge-bases", "previous-running", "previous-unknown")),
    row("a blocker fails whatever else is not known", "FAIL", AGREED, "consensus",
        facts=doubt("previous-running")),
    row("places that are masked are said", "PASS", facts={**AUTH, "masked": MASKED},
        line="PASS (3 masked places in changed files (src/auth.py, src/b.py))"),
    row("so many that not all are recorded", "PASS", facts={**AUTH, "masked": MASKED[:1] * 50},
        line="PASS (at least 50 masked places in changed files (src/auth.py))"),
    row("and beside a failure too", "FAIL", AGREED, "consensus", facts={**AUTH, "masked": MASKED[:1]},
        line="FAIL (1 critical; 1 masked place in changed files (src/auth.py))"),
    # --- the review is changed where it is not part of the change, or goes by another name there
    row("a file of the same name elsewhere is no file of the review", "INCOMPLETE", CLEAN,
        "uncovered", units=DIFF,
        facts={**changed("src/auth.py", "conftest.py"), "alters": ("conftest.py",), "alters_digest": DIGEST,
               "acceptances": (review_change(),)}),
    row("and under its name in the change it is", "PASS",
        units=DIFF,
        facts={**changed("src/auth.py", "conftest.py"), "alters": ("src/conftest.py",),
               "alters_paths": ("conftest.py",), "alters_digest": DIGEST, "acceptances": (review_change(),)}),
]  # fmt: skip

EARLIER = [
    row("carried, and nobody says anything now", "FAIL", CLEAN, "carried", facts={"carried": (carry(SQL),)},
        line="FAIL (1 blocker carried over from an earlier run)", says="src/auth.py:12"),
    row("carried as incomplete", "INCOMPLETE", CLEAN, "carried",
        facts={"carried": (carry(UNGROUNDED, outcome="INCOMPLETE"),)},
        line="INCOMPLETE (2 of 2 units answered; carried; 1 blocker carried over from an earlier run)"),
    row("carried, and held again as hard", "FAIL", AGREED, "consensus", facts={"carried": (carry(SQL),)},
        line="FAIL (1 critical)"),
    row("carried, and now one holds it only", "FAIL", held(SQL_REWORDED), "carried",
        facts={"carried": (carry(SQL),)}),
    row("carried, and now it is contested", "FAIL", held(SQL, replace(SQL_REWORDED, severity="medium")),
        "carried", facts={"carried": (carry(SQL),)}),
    row("carried as incomplete, and now both hold it", "FAIL", AGREED, "consensus",
        facts={"carried": (carry(SQL, outcome="INCOMPLETE"),)}, line="FAIL (1 critical)"),
    row("carried, and now beside the change", "FAIL", held(BESIDE, BESIDE_REWORDED), "carried",
        facts={**AUTH, "carried": (carry(SQL),)}),
    row("carried as incomplete, and now ungrounded", "INCOMPLETE", held(UNGROUNDED), "carried", "ungrounded",
        facts={"carried": (carry(SQL, outcome="INCOMPLETE"),)}),
    row("carried, and another blocker now", "FAIL", held(LEAK, LEAK), "carried", "consensus",
        facts={"carried": (carry(SQL),)}, line="FAIL (1 high; 1 blocker carried over from an earlier run)"),
    row("carried with an outcome that nobody knows", "INCOMPLETE", CLEAN, "carried",
        facts={"carried": (carry(SQL, outcome="green"),)}),
    row("carried as a pass makes nothing green", "INCOMPLETE", CLEAN, "carried",
        facts={"carried": (carry(SQL, outcome="PASS"),)}),
    row("carried in a folder that is gone", "FAIL", CLEAN, "carried",
        facts={"carried": (carry(SQL, folder="panels/gone"),)}),
    row("carried in a folder that decides nothing now", "PASS", CLEAN,
        facts={**TWO_MODES, "carried": (carry(SQL, folder=ADVICE),)},
        line="PASS (panels/advice report: FAIL)"),
    row("a folder in report mode does not settle it", "FAIL",
        (*CLEAN, result(ADVISORS[0], SQL), result(ADVISORS[1], SQL)), "carried",
        units=(*PAIR, *ADVISORS), facts={**TWO_MODES, "carried": (carry(SQL),)}),
    row("carried, and nothing asked because all is ignored", "FAIL", (), "carried", units=(),
        plan={"not_asked": (untouched(),)}, facts={**AUTH, **ignoring("**"), "carried": (carry(SQL),)}),
]  # fmt: skip

ROWS = [*COVERAGE, *BESIDES, *PERSONS, *KNOWN, *EARLIER]
