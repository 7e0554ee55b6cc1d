#!/bin/sh
# monitor of the prun protocols: calls `prun-review monitor`. PRUN_REVIEW_BIN names another program.
if [ -n "${PRUN_REVIEW_BIN:-}" ] || command -v prun-review >/dev/null 2>&1; then
    exec "${PRUN_REVIEW_BIN:-prun-review}" monitor "$@"
fi
# -P: nothing of the working directory is imported, which may be a tree under review.
if python3 -P -c 'import prun_review' >/dev/null 2>&1; then
    exec python3 -P -m prun_review monitor "$@"
fi
echo "monitor: prun-review is not installed; remedy: pip install prun-review, or set PRUN_REVIEW_BIN" >&2
exit 2
