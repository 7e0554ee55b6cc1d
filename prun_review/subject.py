"""What a run reviews, as every dispatch of it needs to know: the snapshot, the trees, the change."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from prun_review import judging
from prun_review.change import Change
from prun_review.model import Reading, Result, Unit
from prun_review.ports import ContractKind, Missing, Reader, Site
from prun_review.prompts import Diff


def nothing_before(path: str) -> tuple[str, ...] | Missing:
    """The reader of the base where no change is reviewed."""
    return Missing("no change is reviewed")


@dataclass(frozen=True)
class Subject:
    """One head, and the merge base where a change is reviewed."""

    tree: Path
    """The snapshot of the head."""
    read: Reader
    """Reads the head."""
    names: Collection[str]
    """The files of the head."""
    beside: Path | None = None
    """The directory with ``CHANGE.diff`` and the pre-images; None where no change is reviewed."""
    change: Change | None = None
    read_base: Reader = nothing_before
    """Reads the merge base."""
    base_names: Collection[str] = ()
    """The files of the merge base."""
    diff_of: Callable[[Unit], Diff | None] = lambda unit: None
    """What the prompt of a unit says of the change; None where it says nothing."""

    def judge(self, reading: Reading, unit: Unit, kind: ContractKind, seconds: float, site: Site) -> Result:
        """The result of one attempt that was made at ``site`` and took ``seconds``."""
        return judging.judge(
            reading,
            unit,
            kind,
            self.read,
            names=self.names,
            attempts=1,
            seconds=seconds,
            prefixes=tuple(dict.fromkeys((str(self.tree), str(site.tree)))),
            change=self.change,
            read_base=self.read_base,
            base_names=self.base_names,
            beside=str(site.beside or ""),
        )
