"""The stable name of a finding: the same from run to run, whatever moves around it.  Pure.

It is made of what a defect keeps: the case, the file, the side of a change, the words of its title and
what it quotes.  Lines, severity, and who reported it are no part of it.
"""

from __future__ import annotations

import hashlib
import json

from prun_review.model import Finding
from prun_review.tokens import place_of, split


def fingerprint(case: str, finding: Finding) -> str:
    """``f1-<16 hex>``."""
    words, _ = split(finding.title)
    quote = "".join((finding.quote or "").split())
    parts = [case, place_of(finding).file or "", finding.side or "new", sorted(words), quote]
    text = json.dumps(parts, ensure_ascii=True)
    return f"f1-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
