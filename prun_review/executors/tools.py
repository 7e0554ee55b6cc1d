"""How each analyser is found and started: the part that differs between them.

Every command line here keeps the reviewed tree out of the tool: no configuration of it, no cache in
it, none of its comments obeyed, and the working directory is never inside it.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import re
import site
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review.config import ExecutorConfig
from prun_review.errors import BriefError, ConfigError
from prun_review.executors import environment, inprocess
from prun_review.ports import Located, Missing, Request
from prun_review.words import number

MAX_ARGV = 1_000_000
"""Bytes of file names in an argv; Linux takes 2 MB together with the environment."""
REPORT = "report.out"
_EXTRA = "pip install '.[offline]' in a clone of prun_review"
_LIST = "files.txt"
_JOB = "job.json"
_ISOLATED = ("-I", "-B", "-X", "utf8")


@dataclass(frozen=True, slots=True)
class Start:
    """What a tool is started with."""

    argv: tuple[str, ...]
    """After the located program."""
    files: Mapping[str, bytes]
    """Files to write below the attempt first."""
    roots: tuple[str, ...] = ()
    """Directories beside the snapshot that the tool sees as the tree."""
    report: str = ""
    """File below the attempt that holds the report; empty: standard output."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One analyser."""

    name: str
    vendor: str
    lineage: str
    reader: str
    """A key of :data:`prun_review.executors.readers.READERS`."""
    locate: Callable[[ExecutorConfig, Mapping[str, str], Sequence[Path]], Located | Missing]
    version: tuple[str, ...]
    """After the located program: prints the version."""
    start: Callable[[Request, ExecutorConfig, Sequence[str]], Start]
    """From request, table and the files to analyse."""
    answers: Callable[[int], bool]
    """Whether an exit status may stand beside a complete report."""
    suffix: str = ".py"
    """What the names of its files end with; empty: any file."""
    isolated: bool = False
    """It loads neither code nor configuration from the tree."""


# --- ruff -----------------------------------------------------------------------------------

RUFF_SELECT = ("F", "B", "E7", "E9", "W605", "BLE001", "SIM115", "T10")
"""What pylint and bandit look for too; not PL and S, which are ports of their rules."""


def _find_ruff(table: ExecutorConfig, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
    found = environment.find("ruff", env, forbidden, configured=table.path, remedy=_EXTRA)
    carried = Path(sysconfig.get_path("scripts"), "ruff")
    if isinstance(found, Missing) and not table.path and os.access(carried, os.X_OK):
        return Located((str(carried),), "ruff")
    return found


def _start_ruff(request: Request, table: ExecutorConfig, files: Sequence[str]) -> Start:
    paths = [f"{request.tree}/{name}" for name in files]
    listed = [p for p in paths if _fits_a_line(p)]
    rest = [p for p in paths if not _fits_a_line(p)]
    _check_length(rest, request)
    argv = (
        *(
            "check",
            "--isolated",
            "--no-cache",
            "--ignore-noqa",
            "--no-respect-gitignore",
            "--no-force-exclude",
        ),
        *("--no-fix", "--quiet", "--output-format", "sarif"),
        # Newer than anything we run on: a syntax of tomorrow is no defect of the file.
        *("--target-version", "py313"),
        *("--select", ",".join(table.select or RUFF_SELECT)),
        *(("--ignore", ",".join(table.ignore)) if table.ignore else ()),
        *table.args,
        *((f"@{request.out / _LIST}",) if listed else ()),
        *rest,
    )
    return Start(argv, {_LIST: "".join(p + "\n" for p in listed).encode()} if listed else {})


def _fits_a_line(path: str) -> bool:
    """Whether a path can stand in a list of lines in UTF-8, which is what ruff's ``@file`` takes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return path == path.strip() and len(path.splitlines()) == 1


# --- pylint and bandit, through inprocess.py --------------------------------------------------

PYLINT_SELECT = ("F", "E", "W", "C0121", "R0123", "R0124", "R1732")
PYLINT_IGNORE = (
    *("E0401",),  # import-error: the dependencies of the reviewed project are not installed here
    *("W0107", "W0201", "W0212", "W0511", "W0603", "W0613", "W0621", "W0622", "W1201", "W1203", "W1514"),
    "W0134",
    "W2402",
)
"""Switched off: what cannot be known from the outside, and taste."""

_PYLINTRC = b"[MAIN]\npersistent=no\njobs=1\nignore=\nignore-patterns=\nignore-paths=\n"


def _find_python(module: str) -> Callable[..., Located | Missing]:
    def locate(table: ExecutorConfig, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        if table.path:
            return environment.find("python", env, forbidden, configured=table.path)
        places = [*site.getsitepackages(), sysconfig.get_path("purelib")]
        if importlib.machinery.PathFinder.find_spec(module, places) is None:
            return Missing(
                f"{module} is not installed beside prun-review",
                f"{_EXTRA}, or path = the Python that has it in [tool.prun_review.executor.{table.name}]",
            )
        return Located((sys.executable,), module)

    return locate


def _start_pylint(request: Request, table: ExecutorConfig, files: Sequence[str]) -> Start:
    copy = str(request.state / "sources")
    argv = [
        f"--rcfile={request.out / 'pylintrc'}",
        *("--output-format=json2", "--score=no", "--reports=no", "--recursive=no"),
        *("--unsafe-load-any-extension=no", "--extension-pkg-allow-list="),
        "--disable=all",
        f"--enable={','.join(table.select or PYLINT_SELECT)}",
        f"--disable={','.join(table.ignore or (() if table.select else PYLINT_IGNORE))}",
        *table.args,
    ]
    job = {"tool": "pylint", "argv": argv, "tree": str(request.tree), "files": list(files), "copy": copy}
    return Start(
        (*_ISOLATED, inprocess.__file__, str(request.out / _JOB)),
        {"pylintrc": _PYLINTRC, _JOB: json.dumps(job).encode()},
        roots=(copy,),
    )


def _start_bandit(request: Request, table: ExecutorConfig, files: Sequence[str]) -> Start:
    argv = [
        *("--format", "sarif", "--quiet", "--ignore-nosec", "--ini", str(request.out / "bandit.ini")),
        # bandit leaves out files whose path holds ".git", "CVS"... anywhere, even when they are
        # named; "//" is in no path, so nothing is left out.
        *("--exclude", "//"),
        *(("--tests", ",".join(table.select)) if table.select else ()),
        *(("--skip", ",".join(table.ignore)) if table.ignore else ()),
        *table.args,
    ]
    job = {"tool": "bandit", "argv": argv, "tree": str(request.tree), "files": list(files)}
    return Start(
        (*_ISOLATED, inprocess.__file__, str(request.out / _JOB)),
        {"bandit.ini": b"[bandit]\n", _JOB: json.dumps(job).encode()},
    )


RUFF = Tool(
    name="ruff",
    vendor="astral",
    lineage="ruff",
    reader="sarif",
    locate=_find_ruff,
    version=("--version",),
    start=_start_ruff,
    answers=lambda code: code in (0, 1),
    isolated=True,
)
PYLINT = Tool(
    name="pylint",
    vendor="pylint-dev",
    lineage="pylint",
    reader="pylint-json2",
    locate=_find_python("pylint"),
    version=(*_ISOLATED, "-m", "pylint", "--version"),
    start=_start_pylint,
    # A bit mask: 1 fatal, 2 error, 4 warning, 8 refactor, 16 convention; 32 is wrong usage.
    answers=lambda code: 0 <= code < 32,
)
BANDIT = Tool(
    name="bandit",
    vendor="pycqa",
    lineage="bandit",
    reader="sarif",
    locate=_find_python("bandit"),
    version=(*_ISOLATED, "-m", "bandit", "--version"),
    start=_start_bandit,
    answers=lambda code: code in (0, 1),
    isolated=True,
)
BUILT_IN = {tool.name: tool for tool in (RUFF, PYLINT, BANDIT)}


# --- any other, by a template -----------------------------------------------------------------

PLACEHOLDERS = ("files", "tree", "out")
"""The files asked about (a word of its own, becomes many), the snapshot, the file for the report."""
_NAMED = re.compile(r"\{([A-Za-z_]+)\}")


def template(table: ExecutorConfig) -> Tool:
    """The analyser that a table with ``type = "analyser"`` describes.

    The report is what it prints, or the file ``{out}`` where the template names one.  How far it
    trusts the tree's own configuration is the template's affair.
    """
    place = f"[tool.prun_review.executor.{table.name}]"
    if not table.argv or not table.reader:
        raise ConfigError(
            "an analyser needs argv and reader", place=place, remedy='reader = "sarif" or "pylint-json2"'
        )
    for word in table.argv:
        for name in _NAMED.findall(word):
            if name not in PLACEHOLDERS or (name == "files" and word != "{files}"):
                raise ConfigError(
                    f"argv holds {word!r}",
                    place=place,
                    remedy="known: {tree}, {out}, and {files} as a word of its own",
                )
    first = table.argv[0]

    def locate(table: ExecutorConfig, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        configured = table.path or (first if "/" in first else "")
        remedy = f"put {first} on PATH or set path in {place}"
        found = environment.find(first, env, forbidden, configured=configured, remedy=remedy)
        if isinstance(found, Missing):
            return found
        return replace(found, beside=environment.named_files((*table.argv[1:], *table.args)))

    return Tool(
        name=table.name,
        vendor=table.vendor,
        lineage=table.lineage,
        reader=table.reader,
        locate=locate,
        version=("--version",),
        start=_start_template,
        answers=lambda code: code in (0, 1) if table.reader == "sarif" else 0 <= code < 32,
        suffix="",
    )


def _start_template(request: Request, table: ExecutorConfig, files: Sequence[str]) -> Start:
    values = {"tree": str(request.tree), "out": str(request.out / REPORT)}
    paths = [f"{request.tree}/{name}" for name in files]
    argv: list[str] = []
    for word in (*table.argv[1:], *table.args):
        argv += paths if word == "{files}" else [_NAMED.sub(lambda m: values.get(m[1], m[0]), word)]
    _check_length(argv, request)
    named = any("{out}" in word for word in table.argv)
    return Start(tuple(argv), {}, report=REPORT if named else "")


def _check_length(words: Sequence[str], request: Request) -> None:
    size = sum(len(os.fsencode(word)) + 9 for word in words)
    if size > MAX_ARGV:
        raise BriefError(
            f"the names of {number(len(words), 'file')} do not fit into a command line ({size} bytes)",
            place=request.unit.place,
            remedy="narrow `reads`, or let the analyser's argv name {tree}",
        )
