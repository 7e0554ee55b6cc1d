"""Runs pylint or bandit over files that nobody trusts, in a process of its own.

Not imported but started: ``python -I -B -X utf8 inprocess.py JOB``, by an interpreter that need not
have prun_review.  JOB is a JSON file::

    {"tool": "pylint", "argv": [...], "tree": "/abs", "files": ["a.py"], "copy": "/abs"}

Two reasons for it.  The list of files may be longer than any argv.  And pylint puts the folders of
the files it looks at on ``sys.path``: an ``isort.py`` or a ``_tkinter.so`` among them would be
*imported* by pylint's own late imports.  So pylint gets a copy that holds only the text of the
``.py`` files, with its control comments out of order, and from then on nothing is imported from
anywhere but the places that were there at the start.
"""

from __future__ import annotations

import fcntl
import importlib
import importlib.machinery
import json
import os
import re
import shutil
import stat
import sys
import tokenize
from typing import Any

MAX_FILE = 16 << 20
"""Bytes of a file that is copied."""


def main(job_file: str) -> None:
    """Run the job; leaves by the tool's own exit status."""
    with open(job_file, "rb") as stream:
        job = json.load(stream)
    if job["tool"] == "bandit":
        files = [f"{job['tree']}/{name}" for name in job["files"]]
        run_bandit([*job["argv"], *files])
    else:
        copy_sources(job["tree"], job["copy"])
        run_pylint(job["argv"], [f"{job['copy']}/{name}" for name in job["files"]], job["copy"])


def run_bandit(argv: list[str]) -> None:
    """bandit parses and never imports what it looks at."""
    bandit = importlib.import_module("bandit.cli.main")
    sys.argv = ["bandit", *argv]
    bandit.main()


def run_pylint(argv: list[str], files: list[str], copy: str) -> None:
    """pylint over files below ``copy``."""
    lint = importlib.import_module("pylint.lint")
    seal(copy)
    lint.Run([*argv, *files])


class _AsAtStart:
    """Finds modules where they could be found before pylint touched ``sys.path``."""

    def __init__(self) -> None:
        self._path = list(sys.path)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """As :meth:`importlib.machinery.PathFinder.find_spec`."""
        return importlib.machinery.PathFinder.find_spec(name, self._path if path is None else path, target)

    def invalidate_caches(self) -> None:
        """As :meth:`importlib.machinery.PathFinder.invalidate_caches`."""
        importlib.machinery.PathFinder.invalidate_caches()


def seal(copy: str) -> None:
    """From now on import nothing from below ``copy``; end the process if it is tried all the same.

    pylint looks modules up by its own search along ``sys.path``, which stays as it is.
    """
    finders: list[Any] = sys.meta_path
    finders[finders.index(importlib.machinery.PathFinder)] = _AsAtStart()
    below = copy.rstrip("/") + "/"

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event == "exec":
            file = getattr(args[0], "co_filename", None)
        elif event == "import":
            file = args[1]
        else:
            return
        if isinstance(file, str) and file.startswith(below):
            os.write(2, f"refused to run {file!a} of the reviewed tree\n".encode())
            os._exit(70)

    sys.addaudithook(refuse)


def copy_sources(tree: str, copy: str) -> None:
    """Copy the ``.py`` files of ``tree`` to ``copy``, unless another unit of this run did already."""
    with open(f"{copy}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(copy):
            return
        part = f"{copy}.part"
        shutil.rmtree(part, ignore_errors=True)
        os.mkdir(part, 0o700)
        for folder, _, names in os.walk(tree):
            into = part + folder[len(tree) :]
            for name in names:
                if name.endswith(".py") and _is_source(f"{folder}/{name}"):
                    os.makedirs(into, 0o700, exist_ok=True)
                    _copy(f"{folder}/{name}", f"{into}/{name}")
        os.rename(part, copy)


def _is_source(path: str) -> bool:
    info = os.lstat(path)
    return stat.S_ISREG(info.st_mode) and info.st_size <= MAX_FILE


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as stream:
        data = stream.read()
    with open(target, "wb") as stream:
        stream.write(disarm(data))


def disarm(data: bytes) -> bytes:
    """The source without working ``# pylint:`` comments; every line and column stays in place."""
    data = _as_utf8(data)
    return re.sub(rb"#[^\r\n]*", lambda m: m[0].replace(b"pylint:", b"pylint;"), data)


def _as_utf8(data: bytes) -> bytes:
    """Sources in an encoding that can spell ``#`` in other bytes are recoded first."""
    try:
        encoding, _ = tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)
        if _spells_like_ascii(encoding):
            return data
        text = data.decode(encoding)
    except (SyntaxError, ValueError, LookupError):
        return data  # pylint cannot read it either and says so
    unmarked = re.sub(r"\A((?:.*\n)?.*?)coding([:=])", r"\1c0ding\2", text)
    return unmarked.encode("utf-8", "surrogatepass")


def _spells_like_ascii(encoding: str) -> bool:
    printable = bytes(range(32, 127))
    try:
        return printable.decode(encoding) == printable.decode("ascii")
    except ValueError:
        return False


if __name__ == "__main__":
    main(sys.argv[1])
