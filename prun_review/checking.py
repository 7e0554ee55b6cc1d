"""One answer against its contract: every violation at once, and what can be kept.

An answer with violations is shown, but never relied on.  Nothing here raises, whatever the answer
holds; a contract kind of an extension that raises breaks the unit that it was asked about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prun_review import honesty, sources
from prun_review.mending import mend
from prun_review.model import Answer, Contract, Header, Violation
from prun_review.payload import (
    HEADER_NAMES,
    Found,
    Split,
    find_payload,
    holds_data,
    is_fallback,
    split_header,
    without,
)
from prun_review.rulings import CANNOT
from prun_review.strictjson import MENDED, clean_value

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import ContractKind

_FIRST_WORDS = 400
"""Characters of a prose body that are searched for "I could not read": later it may be the subject."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What an answer is worth under its contract."""

    answer: Answer | None
    """As far as it could be taken; to be relied on only without ``violations``."""
    violations: tuple[Violation, ...]
    salvage: tuple[Violation, ...]
    """What was mended or given up, and every ``lost-finding``."""


def judge_answer(*, payload: Any, text: str, contract: Contract, kind: ContractKind, slug: str) -> Judged:
    """Judge native structured output (``payload``) or, where that is None, a Markdown ``text``.

    ``slug`` is the unit that the title line of ``text`` must name; empty: any.
    """
    schema = kind.schema(contract)
    if payload is not None and schema is not None:
        value, faults = clean_value(payload)
        return _structured(value, faults, "", contract, kind, schema)
    text, faults = clean_value(text)
    if is_fallback(text):
        why = "a dispatcher wrote it in place of a missing result"
        return Judged(None, (Violation("fallback", "", why),), ())
    if payload is not None:
        faults.append(Violation("unexpected-payload", "", f"a {kind.kind} answer has no JSON payload"))
    if schema is None:
        return _prose(text, faults, contract, kind, slug)
    found = find_payload(text, schema)
    split = split_header(without(text, found.source))
    faults += [*found.violations, *_titles(split.titles, slug)]
    value = found.payload
    if isinstance(value, dict) and (found.beside or found.echoed) and not _grave(value):
        faults += _not_its_own(found, split, slug)
    if value is None and found.violations:
        faults += honesty.saw_nothing(_lines(split.header), split.body)
        return _judged(None, faults, [])
    if isinstance(value, dict):
        value = {key: line for key, line in split.header.items() if key in schema["properties"]} | value
    return _structured(value, faults, split.body, contract, kind, schema)


def _grave(payload: Mapping[str, Any]) -> bool:
    """True with a finding so severe that whoever wrote it, it cannot make a verdict better."""
    findings = payload.get("findings")
    severities = (
        [f.get("severity") for f in findings if isinstance(f, dict)] if isinstance(findings, list) else []
    )
    return any(str(severity).strip().casefold() in ("high", "critical") for severity in severities)


def _not_its_own(found: Found, split: Split, slug: str) -> Iterator[Violation]:
    """Why a payload amid other text may be quoted from the reviewed tree and not be the answer."""
    if not split.titles:
        yield Violation("missing-header", "title", f"no line '# {slug} result' says whose the JSON answer is")
    if found.echoed:
        yield Violation("several-answers", "", "the only JSON answer is a line of a quoted diff")
    if holds_data(split_header(found.beside).body):
        yield Violation("several-answers", "", "another block of data beside the JSON answer")


def _structured(
    value: Any,
    faults: list[Violation],
    body: str,
    contract: Contract,
    kind: ContractKind,
    schema: Mapping[str, Any],
) -> Judged:
    keep = (*contract.options, *contract.criteria)
    faults = [*faults, *honesty.placeholders(value, keep)]
    made, mended = mend(value, schema)
    faults += mended.violations
    if not isinstance(value, dict):
        return _judged(None, faults, [])
    if not mended.violations:
        faults += _invalid(made, schema)
    answer, told = _ask(kind, made, contract, body)
    if answer or not faults:  # a kind need not cope with what is already known to be broken
        faults += told
    salvage = mended.salvage
    if answer and contract.sources:
        weighed = sources.weigh(answer.sources)
        answer = replace(answer, sources=weighed.kept)
        faults += weighed.violations
        salvage = [*salvage, *weighed.salvage]
    if answer and answer.claim is None:  # of what was written the patch tells, and no words
        silent = ("findings" in made and not answer.findings) or _cannot_tell(answer)
        doubts = [*_doubts(answer, blind=not answer.examined or silent), *_uncalled(value, made, answer)]
        faults += (doubt for doubt in doubts if not sources.explains(answer.sources, doubt))
    return _judged(answer, faults, salvage)


def _invalid(made: Any, schema: Mapping[str, Any]) -> list[Violation]:
    """What the JSON Schema itself still has against a mended payload."""
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(schema).iter_errors(made)
    return [
        Violation("schema", "".join(f"/{part}" for part in e.absolute_path), f"fails {e.validator}")
        for e in errors
    ]


def _ask(
    kind: ContractKind, made: Any, contract: Contract, body: str
) -> tuple[Answer | None, list[Violation]]:
    """What the kind makes of a payload; an error in it is a violation, with its name."""
    try:
        found = list(kind.check(made, contract))
        answer = kind.answer(made, contract)
    except Exception as error:  # foreign code: contract kinds come from extensions
        text = f"contract kind {kind.kind!r} failed: {type(error).__name__}: {error}"
        return None, [Violation("contract-kind", "", text)]
    return (replace(answer, body=body) if body else answer), found


def _cannot_tell(answer: Answer) -> bool:
    return answer.opinion is not None and answer.opinion.word == CANNOT


def _doubts(answer: Answer, *, blind: bool) -> Iterator[Violation]:
    """Signs in the words of an answer that there was no review behind it."""
    if answer.opinion and not _cannot_tell(answer):
        yield from honesty.against_opinion(answer.opinion.word, answer.opinion.reason, answer.header)
    if blind:
        yield from honesty.saw_nothing(answer.header, answer.body)
        if not (answer.choice or answer.opinion) and honesty.says_nothing(answer.header, answer.body):
            yield Violation("empty-answer", "", "the answer says nothing")
    for where, text in (("/conclusion", answer.header.conclusion), ("", answer.body)):
        if answer.verdict == "approve" and honesty.takes_back_approval(text):
            yield Violation("verdict-contradicted", where, "the words take the approval back")


def _uncalled(value: Mapping[str, Any], made: Mapping[str, Any], answer: Answer) -> Iterator[Violation]:
    """Findings beside a word about the findings of others: nobody would look at them, so they break it."""
    if answer.opinion is None:
        return
    for key, item in value.items():
        objects = isinstance(item, list) and any(isinstance(one, dict) for one in item)
        if key not in made and (objects or (item and key.strip().casefold() == "findings")):
            yield Violation("lost-finding", f"/{key}", "findings where only a word was asked for")


def _prose(text: str, faults: list[Violation], contract: Contract, kind: ContractKind, slug: str) -> Judged:
    if not text.strip():
        return _judged(None, [*faults, Violation("empty-answer", "", "the answer is empty")], [])
    split = split_header(text)
    faults = [*faults, *_titles(split.titles, slug)]
    if not split.titles:
        faults.append(Violation("missing-header", "title", f"no line '# {slug} result'"))
    faults += [
        Violation("missing-header", name, "the header line is missing or empty")
        for key, name in HEADER_NAMES.items()
        if not split.header.get(key)
    ]
    if not split.body:
        faults.append(Violation("empty-answer", "body", "there is no text after the header"))
    faults += honesty.placeholders(dict(split.header))
    if honesty.is_placeholder(split.body):
        faults.append(Violation("placeholder", "body", "the text is copied from the template"))
    head = _lines(split.header)
    faults += honesty.saw_nothing(head, split.body[:_FIRST_WORDS])
    if split.body and (honesty.is_filler(split.body) or honesty.says_nothing(head, split.body)):
        faults.append(Violation("empty-answer", "body", "the text says nothing"))
    made = {key: getattr(head, key) for key in HEADER_NAMES} | {"body": split.body}
    answer, broken = _ask(kind, made, contract, split.body)
    return _judged(answer, [*faults, *broken], [])


def _lines(header: Mapping[str, str]) -> Header:
    return Header(**{key: header.get(key, "") for key in HEADER_NAMES})


def _titles(titles: Sequence[str], slug: str) -> Iterator[Violation]:
    if len(titles) > 1:
        yield Violation("several-answers", "title", f"{len(titles)} results in one text")
    for title in titles:
        if slug and title != slug:
            yield Violation("wrong-unit", "title", f"the result is of {title!r}, asked was {slug!r}")


def _judged(answer: Answer | None, faults: Iterable[Violation], salvage: Sequence[Violation]) -> Judged:
    """Faults sorted into those that break the contract and those that were mended; each once."""
    unique = list(dict.fromkeys(faults))
    return Judged(
        answer,
        tuple(f for f in unique if f.code not in MENDED),
        (*salvage, *(f for f in unique if f.code in MENDED)),
    )
