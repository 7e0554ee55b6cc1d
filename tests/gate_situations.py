"""The situations that the gate must judge, as one table; :mod:`tests.test_gate` runs it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from prun_review.model import Contract, Finding, NotAsked, Reason, Result, Unit, Violation
from prun_review.policy import Policy
from tests.gatekit import (
    CASE,
    FOLDER,
    LEAK,
    PERHAPS,
    SQL,
    SQL_REWORDED,
    broken,
    choose,
    lost,
    result,
    unit,
)

CODEX, SONNET, MINI = unit("codex"), unit("sonnet"), unit("mini")
PAIR = (CODEX, SONNET)
DESIGN = "panels/design/probe_ledger.py::probe_format"
QUESTION = Contract("choice", ("jsonl", "sqlite"), ("safety",))
ASKS = tuple(unit(name, DESIGN, contract=QUESTION) for name in ("codex", "sonnet"))
BILLING = tuple(
    unit(name, f"{FOLDER}/probe_shop.py::probe_injection[billing]") for name in ("codex", "sonnet")
)
CLEAN = (result(CODEX), result(SONNET))
AGREED = (result(CODEX, SQL), result(SONNET, SQL_REWORDED))
PANELS = {FOLDER: Policy(), "panels/design": Policy()}


def held(left: Finding, right: Finding | None = None) -> tuple[Result, ...]:
    """codex holds the one, sonnet the other or nothing."""
    return result(CODEX, left), result(SONNET, *([right] if right else []))


def salvaged(code: str) -> tuple[Result, ...]:
    gone = Violation(code, "/findings/2", "finding 3 could not be kept")
    return result(CODEX, salvage=(gone,)), result(SONNET)


def skipped(reason: str, case: str = "panels/security/probe_x.py::probe_x", executor: str = "") -> NotAsked:
    return NotAsked(f"{case}-{executor}", case, case.partition("/probe_")[0], executor, reason, "says why")


@dataclass(frozen=True)
class Row:
    """One situation and what the gate must say."""

    name: str
    outcome: str
    results: tuple[Result, ...]
    codes: tuple[str, ...] = ()
    """Codes that lead to this outcome, all of them."""
    units: tuple[Unit, ...] = PAIR
    plan: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    line: str | None = None
    """The whole line, or None."""
    says: str = ""
    """Part of a reason."""


HIGH, LOW = replace(SQL, severity="high"), replace(SQL, severity="low")
REWORDED_LOW = replace(SQL_REWORDED, severity="low")
UNGROUNDED = replace(SQL, grounding="ungrounded")
SINGLE = {"folders": {FOLDER: Policy(rule="single")}}
REPORT = {"folders": {FOLDER: Policy(mode="report")}}
TWO_OF_EACH = (*PAIR, *BILLING)

ROWS = [
    # --- what is found
    Row("both find nothing", "PASS", CLEAN, line="PASS"),
    Row(
        "both hold a critical",
        "FAIL",
        AGREED,
        ("consensus",),
        line="FAIL (1 critical)",
        says="src/auth.py:12",
    ),
    Row("both hold a high", "FAIL", held(HIGH, replace(SQL_REWORDED, severity="high")), ("consensus",)),
    Row(
        "critical and high are one step apart",
        "FAIL",
        held(SQL, replace(SQL_REWORDED, severity="high")),
        ("consensus",),
        says="critical",
    ),
    Row(
        "high and medium: the higher counts",
        "FAIL",
        held(HIGH, replace(SQL_REWORDED, severity="medium")),
        ("consensus",),
    ),
    Row(
        "severities two steps apart",
        "INCOMPLETE",
        held(SQL, replace(SQL_REWORDED, severity="medium")),
        ("contested",),
        says="sonnet says medium",
    ),
    Row(
        "both hold a medium",
        "PASS",
        held(replace(SQL, severity="medium"), replace(SQL_REWORDED, severity="medium")),
        line="PASS",
    ),
    Row("both hold a low", "PASS", held(LOW, REWORDED_LOW), line="PASS"),
    Row(
        "one critical held by one",
        "INCOMPLETE",
        held(SQL),
        ("unresolved",),
        line="INCOMPLETE (2 of 2 units answered; unresolved; 1 critical to be settled)",
        says="not reported by sonnet",
    ),
    Row("one medium held by one", "PASS", held(replace(SQL, severity="medium")), line="PASS"),
    Row(
        "two criticals and a high held by one each",
        "INCOMPLETE",
        (
            result(CODEX, SQL, LEAK),
            result(
                SONNET,
                replace(
                    SQL, file="src/pay.py", title="Command injection", detail="The shell gets the amount."
                ),
            ),
        ),
        ("unresolved", "unresolved", "unresolved"),
        line="INCOMPLETE (2 of 2 units answered; unresolved; 2 critical, 1 high to be settled)",
    ),
    Row("perhaps the same critical", "INCOMPLETE", held(SQL, PERHAPS), ("uncertain",)),
    Row("perhaps the same low", "PASS", held(LOW, replace(PERHAPS, severity="low")), line="PASS"),
    Row("an ungrounded critical", "INCOMPLETE", held(UNGROUNDED), ("ungrounded",)),
    Row("an ungrounded high", "INCOMPLETE", held(replace(UNGROUNDED, severity="high")), ("ungrounded",)),
    Row("an ungrounded medium", "PASS", held(replace(UNGROUNDED, severity="medium")), line="PASS"),
    Row(
        "ungrounded here, grounded there: no agreement",
        "INCOMPLETE",
        held(UNGROUNDED, SQL),
        ("ungrounded", "unresolved"),
        line="INCOMPLETE (2 of 2 units answered; unresolved, ungrounded; 2 critical to be settled)",
    ),
    Row(
        "two defects of one line are not one",
        "INCOMPLETE",
        held(SQL, replace(LEAK, file=SQL.file, line=12, end_line=12)),
        ("unresolved", "unresolved"),
        line="INCOMPLETE (2 of 2 units answered; unresolved; 1 critical, 1 high to be settled)",
    ),
    Row(
        "a severity nobody knows",
        "INCOMPLETE",
        held(replace(SQL, severity="blocker")),
        ("unknown-severity", "unresolved"),
    ),
    Row(
        "a severity nobody knows, twice",
        "INCOMPLETE",
        held(replace(SQL, severity="blocker"), replace(SQL_REWORDED, severity="blocker")),
        ("unknown-severity", "unknown-severity", "contested"),
    ),
    Row(
        "a stricter folder",
        "FAIL",
        held(LOW, REWORDED_LOW),
        ("consensus",),
        facts={"folders": {FOLDER: Policy(block="low")}},
    ),
    Row(
        "a milder folder",
        "PASS",
        held(HIGH, replace(SQL_REWORDED, severity="high")),
        facts={"folders": {FOLDER: Policy(block="critical")}},
        line="PASS (1 high not gated by policy)",
        says="1 high not gated: block = critical",
    ),
    Row(
        "an unknown threshold blocks on everything",
        "FAIL",
        held(LOW, REWORDED_LOW),
        ("consensus",),
        facts={"folders": {FOLDER: Policy(block="hihg")}},
    ),
    # --- who answered
    Row(
        "one dead, the other clean",
        "INCOMPLETE",
        (lost(CODEX), result(SONNET)),
        ("failed:timeout", "one-vendor"),
        line="INCOMPLETE (1 of 2 units answered; failed:timeout, one-vendor)",
        says="codex: 1 of 1 unit failed",
    ),
    Row(
        "one dead, the other holds a critical",
        "INCOMPLETE",
        (lost(CODEX), result(SONNET, SQL)),
        ("failed:timeout", "one-vendor", "unresolved"),
    ),
    Row(
        "both dead",
        "INCOMPLETE",
        (lost(CODEX, reason="rate-limited"), lost(SONNET)),
        ("failed:rate-limited", "failed:timeout", "one-vendor"),
        says="0 of 2 executors",
    ),
    Row(
        "one broken, the other clean",
        "INCOMPLETE",
        (broken(CODEX), result(SONNET)),
        ("contract", "one-vendor"),
        says="a comma is missing",
    ),
    Row(
        "both broken by one comma, both with a critical",
        "INCOMPLETE",
        (broken(CODEX, SQL), broken(SONNET, SQL)),
        ("contract", "contract", "one-vendor", "unresolved", "unresolved"),
    ),
    Row("one missing", "INCOMPLETE", (result(SONNET),), ("missing-result", "one-vendor")),
    Row("nothing came back", "INCOMPLETE", (), ("missing-result", "missing-result", "one-vendor")),
    Row(
        "not run", "INCOMPLETE", (lost(CODEX, "not-run", "budget"), result(SONNET)), ("not-run", "one-vendor")
    ),
    Row(
        "a status nobody knows",
        "INCOMPLETE",
        (replace(CLEAN[0], status="fine"), CLEAN[1]),
        ("unknown-status", "one-vendor"),
    ),
    Row(
        "called valid, with violations",
        "INCOMPLETE",
        (replace(CLEAN[0], violations=(Violation("schema", "/", "x"),)), CLEAN[1]),
        ("contract", "one-vendor"),
    ),
    Row(
        "called valid, without an answer",
        "INCOMPLETE",
        (replace(CLEAN[0], answer=None), CLEAN[1]),
        ("contract", "one-vendor"),
    ),
    Row("a finding lost in salvage", "INCOMPLETE", salvaged("lost-finding"), ("lost-finding",)),
    Row("salvage that lost a line number only", "PASS", salvaged("bad-line"), line="PASS"),
    Row(
        "two runs of one vendor",
        "INCOMPLETE",
        (result(CODEX, SQL), result(unit("codex", repeat=2), SQL)),
        ("one-vendor", "unresolved"),
        units=(CODEX, unit("codex", repeat=2)),
        says="only codex was asked",
    ),
    Row(
        "two models of one vendor",
        "INCOMPLETE",
        (result(CODEX, SQL), result(MINI, SQL)),
        ("one-vendor", "unresolved"),
        units=(CODEX, MINI),
        says="both are openai's",
    ),
    Row(
        "one vendor asked only",
        "INCOMPLETE",
        (CLEAN[0],),
        ("one-vendor",),
        units=(CODEX,),
        says="about 1 in 8 findings",
    ),
    Row(
        "an executor nobody recorded",
        "INCOMPLETE",
        CLEAN,
        ("one-vendor",),
        facts={"executors": ()},
        says="not known",
    ),
    Row(
        "three asked, one dead: n of m is said",
        "INCOMPLETE",
        (*AGREED[:1], lost(SONNET), result(MINI)),
        ("failed:timeout", "one-vendor", "unresolved"),
        units=(*PAIR, MINI),
        says="2 of 3 executors",
    ),
    Row(
        "three asked, one dead, the rest independent and agreed",
        "FAIL",
        (*AGREED, lost(MINI)),
        ("consensus",),
        units=(*PAIR, MINI),
        line="FAIL (1 critical; also incomplete: failed:timeout)",
    ),
    Row(
        "one case of two is whole",
        "INCOMPLETE",
        (*CLEAN, result(BILLING[0]), lost(BILLING[1])),
        ("failed:timeout", "one-vendor"),
        units=TWO_OF_EACH,
        says="1 case answered by 1 of 2",
    ),
    Row(
        "one repeat of two is missing",
        "INCOMPLETE",
        CLEAN,
        ("missing-result",),
        units=(*PAIR, unit("sonnet", repeat=2)),
        says="sonnet: 1 of 2 units without a result",
    ),
    # --- what does not belong together
    Row("a result of another plan", "INCOMPLETE", (*CLEAN, result(MINI)), ("unplanned-result",)),
    Row("two results for a unit", "INCOMPLETE", (*CLEAN, CLEAN[0]), ("duplicate-result",)),
    Row(
        "two results for a unit that differ",
        "INCOMPLETE",
        (*CLEAN, lost(CODEX)),
        ("duplicate-result", "failed:timeout", "one-vendor"),
        says="two results",
    ),
    Row("a unit twice in the plan", "INCOMPLETE", CLEAN, ("duplicate-unit",), units=(CODEX, *PAIR)),
    Row(
        "a result that names another executor",
        "INCOMPLETE",
        (replace(CLEAN[0], executor="sonnet"), CLEAN[1]),
        ("mismatch", "missing-result", "one-vendor"),
        says="its executor is 'sonnet'",
    ),
    Row(
        "a result that names another case",
        "INCOMPLETE",
        (replace(CLEAN[0], case=DESIGN), CLEAN[1]),
        ("mismatch", "unknown-case", "missing-result", "one-vendor"),
    ),
    Row(
        "last week's result",
        "INCOMPLETE",
        (replace(CLEAN[0], fingerprint="01d"), CLEAN[1]),
        ("mismatch", "missing-result", "one-vendor"),
        says="fingerprint",
    ),
    # --- the run as a whole
    Row(
        "nothing asked",
        "INCOMPLETE",
        (),
        ("nothing-asked",),
        units=(),
        line="INCOMPLETE (0 of 0 units answered; nothing-asked)",
    ),
    Row(
        "all skipped",
        "INCOMPLETE",
        (),
        ("nothing-asked",),
        units=(),
        plan={"not_asked": (skipped("skipped"),)},
    ),
    Row(
        "some skipped",
        "PASS",
        CLEAN,
        plan={"not_asked": (skipped("skipped"),)},
        line="PASS (1 case skipped)",
        says="1 skipped",
    ),
    Row(
        "a question that nobody here can answer",
        "PASS",
        CLEAN,
        line="PASS (1 case not asked)",
        says="1 not asked of anybody",
        plan={"not_asked": (skipped("contract", DESIGN, "ruff"), skipped("contract", DESIGN, "pylint"))},
        facts={"folders": PANELS},
    ),
    Row(
        "only questions that nobody here can answer",
        "INCOMPLETE",
        (),
        ("nothing-asked",),
        units=(),
        plan={"not_asked": (skipped("contract", DESIGN, "ruff"),)},
        facts={"folders": PANELS},
    ),
    Row(
        "a case asked of one because the other cannot",
        "INCOMPLETE",
        (CLEAN[0],),
        ("one-vendor",),
        units=(CODEX,),
        plan={"not_asked": (skipped("contract", CASE, "ruff"),)},
    ),
    Row(
        "a brief that could not be built",
        "INCOMPLETE",
        CLEAN,
        ("brief",),
        plan={"not_asked": (skipped("brief"),)},
    ),
    Row(
        "left out for a reason nobody knows",
        "INCOMPLETE",
        CLEAN,
        ("not-asked:tired",),
        plan={"not_asked": (skipped("tired"),)},
    ),
    Row(
        "a partial run",
        "PASS",
        CLEAN,
        plan={"partial": "1 of 3 units, -k"},
        line="PASS (partial: 1 of 3 units, -k)",
    ),
    Row("stopped", "INCOMPLETE", CLEAN, ("stopped",), facts={"stopped": "-x"}),
    Row(
        "interrupted with a consensus",
        "FAIL",
        AGREED,
        ("consensus",),
        facts={"stopped": "interrupted"},
        line="FAIL (1 critical; also incomplete: stopped)",
    ),
    Row(
        "a unit that no report spoke of",
        "INCOMPLETE",
        CLEAN,
        ("unreported",),
        facts={"unreported": (CODEX.id,)},
    ),
    Row(
        "the snapshot changed",
        "INCOMPLETE",
        CLEAN,
        ("snapshot-changed",),
        facts={"integrity": (Reason("snapshot-changed", "src/auth.py changed"),)},
    ),
    Row(
        "the work tree changed",
        "PASS",
        CLEAN,
        line="PASS",
        says="edited meanwhile",
        facts={"integrity": (Reason("worktree", "edited meanwhile", "PASS"),)},
    ),
    Row(
        "an outcome nobody knows",
        "INCOMPLETE",
        CLEAN,
        ("odd",),
        facts={"integrity": (Reason("odd", "odd", "green"),)},
    ),
    Row(
        "a probe failed by its own assertion",
        "PASS",
        CLEAN,
        facts={"items_failed": 1},
        line="PASS (1 probe failed by its own checks)",
    ),
    Row("a replay", "PASS", CLEAN, facts={"replay_of": "r1"}, line="PASS (replay of r1)"),
    # --- folders and rules
    Row("a folder without policy", "INCOMPLETE", CLEAN, ("unknown-folder",), facts={"folders": {}}),
    Row(
        "report mode never decides",
        "PASS",
        AGREED,
        facts=REPORT,
        line="PASS (every folder asked is in report mode: nothing gates; panels/security report: FAIL)",
    ),
    Row(
        "report mode, nobody answered",
        "INCOMPLETE",
        (lost(CODEX), lost(SONNET)),
        ("nothing-answered",),
        facts=REPORT,
    ),
    Row(
        "the worst folder decides",
        "INCOMPLETE",
        (*CLEAN, choose(ASKS[0], "jsonl")),
        ("missing-result", "one-vendor"),
        units=(*PAIR, *ASKS),
        facts={"folders": PANELS},
    ),
    Row("rule single: one answer is enough", "PASS", (CLEAN[0],), units=(CODEX,), facts=SINGLE, line="PASS"),
    Row(
        "rule single: one word is enough to fail",
        "FAIL",
        (result(CODEX, SQL),),
        ("single-finding",),
        units=(CODEX,),
        facts=SINGLE,
    ),
    Row(
        "rule single: no answer is still none",
        "INCOMPLETE",
        (lost(CODEX),),
        ("failed:timeout",),
        units=(CODEX,),
        facts=SINGLE,
    ),
    Row(
        "rule single: ungrounded stays ungrounded",
        "INCOMPLETE",
        (result(CODEX, UNGROUNDED),),
        ("ungrounded",),
        units=(CODEX,),
        facts=SINGLE,
    ),
    # --- design questions
    Row(
        "one choice",
        "PASS",
        tuple(choose(u, "jsonl") for u in ASKS),
        units=ASKS,
        facts={"folders": PANELS},
        line="PASS",
    ),
    Row(
        "two choices: dissent is shown",
        "PASS",
        (choose(ASKS[0], "jsonl"), choose(ASKS[1], "sqlite")),
        units=ASKS,
        facts={"folders": PANELS},
        line="PASS (1 choice without agreement)",
        says="sonnet says sqlite",
    ),
    Row(
        "a choice that is no option",
        "INCOMPLETE",
        (choose(ASKS[0], "jsonl"), choose(ASKS[1], "xml")),
        ("contract", "one-vendor"),
        units=ASKS,
        facts={"folders": PANELS},
    ),
    Row(
        "a choice without choice",
        "INCOMPLETE",
        (choose(ASKS[0], "jsonl"), result(ASKS[1])),
        ("contract", "one-vendor"),
        units=ASKS,
        facts={"folders": PANELS},
    ),
]
