"""Plans, results and facts for property tests: mostly fitting each other, and sometimes not."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from prun_review.answers import STATUSES
from prun_review.model import SEVERITIES, Policy, Result, Unit, Violation
from tests.gate_situations import ASKS, MINI, PANELS, TWO_OF_EACH
from tests.gatekit import LEAK, PERHAPS, SQL, SQL_REWORDED, STYLE, choose, result, unit

UNITS = (*TWO_OF_EACH, unit("codex", repeat=2), MINI, *ASKS)
FOUND = st.lists(
    st.builds(
        replace,
        st.sampled_from([SQL, SQL_REWORDED, LEAK, PERHAPS, STYLE]),
        severity=st.sampled_from([*SEVERITIES, "blocker"]),
        grounding=st.sampled_from(["exact", "exact", "ungrounded"]),
    ),
    max_size=3,
)


@st.composite
def some_results(draw: st.DrawFn) -> tuple[tuple[Unit, ...], list[Result]]:
    """A plan and results that mostly fit it."""
    units = tuple(draw(st.lists(st.sampled_from(UNITS), unique=True, max_size=6)))
    results = []
    for u in units:
        made = choose(u, draw(st.sampled_from(["jsonl", "sqlite"]))) if u in ASKS else result(u, *draw(FOUND))
        fate = draw(st.sampled_from(["as-is"] * 6 + ["absent", "twice", "status", "executor", "salvage"]))
        if fate == "status":
            made = replace(made, status=draw(st.sampled_from([*STATUSES, "odd"])))
        elif fate == "executor":
            made = replace(made, executor="ruff")
        elif fate == "salvage":
            made = replace(made, salvage=(Violation("lost-finding", "", "gone"),))
        results += [] if fate == "absent" else [made, made] if fate == "twice" else [made]
    if draw(st.integers(0, 9)) == 0:
        results.append(result(unit("bandit")))
    return units, results


FACTS = st.fixed_dictionaries(
    {
        "stopped": st.sampled_from(["", "", "", "-x"]),
        "folders": st.dictionaries(
            st.sampled_from(sorted(PANELS)),
            st.builds(
                Policy,
                mode=st.sampled_from(["enforce", "enforce", "report"]),
                rule=st.sampled_from(["consensus", "single"]),
                block=st.sampled_from(SEVERITIES),
            ),
            min_size=1,
        ),
    }
)
