"""The findings of a report in Markdown: grouped by what the change did, then by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prun_review.renderers import changes, view
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
    names = ", ".join(markdown(name) for name in finding["executors"])
    yield f"{place(finding)}, {blocking}{names}  "
    if told := changes.stance(finding):
        yield f"{markdown(told)}  "
    yield f"{code(finding['case'])}  "
    yield markdown(finding["reason"])
    yield ""
    for member in finding["members"]:
        yield from _member(member)


def _member(member: Mapping[str, Any]) -> Iterator[str]:
    said: Sequence[str] = [
        f"severity {member['severity']}",
        f"category {member['category']}",
        member["grounding"],
        *([f"confidence {member['confidence']:.2f}"] if member["confidence"] is not None else []),
        *([f"rule {member['rule']}"] if member["rule"] else []),
        *filter(None, [changes.stance(member), member["note"]]),
    ]
    yield f"**{markdown(member['executor'])}** at {place(member)} ({markdown(', '.join(said))}):"
    yield f"{markdown(member['title'], 300)}"
    yield ""
    for label, text in (("", member["detail"]), ("Suggestion:", member["suggestion"])):
        if text:
            yield from ([label, ""] if label else [])
            yield from quoted(text)
    if member["quote"]:
        yield from (fence(member["quote"][:LONGEST]), "")
