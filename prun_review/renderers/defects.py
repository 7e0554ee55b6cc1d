"""The findings of a report in Markdown: grouped by what the change did, then by class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prun_review.renderers import changes, holding, view
from prun_review.renderers.escape import code, fence, markdown
from prun_review.renderers.markup import LONGEST, quoted, title

Document = Mapping[str, Any]


def place(finding: Mapping[str, Any]) -> str:
    """Where a finding is, as a code span."""
    return code(view.place(finding)) if finding["file"] else view.place(finding)


def findings(document: Document) -> Iterator[str]:
    """The whole section; the headings of a change stand one level above those of the classes."""
    yield from title("Findings")
    if not view.rows(document, "findings"):
        yield "None."
    for heading, items in changes.by_origin(document).items():
        level = 3
        if heading:
            yield from title(f"{markdown(heading)} ({len(items)})", level)
            level += 1
        for name, those in view.by_class(items).items():
            meaning = view.CLASSES.get(name, "of an unknown class")
            yield from title(f"{markdown(name.capitalize())} ({len(those)}): {meaning}", level)
            for finding in those:
                yield from _finding(finding, level + 1)


def _finding(finding: Mapping[str, Any], level: int) -> Iterator[str]:
    yield from title(f"{markdown(finding['severity'])}: {markdown(finding['title'], 300)}", level)
    blocking = "**blocking**, " if finding["blocking"] else ""
    yield f"{place(finding)}, {blocking}{markdown(holding.holders(finding))}  "
    yield from (f"**{markdown(told)}**  " for told in holding.settled(finding))
    beside = (holding.decided(finding), changes.stance(finding), holding.came(finding))
    yield from (f"{markdown(told)}  " for told in beside if told)
    name = holding.fingerprint(finding, whole=True)
    yield f"{code(finding['case'])}{f', {code(name)}' if name else ''}  "
    yield markdown(finding["reason"])
    yield ""
    for (name, *lines), times in Counter(tuple(_member(m)) for m in finding["members"]).items():
        yield f"{name}, {times} times:" if times > 1 else f"{name}:"  # the same words of repeats stand once
        yield from lines
    for asked in holding.asked(finding):
        yield from (f"**{markdown(asked.text)}**", "")
        for argument in asked.arguments:
            yield from _argument(argument)


def _argument(argument: holding.Argument) -> Iterator[str]:
    """What an examiner said, as far as the reason goes, and the line that it stands on."""
    at = f" at {place(argument.place)}" if argument.place["file"] else ""
    proof = f" ({markdown(argument.grounding)})" if argument.grounding else ""
    yield f"**{markdown(argument.speaker)}**{at}{proof} says {markdown(argument.word)}:"
    yield ""
    yield from quoted(argument.reason)
    if argument.quote:
        yield from (fence(argument.quote[:LONGEST]), "")


def _member(member: Mapping[str, Any]) -> Iterator[str]:
    said: Sequence[str] = [
        f"severity {member['severity']}",
        f"category {member['category']}",
        member["grounding"],
        *([f"confidence {member['confidence']:.2f}"] if member["confidence"] is not None else []),
        *([f"rule {member['rule']}"] if member["rule"] else []),
        *filter(None, [changes.stance(member), member["note"]]),
    ]
    yield f"**{markdown(member['executor'])}** at {place(member)} ({markdown(', '.join(said))})"
    yield f"{markdown(member['title'], 300)}"
    yield ""
    for label, text in (("", member["detail"]), ("Suggestion:", member["suggestion"])):
        if text:
            yield from ([label, ""] if label else [])
            yield from quoted(text)
    if member["quote"]:
        yield from (fence(member["quote"][:LONGEST]), "")
