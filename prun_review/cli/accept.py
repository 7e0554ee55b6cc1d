"""``prun-review accept RUN FINDING --reason TEXT --by NAME``: a named person answers for a finding.

FINDING is the id of a finding in the run's report, its fingerprint, or the beginning of one of them that
fits no other.  Of an uncertain finding, which may be two, it names one member, and only that one is
accepted.  An entry is added to the ``accept`` file of the trusted root (prun-accept.toml), which
keeps what stands in it.  From the next run on the finding does not gate, in whatever words it is told
again, unless it is more severe by then; every report names who accepted it.  The run is not touched.

Exit 0, also where it is accepted already; 2 where run, finding or file do not allow it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.cli import runs, stored
from prun_review.errors import ConfigError
from prun_review.renderers.escape import one_line

if TYPE_CHECKING:
    from prun_review.consensus import Group
    from prun_review.model import Acceptance, Finding

LISTED = 10
"""Findings named in one message."""


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "accept",
        help="answer for a finding, so that it does not gate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", help="run id or directory, or 'latest'")
    parser.add_argument(
        "finding", metavar="FINDING", help="its id, its fingerprint, or how one of them begins"
    )
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why it may stay, in words")
    parser.add_argument("--by", required=True, metavar="NAME", help="who answers for it")
    parser.add_argument(
        "--until", default="", metavar="DATE", help="the last day on which it counts: 2026-12-01"
    )


def run(args: argparse.Namespace) -> int:
    """Add the entry; 0."""
    from prun_review.acceptance import table_of
    from prun_review.findingrows import group_of
    from prun_review.keeping import acceptance
    from prun_review.settings import read_settings

    root, config = read_settings(Path.cwd())
    path = runs.answered("accept", args.run)
    document = stored.read(path).document
    row = chosen(document["findings"], args.finding, path.name)
    commit = document["revision"]["commit"]
    until = _until(args.until)
    group = of_one(group_of(row), args.finding)
    row = {**row, "severity": group.severity, **_row(group.lead)}
    made = acceptance(group, args.by.strip(), args.reason.strip(), until, commit)
    file = root / config.accept
    content = _content(root, config.accept)
    text = content.decode()
    before = _standing(text, config.accept, made)
    if before:
        _tell(f"{_named(row)} is accepted already, {before}; nothing was written to {file}")
        return 0
    joint = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    _check(text + joint + table_of(made), config.accept)
    _write(file, content + (joint + table_of(made)).encode())
    _tell(f"{_named(row)} ({made.subject}) is accepted by {made.by}: {file}")
    for other in made.also:
        _tell(f"and so is what others said of it: {other.title} ({_place(_row(other))})")
    for line in _effects(row, document, until, config.accept):
        _tell(line)
    return 0


def chosen(rows: Sequence[Mapping[str, Any]], wanted: str, run: str) -> Mapping[str, Any]:
    """The one finding that is meant; ``ConfigError`` for none or several."""
    from prun_review.model import SEVERITIES

    keys = [(row, _names(row)) for row in rows]
    found = [row for row, names in keys if wanted in names]
    found = found or [row for row, names in keys if wanted and any(n.startswith(wanted) for n in names)]
    listed = "".join(f"\n  {_listed(row, rows)}" for row in (found or rows)[:LISTED])
    more = len(found or rows) - LISTED
    listed += f"\n  and {more} more" if more > 0 else ""
    if not found:
        raise ConfigError(
            f"run {run} holds no finding {wanted[:200]!r}" + (f"; it holds{listed}" if rows else ""),
            place="FINDING",
            remedy=f"one of these names, or one in prun-review report {run}" if rows else "name another run",
        )
    if len(found) > 1:
        raise ConfigError(
            f"{wanted[:200]!r} means {len(found)} findings of run {run}:{listed}",
            place="FINDING",
            remedy="one of these names, or more of it",
        )
    [row] = found
    if row["severity"] not in SEVERITIES:
        raise ConfigError(
            f"the severity of {_named(row)} is no known word: nothing is as severe as what nobody knows",
            place="FINDING",
            remedy="ask again",
        )
    return row


def _row(finding: Finding) -> dict[str, Any]:
    return {"title": finding.title, "file": finding.file, "line": finding.line}


def _names(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What a finding is called by; an uncertain one by the names of each of its members too."""
    from prun_review.findingrows import group_of
    from prun_review.keeping import apiece

    ours = (row["id"], row.get("fingerprint", ""))
    if row.get("class") != "uncertain":
        return ours
    return (*ours, *(name for one in apiece(group_of(row)) for name in _called(one)))


def _called(group: Group) -> tuple[str, str]:
    from prun_review.fingerprints import fingerprint

    return group.id, fingerprint(group.case, group.lead)


def of_one(group: Group, wanted: str) -> Group:
    """The member of an uncertain finding that is meant, as a finding of its own; any other as it is."""
    from prun_review.keeping import apiece

    every = apiece(group)
    if group.kind != "uncertain":
        return group
    found = [one for one in every if wanted in _called(one)]
    found = found or [one for one in every if any(name.startswith(wanted) for name in _called(one))]
    if len(found) != 1:
        told = (f"{one.id} {one.severity}: {one.lead.title}" for one in every)
        listed = "".join(f"\n  {one_line(line, 300)}" for line in told)
        raise ConfigError(
            f"{wanted[:200]!r} may be more than one defect, and each is answered for by itself:{listed}",
            place="FINDING",
            remedy="the id of one of them",
        )
    return found[0]


def _until(text: str) -> str:
    from prun_review.acceptance import day, today

    if not text:
        return ""
    found = day(text)
    if found is None or found < today(time.time()):
        why = "no day" if found is None else "over already"
        raise ConfigError(
            f"until is {text[:40]!r}, which is {why}", place="--until", remedy="a day such as 2026-12-01"
        )
    return found.isoformat()


def _content(root: Path, name: str) -> bytes:
    """What stands in the file; nothing where there is none."""
    from prun_review import files
    from prun_review.boundary import MOST_ACCEPT

    found = files.take_regular(root, name, MOST_ACCEPT)
    why = found.note
    if not why:
        try:
            found.data.decode()
        except UnicodeDecodeError:
            why = "not UTF-8"
    if why:
        raise ConfigError(
            f"accept cannot be read: {why}",
            place=str(root / name),
            remedy="an ordinary file that no link leads to; mend it, or remove it",
        )
    return found.data


def _standing(text: str, place: str, made: Acceptance) -> str:
    """By whom the same is accepted already, as much as it is now; empty where it is not."""
    from prun_review.acceptance import parse
    from prun_review.changegate import accepted
    from prun_review.fingerprints import fingerprint
    from prun_review.folding import level
    from prun_review.sameness import far, one_place

    def told(finding: Finding, entry: Acceptance) -> bool:
        every = (entry.finding, *entry.also)
        name = fingerprint(made.case, finding)
        here = [f for f in every if f and one_place(f, finding) and not far(f, finding)]
        return any(fingerprint(entry.case, f) == name for f in here)

    for one in parse(text, place, time.time()):
        if one.kind != made.kind or one.expired or not one.finding or not made.finding:
            continue
        same = one.subject == made.subject and one.finding.note in ("", made.finding.note)
        enough = level(one.finding.severity) >= level(made.finding.severity)
        if same and enough and all(told(f, one) for f in (made.finding, *made.also)):
            return accepted(one)
    return ""


def _check(text: str, place: str) -> None:
    """``ConfigError`` where the file would not be one that a run takes."""
    from prun_review.acceptance import parse
    from prun_review.boundary import MOST_ACCEPT

    parse(text, place, time.time())
    if len(text.encode()) > MOST_ACCEPT:
        raise ConfigError(
            f"it would be larger than {MOST_ACCEPT} bytes", place=place, remedy="take out what is over"
        )


def _write(file: Path, data: bytes) -> None:
    from prun_review import files
    from prun_review.rundir import SHARED

    with files.named(ConfigError, "accept cannot be written", file):
        mode = file.stat().st_mode & 0o777 if file.exists() else SHARED
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, data, mode)


def _effects(row: Mapping[str, Any], document: Mapping[str, Any], until: str, name: str) -> list[str]:
    days = f" up to {until}" if until else ""
    stays = f"run {document['run_id']} stays {document['verdict']['outcome']}" if document["verdict"] else ""
    led = f"in this run it led to {row['outcome']}" if row["outcome"] else "in this run it blocked nothing"
    told = [
        f"from the next run on it does not gate{days}, unless it is more severe than {row['severity']}; "
        + "; ".join(filter(None, (led, stays)))
    ]
    if document["change"]:
        told.append(f"a review of a change reads {name} where it is trusted: commit it to the base")
    return told


def _listed(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The short name of a finding, and what it is; its id where the fingerprint is not its alone."""
    name = row.get("fingerprint", "")
    if not name or sum(other.get("fingerprint", "") == name for other in rows) > 1:
        name = row["id"]
    told = f"{one_line(row['severity'], 20)}: {one_line(row['title'], 80)} ({one_line(_place(row), 80)})"
    return f"{one_line(name, 200)}  {told}"


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['file']}:{row['line']}" if row["file"] and row["line"] else row["file"] or "no place"


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['severity']} {row['class']}: {row['title']} ({_place(row)})"


def _tell(text: str) -> None:
    print(f"prun-review accept: {one_line(text, 1000)}", file=sys.stderr)
