"""``integration-report.md``: the sections that readers of ``cpo``'s reports know, from the wave document.

A mark says what was found and not what is hoped for: what no command and no panel looked at is
:data:`UNKNOWN`, never :data:`GOOD`.
"""

from __future__ import annotations

from collections.abc import Iterator

from prun_review.renderers import waveview as view
from prun_review.renderers.escape import code, fence, markdown
from prun_review.renderers.markup import page, table, title
from prun_review.renderers.waveactions import must_fix, next_steps, should_fix
from prun_review.renderers.waveview import Document, Row

GOOD, BAD, UNKNOWN = "✅", "❌", "⚠️"
OUTPUT = 4000
"""Characters of what a failed command said."""


def render(document: Document, generated: str = "") -> str:
    """The report; ``document`` as :func:`prun_review.wavedocument.read` gives it, ``generated`` is when."""
    parts = (_summary, _contracts, _boundaries, _spec, _tests, _actions, _next)
    return page([*_head(document, generated), *(line for part in parts for line in part(document))])


def _head(document: Document, generated: str) -> Iterator[str]:
    sources, spec = document["manifest"]["sources"], document["manifest"]["spec"]
    done, whole = view.put_together(document), document["integration"]
    yield from ("# Integration Report", "")
    yield f"**Generated**: {markdown(generated or document['finished'] or document['started'])}  "
    yield f"**Parallel Dir**: {code(document['directory'])}  "
    yield f"**Source PRD**: {code(sources.get('prd') or 'none')}  "
    where = sources.get("tech_spec") or ""
    named = " ".join(filter(None, (markdown(spec), f"({code(where)})" if where else "")))
    yield f"**Tech Spec**: {named or 'none'}  "
    yield f"**Tasks Integrated**: {len(done)} of {len(document['tasks'])}  "
    yield f"**Run**: {code(document['run_id'] or 'none')}, {markdown(document['status'])}  "
    if whole:
        onto = f" onto {code(whole['onto'][:12])}" if whole["onto"] else ""
        branch = f"{code(whole['branch'] or 'none')} at {code(whole['head'][:12] or 'none')}{onto}"
        yield f"**Branch**: {branch}, {markdown(whole['status'])}"
    else:
        yield "**Branch**: none, it was not put together yet"


def _summary(document: Document) -> Iterator[str]:
    yield from title("Summary")
    rows = [
        ["Branch Merge", *_merge(document)],
        ["Contract Compliance", *_contract_word(document)],
        ["Tech Spec Compliance", *_spec_word(document)],
        ["Boundary Violations", *_boundary_word(document)],
        *([kind, *_checked(document, kind)] for kind in (view.TESTS, view.TYPES, view.LINT)),
    ]
    if any(run.kind == view.OTHER for run in view.ran(document)):
        rows.append(["Other Checks", *_checked(document, view.OTHER)])
    yield from table(["Check", "Status", "Details"], rows)


def _merge(document: Document) -> tuple[str, str]:
    n, of, whole = len(view.put_together(document)), len(document["tasks"]), document["integration"]
    told = f"{n} of {of} tasks put together"
    conflicts = [c["task"] for c in whole["conflicts"]] if whole else []
    if conflicts:
        return BAD, f"{told}; conflicts: {markdown(', '.join(conflicts))}"
    if n < of or not n:
        return BAD, told
    if whole and whole["status"] != "whole":
        return BAD, f"{told}; {markdown(whole['message'] or whole['status'])}"
    return GOOD, told


def _contract_word(document: Document) -> tuple[str, str]:
    changed = view.touched_contracts(document)
    if changed:
        return BAD, f"{len(changed)} changed by a task that was to keep to them"
    return UNKNOWN, "none was changed; that the code keeps to them was not checked"


def _spec_word(document: Document) -> tuple[str, str]:
    reviews, missing = list(view.reviews(document)), view.unreviewed(document)
    bad = [review for _, review in reviews if review["outcome"] != "PASS"]
    if bad:
        return BAD, f"{len(bad)} of {len(reviews)} reviews did not pass"
    if missing:
        return BAD, f"not reviewed: {_waves(missing)}"
    silent = view.unasked(document)
    if not reviews:
        return UNKNOWN, "no panel looked at anything"
    told = f"{len(reviews)} {'review' if len(reviews) == 1 else 'reviews'} passed"
    return (UNKNOWN, f"{told}; no panel looked at {_waves(silent)}") if silent else (GOOD, told)


def _waves(numbers: list[int]) -> str:
    return f"{'wave' if len(numbers) == 1 else 'waves'} {', '.join(map(str, numbers))}"


def _boundary_word(document: Document) -> tuple[str, str]:
    n = sum(1 for _ in view.breaches(document)) + len(view.wrong(document))
    if not n and not any(task["patch"] for task in document["tasks"]):
        return UNKNOWN, "no change was taken"
    return (BAD, f"{n} found") if n else (GOOD, "none")


def _checked(document: Document, kind: str) -> tuple[str, str]:
    runs = [run for run in view.ran(document) if run.kind == kind]
    bad = [run for run in runs if not run.ok]
    if not runs:
        return UNKNOWN, "no such command was run"
    told = f"{len(runs) - len(bad)} of {len(runs)} passed"
    if not bad and document["integration"] and all(run.where != view.WHOLE for run in runs):
        return UNKNOWN, f"{told}; none of it was run on the whole"
    return (BAD if bad else GOOD), told


def _contracts(document: Document) -> Iterator[str]:
    yield from title("Contract Compliance")
    names = dict.fromkeys(name for task in document["tasks"] for name in task["contracts"])
    changed = {name: task for task, name in view.touched_contracts(document)}
    interfaces = [n for n in names if n.lower().endswith((".yaml", ".yml", ".json", ".graphql", ".proto"))]
    for heading, mine in (
        ("API Endpoints", interfaces),
        ("Type Definitions", [n for n in names if n not in interfaces]),
    ):
        yield from title(heading, 3)
        if not mine:
            yield "No task names a contract of this kind."
        for name in mine:
            users = [t["short"] for t in document["tasks"] if name in t["contracts"]]
            task = changed.get(name)
            mark = BAD if task else UNKNOWN
            told = (
                f"not changed; {', '.join(users)} {'was' if len(users) == 1 else 'were'} told to keep to it"
            )
            said = f"changed by {task['short']}" if task else told
            yield f"- {mark} {code(name)}: {markdown(said)}"


def _boundaries(document: Document) -> Iterator[str]:
    yield from title("Boundary Violations")
    found, wrong = list(view.breaches(document)), view.wrong(document)
    if not found and not wrong:
        yield f"{' '.join(_boundary_word(document))}."
        return
    yield from (f"- {BAD} {markdown(text)}" for text in wrong)
    if wrong and found:
        yield ""
    if not found:
        return
    rows = [
        [code(t["short"]), code(b["code"]), code(b["path"] or "-"), markdown(b["text"])] for t, b in found
    ]
    yield from table(["Task", "Kind", "File", "What"], rows)


def _spec(document: Document) -> Iterator[str]:
    yield from title("Tech Spec Compliance")
    mark, told = _spec_word(document)
    yield f"{mark} {told}."
    rows = [
        [
            str(number),
            _mark(review["outcome"] == "PASS"),
            markdown(review["line"]),
            markdown(", ".join(review["authors"])),
            code(review["run"] or "none"),
        ]
        for number, review in view.reviews(document)
    ]
    if rows:
        yield ""
        yield from table(["Wave", "Status", "Verdict", "Written by", "Run"], rows)


def _mark(good: bool) -> str:
    return GOOD if good else BAD


def _tests(document: Document) -> Iterator[str]:
    yield from title("Test Results")
    runs = view.ran(document)
    if not runs:
        yield f"{UNKNOWN} No command was run on what was written."
    else:
        rows = [
            [
                _mark(run.ok),
                markdown(run.where),
                run.kind,
                code(run.check["command"]),
                markdown(view.how(run.check)),
                view.lasted(run.check["seconds"]),
                "yes" if run.check["contained"] else "no",
            ]
            for run in runs
        ]
        yield from table(["Status", "On", "Kind", "Command", "Result", "Time", "Contained"], rows)
    if unrun := view.unrun(document):
        yield from ("", "**Not run on the whole:**", "")
        yield from (f"- {UNKNOWN} {markdown(text)}" for text in unrun)
    for run in runs:
        if not run.ok and run.check["said"]:
            yield from ("", f"What {code(run.check['command'])} on {markdown(run.where)} said:", "")
            yield fence(run.check["said"][-OUTPUT:])
    yield from _claims(document)


def _claims(document: Document) -> Iterator[str]:
    """The workers' own word on tests, beside ours."""
    rows = [_claim(task) for task in document["tasks"] if task["claim"]]
    if rows:
        yield from ("", "What the workers say of their own tests, beside what was run here:", "")
        yield from table(["Task", "Run", "Passed", "Failed", "Here"], rows)


def _claim(task: Row) -> list[str]:
    said = [task["claim"][key] for key in ("tests_run", "tests_passed", "tests_failed")]
    good = sum(view.passed(check) for check in task["checks"])
    here = f"{good} of {len(task['checks'])} commands passed" if task["checks"] else "nothing was run"
    return [code(task["short"]), *("-" if n is None else str(n) for n in said), here]


def _actions(document: Document) -> Iterator[str]:
    yield from title("Action Items")
    for heading, items in (("Must Fix", must_fix(document)), ("Should Fix", should_fix(document))):
        yield from title(heading, 3)
        yield from (f"- [ ] {markdown(item)}" for item in items)
        if not items:
            yield "None."


def _next(document: Document) -> Iterator[str]:
    yield from title("Next Steps")
    for n, step in enumerate(next_steps(document), 1):
        yield f"{n}. {markdown(step.text)}{f': {code(step.command)}' if step.command else ''}"
