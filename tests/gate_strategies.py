"""Plans, results and facts for property tests: mostly fitting each other, and sometimes not."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from prun_review.answers import STATUSES
from prun_review.model import SEVERITIES, ChangedFile, Reason, Result, Revision, Unit, Violation
from prun_review.policy import Policy
from tests.gate_situations import ASKS, MINI, PANELS, TWO_OF_EACH
from tests.gatekit import (
    DIGEST,
    LEAK,
    PERHAPS,
    SQL,
    SQL_REWORDED,
    STYLE,
    about,
    carry,
    changed,
    choose,
    lost,
    outage,
    result,
    review_change,
    unit,
)

UNITS = (*TWO_OF_EACH, unit("codex", repeat=2), MINI, *ASKS)
PATHS = ("src/a.py", "docs/a.md", "docs/b.md")
REASONS = ("network", "quota-exhausted", "timeout", "stopped")
ACCEPTED = (
    outage(),
    outage("sonnet"),
    outage(expired=True),
    review_change(),
    review_change("sha256:" + "0" * 64),
)
CARRIED = (carry(SQL), carry(LEAK, outcome="INCOMPLETE"), carry(SQL, folder="panels/design"))
FOUND = st.lists(
    st.builds(
        replace,
        st.sampled_from([SQL, SQL_REWORDED, LEAK, PERHAPS, STYLE]),
        severity=st.sampled_from([*SEVERITIES, "blocker"]),
        grounding=st.sampled_from(["exact", "exact", "ungrounded"]),
        beside=st.sampled_from([False, False, True]),
        placement=st.sampled_from(["", "added", "outside", "pre-existing"]),
        caused=st.booleans(),
    ),
    max_size=3,
)


@st.composite
def some_results(draw: st.DrawFn) -> tuple[tuple[Unit, ...], list[Result]]:
    """A plan and results that mostly fit it."""
    units = tuple(draw(st.lists(st.sampled_from(UNITS), unique=True, max_size=6)))
    if draw(st.booleans()):
        files = draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=3))
        units = tuple(u if u in ASKS else about(u, *sorted(files)) for u in units)
    results = []
    for u in units:
        made = choose(u, draw(st.sampled_from(["jsonl", "sqlite"]))) if u in ASKS else result(u, *draw(FOUND))
        fate = draw(
            st.sampled_from(["as-is"] * 6 + ["absent", "twice", "status", "executor", "salvage", "away"])
        )
        if fate == "status":
            made = replace(made, status=draw(st.sampled_from([*STATUSES, "odd"])))
        elif fate == "executor":
            made = replace(made, executor="ruff")
        elif fate == "away":
            made = lost(u, draw(st.sampled_from(["failed", "not-run"])), draw(st.sampled_from(REASONS)))
        elif fate == "salvage":
            made = replace(made, salvage=(Violation("lost-finding", "", "gone"),))
        results += [] if fate == "absent" else [made, made] if fate == "twice" else [made]
    if draw(st.integers(0, 9)) == 0:
        results.append(result(unit("bandit")))
    return units, results


@st.composite
def quiet_results(draw: st.DrawFn) -> tuple[tuple[Unit, ...], list[Result]]:
    """Both vendors on one or two cases, most of it clean, or away, or beside the change: green is near."""
    pairs = draw(st.sampled_from([TWO_OF_EACH, TWO_OF_EACH[:2]]))
    files = draw(st.sampled_from([(), PATHS, PATHS[:1]]))
    units = tuple(about(u, *files) for u in pairs) if files else pairs
    results = []
    for u in units:
        found = draw(st.sampled_from([(), (), (STYLE,), (replace(SQL, beside=True),), (SQL,)]))
        reason = draw(st.sampled_from(["", "", "", *REASONS]))
        results.append(lost(u, "failed", reason) if reason else result(u, *found))
    return units, results


FILES = st.builds(
    ChangedFile,
    st.sampled_from(PATHS),
    st.sampled_from(["", *PATHS]),
    st.sampled_from(["added", "deleted", "modified", "renamed"]),
    st.sampled_from(["text", "text", "text", "binary", "mode"]),
)
CHANGES = st.lists(FILES, unique_by=lambda f: f.path, max_size=3).map(tuple)
FACTS = st.fixed_dictionaries(
    {
        "change": CHANGES,
        "revision": st.sampled_from([Revision(), changed()["revision"]]),
        "alters": st.sampled_from([(), (), (), ("src/a.py",)]),
        "alters_paths": st.sampled_from([(), ("src/a.py",)]),
        "doubts": st.sampled_from([(), (), (), (Reason("previous-unknown", "x"),)]),
        "alters_digest": st.sampled_from(["", DIGEST, DIGEST[7:]]),
        "acceptances": st.lists(st.sampled_from(ACCEPTED), unique=True, max_size=3).map(tuple),
        "carried": st.sampled_from([(), (), (), CARRIED[:1], CARRIED[1:]]),
        "gate": st.builds(Policy, uncovered=st.sampled_from([(), ("docs/**",), ("**",)])),
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
