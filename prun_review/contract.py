"""The return contract: the built-in kinds of answers, and the door to judging an answer by one.

A kind says what the prompt asks for, which payload is valid (``schemas/<kind>.json``, inside what
the vendors' strict modes take) and which rules hold between its fields.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prun_review import sources
from prun_review.changecontract import ChangeKind
from prun_review.checking import Judged, judge_answer
from prun_review.contractparts import COMMON, SIDE, header_of, load_schema
from prun_review.model import Answer, Choice, Contract, Finding, Findings, Place, Score, Violation
from prun_review.opinions import ExaminationKind
from prun_review.payload import CHANGE_KEYS, FINDING_KEYS, render_result
from prun_review.strictjson import parse_json, pointer, shown
from prun_review.taskblock import TaskKind

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import ContractKind

__all__ = [
    "BUILT_IN",
    "KINDS",
    "Judged",
    "judge_answer",
    "kinds",
    "load_schema",
    "parse_json",
    "render_result",
]


def _schema(name: str, contract: Contract) -> dict[str, Any]:
    """The schema of a kind, with sources where the contract asks for them."""
    schema = load_schema(name)
    return sources.extended(schema) if contract.sources else schema


def _asked(text: str, contract: Contract) -> str:
    """The instructions of a kind, with those for sources where the contract asks for them."""
    return f"{text}\n{sources.INSTRUCTIONS}" if contract.sources else text


_OF_A_CHANGE = """\
The question is about a change, so each finding has two keys more.
`side` says where its `file`, `line` and `quote` belong: `new` is the tree after the change, `old` the tree
before it, with the path and the line numbers of then. For what the change takes away use `old`, quote the
code that is gone and give the number that it had.
`cause` is null, except where the defect stands in code that the change leaves as it is and makes wrong:
then it names `file` and `line` of the changed line that is to blame (of a deleted line as it was before).
`examined` names every changed file that you looked at, each by its own path, also one whose diff you were
given: a folder or a pattern names none, and a file that nobody names counts as not reviewed."""

_CAUSE: dict[str, Any] = {
    "type": ["object", "null"],
    "description": "The changed line that makes this place wrong, where the place itself is unchanged.",
    "additionalProperties": False,
    "required": ["file", "line"],
    "properties": {
        "file": {"type": "string", "description": "Path of the changed file."},
        "line": {"type": ["integer", "null"], "description": "The changed line, counted from 1."},
    },
}


def _with_change(schema: dict[str, Any]) -> dict[str, Any]:
    """A findings schema whose findings also say what ``CHANGE_KEYS`` name."""
    item = schema["properties"]["findings"]["items"]
    item["required"] += CHANGE_KEYS
    item["properties"] |= copy.deepcopy(dict(zip(CHANGE_KEYS, (SIDE, _CAUSE), strict=True)))
    return schema


class FindingsKind:
    """Defects found, with a verdict."""

    kind = "findings"

    def schema(self, contract: Contract) -> dict[str, Any] | None:
        """``schemas/findings.json``, with side and cause, and sources, where the contract asks for them."""
        schema = _schema("findings", contract)
        return _with_change(schema) if contract.change else schema

    def instructions(self, contract: Contract) -> str:
        """What each key means, and the rules that hold between them."""
        text = f"""{COMMON}
`findings` holds one entry per defect; an empty list says that you looked and found none.
For each: `title` in one line; `detail` says why it is a defect and what follows from it; `file`, `line`
and `end_line` say where (null where there is no place); `quote` is the offending source text copied
verbatim from the file, at least one whole expression, because it is searched there; `severity` and
`category` are words of the lists in the schema; `confidence` is your probability from 0 to 1 that the
defect is real; `suggestion` says how to mend it, or null.
`verdict` is `request-changes` only with findings, and never `approve` beside one that is high or critical.
If you could not read what you needed, say so in `open_items`: an honest gap is worth more than a guess."""
        return _asked(f"{text}\n{_OF_A_CHANGE}" if contract.change else text, contract)

    def check(self, payload: Any, contract: Contract) -> list[Violation]:
        """The rules between verdict, findings and files examined."""
        found: list[Violation] = []
        held = {f["severity"] for f in payload["findings"]}
        if payload["verdict"] == "approve":
            for severity in ("critical", "high"):
                if severity in held:
                    text = f"approve beside a finding of severity {severity}"
                    found.append(Violation(f"approve-beside-{severity}", "/verdict", text))
        if payload["verdict"] == "request-changes" and not held:
            text = "changes are requested without a finding"
            found.append(Violation("changes-without-findings", "/verdict", text))
        if not contract.sources and not any(path.strip() for path in payload["examined"]):
            found.append(Violation("nothing-examined", "/examined", "no file is said to have been read"))
        return found

    def answer(self, payload: Any, contract: Contract) -> Answer:
        """The findings as records, with places that contradict themselves put right."""
        return Answer(
            header=header_of(payload),
            verdict=payload["verdict"],
            examined=tuple(payload["examined"]),
            findings=Findings(_finding(item) for item in payload["findings"]),
            sources=sources.records(payload),
        )


def _finding(item: dict[str, Any]) -> Finding:
    finding = Finding(**{key: item[key] for key in FINDING_KEYS})
    confidence, cause = finding.confidence, item.get("cause")
    finding = replace(
        finding,
        confidence=None if confidence is None else float(confidence),
        side=item.get("side"),
        cause=Place(cause["file"], cause["line"]) if cause and cause["file"].strip() else None,
    )
    first, last = finding.line, finding.end_line
    if last is not None and (first is None or last < first):
        return replace(
            finding, end_line=None, note=f"end line {last} dropped: it is not after the first line"
        )
    return finding


class ChoiceKind:
    """One of several options, with a ranking and a score table."""

    kind = "choice"

    def schema(self, contract: Contract) -> dict[str, Any] | None:
        """``schemas/choice.json`` with the contract's options and criteria as the only words."""
        schema = _schema("choice", contract)
        parts = schema["properties"]
        cell = parts["scores"]["items"]["properties"]
        for part in (parts["choice"], parts["ranking"]["items"], cell["option"]):
            part["enum"] = list(contract.options)
        if contract.criteria:
            cell["criterion"]["enum"] = list(contract.criteria)
        return schema

    def instructions(self, contract: Contract) -> str:
        """Options, criteria, and the rules that hold between choice, ranking and scores."""
        options = ", ".join(json.dumps(o, ensure_ascii=False) for o in contract.options)
        criteria = ", ".join(json.dumps(c, ensure_ascii=False) for c in contract.criteria)
        scores = (
            f"The criteria are: {criteria}.\n"
            "`scores` has exactly one entry for every pair of option and criterion, from 1 (worst) to 5\n"
            "(best), each with its reason."
            if criteria
            else "`scores` is an empty list: this question has no criteria."
        )
        text = f"""{COMMON}
The options are: {options}.
`choice` is one of them; `ranking` holds every option once, best first, and begins with your choice.
{scores}
`confidence` is your probability from 0 to 1 that the choice is right; `would_change_mind` names the
evidence that would lead you to another one."""
        return _asked(text, contract)

    def check(self, payload: Any, contract: Contract) -> list[Violation]:
        """Ranking and score table are complete and headed by the choice."""
        found: list[Violation] = []
        ranking = payload["ranking"]
        if sorted(ranking) != sorted(contract.options):
            found.append(Violation("ranking", "/ranking", "must hold every option exactly once"))
        if ranking and ranking[0] != payload["choice"]:
            found.append(Violation("ranking", "/ranking/0", "must be the option chosen"))
        wanted = {(o, c) for o in contract.options for c in contract.criteria}
        seen: set[tuple[str, str]] = set()
        for i, cell in enumerate(payload["scores"]):
            key = (cell["option"], cell["criterion"])
            if key in seen or key not in wanted:
                why = "stands twice" if key in seen else "is no cell of the table"
                text = f"{shown(key[0])} by {shown(key[1])} {why}"
                found.append(Violation("scores", pointer("/scores", i), text))
            seen.add(key)
        for option, criterion in sorted(wanted - seen):
            text = f"{shown(option)} by {shown(criterion)} has no score"
            found.append(Violation("scores", "/scores", text))
        return found

    def answer(self, payload: Any, contract: Contract) -> Answer:
        """The choice as a record; without one where no option was chosen."""
        scores = tuple(
            Score(cell["option"], cell["criterion"], int(cell["score"]), cell["reason"])
            for cell in payload["scores"]
        )
        choice = Choice(
            option=payload["choice"],
            ranking=tuple(payload["ranking"]),
            scores=scores,
            confidence=None if payload["confidence"] is None else float(payload["confidence"]),
            would_change_mind=payload["would_change_mind"],
        )
        return Answer(
            header=header_of(payload),
            examined=tuple(payload["examined"]),
            choice=choice if payload["choice"] else None,
            sources=sources.records(payload),
        )


class ProseKind:
    """The prun header and a text."""

    kind = "prose"

    def schema(self, contract: Contract) -> dict[str, Any] | None:
        """None: there is no payload."""
        return None

    def instructions(self, contract: Contract) -> str:
        """Header lines first, the text after a blank line."""
        return (
            "The four header lines come first, one line each (write `none` where there is nothing), then a\n"
            "blank line, then your text in Markdown. The text must not be empty."
        )

    def check(self, payload: Any, contract: Contract) -> list[Violation]:
        """Nothing: there is no payload."""
        return []

    def answer(self, payload: Any, contract: Contract) -> Answer:
        """``payload`` holds the four header lines and ``body``."""
        return Answer(header=header_of(payload), body=payload["body"])


BUILT_IN: tuple[ContractKind, ...] = (
    *(FindingsKind(), ChoiceKind(), ProseKind(), ExaminationKind()),
    *(ChangeKind(), TaskKind()),
)
KINDS: dict[str, ContractKind] = {k.kind: k for k in BUILT_IN}


def kinds(extra: Iterable[ContractKind] = ()) -> dict[str, ContractKind]:
    """All kinds by name; a later one of the same name wins over an earlier one."""
    return KINDS | {k.kind: k for k in extra}
