"""Who is asked.

A probe that names nothing goes to the configured ``executors``, which begin with codex; "in doubt, Codex"
means no more than that.  Only what codex cannot do is sent elsewhere: a probe with ``needs`` goes to those
of its executors that provide all of them, and where none does, to every known executor that declares them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Wanted(Protocol):
    """What of a brief decides it."""

    @property
    def executors(self) -> tuple[str, ...] | None:
        """Who is named; None: the configured ones."""

    @property
    def needs(self) -> tuple[str, ...]:
        """What they must provide."""


@dataclass(frozen=True, slots=True)
class Route:
    """Who is asked, and who is not."""

    asked: tuple[str, ...]
    left_out: tuple[tuple[str, str, str], ...] = ()
    """Executor name, reason code and words of each that is not asked."""
    unmet: str = ""
    """Why nobody can be asked: a need that no executor declares."""


def route(
    wanted: Wanted, chosen: Sequence[str], provided: Mapping[str, Collection[str]], *, restricted: bool
) -> Route:
    """The routing rule.  ``chosen``: the configured executors; ``restricted``: nobody else may be asked.

    ``provided`` says of every known executor what it declares.  Contracts are not looked at.
    """
    named = tuple(dict.fromkeys(wanted.executors or chosen))
    able = [name for name, has in provided.items() if set(wanted.needs) <= set(has)]
    if wanted.needs and not able:
        return Route((), unmet=_unmet(wanted.needs, provided))
    asked = [name for name in named if not wanted.needs or name in able]
    left = [(name, "needs", _lacks(name, wanted.needs, provided)) for name in named if name not in asked]
    asked = asked or able
    if restricted:
        others = [name for name in asked if name not in chosen]
        left += [(name, "restricted", f"{name} is not among {', '.join(chosen)}") for name in others]
    return Route(tuple(n for n in asked if not restricted or n in chosen), tuple(left))


def _unmet(needs: Sequence[str], provided: Mapping[str, Collection[str]]) -> str:
    nobody = [need for need in needs if not any(need in has for has in provided.values())]
    if nobody:
        return f"needs {', '.join(nobody)}, which no executor declares"
    return f"needs {', '.join(needs)} together, and no executor declares all of them"


def _lacks(name: str, needs: Sequence[str], provided: Mapping[str, Collection[str]]) -> str:
    lacking = [need for need in needs if need not in provided.get(name, ())]
    return f"{name} does not declare {', '.join(lacking)}"
