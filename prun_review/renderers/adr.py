"""The choices of a run as one page for a decision record: what was asked, what came of it, who disagrees.

The headings are those that decision records have in common.  The page never says that something was
decided: that is for the people who read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prun_review.renderers import deciding, view
from prun_review.renderers.escape import code, markdown
from prun_review.renderers.markup import page, table, title
from prun_review.renderers.points import Point, bullets, points
from prun_review.words import number

Document = Mapping[str, Any]
Case = Mapping[str, Any]

CASES = 12
"""Choices on one page."""
MOST = 24
"""Entries of one list or table."""
VOICES = 8
"""Answers that are quoted, and reasons of each."""
TEXT = 400
"""Columns of what one voice says."""


class Adr:
    """The renderer ``adr``."""

    name = "adr"
    suffix = ".adr.md"

    def __call__(self, document: Document) -> str:
        cases = deciding.choices(document)
        if len(cases) == 1:
            return page(_record(document, cases[0], 1))
        return page(_several(document, cases))


def _several(document: Document, cases: Sequence[Case]) -> Iterator[str]:
    run = code(str(document.get("run_id", "?")))
    yield f"# Choices of run {run}"
    yield ""
    if not cases:
        yield "This run asked no choice question, so there is nothing here to decide."
    for case in cases[:CASES]:
        yield from _record(document, case, 2)
    if len(cases) > CASES:
        yield from ("", f"{number(len(cases) - CASES, 'more choice')}: see the Markdown report.")


def _record(document: Document, case: Case, level: int) -> Iterator[str]:
    """One choice under a heading of ``level``."""
    choice = case["choice"]
    yield from title(markdown(case["question"] or case["case"], 160), level)
    if trouble := _trouble(document, case):
        yield from (f"> **{trouble} This page is not ready to decide on.**", "")
    yield f"- Status: {_status(document, case)}"
    day = str(document.get("finished") or document.get("started") or "not recorded")
    yield f"- Date: {markdown(day[:10] if day[:4].isdigit() else day)}"
    yield f"- Question: {code(case['case'])}"
    yield f"- Verdict of the run: {markdown(view.outcome(document), TEXT)}"
    for name, part in (
        ("Context", _context(case)),
        ("Decision drivers", _listed(choice["criteria"])),
        ("Options", _listed(choice["options"])),
        ("Outcome", _outcome(document, case)),
        ("Ranking", _ranking(choice)),
        ("Scores", _scores(choice)),
        ("Agreement", _points(points(deciding.agreement(choice)))),
        ("Dissent" if choice["winner"] else "What each side says", _points(deciding.dissent(choice), VOICES)),
        ("What would change a mind", _points(points(deciding.minds(choice)))),
        ("Not answered", _points(points(deciding.unanswered(document, case)))),
        ("How this page was made", _made(document, case)),
    ):
        lines = list(part)
        if lines:
            yield from title(name, level + 1)
            yield from lines


def _trouble(document: Document, case: Case) -> str:
    """Why nothing here can be decided on; empty where the answers carry it."""
    verdict = document.get("verdict") or {}
    if not verdict:
        return "INCOMPLETE: the run has no end."
    if not case["choice"]["answers"]:
        return "INCOMPLETE: nobody answered this question."
    if verdict["outcome"] == "INCOMPLETE":
        return "INCOMPLETE: the run did not get all the answers that it needs."
    here = [r for r in verdict["reasons"] if r["folder"] in ("", case["folder"])]
    if codes := dict.fromkeys(r["code"] for r in here if r["outcome"] == "INCOMPLETE"):
        return f"INCOMPLETE where this question was asked ({markdown(', '.join(codes), TEXT)})."
    return ""


def _status(document: Document, case: Case) -> str:
    if _trouble(document, case):
        return "proposed, not ready"
    return "proposed" if case["choice"]["winner"] else "proposed, without a winner"


def _context(case: Case) -> Iterator[str]:
    """The question as it was put, and to whom."""
    if case["question"]:
        yield from (f"> {markdown(case['question'], 1000)}", "")
    place = f" in {code(case['place'])}" if case["place"] else ""
    asked = markdown(", ".join(case["asked"]) or "nobody", TEXT)
    yield f"Put to {asked}{place}; {markdown(view.answered(case), TEXT)}."


def _listed(names: Sequence[str]) -> Iterator[str]:
    yield from _points(points(names))


def _points(entries: Sequence[Point], most: int = MOST) -> Iterator[str]:
    yield from bullets(entries, most, limit=TEXT)


def _outcome(document: Document, case: Case) -> Iterator[str]:
    choice, winner = case["choice"], markdown(case["choice"]["winner"] or "", 160)
    if not choice["answers"]:
        told = "None: nobody answered."
    elif not winner:
        told = "None: no option has more votes than every other."
    elif not case["independent"]:
        told = f"**{winner}**, by one voice only: an opinion that nobody independent shares."
    else:
        told = f"**{winner}** has the most votes."
    yield from filter(None, [told, _votes(choice), _trouble(document, case)])


def _votes(choice: Mapping[str, Any]) -> str:
    votes = choice.get("votes") or {}
    told = ", ".join(f"{name}: {vote or 'divided'}" for name, vote in list(votes.items())[:MOST])
    return f"Votes: {markdown(told, 1000)}." if told else ""


def _ranking(choice: Mapping[str, Any]) -> Iterator[str]:
    if ranked := deciding.rank_rows(choice):
        yield from _table(deciding.RANK_HEADER, ranked)
        yield ""
    yield from _points(points(answer.text for answer in deciding.answers(choice)))


def _scores(choice: Mapping[str, Any]) -> Iterator[str]:
    if choice["scores"]:
        yield from _table(*deciding.criterion_table(choice))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    cells = [[markdown(cell, 120) for cell in row[:MOST]] for row in rows[:MOST]]
    yield from table([markdown(cell, 120) for cell in header[:MOST]], cells)
    if len(rows) > MOST:
        yield from ("", f"{len(rows) - MOST} more rows are in the Markdown report.")


def _made(document: Document, case: Case) -> Iterator[str]:
    """Who answered, on what, and how the page can be had again."""
    run, facts = str(document.get("run_id", "?")), document.get("facts") or {}
    known = {e["name"]: e for e in facts.get("executors") or ()}
    lines = []
    for panel in view.rows(document, "panels"):
        if panel["executor"] in case["asked"]:
            identity = (known.get(panel["executor"]) or {}).get("identity") or panel["identity"]
            version = panel["version"] or "version not recorded"
            lines.append(
                f"{panel['executor']} of {panel['vendor']}: {version}{', ' if identity else ''}{identity}"
            )
    yield from _points(points(lines))
    repeats = max((u["repeat"] for u in view.rows(document, "units") if u["case"] == case["case"]), default=1)
    times = "once" if repeats == 1 else f"{repeats} times"
    tool = markdown(f"prun_review {facts.get('version') or ''}".strip())
    tree = markdown(view.revision(document))
    yield from ("", f"{tool}, run {code(run)}, each asked {times}; {tree}.")
    again = code(f"prun-review report {run} --format adr")
    yield f"{again} makes this page again from the stored answers; asked anew, a model can answer otherwise."
