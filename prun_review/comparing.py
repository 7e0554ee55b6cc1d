"""Two run documents side by side: what is new, what is fixed, what flipped, who changed their mind.  Pure.

    schema_version  1
    a, b            {run_id, started, commit, tree}: the earlier run and the later one
    verdict         {before: {outcome, line}, after: {outcome, line}}
    coverage        {before: {units, answered, cases, cases_independent, uncovered}, after: {...}}
    policy          [{folder, key, before, after}]: what differs; null where a folder was not asked
    not_comparable  [{case, folder, why, before, after}]: with the findings that each run holds there
    findings        {new, fixed: [finding], flipped: [{before, after, changes, how}],
                     same: [{before, after, how}], perhaps: [{before, after, why}],
                     unclear: [{run: "a" or "b", finding, why}]}
    choices         [{case, question, winner: {before, after}, unchanged: [executor], changed: [change]}]
                    change: {executor, before, after, confidence: {before, after}, would_change_mind,
                    reasons: [{option, criterion, before: {score, reason} or null, after: ...}]}
    notes           what else a reader must know, in words

A finding is ``{id, case, folder, class, severity, outcome, title, file, line, executors, fingerprint}``; the
schema is ``schemas/compare.json``.

Only what could have been found is called fixed (or new): everybody who holds it in the one run gave sound
answers to that case in the other, and where that one reviewed a change, its file is part of it.  The rest
is ``unclear``, and a case that no executor answered soundly in both runs is not comparable at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prun_review.choicecompare import choices
from prun_review.consensus import Group
from prun_review.findingrows import group_of
from prun_review.model import Finding
from prun_review.tracking import Defect, track

SCHEMA_VERSION = 1
COVERAGE = ("units", "answered", "cases", "cases_independent")
CHANGES = ("class", "severity", "outcome")
"""What of a finding that is there still may flip."""

Document = Mapping[str, Any]
Row = Mapping[str, Any]


def compare(a: Document, b: Document, *, renames: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The comparison of an earlier document with a later one; ``renames`` are old names of files with what
    they became in between.  ``ValueError`` for what is no document."""
    sides = _Side(a, renames or {}), _Side(b, {})
    common = frozenset(case for case in sides[0].cases | sides[1].cases if not _apart(case, sides))
    return {
        "schema_version": SCHEMA_VERSION,
        "a": _run(a),
        "b": _run(b),
        "verdict": {"before": _verdict(a), "after": _verdict(b)},
        "coverage": {"before": _coverage(a), "after": _coverage(b)},
        "policy": list(_policy(a, b)),
        "not_comparable": list(_not_comparable(sides)),
        "findings": _findings(sides, common),
        "choices": choices(a, b, common),
        "notes": list(_notes(sides, common)),
    }


class _Side:
    """One of the two runs."""

    def __init__(self, document: Document, renames: Mapping[str, str]) -> None:
        self.document = document
        self.rows: Sequence[Row] = document["findings"]
        self.groups = [_renamed(group_of(row), renames) for row in self.rows]
        self.case_rows: dict[str, Row] = {row["case"]: row for row in document["cases"]}
        self.cases = set(self.case_rows)
        asked: dict[str, dict[str, bool]] = {}
        for unit in document["units"]:
            names = asked.setdefault(unit["case"], {})
            names[unit["executor"]] = names.get(unit["executor"], True) and _sound(unit)
        self.heard = {case: {n for n, sound in names.items() if sound} for case, names in asked.items()}
        """Case -> who gave a sound answer whenever asked."""
        change = document.get("change")
        self.changed: set[str] | None = None
        if change:
            self.changed = {f[key] for f in change["files"] for key in ("path", "old_path")}


def _sound(unit: Row) -> bool:
    lost = any(entry["code"] == "lost-finding" for entry in unit["salvage"])
    return unit["status"] == "valid" and not unit["violations"] and not lost


def _renamed(group: Group, renames: Mapping[str, str]) -> Group:
    def now(finding: Finding) -> Finding:
        mapped = finding.mapped
        if mapped and mapped.file in renames:
            mapped = replace(mapped, file=renames[mapped.file])
        return replace(finding, file=renames.get(finding.file or "", finding.file), mapped=mapped)

    if not renames:
        return group
    return replace(group, members=tuple(replace(m, finding=now(m.finding)) for m in group.members))


def _apart(case: str, sides: tuple[_Side, _Side]) -> str:
    """Why a case cannot be compared; empty where it can."""
    for side, name in zip(sides, ("first", "second"), strict=True):
        if not side.heard.get(case):
            asked = "nobody gave a sound answer" if case in side.heard else "nobody was asked"
            return f"{asked} in the {name} run"
    kinds = {side.case_rows[case]["contract"] for side in sides}
    if len(kinds) > 1:
        return "it was another kind of question"
    if not sides[0].heard[case] & sides[1].heard[case]:
        return "no executor gave sound answers in both runs"
    return ""


# --- the runs as a whole ----------------------------------------------------------------------


def _run(document: Document) -> dict[str, Any]:
    revision = document["revision"]
    return {
        "run_id": document["run_id"],
        "started": document["started"],
        "commit": revision["commit"],
        "tree": revision["tree"],
    }


def _verdict(document: Document) -> dict[str, str]:
    verdict = document["verdict"] or {"outcome": "INCOMPLETE", "line": "INCOMPLETE (unfinished)"}
    return {"outcome": verdict["outcome"], "line": verdict["line"]}


def _coverage(document: Document) -> dict[str, int | None]:
    counts = (document["verdict"] or {}).get("counts", {})
    change = document.get("change")
    return {
        **{key: counts.get(key) for key in COVERAGE},
        "uncovered": len(change["uncovered"]) if change else None,
    }


def _policy(a: Document, b: Document) -> Iterator[dict[str, Any]]:
    old, new = (document.get("policy") or {} for document in (a, b))
    for folder in sorted({*old, *new}):
        was, now = old.get(folder, {}), new.get(folder, {})
        for key in dict.fromkeys((*was, *now)):
            before, after = (side[key]["value"] if key in side else None for side in (was, now))
            if before != after:
                yield {"folder": folder, "key": key, "before": before, "after": after}


def _not_comparable(sides: tuple[_Side, _Side]) -> Iterator[dict[str, Any]]:
    for case in sorted(sides[0].cases | sides[1].cases):
        why = _apart(case, sides)
        if why:
            row = next(side.case_rows[case] for side in sides if case in side.case_rows)
            before, after = (sum(g.case == case for g in side.groups) for side in sides)
            yield {"case": case, "folder": row["folder"], "why": why, "before": before, "after": after}


def _notes(sides: tuple[_Side, _Side], common: Collection[str]) -> Iterator[str]:
    for case in sorted(common):
        before, after = (side.case_rows[case]["question"] for side in sides)
        if before != after:
            yield f"the question of {case} is another one: {before!r} before, {after!r} after"
    whats = ["a change" if side.changed is not None else "a whole tree" for side in sides]
    if len(set(whats)) > 1:
        yield f"the first run reviewed {whats[0]}, the second {whats[1]}"


# --- findings ---------------------------------------------------------------------------------


def _findings(sides: tuple[_Side, _Side], common: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    old, new = ([n for n, g in enumerate(side.groups) if g.case in common] for side in sides)
    tracks = track([_defect(sides[0].groups[n]) for n in old], [_defect(sides[1].groups[n]) for n in new])
    found: dict[str, list[dict[str, Any]]] = {
        key: [] for key in ("new", "fixed", "flipped", "same", "perhaps", "unclear")
    }

    def pair(i: int, j: int) -> dict[str, Any]:
        return {"before": _told(sides[0].rows[old[i]]), "after": _told(sides[1].rows[new[j]])}

    for j, at in enumerate(new):
        if j in tracks.found:
            i, how = tracks.found[j]
            both = pair(i, j)
            changes = [key for key in CHANGES if both["before"][key] != both["after"][key]]
            if changes:
                silent = _silent(sides, sides[0].groups[old[i]], sides[1].groups[at])
                found["flipped"].append({**both, "changes": changes, "how": "; ".join((how, *silent))})
            else:
                found["same"].append({**both, "how": how})
        elif j in tracks.perhaps:
            found["perhaps"].append({**pair(tracks.perhaps[j].old, j), "why": tracks.perhaps[j].how})
        else:
            _once(found, "new", "b", sides[1].rows[at], _unheard(sides[1].groups[at], sides[0], "first"))
    maybe = {t.old for t in tracks.perhaps.values()}
    for i, at in enumerate(old):
        if i not in tracks.seen and i not in maybe:
            _once(found, "fixed", "a", sides[0].rows[at], _unheard(sides[0].groups[at], sides[1], "second"))
    told = {t.old for t in tracks.found.values()}
    for i, j in sorted(tracks.seen.items()):
        if i not in told:  # what were two is one now
            found["same"].append({**pair(i, j), "how": "one finding with another by now"})
    return found


def _once(found: Mapping[str, list[dict[str, Any]]], kind: str, run: str, row: Row, why: str) -> None:
    """A finding of one run only: new or fixed, where the other run could have held it."""
    if why:
        found["unclear"].append({"run": run, "finding": _told(row), "why": why})
    else:
        found[kind].append(_told(row))


def _silent(sides: tuple[_Side, _Side], before: Group, after: Group) -> Iterator[str]:
    """Who of those that held a finding was not heard in the other run, which may be all that flipped it."""
    for group, other, name in ((before, sides[1], "second"), (after, sides[0], "first")):
        missing = [n for n in group.executors if n not in other.heard[group.case]]
        if missing:
            yield f"{', '.join(missing)} gave no sound answer in the {name} run"


def _unheard(group: Group, other: _Side, name: str) -> str:
    """Why the other run could not have held a finding; empty where it could."""
    if group.kind == "ungrounded":
        return "the tree did not hold what it says"
    missing = [n for n in group.executors if n not in other.heard[group.case]]
    if missing:
        return f"{', '.join(missing)}, who held it, gave no sound answer in the {name} run"
    lead = group.lead
    places = {lead.file, lead.mapped.file if lead.mapped else lead.file}
    if other.changed is not None and lead.file and not places & other.changed:
        return f"its file is no part of the change that the {name} run reviewed"
    return ""


def _defect(group: Group) -> Defect:
    members = tuple(m.finding for m in group.members)
    return Defect(group.case, members, comparable=group.kind != "ungrounded")


def _told(row: Row) -> dict[str, Any]:
    keys = ("id", "case", "folder", *CHANGES, "title", "file", "line", "executors")
    return {**{key: row[key] for key in keys}, "fingerprint": row.get("fingerprint", "")}
