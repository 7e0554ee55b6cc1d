"""What a run may spend: money, tokens, or both.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from prun_review.errors import ConfigError
from prun_review.model import Usage

_PART = re.compile(
    r"(?P<sign>\$)?\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<scale>[kKmM])?\s*(?P<unit>usd|tok|tokens?)?",
    re.IGNORECASE,
)
_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits over all executors and units of a run; None where there is none."""

    usd: float | None = None
    tokens: int | None = None
    """Input and output together."""

    @classmethod
    def parse(cls, text: str) -> Budget:
        """``5usd``, ``$2.50``, ``400ktok``, ``5usd,2Mtok``; empty: no limits.  ``ConfigError``."""
        budget = cls()
        for part in filter(None, (p.strip() for p in text.split(","))):
            found = _PART.fullmatch(part)
            unit = (found["unit"] or "").lower() if found else ""
            money = unit == "usd" or bool(found and found["sign"] and not unit)
            if not found or not (money or unit.startswith("tok")) or (found["sign"] and not money):
                raise ConfigError(
                    f"budget {part!r} is not understood",
                    place="budget",
                    remedy="write 5usd, 400ktok, or both: 5usd,400ktok",
                )
            amount = float(found["number"]) * _SCALES[(found["scale"] or "").lower()]
            if (budget.usd if money else budget.tokens) is not None:
                raise ConfigError(f"budget {text!r} names one unit twice", place="budget")
            budget = replace(budget, usd=amount) if money else replace(budget, tokens=int(amount))
        return budget

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.usd is not None or self.tokens is not None

    def reached(self, used: Iterable[Usage]) -> str:
        """Which limit ``used`` has reached, in words; empty while there is room."""
        usd, tokens = spent(used)
        if self.usd is not None and usd >= self.usd:
            return f"{dollars(usd)} of {dollars(self.usd)} are spent"
        if self.tokens is not None and tokens >= self.tokens:
            return f"{tokens:,} of {self.tokens:,} tokens are used"
        return ""

    def __str__(self) -> str:
        parts = [dollars(self.usd)] if self.usd is not None else []
        parts += [f"{self.tokens:,} tokens"] if self.tokens is not None else []
        return " and ".join(parts)


def dollars(amount: float) -> str:
    """``$5.12``; below a cent two digits that say something: ``$0.00082``."""
    return f"${amount:.2f}" if amount >= 0.01 or not amount else f"${amount:.2g}"


def spent(used: Iterable[Usage]) -> tuple[float, int]:
    """Dollars and tokens (input and output) that were reported; what nobody reported counts as 0."""
    dollars, tokens = 0.0, 0
    for usage in used:
        dollars += usage.cost_usd or 0.0
        tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
    return dollars, tokens
