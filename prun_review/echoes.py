"""An answer that stands word for word in what was to be reviewed is its author's and not the reviewer's:
in the change, or in the findings of others that a prompt shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prun_review.change import Change, FileChange
from prun_review.model import Reading, Unit, Violation
from prun_review.payload import find_payload

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import ContractKind

LEAST = 60
"""Visible characters below which equal words are no evidence: no answer of ours is that short."""


def echoes(reading: Reading, unit: Unit, kind: ContractKind, change: Change | None) -> Iterator[Violation]:
    """The violation ``echo`` where the answer, white space aside, is a stretch of one changed file, or of
    one exhibit of the brief."""
    if change is None and not unit.brief.exhibits:
        return
    said = [text for text in map(_bare, _answers(reading, unit, kind)) if len(text) >= LEAST]
    for exhibit in unit.brief.exhibits:
        shown = _bare(exhibit.text)
        if any(words in shown for words in said):
            yield Violation(
                "echo", "", f"the answer stands word for word in what others said ({exhibit.label})"
            )
            return
    for file in change.files if change and said else ():
        if any(words in text for text in _texts(file) for words in said):
            yield Violation("echo", "", f"the answer stands word for word in the change of {file.path}")
            return


def _answers(reading: Reading, unit: Unit, kind: ContractKind) -> Iterator[str]:
    """The answer as it was written, and as JSON writes it."""
    schema = kind.schema(unit.brief.contract)
    payload = reading.payload
    if schema is None:
        yield reading.text
    elif payload is None:
        found = find_payload(reading.text, schema)
        payload = found.payload
        yield found.source
    if payload is not None:
        yield json.dumps(payload, ensure_ascii=False)


def _texts(file: FileChange) -> Iterator[str]:
    """What a reviewer may copy from: either side of the hunks, and all their lines as they come."""
    lines = [line for hunk in file.hunks for line in hunk.lines]
    for marks in (" +", " -", " +-"):
        yield _bare("".join(line[1:] for line in lines if line[:1] in marks))


def _bare(text: str) -> str:
    return "".join(text.split())
