"""The wave document for a terminal: what became of every task, what was lost, and the word for it all."""

from __future__ import annotations

from collections.abc import Iterator

from prun_review.renderers import waveview as view
from prun_review.renderers.layout import Page
from prun_review.renderers.waveactions import next_steps
from prun_review.renderers.waveview import Document, Row


def render(document: Document, width: int = 80) -> str:
    """A page of ``width`` columns, at least 40.

    ``document`` is in full shape, as :func:`prun_review.wavedocument.read` gives it.
    """
    page = Page(max(width, 40))
    _head(document, page)
    for part in (_tasks, _waves, _lost, _notes, _integration, _usage, _problems, _next):
        part(document, page)
    page.section(view.tally(document))
    page.line(f"STATUS: {_word(document)}", 0)
    return page.text()


def _word(document: Document) -> str:
    status = document["status"].upper()
    if document["status"] == "running" and document["finished"]:
        return "FAILED (it has an end and is not over)"
    why = document["stopped"] if document["status"] == "stopped" else ""
    return f"{status}{f' ({why})' if why else ''}"


def _head(document: Document, page: Page) -> None:
    manifest = document["manifest"]
    page.short(f"{document['directory']} ({document['run_id']})", 0, "WAVES  ")
    named = " ".join(filter(None, (manifest["spec"], manifest["name"])))
    base, head = (document[key][:12] for key in ("base", "head"))
    told = [named, f"base {base}" * bool(base), f"head {head}" * bool(head)]
    told += [f"began {document['started']}", f"ended {document['finished']}" if document["finished"] else ""]
    page.line("; ".join(filter(None, told)), 0)


def _tasks(document: Document, page: Page) -> None:
    page.section("TASKS")
    header = ["wave", "task", "status", "executor", "time", "changed", "checks", "why"]
    rows = [_row(task) for task in document["tasks"]]
    # A column that says one thing everywhere takes the room of those that say more.
    told = [{row[n] for row in rows} - {""} for n in range(len(header))]
    kept = [n for n, words in enumerate(told) if n < 3 or len(words) > (header[n] == "executor")]
    if rows:
        page.table([header[n] for n in kept], [[row[n] for n in kept] for row in rows])


def _row(task: Row) -> list[str]:
    good = sum(view.passed(check) for check in task["checks"])
    return [
        str(task["wave"]),
        task["id"],
        task["status"].replace("-", " "),
        task["executor"],
        view.lasted(task["seconds"]) if task["attempts"] else "",
        view.lines(task),
        f"{good}/{len(task['checks'])}" if task["checks"] else "",
        view.why(task),
    ]


def _waves(document: Document, page: Page) -> None:
    page.section("WAVES")
    for wave in document["waves"]:
        why = f" ({wave['reason']})" if wave["reason"] not in ("", "ok") else ""
        page.line(f"{wave['number']}: {wave['status'].replace('-', ' ')}{why}")
        for line in _proofs(wave):
            page.line(line, 4)
        if wave["validation"]:
            _said(wave["validation"], page)
        for review in wave["reviews"]:
            _found(review, page)


def _said(check: Row, page: Page) -> None:
    for line in view.tail(check):
        page.line(f"| {line}", 6, 400)


def _found(review: Row, page: Page) -> None:
    for text in review["findings"]:
        page.line(text, 6, 400)
    if review["report"]:
        page.whole(f"its report: {review['report']}", 6)


def _proofs(wave: Row) -> Iterator[str]:
    if wave["names"]["validation"]:
        check = wave["validation"]
        yield f"validation {view.how(check) if check else 'not run'}: {wave['names']['validation']}"
    for review in wave["reviews"]:
        yield f"panel {review['outcome']} by run {review['run'] or 'none'}: {review['line']}"
    if wave["names"]["panel"] and not wave["reviews"]:
        yield f"panel not asked: {' '.join(wave['names']['panel'])}"


def _lost(document: Document, page: Page) -> None:
    lost = [task for task in document["tasks"] if view.lacking(task)]
    if lost:
        page.section("NOT DONE")
    for task in lost:
        page.line(f"{task['id']}: {view.lacking(task)}")
        for line in _particulars(task):
            page.line(line, 4, 800)
        for check in task["checks"]:
            if not view.passed(check):
                page.line(f"{view.how(check)}: {check['command']}", 4, 800)
                _said(check, page)
        if task["patch"] and task["patch"]["kept"]:
            page.whole(f"its copy is kept: {task['patch']['kept']}", 4)
        if task["log"]:
            page.whole(f"log: {task['log']}", 4)


def _particulars(task: Row) -> Iterator[str]:
    patch = task["patch"]
    for breach in patch["breaches"] if patch else ():
        yield f"breach [{breach['code']}] {breach['path']}: {breach['text']}"


def _notes(document: Document, page: Page) -> None:
    noted = [(task, note) for task in document["tasks"] for note in task["notes"]]
    if noted:
        page.section("NOTES")
    for task, note in noted:
        page.line(f"{task['id']}: {note}", 2, 800)


def _next(document: Document, page: Page) -> None:
    steps = [step for step in next_steps(document) if step.command]
    if steps and document["status"] != "running":
        page.section("NEXT")
        for step in steps:
            page.whole(f"{step.text}: {step.command}")


def _integration(document: Document, page: Page) -> None:
    whole = document["integration"]
    if not whole:
        return
    page.section("INTEGRATION")
    page.line(f"{whole['status']}: branch {whole['branch'] or 'none'}, head {whole['head'][:12] or 'none'}")
    for conflict in whole["conflicts"]:
        page.line(f"conflict of {conflict['task']} in {', '.join(conflict['paths'])}", 4)
    for check in whole["checks"]:
        page.line(f"{view.how(check)}: {check['command']}", 4)
        _said(check, page)
    if whole["message"]:
        page.line(whole["message"], 4)
    for row in document["again"]:
        page.line(f"{row['task']} was {view.redone(row)}", 4)
    for text in whole["unrun"]:
        page.line(f"not run on the whole: {text}", 4)
    if whole["applied"]:
        page.line(f"fetched into your repository as {whole['applied']}", 4)


def _usage(document: Document, page: Page) -> None:
    if not document["usage"]:
        return
    page.section("USAGE")
    header = ["executor", "tasks", "attempts", "time", "input tokens", "output", "cost"]
    rows = []
    for name, used in document["usage"].items():
        cost = used["cost_usd"]
        tokens = ["-" if used[key] is None else f"{used[key]:,}" for key in ("input_tokens", "output_tokens")]
        counts = [str(used["tasks"]), str(used["attempts"]), view.lasted(used["seconds"])]
        rows.append([name, *counts, *tokens, "not said" if cost is None else f"${cost:.4f}"])
    page.table(header, rows)


def _problems(document: Document, page: Page) -> None:
    if document["problems"]:
        page.section("PROBLEMS")
    for problem in document["problems"]:
        place = f"{problem['file']}:{problem['line']}" if problem["line"] else problem["file"]
        page.line(f"{place}: {problem['level']}: [{problem['code']}] {problem['text']}")
