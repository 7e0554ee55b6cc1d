"""Situations for the rules of the gate, one finding at a time: rows for :mod:`tests.test_gate_rules`.

The groups are made by hand, so that each row holds one rule and what stands on either side of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prun_review.consensus import Came, Group
from prun_review.folders import NOTHING
from prun_review.folding import Member
from prun_review.model import Acceptance, Finding, Known
from prun_review.policy import Policy
from prun_review.settling import Settled
from tests.gatekit import CASE, FOLDER, SQL

_DEFAULT = Policy()
MILD = Policy(block="critical")
STRICT = Policy(block="low")
SINGLE = Policy(rule="single")


def group(kind: str, severity: str = "high", agreed: str = "", **fields: Any) -> Group:
    """A group of one member; ``beside`` and ``grounding`` are the member's."""
    ours = {key: fields.pop(key) for key in ("beside", "grounding") if key in fields}
    finding = replace(SQL, id="u#1", severity=severity, **ours)
    base = Group("u#1", CASE, kind, severity, agreed, (Member("codex", "u", finding),), "says why")
    return replace(base, **fields)


def came(*shares: tuple[int, int]) -> tuple[Came, ...]:
    return tuple(Came(f"e{n}", times, of) for n, (times, of) in enumerate(shares))


def accepted(id: str = "u#1") -> Settled:
    return Settled(accepted={id: Acceptance("finding", "f1-x", "Ada", "fixed next week", case=CASE)})


def known(id: str = "u#1") -> Settled:
    return Settled(known={id: Known("f1-x", CASE, FOLDER, Finding("x"))})


@dataclass(frozen=True)
class Rule:
    """One finding under one policy, and what it must lead to."""

    name: str
    group: Group
    code: str
    outcome: str
    policy: Policy = _DEFAULT
    settled: Settled = NOTHING


BESIDE: dict[str, Any] = {"beside": True}
NOWHERE: dict[str, Any] = {"grounding": "ungrounded"}

RULES = [
    # --- 1, 2: the class, and what is beside the change
    Rule("a class nobody knows", group("odd"), "unknown-class", "INCOMPLETE"),
    Rule("a class nobody knows, low", group("odd", "info"), "unknown-class", "INCOMPLETE"),
    Rule("a class nobody knows, beside", group("odd", **BESIDE), "unknown-class", "INCOMPLETE"),
    Rule("a class nobody knows, accepted", group("odd"), "unknown-class", "INCOMPLETE", settled=accepted()),
    Rule("beside, agreed", group("consensus", agreed="high", **BESIDE), "beside", ""),
    Rule("beside, under any", group("single", **BESIDE), "beside", "", SINGLE),
    Rule("beside and ungrounded", group("ungrounded", **BESIDE, **NOWHERE), "ungrounded", "INCOMPLETE"),
    # --- 3, 4: what somebody knew of before
    Rule("accepted, agreed", group("consensus", agreed="high"), "accepted", "", settled=accepted()),
    Rule("accepted, ungrounded", group("ungrounded", **NOWHERE), "accepted", "", settled=accepted()),
    Rule("another one is accepted", group("single"), "unresolved", "INCOMPLETE", settled=accepted("u#2")),
    Rule("accepted, refuted critical", group("contested", "critical", examined="refuted"), "accepted", "",
         settled=accepted()),
    Rule("known, agreed", group("consensus", agreed="high"), "known", "", settled=known()),
    Rule("known, and the policy gates it", group("consensus", agreed="high"), "consensus", "FAIL",
         Policy(known="gate"), known()),
    Rule("known, and a policy nobody knows", group("single"), "unresolved", "INCOMPLETE",
         Policy(known="passs"), known()),
    Rule("another one is known", group("single"), "unresolved", "INCOMPLETE", settled=known("u#2")),
    # --- 5: ungrounded
    Rule("ungrounded high", group("ungrounded"), "ungrounded", "INCOMPLETE"),
    Rule("ungrounded medium", group("ungrounded", "medium"), "off", ""),
    Rule("ungrounded high, block is critical", group("ungrounded"), "ungrounded", "INCOMPLETE", MILD),
    Rule("ungrounded low, block is low", group("ungrounded", "low"), "ungrounded", "INCOMPLETE", STRICT),
    Rule("ungrounded info, block is low", group("ungrounded", "info"), "off", "", STRICT),
    Rule("ungrounded low with a rule", group("ungrounded", "low"), "ungrounded", "INCOMPLETE",
         Policy(low="any")),
    Rule("ungrounded high without a rule", group("ungrounded"), "ungrounded", "INCOMPLETE",
         Policy(high="off")),
    Rule("ungrounded, of a severity nobody knows", group("ungrounded", "blocker"), "ungrounded",
         "INCOMPLETE", Policy(block="critical", critical="off")),
    Rule("ungrounded that did not come back", group("ungrounded", came=came((1, 3))), "ungrounded",
         "INCOMPLETE", Policy(reproducibility=0.5)),
    # --- 6: how often it came back
    Rule("half of the answers, half is asked", group("consensus", agreed="high", came=came((1, 2))),
         "consensus", "FAIL", Policy(reproducibility=0.5)),
    Rule("less than asked", group("consensus", agreed="high", came=came((1, 3))), "not-reproduced", "",
         Policy(reproducibility=0.5)),
    Rule("the best of its holders counts", group("consensus", agreed="high", came=came((1, 3), (3, 4))),
         "consensus", "FAIL", Policy(reproducibility=0.5)),
    Rule("nothing was counted", group("single"), "unresolved", "INCOMPLETE", Policy(reproducibility=1.0)),
    Rule("no sound answer to count in", group("single", came=came((0, 0))), "unresolved", "INCOMPLETE",
         Policy(reproducibility=1.0)),
    Rule("once in many, nothing is asked", group("single", came=came((1, 9))), "unresolved", "INCOMPLETE"),
    Rule("under any it must come back too", group("single", came=came((1, 3))), "not-reproduced", "",
         Policy(rule="single", reproducibility=0.5)),
    # --- 7: what independent executors agree on
    Rule("agreed", group("consensus", agreed="high"), "consensus", "FAIL"),
    Rule("agreed below block", group("consensus", "medium", agreed="medium"), "off", ""),
    Rule("agreed, its rule is off", group("consensus", agreed="high"), "off", "", Policy(high="off")),
    Rule("agreed, its rule is any", group("consensus", "low", agreed="low"), "consensus", "FAIL",
         Policy(low="any")),
    Rule("agreed on less, which gates", group("contested", "critical", agreed="high"), "consensus", "FAIL"),
    Rule("agreed on less, which does not gate", group("contested", "critical", agreed="medium"), "contested",
         "INCOMPLETE"),
    Rule("agreed on less, which gates by its own key", group("contested", "critical", agreed="medium"),
         "consensus", "FAIL", Policy(medium="consensus")),
    # --- 8: off and any
    Rule("single medium", group("single", "medium"), "off", ""),
    Rule("contested, off", group("contested"), "off", "", Policy(high="off")),
    Rule("any: one is enough", group("single", "low"), "single-finding", "FAIL", Policy(low="any")),
    Rule("any: uncertain too", group("uncertain"), "single-finding", "FAIL", SINGLE),
    Rule("any: refuted too", group("contested", examined="refuted"), "single-finding", "FAIL", SINGLE),
    Rule("its own key stands over the rule single", group("single"), "unresolved", "INCOMPLETE",
         Policy(rule="single", high="consensus")),
    Rule("one word of a severity nobody knows fails nothing", group("single", "blocker"), "unresolved",
         "INCOMPLETE", SINGLE),
    # --- 9: the rule consensus
    Rule("single", group("single"), "unresolved", "INCOMPLETE"),
    Rule("single, and nobody could tell", group("single", examined="unresolved"), "unresolved", "INCOMPLETE"),
    Rule("single, called refuted", group("single", examined="refuted"), "unresolved", "INCOMPLETE"),
    Rule("uncertain", group("uncertain"), "uncertain", "INCOMPLETE"),
    Rule("contested", group("contested"), "contested", "INCOMPLETE"),
    Rule("contested, confirmed", group("contested", examined="confirmed"), "contested", "INCOMPLETE"),
    Rule("contested, unresolved", group("contested", examined="unresolved"), "contested", "INCOMPLETE"),
    Rule("consensus on nothing", group("consensus"), "contested", "INCOMPLETE"),
    Rule("refuted high", group("contested", examined="refuted"), "refuted", ""),
    Rule("refuted critical", group("contested", "critical", examined="refuted"), "refuted", "INCOMPLETE"),
    Rule("refuted, of a severity nobody knows", group("contested", "blocker", examined="refuted"), "refuted",
         "INCOMPLETE"),
]  # fmt: skip
