"""What the campaign's words mean: the matcher says of every pair of them what the table says."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from prun_review.matching import crosscheck
from prun_review.model import SEVERITIES, Finding
from tests.campaign.phrases import TOPICS, alike, noisy

EVERY = [finding for topic in TOPICS for finding in (*topic.same, topic.perhaps)]


@pytest.mark.parametrize(("low", "high"), list(product([*SEVERITIES, "blocker"], repeat=2)))
def test_the_matcher_says_of_every_pair_what_the_table_says(low: str, high: str) -> None:
    for one, other in product(EVERY, repeat=2):
        said = crosscheck([replace(one, severity=low)], [replace(other, severity=high)])
        outcome = said[0].outcome if len(said) == 1 else "distinct"
        assert outcome == alike(one, other), (one.title, other.title)


def test_noise_is_no_word_of_a_finding() -> None:
    def outcomes(findings: list[Finding]) -> list[tuple[int | None, int | None, str]]:
        return [(p.left, p.right, p.outcome) for p in crosscheck(EVERY, findings)]

    assert outcomes([noisy(f) for f in EVERY]) == outcomes(EVERY)


def test_tellings_of_one_topic_stay_apart_from_every_other_when_all_are_told_at_once() -> None:
    for telling in (0, 1):
        lefts = [topic.same[0] for topic in TOPICS]
        rights = [topic.same[telling] for topic in TOPICS]
        assert [(p.left, p.right, p.outcome) for p in crosscheck(lefts, rights)] == [
            (n, n, "match") for n in range(len(TOPICS))
        ]
    pairs = crosscheck([t.same[0] for t in TOPICS], [t.perhaps for t in TOPICS])
    assert [(p.left, p.right, p.outcome) for p in pairs] == [(n, n, "uncertain") for n in range(len(TOPICS))]
