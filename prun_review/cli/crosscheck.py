"""``prun-review crosscheck LEFT RIGHT``: pair the findings of two files, one to one.

What a file is, is told by its content.  It may be

- the answer of a reviewer as JSON, under the contract 'findings' (schema: prun_review/schemas/findings.json);
- a prun result in Markdown: title and header lines, and one fenced json block with that JSON, from which
  conclusion, files, open_items and verification may be left out where the header lines say them;
- a stored result of a run: .prun/runs/<id>/units/<unit>/result.json;
- SARIF 2.1.0.

Each pair is printed as its outcome (match, uncertain, alone), the similarity of its texts from 0 to 1,
and why; then each side as its place, severity and title.  Exit 0; 2 where a file cannot be taken.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
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
STORED = frozenset({"unit", "slug", "executor", "status"})
"""Keys by which a stored result is known."""


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "crosscheck",
        help="pair the findings of two files",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    told = "answer as JSON, prun result, result.json of a run, or SARIF"
    parser.add_argument("left", type=Path, metavar="LEFT", help=told)
    parser.add_argument("right", type=Path, metavar="RIGHT", help="the same; the two need not be of one kind")
    parser.add_argument("--json", action="store_true", help="a JSON list of pairs and not text")


def run(args: argparse.Namespace) -> int:
    """Print the pairs; 0."""
    from prun_review.matching import crosscheck

    left, right = read_findings(args.left), read_findings(args.right)
    pairs = crosscheck(left, right)
    if args.json:
        sys.stdout.write(dumps([_entry(pair, left, right) for pair in pairs]))
    else:
        page = Page(max(80, shutil.get_terminal_size((120, 24)).columns))
        for pair in pairs:
            score = f" {pair.score:.2f}" if pair.score or pair.outcome != "alone" else ""
            page.line(f"{pair.outcome}{score}: {pair.reason}", 0)
            for side, findings, index in (("left", left, pair.left), ("right", right, pair.right)):
                if index is not None:
                    page.line(f"{side}: {_told(findings[index])}")
        page.line(_counts(pairs), 0)
        sys.stdout.write(page.text())
    return 0


def read_findings(path: Path) -> Sequence[Finding]:
    """The findings of a file of any of the four kinds; ``ConfigError`` says what is wrong with it."""
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
    top = _top(text)
    if "runs" in top or (not top and _cut_sarif(text)):
        return _sarif(path, text)
    return _stored(path, top) if top.keys() >= STORED else _contract(path, text)


def _top(text: str) -> dict[str, Any]:
    """The object that a text is as a whole; empty for anything else."""
    import json

    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _cut_sarif(text: str) -> bool:
    """SARIF that is cut off, so that the error fits."""
    begins = text.lstrip().startswith("{")
    return begins and '"runs"' in text and '"results"' in text and '"conclusion"' not in text


def _stored(path: Path, top: dict[str, Any]) -> Sequence[Finding]:
    """The findings of a result of a run, where it is valid and answers a question for findings."""
    from prun_review.codec import decode
    from prun_review.model import Result

    try:
        result = decode(Result, top)
    except ValueError as error:
        raise ConfigError(
            f"no result that this version of prun_review wrote: {error}",
            place=str(path),
            remedy="give a result.json as the run left it",
        ) from error
    if not result.ok or result.answer is None:
        why = f"{result.status} ({result.reason})" + (f": {result.message}" if result.message else "")
        raise ConfigError(
            f"a result without a valid answer: {one_line(why, 500)}",
            place=str(path),
            remedy="give the result of a unit that answered",
        )
    if result.answer.verdict is None:
        raise ConfigError(
            "an answer to another kind of question, without findings",
            place=str(path),
            remedy="give the result of a unit that was asked for findings",
        )
    return result.findings


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
        told = "neither SARIF nor a stored result nor a valid answer under the contract 'findings':"
        raise ConfigError(
            told + "".join(listed),
            place=str(path),
            remedy="prun-review crosscheck --help says which files it takes",
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


def _told(finding: Finding) -> str:
    return f"{_place(finding)} {finding.severity} {finding.title}"


def _counts(pairs: Sequence[Pair]) -> str:
    """``2 match, 1 uncertain, 3 alone``."""
    counts = Counter(pair.outcome for pair in pairs)
    told = [f"{counts[word]} {word}" for word in ("match", "uncertain", "alone") if counts[word]]
    return ", ".join(told) or "no findings on either side"


def _place(finding: Finding) -> str:
    return place({"file": finding.file, "line": finding.line, "end_line": finding.end_line})
