"""What the reports say of the second wave: what was asked of whom, what it came to, what was left out.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording, no
escaping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prun_review.renderers.holding import WORDS
from prun_review.renderers.points import Point, points
from prun_review.renderers.view import CLASSES, place, rows, usage_rows
from prun_review.verdict import number, some

Document = Mapping[str, Any]

KINDS = {"claim": "does it hold", "same": "one defect or two"}
"""Kind of a question -> what was asked."""


def heading(document: Document) -> str:
    """``4 questions, 5 of 6 answers came, 2 left out``; empty where there was nothing to ask."""
    wave = document.get("examination") or {}
    asked, out = wave.get("questions") or [], wave.get("left_out") or []
    if not asked and not out:
        return ""
    came = f", {wave['answered']} of {wave['asked']} answered" if asked else ""
    left = f", {len(out)} left out" if out else ""
    return f"{number(len(asked), 'question')}{came}{left}"


def nothing(document: Document) -> str:
    """Why there is no second wave, for the reports that say that too; empty where there is one."""
    wave = document.get("examination")
    if wave is None or heading(document):
        return ""
    return "switched off" if wave["mode"] == "off" else f"nothing to ask (mode {wave['mode']})"


def questions(document: Document) -> tuple[Point, ...]:
    """Each question with its outcome; what each examiner said stands with the finding."""
    names = titles(document)
    found = []
    for q in (document.get("examination") or {}).get("questions") or ():
        word = WORDS.get(q["outcome"], q["outcome"].upper())
        why = f": {q['why']}" if q["why"] else ""
        found.append(Point(f"{word} ({_asked(q)}): {_about(q, names)}{why}"))
    return tuple(found)


def left_out(document: Document) -> tuple[Point, ...]:
    """What was not asked, by why."""
    names = titles(document)
    found: dict[str, list[Point]] = {}
    for q in (document.get("examination") or {}).get("left_out") or ():
        found.setdefault(q["why"], []).append(Point(f"{_asked(q)}: {_about(q, names)}"))
    return tuple(Point(f"{len(those)} not asked: {why}", tuple(those)) for why, those in found.items())


def to_settle(document: Document) -> str:
    """What a person writes to answer for the findings that stay open; empty where there are none.

    What fails is to be mended, and an acceptance takes nothing of an unknown class out.
    """
    folders = (document.get("verdict") or {}).get("folders") or {}
    names = [
        finding["fingerprint"]
        for finding in rows(document, "findings")
        if finding.get("outcome") == "INCOMPLETE"
        and finding.get("fingerprint")
        and finding["class"] in CLASSES
        and not folders.get(finding["folder"], "").startswith("report")
    ]
    if not names:
        return ""
    more = f" (also {some(names[1:])})" if names[1:] else ""
    accept = f"prun-review accept {document['run_id']} {names[0]} --by NAME --reason TEXT"
    return f"to settle: mend it, or answer for it by name: {accept}{more}"


def failed(document: Document) -> tuple[Point, ...]:
    """The units of the second wave that have no answer to rely on."""
    return tuple(
        Point(
            f"no answer from {u['executor']}: {u['status']} ({u['reason']})",
            points(filter(None, [u["message"]])),
        )
        for u in units(document)
        if u["status"] != "valid"
    )


def units(document: Document) -> list[dict[str, Any]]:
    """The units of the second wave, in the shape of the run's own."""
    return list((document.get("examination") or {}).get("units") or ())


def usage(document: Document) -> list[list[str]]:
    """What it cost beside the run's own usage: rows as :func:`prun_review.renderers.view.usage_rows`."""
    return usage_rows({"usage": (document.get("examination") or {}).get("usage")})


def titles(document: Document) -> dict[str, str]:
    """Id of every finding -> ``title (place)``."""
    return {
        member["id"]: f"{member['title']} ({place(member)})"
        for finding in rows(document, "findings")
        for member in finding["members"]
    }


def _asked(question: Mapping[str, Any]) -> str:
    """``does it hold, high``: what was asked, and the severity that is claimed."""
    return f"{KINDS.get(question['kind'], question['kind'])}, {question['severity']}"


def _about(question: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return " / ".join(names.get(id_, id_) for id_ in (question["left"], question["right"]) if id_)
