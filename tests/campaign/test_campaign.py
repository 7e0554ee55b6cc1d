"""The false-green campaign: not one PASS that the promise forbids, not one FAIL or INCOMPLETE it calls wrong.

300 runs here, 2,000 in ``.ci/run``, 20,000 in ``.ci/long`` (``PRUN_CAMPAIGN_RUNS``, ``PRUN_CAMPAIGN_JOBS``;
``PRUN_CAMPAIGN_SEED`` for other runs).  A run that breaks the promise is printed in words.
"""

from __future__ import annotations

import pytest

from tests.campaign.campaign import whole
from tests.campaign.size import JOBS, RUNS, SEED, WHOLE

CODES = frozenset(
    (
        "author-only",
        "brief",
        "carried",
        "changes-review",
        "choice-open",
        "consensus",
        "contested",
        "contract",
        "duplicate-result",
        "duplicate-unit",
        "empty-change",
        "failed:*",
        "lost-finding",
        "low-agreement",
        "mismatch",
        "missing-result",
        "not-asked:*",
        "not-run",
        "nothing-answered",
        "nothing-asked",
        "one-vendor",
        "partial",
        "probe-failed",
        "quorum",
        "refuted",
        "single-finding",
        "snapshot-changed",
        "stopped",
        "uncertain",
        "uncovered",
        "ungrounded",
        "unknown-folder",
        "unknown-severity",
        "unknown-status",
        "unplanned-result",
        "unreported",
        "unresolved",
        "(accepted)",
        "(acceptance-expired)",
        "(authored)",
        "(beside)",
        "(carried-settled)",
        "(changes-review)",
        "(dissent)",
        "(ignored)",
        "(known)",
        "(masked)",
        "(needs)",
        "(not-asked)",
        "(not-reproduced)",
        "(off)",
        "(outage)",
        "(refuted)",
        "(replay)",
        "(report-only)",
        "(skipped)",
        "(stale-baseline)",
        "(tolerated)",
        "(untouched)",
    )
)
"""Every code that a whole run can have, remarks in brackets."""

COMMON = frozenset(
    (
        "carried",
        "consensus",
        "missing-result",
        "one-vendor",
        "ungrounded",
        "uncertain",
        "unresolved",
        "(accepted)",
        "(authored)",
        "(known)",
    )
)
"""What even a few hundred runs have."""


def test_no_verdict_is_greener_or_redder_than_the_promise(capsys: pytest.CaptureFixture[str]) -> None:
    tally = whole(RUNS, SEED, JOBS)
    with capsys.disabled():
        print(f"\nfalse-green campaign, seed {SEED}: {tally}")
    assert tally.runs >= RUNS
    for outcome in ("PASS", "FAIL", "INCOMPLETE"):
        assert tally.outcomes[outcome] * 12 >= tally.runs, f"too few {outcome} to prove anything"
    never = sorted((CODES if RUNS >= WHOLE else COMMON) - set(tally.codes))
    assert not never, f"never reached, so not proven: {never}"
