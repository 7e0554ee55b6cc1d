"""The contract kind ``examination``: what an executor says of findings that others reported.

One word of the contract's options, and the code that proves it.  What proves nothing is no answer: the
word alone would be as good as a guess, and as easy to put into a reviewer's mouth.
"""

from __future__ import annotations

import json
from typing import Any

from prun_review import honesty
from prun_review.contractparts import COMMON, SIDE, header_of, load_schema
from prun_review.model import Answer, Contract, Finding, Opinion, Violation
from prun_review.rulings import CANNOT

CONFIRM = "confirm"
"""The one word that says how severe it is."""

_PROOF = """\
`word` is one of: {words}. `reason` says in a few sentences what in the code shows it.
`file`, `line` and `quote` prove it: the code that decides the question, copied verbatim from the file, at
least one whole expression, because it is searched there. An answer whose quote is not in that file counts
as none. Only with `{cannot}` they may be null."""
_SEVERITY = """\
`severity` is a word of the list in the schema with `confirm`, and null with any other word."""
_CHANGE = """\
`side` says where `file`, `line` and `quote` belong: `new` is the tree after the change, `old` the tree
before it, with the path and the line numbers of then; null where there is no quote."""
_HONEST = """\
If you could not read what you needed, say so in `open_items`, with the word `{cannot}`: an honest gap is
worth more than a guess."""


class ExaminationKind:
    """A word about the findings of others, with its proof."""

    kind = "examination"

    def schema(self, contract: Contract) -> dict[str, Any] | None:
        """``schemas/examination.json`` with the contract's words; a severity where one of them is
        ``confirm``, a side where it is about a change."""
        schema = load_schema("examination")
        parts = schema["properties"]
        parts["word"]["enum"] = list(contract.options)
        if CONFIRM not in contract.options:
            schema["required"].remove("severity")
            del parts["severity"]
        if contract.change:
            schema["required"].append("side")
            parts["side"] = dict(SIDE)
        return schema

    def instructions(self, contract: Contract) -> str:
        """The words, and what must prove them."""
        words = ", ".join(json.dumps(o, ensure_ascii=False) for o in contract.options)
        parts = [COMMON, _PROOF.format(words=words, cannot=CANNOT)]
        if CONFIRM in contract.options:
            parts.append(_SEVERITY)
        if contract.change:
            parts.append(_CHANGE)
        return "\n".join([*parts, _HONEST.format(cannot=CANNOT)])

    def check(self, payload: Any, contract: Contract) -> list[Violation]:
        """A word has its proof, ``confirm`` and nothing else its severity, and everything a reason."""
        found: list[Violation] = []
        word, severity = payload["word"], payload.get("severity")
        said = word in contract.options
        if not said:
            words = ", ".join(contract.options)
            found.append(Violation("word", "/word", f"the word is missing: one of {words}"))
        if honesty.is_filler(payload["reason"]):
            found.append(Violation("no-reason", "/reason", "it says nothing"))
        if word == CONFIRM and severity is None:
            found.append(Violation("severity", "/severity", "what is confirmed needs a severity"))
        if said and word != CONFIRM and severity is not None:
            found.append(Violation("severity", "/severity", f"only {CONFIRM!r} goes with a severity"))
        if said and word != CANNOT:
            for key in ("file", "quote"):
                if not (payload[key] or "").strip():
                    found.append(Violation("unproven", f"/{key}", f"{word!r} needs the code that proves it"))
        if not any(path.strip() for path in payload["examined"]):
            found.append(Violation("nothing-examined", "/examined", "no file is said to have been read"))
        return found

    def answer(self, payload: Any, contract: Contract) -> Answer:
        """The opinion as a record; without one where no word was said."""
        word = payload["word"]
        evidence = Finding(
            "",
            file=payload["file"],
            line=payload["line"],
            quote=payload["quote"],
            severity=payload.get("severity") or "info",
            side=payload.get("side"),
        )
        opinion = Opinion(word, payload["reason"], evidence, payload.get("severity")) if word else None
        return Answer(header_of(payload), examined=tuple(payload["examined"]), opinion=opinion)
