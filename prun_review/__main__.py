"""``python -m prun_review`` is ``prun-review``."""

from __future__ import annotations

import sys

from prun_review.cli import main

if __name__ == "__main__":
    sys.exit(main())
