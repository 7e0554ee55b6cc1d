"""Wave documents for the tests of their reports, made by the engine."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from prun_review.model import Usage
from prun_review.tasks import Conflict, Course, Integration, Manifest, Problem
from prun_review.wavedocument import Facts, build
from prun_review.written import Breach, Check, Claim
from tests.waves.coursekit import Play, Script, begun, manifest, patch, task

CONTRACTS = ("contracts/types.py", "contracts/api-schema.yaml")
OF = replace(
    manifest(
        task("001-users", 1, title="Users", contracts=CONTRACTS),
        task("002-shop", 1),
        task("003-orders", 2, "001-users"),
        validation={1: "pytest -q tests"},
        panel=[2],
    ),
    name="shop",
    sources={"prd": "docs/prd.md", "tech_spec": "docs/TS-0001.md"},
)
USERS = "task-001-users"
WHOLE = Integration("whole", "prun/1", "a" * 40, (), (Check("ruff check .", 0), Check("mypy src", 0)))
FACTS = Facts(
    "20261130-080000-ab12",
    1_796_000_000.0,
    1_796_000_060.5,
    usage={"codex": Usage(120_000, 0, 900, 0.5)},
    logs={USERS: "logs/task-001.log"},
)


def played(script: Script, of: Manifest = OF) -> Course:
    return Play(begun(of), script, Random(1)).run()


def document(integration: Integration | None = WHOLE) -> dict[str, Any]:
    """A run in which everything went well."""
    course = played(Script())
    held = replace(
        course.outcomes[USERS],
        checks=(Check("pytest -q", 0, "", 3.0, "ok", True),),
        claim=Claim(True, (), 3, 3, 0),
    )
    return build(
        replace(course, outcomes={**course.outcomes, USERS: held}), replace(FACTS, integration=integration)
    )


def broken() -> dict[str, Any]:
    """A run with one of everything that can go wrong."""
    script = Script({"task-002-shop": ["verify"]}, clashes={USERS: 1}, panels={2: "FAIL"})
    course = played(script)
    shop, users = course.outcomes["task-002-shop"], course.outcomes[USERS]
    shop = replace(
        shop,
        message="its check failed",
        checks=(
            Check("pytest -q", 1, "", 65.0, "E   assert 1 == 2\n1 failed"),
            Check("slow", None, "timeout"),
        ),
        claim=Claim(True, (), 3, 3, 0, True),
        patch=replace(
            patch("src/shop.py", "etc/x"),
            breaches=(Breach("outside-scope", "etc/x", "etc/x is not in its scope"),),
            kept="/home/ann/.cache/copies/2",
        ),
    )
    users = replace(users, patch=patch("parallel/TS-0001-shop/contracts/types.py", "src/users.py"))
    course = replace(course, outcomes={**course.outcomes, shop.task: shop, USERS: users})
    conflict = Conflict("task-003-orders", ("src/a.py", "src/b.py"), "<<<<<<<", others=(USERS,))
    whole = Integration("conflicts", "prun/1", "a" * 40, (conflict,), (Check("mypy src", 2),))
    problems = (
        Problem("warning", "wrong-count", "manifest.json", 3, "4 tasks are promised"),
        Problem("error", "scope-overlap", "tasks/task-002.md", None, "two tasks create src/a.py"),
    )
    return build(course, replace(FACTS, integration=whole, problems=problems))
