"""Telling a worker where its result goes.

The old scripts never did, and a prompt that forgot to say it lost the whole answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable


def named(prompt: bytes, paths: Iterable[str]) -> bool:
    """The prompt names one of the paths, as a whole: ``/r/a.md.bak`` does not name ``/r/a.md``."""
    return any(
        re.search(rb"(?<![\w.-])" + re.escape(os.fsencode(path)) + rb"(?![\w/-]|\.\w)", prompt)
        for path in paths
    )


def text(unit: str, result: str) -> bytes:
    """What is put after a prompt that does not name its result file."""
    return b"\n\n" + os.fsencode(
        "---\n"
        "Where the result of this task goes. Write it, whole, into this file and no other; make the file\n"
        "even when the task could not be done, and say in it why:\n"
        f"{result}\n"
        f'Line 1 of the file is "# {unit} result". Then come four lines, each with your own words after\n'
        'the colon: "Conclusion:", "Files:", "Open items:", "Verification:". Then an empty line, the body.\n'
        "What only the chat says is not the result.\n"
    )
