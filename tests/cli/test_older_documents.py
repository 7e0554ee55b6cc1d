"""``prun-review gate`` and ``report`` on runs of versions that knew of no change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prun_review import document, rundir
from prun_review.model import Plan
from tests.cli.driver import call
from tests.gate_situations import AGREED, CLEAN, PAIR
from tests.gatekit import facts
from tests.storekit import NOW, attempt

YOUNGER_FACTS = ("change", "alters", "alters_digest", "acceptances", "carried", "profile")
YOUNGER_FINDING = ("side", "cause", "placement", "origin", "outcome")
YOUNGER_MEMBER = ("side", "cause", "placement", "caused", "beside", "mapped")


def older(made: dict[str, Any]) -> dict[str, Any]:
    """A document without what reviews of changes added to it."""
    del made["change"]
    for key in ("base", "merge_base", "head"):
        del made["revision"][key], made["facts"]["revision"][key]
    for key in YOUNGER_FACTS:
        del made["facts"][key]
    for policy in (made["facts"]["gate"], *made["facts"]["folders"].values()):
        del policy["uncovered"], policy["min_coverage"]
    for row in made["findings"]:
        for key in YOUNGER_FINDING:
            del row[key]
        for member in row["members"]:
            for key in YOUNGER_MEMBER:
                del member[key]
    return made


@pytest.mark.parametrize(("results", "line"), [(CLEAN, "PASS"), (AGREED, "FAIL (1 critical)")])
def test_an_older_run_is_judged_and_shown(tmp_path: Path, results: Any, line: str) -> None:
    store = rundir.create(tmp_path, now=NOW)
    plan, run = Plan(PAIR), facts(run_id=store.id)
    store.write_plan(plan)
    for unit, found in zip(PAIR, results, strict=True):
        attempt(store, unit)
        store.finish(found)
    made = older(document.build(run, plan, results))
    assert document.validate(made) == []
    store.write_document(made)
    store.close()
    status, out, _ = call("gate", "--json", cwd=tmp_path)
    assert (status, json.loads(out)["outcome"]) == (line != "PASS", line.split()[0])
    for form in ("terminal", "markdown", "json"):
        status, out, errors = call("report", "--format", form, cwd=tmp_path)
        assert (status, errors) == (0, "")
        assert line in out
