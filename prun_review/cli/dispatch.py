"""``prun-review dispatch``: one task for ``codex exec``, with the protocol of the prun scripts.

Standard output carries one line, ``STATE-DIR <directory>``, as soon as there is one; standard error
ends with the last 80 lines of the worker.  Exit status: the worker's own; 124 when it was ended
because it was silent or late; 126 and 127 when it could not be started; 128+n after signal n; 2 when
the task cannot be dispatched as asked.  When the worker wrote no result file, a FALLBACK with its
output stands there.  A result is kept whatever the exit status.

Environment: CODEX_BIN (codex), TMPDIR (/tmp), PRUN_SCRATCH_CWD (work/ in the state directory),
CODEX_DISPATCH_SANDBOX (danger-full-access), CODEX_DISPATCH_REASONING (xhigh),
CODEX_DISPATCH_ISOLATE_MCP (off: with the user's configuration), PRUN_STALL_THRESHOLD (600 seconds of
silence; 0: never), CODEX_DISPATCH_TIMEOUT (seconds; 0: none).  The worker gets the environment of the
caller but for other vendors' keys.

Other than in the old scripts: a prompt that does not name the result file is told it (the prompt
file is not changed; prompt.md in the state directory is what was sent).  A result file of an earlier
run that the worker did not touch is no result; it is moved to <name>.aside-<nonce>.  Nothing that
the worker started is left, also when the dispatcher is killed.  PATH counts with its absolute
entries only.  A result path that is a directory or a device is refused before anything is spent.
"""

from __future__ import annotations

import argparse
import os
from typing import Any


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "dispatch",
        help="run one task in codex, with the protocol of the prun scripts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--prompt-file", required=True, metavar="P", help="the task; goes to standard input")
    parser.add_argument("--result-file", required=True, metavar="R", help="the file the worker is to write")
    parser.add_argument("--unit-id", required=True, metavar="ID", help="letters, digits, dash, underscore")
    parser.add_argument(
        "--no-announce", action="store_true", help="send the prompt as it is, also without the result path"
    )


def run(args: argparse.Namespace) -> int:
    """Dispatch the task and wait for its end."""
    from prun_review.prun.task import Task, dispatch

    task = Task(args.prompt_file, args.result_file, args.unit_id, announce=not args.no_announce)
    return dispatch(task, os.environ)
