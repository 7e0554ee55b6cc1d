"""The findings of a run document as records again.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prun_review.codec import decode
from prun_review.consensus import Group
from prun_review.folding import Member
from prun_review.model import Finding


def group_of(row: Mapping[str, Any]) -> Group:
    """What a row of ``document["findings"]`` tells of a group; ``ValueError`` for what is no such row."""
    return Group(
        row["id"],
        row["case"],
        row["class"],
        row["severity"],
        "",
        tuple(map(_member, row["members"])),
        row["reason"],
        row.get("fingerprint", ""),
        row.get("examined", ""),
    )


def _member(row: Mapping[str, Any]) -> Member:
    ours = ("executor", "unit")
    finding = decode(Finding, {key: value for key, value in row.items() if key not in ours})
    return Member(row["executor"], row["unit"], finding)
