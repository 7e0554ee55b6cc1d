"""Records for the tests of cross-check, gate and document: short words for real records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from prun_review.consensus import Group, cross
from prun_review.gate import decide
from prun_review.model import (
    Acceptance,
    Answer,
    Brief,
    Carried,
    ChangedFile,
    Choice,
    Contract,
    ExecutorInfo,
    Finding,
    Findings,
    Header,
    Plan,
    Result,
    Revision,
    RunFacts,
    Score,
    Unit,
    Usage,
    Verdict,
    Violation,
)
from prun_review.policy import Policy

FOLDER = "panels/security"
CASE = f"{FOLDER}/probe_shop.py::probe_injection[auth]"
HEADER = Header("done", "src/auth.py", "none", "read")

EXECUTORS = {
    name: ExecutorInfo(name, vendor, lineage, paid)
    for name, vendor, lineage, paid in (
        ("codex", "openai", "gpt", True),
        ("sonnet", "anthropic", "claude", True),
        ("mini", "openai", "gpt-mini", True),
        ("proxy", "reseller", "claude", True),
        ("ruff", "astral", "pyflakes", False),
        ("pylint", "pylint-dev", "pylint", False),
        ("bandit", "pycqa", "bandit", False),
        ("nameless", "", "", False),
    )
}

SQL = Finding(
    "SQL injection in find_user",
    "The user name is put into the SQL query by string formatting.",
    "src/auth.py",
    12,
    12,
    "critical",
    "security",
    grounding="exact",
)
SQL_REWORDED = replace(
    SQL,
    title="User name reaches the SQL query unescaped",
    detail="find_user builds the query by string formatting, so a name can inject SQL.",
    line=13,
    end_line=13,
)
PERHAPS = replace(
    SQL,
    title="Unchecked name in the database layer",
    detail="Escaping of this parameter cannot be seen anywhere near.",
)
"""Near SQL and of its category, in other words: uncertain."""
LEAK = Finding(
    "File handle is never closed",
    "An exception between open and close leaks the descriptor.",
    "src/store.py",
    80,
    82,
    "high",
    "resource",
    grounding="exact",
)
STYLE = Finding(
    "Unused import os", "The module os is never referenced.", "src/cli.py", 3, 3, "low", grounding="exact"
)


def unit(executor: str, case: str = CASE, repeat: int = 1, contract: Contract | None = None) -> Unit:
    """A unit of a case; its folder is what stands before the file."""
    id = f"{case[:-1]}-{executor}]" if case.endswith("]") else f"{case}[{executor}]"
    id += f"#{repeat}" if repeat > 1 else ""
    slug = "".join(c if c.isalnum() else "-" for c in id)
    brief = Brief("Audit src/auth.py for injection defects.\n\nQuote the line.", contract or Contract())
    folder = case.partition("/probe_")[0]
    return Unit(id, slug, case, folder, executor, brief, "panels/probe.py:5", repeat, fingerprint="f00d")


def result(of: Unit, *findings: Finding, **fields: Any) -> Result:
    """A valid result of a unit, with what it found; ``fields`` change it."""
    given = Findings(
        replace(f, id=f.id or f"{of.slug}#{n}") for n, f in enumerate(findings, start=1)
    )  # as judging does it
    answer = Answer(HEADER, "comment", ("src/auth.py",), given)
    base = Result(
        of.id, of.slug, of.case, of.folder, of.executor, "valid", repeat=of.repeat, answer=answer,
        usage=Usage(100, 0, 10, 0.5), attempts=1, seconds=2.0, fingerprint=of.fingerprint,
    )  # fmt: skip
    return replace(base, **fields)


def choose(of: Unit, option: str, *scores: Score) -> Result:
    """A valid result that chooses an option."""
    ranking = (option, *(o for o in of.brief.contract.options if o != option))
    return result(of, answer=Answer(HEADER, choice=Choice(option, ranking, scores, 0.7, "a benchmark")))


def lost(of: Unit, status: str = "failed", reason: str = "timeout") -> Result:
    """A result without an answer."""
    return result(of, status=status, reason=reason, message=f"{of.executor}: {reason}", answer=None)


def broken(of: Unit, *findings: Finding) -> Result:
    """An answer that violates its contract; with ``findings`` it says something all the same."""
    violation = Violation("not-json", "", "a comma is missing at line 3")
    given = result(of, *findings, status="broken", reason="contract", violations=(violation,))
    return given if findings else replace(given, answer=None)


def facts(**fields: Any) -> RunFacts:
    """Facts of a run of all executors with the default policy for :data:`FOLDER`."""
    base = RunFacts(
        "20261129T120000Z-ab12", 1_796_000_000.0, 1_796_000_060.5, "0.1.0", tuple(EXECUTORS.values()),
        folders={FOLDER: Policy()},
    )  # fmt: skip
    return replace(base, **fields)


DIGEST = "sha256:" + "ab" * 32
"""Of what a change made of the review itself."""


def changed(*paths: str, status: str = "modified", kind: str = "text") -> dict[str, Any]:
    """Fields of facts: a change of these files is reviewed."""
    files = tuple(ChangedFile(p, "" if status == "added" else p, status, kind, 3, 1) for p in paths)
    revision = Revision("c" * 40, "7" * 40, files=9, base="b" * 40, merge_base="a" * 40, head="c" * 40)
    return {"change": files, "revision": revision}


def outage(executor: str = "codex", **fields: Any) -> Acceptance:
    """A person answers for an executor that is away."""
    return replace(Acceptance("outage", executor, "Ada", "status page", "2026-12-05"), **fields)


def review_change(digest: str = DIGEST, **fields: Any) -> Acceptance:
    """A person answers for a change of the review itself."""
    return replace(Acceptance("review-change", digest, "Ada", "asks more"), **fields)


def carry(*findings: Finding, outcome: str = "FAIL", folder: str = FOLDER, run: str = "r1") -> Carried:
    """A blocker of an earlier run."""
    first = findings[0]
    place = f"{first.file}:{first.line}"
    return Carried(run, "u#1", first.severity, first.title, place, outcome, folder, findings)


def about(of: Unit, *files: str, reads: tuple[str, ...] = (), scope: str = "diff") -> Unit:
    """The unit as one about these files."""
    return replace(of, files=files, brief=replace(of.brief, reads=reads or files, scope=scope))


def groups_of(results: Sequence[Result]) -> dict[str, tuple[Group, ...]]:
    """The groups of every case."""
    cases: dict[str, list[Result]] = {}
    for r in results:
        cases.setdefault(r.case, []).append(r)
    return {case: cross(found, EXECUTORS).groups for case, found in cases.items()}


def verdict(
    units: Sequence[Unit],
    results: Sequence[Result],
    *,
    plan: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Verdict:
    """What the gate says of these results; ``fields`` change the facts, ``plan`` the plan."""
    made = Plan(tuple(units), **(plan or {}))
    return decide(facts(**fields), made, results, groups_of(results))
