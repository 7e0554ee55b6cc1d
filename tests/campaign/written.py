"""Runs of which somebody says who wrote what they review."""

from __future__ import annotations

from dataclasses import replace

from tests.campaign.roster import RECORDED
from tests.campaign.runs import Draft, Run

_WORDS = (
    ("codex",), ("openai",), ("sonnet",), ("anthropic",), ("gem",), ("codex", "sonnet"), ("claude",),
    ("openai", "anthropic"), ("azure",), ("OpenAI ",), ("mini",), ("ruff",), ("proxy", "codex"),
)  # fmt: skip


def signed(run: Run, draft: Draft) -> Run:
    """One run in four names authors, whether they are asked or not."""
    if not draft.tape.once_in(4):
        return run
    words = draft.tape.pick((*_WORDS, *[two for two in _pairs(run) for _ in range(6)]))
    facts = replace(run.facts, authors=words, authors_kin=_kin(words))
    return replace(run, facts=facts, ills=(*run.ills, f"written by {' and '.join(words)}"))


def _pairs(run: Run) -> list[tuple[str, ...]]:
    """Who was asked whether two findings are one, together."""
    same = [q.id for q in run.examination.questions if q.kind == "same"]
    units = run.examination.plan.units
    return [tuple(u.executor for u in units if u.case == question) for question in same]


def _kin(words: tuple[str, ...]) -> tuple[str, ...]:
    """What a configuration of the whole roster records of them."""
    named = [word.strip().lower() for word in words]
    kin = set()
    for info in RECORDED.values():
        mine = [info.vendor.strip().lower(), info.lineage.strip().lower()]
        if info.name in named or any(word in named for word in mine if word):
            kin |= {word for word in mine if word}
    return tuple(sorted(kin))
