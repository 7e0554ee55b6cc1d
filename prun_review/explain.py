"""How a verdict came about, as a tree: folders, their policy, cases, findings, and whatever else decided.

Nothing is decided here.  Every line is told from what decided (:class:`Decision`, the reasons of the
verdict), so it cannot say something else; and every branch that is not green hangs under a node of the
same outcome.  Foreign text stands in it as it came: whoever prints a node makes it harmless.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review.foldergate import concord, describe, headline
from prun_review.folders import OPEN, Decision, Folder
from prun_review.gate import Evidence
from prun_review.model import Opinion, Reason, RunFacts, Verdict
from prun_review.policy import Setting, settings
from prun_review.rulings import Ruling
from prun_review.verdict import number, worst

MOST = 50
"""Children of one node; what is more is counted."""

_NOBODY = frozenset(OPEN.values()) | {"tolerated"}
"""Codes of what nobody settled."""

_WEIGHT = {"FAIL": 0, "INCOMPLETE": 1, "PASS": 2}


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a derivation."""

    text: str
    outcome: str = ""
    """What it contributes: ``FAIL``, ``INCOMPLETE``, ``PASS``; empty for what only tells."""
    children: tuple[Node, ...] = ()


def tree(evidence: Evidence, verdict: Verdict) -> Node:
    """The derivation of ``verdict``, which was made of ``evidence``."""
    names = {folder.name for folder in evidence.folders}
    own = [reason for reason in verdict.reasons if reason.folder not in names]
    run = _branch("the run as a whole", [_reason(r) for r in own])
    folders = [_folder(f, verdict, evidence.facts) for f in evidence.folders]
    return Node(verdict.line or verdict.outcome, verdict.outcome, (run, *folders))


def lines(node: Node, depth: int = 0) -> Iterator[tuple[int, str]]:
    """The tree line by line, as depth and text; ``<-`` is followed by what an outcome comes from."""
    arrow = " <- " if node.children else ": "
    bare = not node.outcome or node.text.startswith(node.outcome)
    yield depth, node.text if bare else f"{node.outcome}{arrow}{node.text}"
    for child in node.children:
        yield from lines(child, depth + 1)


def plain(node: Node) -> dict[str, Any]:
    """The tree as JSON values."""
    return {"text": node.text, "outcome": node.outcome, "children": [plain(c) for c in node.children]}


def _branch(text: str, children: Sequence[Node]) -> Node:
    """A node that is as bad as the worst below it."""
    return Node(text, worst(c.outcome for c in children if c.outcome), _some(children))


def _some(children: Sequence[Node]) -> tuple[Node, ...]:
    """The worst of them first, and how many more there are."""
    ordered = sorted(children, key=lambda c: _WEIGHT.get(c.outcome, 3))
    rest = len(ordered) - MOST
    return (*ordered[:MOST], *([Node(f"and {rest} more")] if rest > 0 else []))


def _reason(reason: Reason) -> Node:
    return Node(f"[{reason.code}] {reason.text}", worst([reason.outcome]))


# --- one folder -------------------------------------------------------------------------------


def _folder(folder: Folder, verdict: Verdict, facts: RunFacts) -> Node:
    decisions = folder.decisions()
    shown = {(d.code, describe(d.group), d.outcome) for d in decisions if d.outcome}
    mine = [r for r in verdict.reasons if r.folder == folder.name]
    rest = [r for r in mine if (r.code, r.text, r.outcome) not in shown]
    rules = settings(folder.policy, folder.name, facts.sources)
    parts = (
        _policy(rules),
        _cases(folder),
        _branch(_counted("findings", decisions), [_finding(d, folder, rules, facts) for d in decisions]),
        _branch("what else was found", [_reason(r) for r in rest]),
    )
    said = verdict.folders.get(folder.name, "")
    if not folder.decides:
        return Node(f"{folder.name}: {said}; it decides nothing", "", parts)
    told = folder.name if said in _WEIGHT else f"{folder.name}: {said}"
    return Node(told, worst(p.outcome for p in parts if p.outcome), parts)


def _policy(rules: Mapping[str, Setting]) -> Node:
    by_source: dict[str, list[str]] = {}
    for key, held in rules.items():
        by_source.setdefault(held.source, []).append(f"{key} = {held.value or '(none)'}")
    ordered = sorted(by_source.items(), key=lambda item: item[0] == "default")
    return Node("policy", "", tuple(Node(f"{source}: {', '.join(told)}") for source, told in ordered))


def _cases(folder: Folder) -> Node:
    """Who answered what, and who of them are independent of each other."""
    told, everyone = [], folder.asked()
    for case, answered in folder.answered().items():
        asked, free = everyone[case], folder.voices(answered)
        text = f"{case}: {len(answered)} of {number(len(asked), 'executor')} answered"
        text += f" ({', '.join(answered)})" if answered else ""
        text += f", {len(free)} independent of each other, quorum {folder.quorum(asked)}"
        text += folder.authors.disowned(asked)
        if case in folder.outages.cases:
            text += "; stands without who is away, so one finding of one executor is enough to fail"
        told.append(Node(text))
    both, others = concord(folder)
    counted = f"findings: {both} held together, {others} by one voice each; choices: {len(folder.votes())}"
    return Node(f"cases: {len(told)}", "", (*_some(told), Node(counted)))


# --- one finding ------------------------------------------------------------------------------


def _counted(what: str, decisions: Sequence[Decision]) -> str:
    codes = [d.code for d in decisions]
    told = ", ".join(f"{codes.count(code)} {code}" for code in dict.fromkeys(sorted(codes)))
    return f"{what}: {told or 'none'}"


def _finding(decision: Decision, folder: Folder, rules: Mapping[str, Setting], facts: RunFacts) -> Node:
    group, settled = decision.group, folder.settled
    text, outcome = f"[{decision.code}] {headline(group)}", decision.outcome or "PASS"
    if not decision.grave:
        return Node(text, outcome)
    members = [
        Node(f"{m.executor} says {m.finding.severity}: {m.finding.title} ({m.finding.grounding}, {m.unit})")
        for m in group.members
    ]
    parts = [
        Node(f"rule: {decision.why}{_sources(decision.keys, rules)}"),
        *_settling(decision, folder, facts),
        Node(f"class {group.kind}: {group.reason}"),
        Node(f"held by {number(len(group.executors), 'executor')}", "", _some(members)),
        *(_ruling(ruling) for ruling in group.rulings[:MOST]),
        *(
            Node(f"{c.executor} came back to it in {c.times} of {c.of} answers")
            for c in group.came
            if c.of > 1
        ),
    ]
    if group.id in settled.how:
        parts.append(Node(f"found again: {settled.how[group.id]}"))
    if group.id in settled.worse:
        known = settled.worse[group.id].finding.severity
        parts.append(Node(f"the baseline holds it as {known} only"))
    return Node(text, outcome, tuple(parts))


def _sources(keys: Sequence[str], rules: Mapping[str, Setting]) -> str:
    """Where the values that decided came from."""
    told = {key: rules[key].source if key in rules else "nobody knows that severity" for key in keys}
    if len(told) > 1:
        return f" (source: {'; '.join(f'{key}: {source}' for key, source in told.items())})"
    return "".join(f" (source: {source})" for source in told.values())


def _settling(decision: Decision, folder: Folder, facts: RunFacts) -> list[Node]:
    """Why nobody was asked about it, its stable name, and what a person writes to answer for it."""
    name = decision.group.fingerprint
    off = decision.code in _NOBODY and facts.cross_examine == "off"
    told = ["nobody was asked about it: cross-examination is off"] if off else []
    told += [f"fingerprint {name}"] if name else []
    # An acceptance of a finding of an unknown class takes nothing out.
    if name and folder.decides and decision.outcome == "INCOMPLETE" and decision.code != "unknown-class":
        told.append(f"to settle: prun-review accept {facts.run_id} {name} --by NAME --reason TEXT")
    return [Node(text) for text in told]


def _ruling(ruling: Ruling) -> Node:
    asked = "is it one defect" if ruling.question.kind == "same" else "does it hold"
    opinions = tuple(Node(_opinion(name, said)) for name, said in ruling.opinions)
    return Node(f"asked in the second wave: {asked}? {ruling.outcome}: {ruling.why}", "", opinions)


def _opinion(name: str, said: Opinion) -> str:
    proof = said.evidence
    line = f":{proof.line}" if proof.line else ""
    place = f" at {proof.file}{line} ({proof.grounding})" if proof.file else ""
    as_severe = f" as {said.severity}" if said.severity else ""
    return f"{name}: {said.word}{as_severe}{place}: {said.reason}"
