"""``prun-review``: one file per verb, each with ``register(subparsers)`` and ``run(args) -> int``.

Standard output carries data only; what is meant for people goes to standard error.  Exit statuses:
0 and 1 belong to the verb, 2 is a usage or configuration error, 3 our bug, 130 Ctrl-C, 141 a reader
that went away.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from prun_review import __version__
from prun_review.errors import InternalError, PrunError
from prun_review.renderers.escape import plain

VERBS = (
    "run",
    "plan",
    "status",
    "logs",
    "watch",
    "gate",
    "report",
    "baseline",
    "compare",
    "accept",
    "crosscheck",
    "validate",
    "integrate",
    "doctor",
    "dispatch",
    "gather",
    "monitor",
    "skill",
    "clean",
)
"""The verbs, in the order of ``--help``; each is the module of that name in this package."""

USAGE = 2
BUG = 3
INTERRUPTED = 130
BROKEN_PIPE = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {plain(message)}\n  remedy: {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; the exit status.  Never raises, but for what ends the interpreter itself."""
    _stand()
    for stream in (sys.stdout, sys.stderr):
        # Foreign text in a terminal that cannot show it must not end the program.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        args = _parsed(_parser(_verbs(sys.argv[1:] if argv is None else argv)), argv)
    except SystemExit as ended:  # argparse: --help, --version, usage error
        return int(ended.code or 0)
    try:
        status: int = import_module(f"{__name__}.{args.verb}").run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Nobody reads any more: nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("prun-review: interrupted", file=sys.stderr)
        return INTERRUPTED
    except InternalError as error:
        return _bug(error, args.traceback)
    except PrunError as error:
        import traceback

        from prun_review.reporting import trouble

        if args.traceback:
            print(plain(traceback.format_exc()), file=sys.stderr)
        print(f"prun-review {args.verb}: {trouble(error)}", file=sys.stderr)
        return USAGE
    except Exception as error:
        return _bug(error, args.traceback)


def _stand() -> None:
    """Standard streams that the caller closed lead to nowhere: printing must not fail, and no file of
    ours may get their numbers, which a child would take for its own standard streams."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - to the end


def _verbs(words: Sequence[str]) -> Sequence[str]:
    """The verbs that these arguments may need, since each costs the import of its module: the one that they
    name, all where they name none, none where only the version is asked for."""
    verb = next((word for word in words if word != "--traceback"), "")
    if verb == "--version":
        return ()
    return (verb,) if verb in VERBS else VERBS


def _parser(verbs: Sequence[str]) -> _Parser:
    parser = _Parser(
        prog="prun-review", description="Plans, gates and reports of reviews by independent reviewers."
    )
    parser.add_argument("--version", action="version", version=f"prun-review {__version__}")
    parser.set_defaults(traceback=False)
    subparsers = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in verbs:
        import_module(f"{__name__}.{verb}").register(subparsers)
    for command in subparsers.choices.values():
        command.set_defaults(parser=command)
    for command in (parser, *subparsers.choices.values()):
        command.add_argument(
            "--traceback",
            action="store_true",
            default=argparse.SUPPRESS,
            help="show where an error came from",
        )
    return parser


def _parsed(parser: _Parser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; one that a verb does not know is that verb's error, with its own help as the remedy."""
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        verb: _Parser = args.parser
        verb.error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def _bug(error: Exception, show: bool) -> int:
    """One line about our bug on standard error; the traceback there too, or in a file of its own."""
    import tempfile
    import traceback

    told = plain(f"{type(error).__name__}: {error}").splitlines()[0]
    if show:
        print(plain(traceback.format_exc()), file=sys.stderr)
        where = ""
    else:
        handle, path = tempfile.mkstemp(prefix="prun-review-", suffix=".traceback.txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            traceback.print_exc(file=file)
        where = f" (traceback: {path})"
    print(f"prun-review: internal error, please report it: {told}{where}", file=sys.stderr)
    return BUG
