"""How large the campaign is, and which."""

from __future__ import annotations

import os

RUNS = int(os.environ.get("PRUN_CAMPAIGN_RUNS", "300"))
SEED = int(os.environ.get("PRUN_CAMPAIGN_SEED", "20261129"))
JOBS = int(os.environ.get("PRUN_CAMPAIGN_JOBS", "1"))
"""Processes over which it is split."""

WHOLE = 2000
"""Runs from which every code must have been seen: what is never reached is not proven."""
