"""``cpo``: the command of the older tool of that name, so that documents which name it still work.

usage: cpo VERB DIR [options]

  cpo init parallel/TS-0042-users -t TS-0042 -n users    an empty directory, to be filled with tasks
  cpo validate parallel/TS-0042-users/        what is wrong with it; runs nothing
  cpo run parallel/TS-0042-users/             do its tasks, wave by wave (its tasks/ folder means it too)
  cpo status parallel/TS-0042-users/          how its last run stands
  cpo logs parallel/TS-0042-users/ task-001   the log of one task, by its short or long id
  cpo integrate parallel/TS-0042-users/       put together what was accepted, and check the whole
  cpo clean                                   remove throwaway copies that nobody needs any more

Each verb but init is the one of prun-review with all of its options: cpo VERB --help lists them.

exit status:
  0    validate: it can be run; run: every task, validation and panel succeeded; status, logs: shown;
       integrate: whole, and every check passed; init, clean: done
  1    validate: there are errors; run: something did not succeed, or was not run; integrate: conflicts, or
       a check that did not pass; clean: something could not be removed
  2    an unknown verb, option, directory or task, or a configuration that is wrong; run: a manifest with
       errors; nothing was done
  3    an error in this program
  130  interrupted
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from prun_review import __version__, cli
from prun_review.renderers.escape import one_line

VERBS = ("init", "validate", "run", "status", "logs", "integrate", "clean")
_WITHOUT = ("clean",)
"""Verbs that are about no directory."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    verb = words[0] if words else ""
    if verb in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    if verb == "--version":
        print(f"cpo (prun-review) {__version__}")
        return 0
    if verb not in VERBS:
        what = f"there is no verb {one_line(verb)!r}" if verb else "a verb is missing"
        return _usage(f"cpo: {what}", f"one of {', '.join(VERBS)}; cpo --help")
    if verb == "init":
        from prun_review.cli import cpoinit

        return cpoinit.main(words[1:])
    helped = {"-h", "--help"} & set(words)
    # Without a directory the same verbs speak of reviews: nobody who types cpo means to start one.
    if verb not in _WITHOUT and not helped and not any(map(_is_place, words[1:])):
        named = next((word for word in words[1:] if not word.startswith("-")), "")
        what = f"there is no directory {one_line(named)!r}" if named else "a directory is missing"
        from prun_review.cli.waves import meant

        there = meant(named, f"cpo {verb}")
        return _usage(f"cpo {verb}: {what}", there or "cpo init parallel/TS-0042-users begins one")
    return cli.main(words)


def _is_place(word: str) -> bool:
    return os.path.isdir(word) or (os.path.basename(word) == "manifest.json" and os.path.isfile(word))


def _usage(told: str, remedy: str) -> int:
    print(f"{told}\n  remedy: {remedy}", file=sys.stderr)
    return cli.USAGE
