"""Defects in words of which it is known what the matcher says, whatever its thresholds.

Each topic has one defect told in the same words in another order (``same``: a sure match), and a second
telling of which nobody can be sure (``perhaps``: same lines, same category, other words).  Two topics have
nothing in common; one stands on the very lines of another and is still a different defect.
``test_campaign_phrases`` asks the matcher about every pair of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prun_review.model import Finding

NOISE = " \ud83d\x1b\x00\u202e"
"""A lone surrogate and control characters: no word of the finding, and no place in a report."""


@dataclass(frozen=True)
class Topic:
    """One defect of the reviewed tree."""

    name: str
    same: tuple[Finding, Finding]
    """Two tellings that are plainly one."""
    perhaps: Finding
    """What may be the same, and may not."""


def _topic(
    name: str,
    place: tuple[str | None, int | None],
    category: str,
    titles: tuple[str, str, str],
    details: tuple[str, str, str],
    quote: str,
) -> Topic:
    file, line = place
    first, second, other = (
        Finding(title, detail, file, line, line, "medium", category, quote=quote, grounding="exact")
        for title, detail in zip(titles, details, strict=True)
    )
    return Topic(name, (first, second), other)


TOPICS = (
    _topic(
        "sql",
        ("src/auth.py", 12),
        "security",
        (
            "SQL injection in find_user",
            "In find_user an SQL injection",
            "Escaping of this parameter cannot be seen",
        ),
        (
            "The user name is put into the query by string formatting.",
            "By string formatting the user name is put into the query.",
            "Nobody validates which name reaches the query here.",
        ),
        "query = 'select * from users where name = %s' % name",
    ),
    _topic(
        "leak",
        ("src/store.py", 80),
        "resource",
        (
            "File handle never closed after exception",
            "After exception file handle never closed",
            "Descriptor stays open too long",
        ),
        (
            "An early return leaks the handle.",
            "The handle leaks at an early return.",
            "Cleanup of the handle depends on garbage collection.",
        ),
        "stream = open(path, 'rb')  # kept",
    ),
    _topic(
        "race",
        ("src/cache.py", 40),
        "concurrency",
        (
            "Two threads update counter without lock",
            "Without lock two threads update counter",
            "Increment is no atomic step",
        ),
        (
            "Lost updates under parallel load.",
            "Under parallel load updates lost.",
            "Interleaved writes make the counter drift.",
        ),
        "self.total = self.total + amount",
    ),
    _topic(
        "twin",  # on the lines of the first, in other words and of another kind
        ("src/auth.py", 12),
        "performance",
        (
            "Slow full table scan at every login",
            "At every login slow full table scan",
            "Missing index makes this sluggish",
        ),
        (
            "Million rows are read sequentially.",
            "Sequentially are read million rows.",
            "Sequentially walking everything wastes seconds.",
        ),
        "rows = connection.fetch_everything()",
    ),
    _topic(
        "nowhere",
        (None, None),
        "maintainability",
        (
            "Documentation promises offline mode",
            "Offline mode documentation promises",
            "Documentation outdated regarding network use",
        ),
        (
            "No switch for that exists.",
            "For that exists no switch.",
            "Readers expect a switch.",
        ),
        "",
    ),
)

_SAID = {
    finding.title: (topic.name, kind)
    for topic in TOPICS
    for finding, kind in ((topic.same[0], "same"), (topic.same[1], "same"), (topic.perhaps, "perhaps"))
}


def plain(finding: Finding) -> str:
    """Its title without noise."""
    return finding.title.removesuffix(NOISE)


def said(finding: Finding) -> tuple[str, str]:
    """Topic and telling (``same`` or ``perhaps``) of a finding of this table, noise or none."""
    return _SAID[plain(finding)]


def alike(one: Finding, other: Finding) -> str:
    """What the matcher says of two findings of this table: ``match``, ``uncertain`` or ``distinct``."""
    (topic, telling), (its_topic, its_telling) = said(one), said(other)
    if topic != its_topic:
        return "distinct"
    return "match" if telling == its_telling else "uncertain"


def noisy(finding: Finding) -> Finding:
    """With what no terminal, no file and no report may choke on."""
    return replace(finding, title=finding.title + NOISE, detail=f"{finding.detail}\n{NOISE}")
