"""Words around a run: the line before the first dispatch, and the reports after the last."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from prun_review import rundir
from prun_review.config import Config
from prun_review.errors import PrunError, RunDirError
from prun_review.independence import dependence
from prun_review.model import ExecutorInfo, Plan
from prun_review.ports import Executor, Renderer
from prun_review.renderers.escape import one_line, plain
from prun_review.renderers.terminal import ALL, Terminal
from prun_review.verdict import number

LINE = 1000
"""Columns of a place at most."""


def trouble(error: PrunError) -> str:
    """An error for people, inert: file names, revisions and what git says stand in it.

    It keeps its lines, and all but the first are indented, so that a line end in a name cannot begin
    a line of somebody else's.
    """
    place = f"{one_line(error.place, LINE)}: " if error.place else ""
    lines = plain(place + error.message).splitlines()
    lines += plain(f"remedy: {error.remedy}").splitlines() if error.remedy else []
    return "\n".join([*lines[:1], *(f"  {line.strip()}" for line in lines[1:] if line.strip())])


def announcement(
    plan: Plan,
    executors: Mapping[str, Executor],
    files: int | None,
    broken: Collection[str] = (),
    *,
    of: str = "case",
) -> str:
    """How many units go to whom, about which files; the last line before anything is spent.

    ``broken``: ids of units whose brief is broken; they go to nobody.  ``of``: what their cases are.
    """
    unsent = sum(unit.id in broken for unit in plan.units)
    unsent_text = f"{unsent} broken, not sent"
    plan = sendable(plan, broken)
    if not plan.units:
        return unsent_text
    cases = len({unit.case for unit in plan.units})
    by_name: dict[str, int] = {}
    for unit in plan.units:
        by_name[unit.executor] = by_name.get(unit.executor, 0) + 1
    told = []
    for name, count in sorted(by_name.items()):
        executor = executors.get(name)
        kind = (
            f"{executor.vendor}, paid" if executor and executor.paid else "local" if executor else "unknown"
        )
        told.append(f"{count} to {name} ({kind})")
    named = sorted({name for unit in plan.units for name in unit.files})
    about = ", ".join(one_line(name) for name in named[:3]) + (
        f" and {len(named) - 3} more" if len(named) > 3 else ""
    )
    sizes = f"{number(len(plan.units), 'unit')} of {number(cases, of)}"
    text = f"{sizes}: {'; '.join(told)}; about {about or 'the whole tree'}"
    text += f"; {unsent_text}" if unsent else ""
    text = plain(text)
    return text if files is None else f"{text}; each can read the tree's {number(files, 'file')}"


def sendable(plan: Plan, broken: Collection[str]) -> Plan:
    """The plan without the units of these ids."""
    return replace(plan, units=tuple(unit for unit in plan.units if unit.id not in broken))


def cost_range(plan: Plan, executors: Mapping[str, Executor], root: Path) -> list[str]:
    """A line per paid executor: what its units may cost, from what earlier runs were billed."""
    billed = rundir.costs(root)
    lines = []
    for name in sorted({unit.executor for unit in plan.units}):
        if name not in executors or not executors[name].paid:
            continue
        count = sum(unit.executor == name for unit in plan.units)
        known = billed.get(name)
        if known:
            low, high = min(known) * count, max(known) * count * 2
            lines.append(
                f"{name}: {number(count, 'unit')}, ${low:.2f} to ${high:.2f} "
                f"(from {number(len(known), 'earlier unit')}; the upper end counts one re-ask each)"
            )
        else:
            lines.append(
                f"{name}: {number(count, 'unit')}, at most {2 * count} dispatches; cost not estimable: "
                "no earlier run was billed in money"
            )
    return lines or ["nothing of this is paid"]


def examination_range(plan: Plan, executors: Mapping[str, Executor], root: Path, config: Config) -> list[str]:
    """What the second wave may add at most: questions, units and cost; a line per executor it may ask."""
    if config.cross_examine == "off":
        return []
    off = "--prun-cross-examine off leaves it out"
    used = {unit.executor: executors[unit.executor] for unit in plan.units if unit.executor in executors}
    infos = {name: ExecutorInfo(name, e.vendor, e.lineage, e.paid) for name, e in used.items()}
    able = sorted(name for name, e in used.items() if "examination" in e.contracts)
    asking = [n for n in able if any(not dependence(infos[n], info) for info in infos.values())]
    findings = any(unit.brief.contract.kind == "findings" for unit in plan.units)
    if not (findings and asking and config.examine_limit):
        return []
    limit = config.examine_limit
    first, second = rundir.costs(root), rundir.costs(root, examined=True)
    lines = [f"cross-examination ({config.cross_examine}): at most {number(limit, 'question')} more; {off}"]
    for name in asking:
        known = second.get(name) or first.get(name)
        upper = "cost not estimable: no earlier run was billed in money"
        if known:
            kind = "earlier question" if name in second else "earlier unit"
            upper = f"${max(known) * limit * 2:.2f} at most (from {number(len(known), kind)}"
            upper += "; counts one re-ask each)"
        upper = upper if used[name].paid else "nothing of this is paid"
        lines.append(f"{name}: at most {number(limit, 'question')}, {upper}")
    return lines


def write_reports(
    root: Path,
    store: rundir.RunDir,
    document: Mapping[str, Any],
    renderers: Mapping[str, Renderer],
    wanted: Sequence[str],
    detail: int = ALL,
) -> str:
    """Write every wanted report and give the terminal text, as long as ``detail`` says.

    A report that fails is told, not hidden.
    """
    files: dict[str, str] = {}
    extra: list[str] = []
    for entry in wanted:
        name, _, path = entry.partition(":")
        renderer = renderers[name]
        text = renderer(document)
        files[f"report{renderer.suffix}"] = text
        if path:
            extra += _write_to(root / path, text)
    try:
        folder = rundir.publish(root, store.path.name, files)
        extra.insert(0, f"reports: {_short(folder, root)}/ ({', '.join(sorted(files))}), also reports/latest")
    except RunDirError as error:
        extra.insert(0, f"the reports could not be written: {error}")
    extra.append(f"answers and logs: {_short(store.path, root)}/units/")
    return Terminal(extra=extra, detail=detail)(document)


def _write_to(path: Path, text: str) -> list[str]:
    try:
        rundir.write_file(path, text)
    except RunDirError as error:
        return [f"{path} could not be written: {error}"]
    return [f"report: {path}"]


def _short(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
