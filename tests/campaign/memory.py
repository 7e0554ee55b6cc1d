"""What was known before a run: baselines and acceptances of findings, fitting and not."""

from __future__ import annotations

from dataclasses import replace

from prun_review.fingerprints import fingerprint
from prun_review.model import SEVERITIES, Acceptance, Finding, Known
from tests.campaign.phrases import TOPICS
from tests.campaign.runs import Draft, Run

_WAYS = (
    "exact", "exact", "exact", "exact", "both tellings", "re-worded", "higher", "too low", "other case",
    "stale", "uncertain",
)  # fmt: skip


def remember(run: Run, draft: Draft) -> Run:
    """Up to two entries of a baseline or acceptances, each of what is held or of something else."""
    tape = draft.tape
    known: list[Known] = []
    accepted: list[Acceptance] = []
    told: list[str] = []
    if not run.plan.units:
        return run
    for _ in range(tape.pick((0, 0, 0, 1, 1, 2))):
        case, finding, name, way, also = _entry(draft, run)
        if tape.once_in(2):
            known.append(Known(name, case, case.partition("/probe_")[0], finding, also=also))
            told.append(f"baseline: {way} {finding.severity} {finding.title!r} of {case}")
        else:
            expired = tape.once_in(4)
            accepted.append(
                Acceptance("finding", name, "Grace", "no defect", "", expired, case, finding, also)
            )
            word = "expired" if expired else "accepted"
            told.append(f"{word}: {way} {finding.severity} {finding.title!r} of {case}")
    facts = replace(
        run.facts,
        known=(*run.facts.known, *known),
        baseline="baseline.json" if known else "",
        acceptances=(*run.facts.acceptances, *accepted),
    )
    return replace(run, facts=facts, ills=(*run.ills, *told))


def _entry(draft: Draft, run: Run) -> tuple[str, Finding, str, str, tuple[Finding, ...]]:
    """Case, stored finding, fingerprint, how it stands to what is held, and the words of other holders."""
    tape = draft.tape
    way = tape.pick(_WAYS) if draft.held else "stale"
    if way == "stale":
        case, topic, telling, severity = tape.pick(run.plan.units).case, tape.pick(TOPICS), "same", "critical"
    else:
        case, topic, telling, severity = tape.pick(draft.held)
    first, second = topic.same if telling == "same" else (topic.perhaps, topic.perhaps)
    rank = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES) - 1
    if way == "higher":
        rank = min(rank + 1, len(SEVERITIES) - 1)
    elif way == "too low":
        rank = max(rank - 1, 0)
    elif way == "re-worded":
        first = second
    elif way == "uncertain":
        first = topic.perhaps if telling == "same" else topic.same[0]
    elif way == "other case":
        case = f"{case[:-2]}8]"
    finding = replace(first, severity=SEVERITIES[rank])
    name = "f1-" + "0" * 16 if way == "re-worded" else fingerprint(case, finding)
    also = (topic.perhaps, topic.same[0]) if way == "both tellings" else ()
    return case, finding, name, way, also
