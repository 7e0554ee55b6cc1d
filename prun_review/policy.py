"""What the gate asks of a panels folder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """What the gate asks of a panels folder; the table ``[tool.prun_review.gate]``."""

    mode: str = "enforce"
    """``enforce`` or ``report`` (shown, never decides)."""
    rule: str = "consensus"
    """``consensus``: two independent executors per case; ``single``: one answer is enough."""
    block: str = "high"
    """Findings of this severity or worse can fail the gate."""
    critical: str = ""
    """The rule for findings of this severity: ``consensus`` (two independent executors must hold it, or one
    holds and another confirms it), ``any`` (one is enough) or ``off`` (it never blocks); empty: by ``block``
    and ``rule``.  The same for the next four."""
    high: str = ""
    medium: str = ""
    low: str = ""
    info: str = ""
    quorum: int = 0
    """Independent executors that must have answered each case; 0: two, or one under the rule ``single``."""
    contested: int = 0
    """Findings held differently that do not stand in the way; -1: any number."""
    unresolved: int = 0
    """Uncertain or single findings that nobody settled and that do not stand in the way; -1: any number."""
    min_agreement: float = 0.0
    """The least share of findings (and of choices) on which the executors must agree, by counts, 0 to 1."""
    reproducibility: float = 0.0
    """The least share of an executor's own answers in which a finding must come back to gate, 0 to 1."""
    known: str = "pass"
    """What a finding of the baseline does: ``pass``, or ``gate`` like any other."""
    choices: str = "report"
    """What choice questions need: ``unanimous``, ``majority``, or nothing (``report``)."""
    uncovered: tuple[str, ...] = ()
    """Patterns of changed files that no probe needs to look at (of the run's own policy only)."""
    min_coverage: float = -1.0
    """The least share of a unit's files that its answer must have examined, 0 to 1; -1: half of the
    files of a change, any one file of a tree."""
