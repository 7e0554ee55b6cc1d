"""``prun-review crosscheck LEFT RIGHT``: pair the findings of two files.

Each file is a contract answer as JSON, a prun result in Markdown with its JSON payload, or SARIF;
which of them is told by the content.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prun_review.errors import ConfigError
from prun_review.model import Finding, Pair
from prun_review.renderers.escape import one_line
from prun_review.renderers.json import dumps
from prun_review.renderers.layout import Page
from prun_review.renderers.view import place

LARGEST = 64 << 20
"""Bytes of a file that is read."""
SHOWN = 20
"""Violations that are listed."""


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "crosscheck", help="pair the findings of two files", description=__doc__
    )
    parser.add_argument("left", type=Path, metavar="LEFT", help="contract JSON, prun result or SARIF")
    parser.add_argument("right", type=Path, metavar="RIGHT")
    parser.add_argument("--json", action="store_true", help="a JSON list of pairs and not a table")


def run(args: argparse.Namespace) -> int:
    """Print the pairs; 0."""
    from prun_review.matching import crosscheck

    left, right = read_findings(args.left), read_findings(args.right)
    pairs = crosscheck(left, right)
    if args.json:
        sys.stdout.write(dumps([_entry(pair, left, right) for pair in pairs]))
    else:
        page = Page(max(80, shutil.get_terminal_size((120, 24)).columns))
        page.table(
            ["outcome", "score", "left", "right", "why"],
            [
                [p.outcome, f"{p.score:.2f}", _side(left, p.left), _side(right, p.right), p.reason]
                for p in pairs
            ],
            indent=0,
        )
        sys.stdout.write(page.text())
    return 0


def read_findings(path: Path) -> Sequence[Finding]:
    """The findings of a file of any of the three kinds; ``ConfigError`` says what is wrong with it."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}", place=str(path), remedy="give a readable file"
        ) from error
    if len(data) > LARGEST:
        raise ConfigError(f"larger than {LARGEST >> 20} MiB", place=str(path), remedy="split it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        told = f"not UTF-8 at byte {error.start}"
        raise ConfigError(told, place=str(path), remedy="save it as UTF-8") from error
    return _sarif(path, text) if _is_sarif(text) else _contract(path, text)


def _is_sarif(text: str) -> bool:
    """An object with the key ``runs`` at its top; also when it is cut off, so that the error fits."""
    import json

    if not text.lstrip().startswith("{"):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return '"runs"' in text and '"results"' in text and '"conclusion"' not in text
    return isinstance(value, dict) and "runs" in value


def _sarif(path: Path, text: str) -> Sequence[Finding]:
    from prun_review.executors.readers import read_sarif

    try:
        return read_sarif(text.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        remedy = "give a SARIF 2.1.0 file as the tool wrote it"
        raise ConfigError(f"malformed SARIF: {error}", place=str(path), remedy=remedy) from error


def _contract(path: Path, text: str) -> Sequence[Finding]:
    from prun_review.contract import KINDS, judge_answer
    from prun_review.model import Contract

    contract = Contract("findings")
    judged = judge_answer(payload=None, text=text, contract=contract, kind=KINDS["findings"], slug="")
    if judged.answer is None or judged.violations:
        listed = [f"\n  {one_line(str(violation), 300)}" for violation in judged.violations[:SHOWN]]
        more = len(judged.violations) - SHOWN
        listed += [f"\n  and {more} more"] if more > 0 else []
        raise ConfigError(
            f"neither SARIF nor a valid answer under the contract 'findings':{''.join(listed)}",
            place=str(path),
            remedy="give a SARIF file, the JSON answer of a reviewer, or its prun result",
        )
    for entry in judged.salvage:
        print(f"prun-review crosscheck: {path}: {one_line(str(entry), 300)}", file=sys.stderr)
    return judged.answer.findings


def _entry(pair: Pair, left: Sequence[Finding], right: Sequence[Finding]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "left": pair.left,
        "right": pair.right,
        "outcome": pair.outcome,
        "score": round(pair.score, 4),
        "reason": pair.reason,
    }
    for side, findings, index in (("left", left, pair.left), ("right", right, pair.right)):
        finding = None if index is None else findings[index]
        entry[f"{side}_title"] = finding and finding.title
        entry[f"{side}_place"] = finding and _place(finding)
    return entry


def _side(findings: Sequence[Finding], index: int | None) -> str:
    return "-" if index is None else f"{_place(findings[index])} {findings[index].title}"


def _place(finding: Finding) -> str:
    return place({"file": finding.file, "line": finding.line, "end_line": finding.end_line})
