"""``prun-review plan [PATH...]``: what ``pytest panels/`` would ask whom, and what it may cost.

Collects the probes as pytest would and dispatches nothing, starts no program and reads no key.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.cli.panels import STARTED, asking, panels, register_asking
from prun_review.errors import ConfigError, PrunError
from prun_review.renderers.escape import one_line, plain

if TYPE_CHECKING:
    import pytest

    from prun_review.model import Plan, Unit
    from prun_review.review import Review


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "plan", help="show what would be asked of whom, and the cost range", description=__doc__
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="panels, probe files, node ids")
    register_asking(parser)
    parser.add_argument("--prompts", action="store_true", help="print every prompt in full")
    parser.add_argument("-k", metavar="EXPR", default="", help="as pytest's -k")


def run(args: argparse.Namespace) -> int:
    """Print the plan; 0 when every brief can be built, 1 when one cannot."""
    import pytest

    from prun_review.settings import read_settings

    paths = list(args.paths) or [str(p) for p in panels(*read_settings(Path.cwd()))]
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *STARTED, *asking(args)]
    options += ["-k", args.k] if args.k else []
    keeper = _Keeper()
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = pytest.main([*options, *paths], plugins=[keeper])
    if keeper.error is not None:
        raise keeper.error
    if keeper.plan is None or keeper.review is None or status not in (0, 5):
        sys.stderr.write(plain(said.getvalue()))
        raise ConfigError("the probes could not be collected", place=" ".join(paths))
    _print(keeper.plan, keeper.review, keeper.broken, prompts=args.prompts)
    for name in keeper.nobody:
        print(f"nobody is asked about {one_line(name)}")
    return 1 if keeper.broken else 0


class _Keeper:
    """Takes the plan out of the pytest session."""

    def __init__(self) -> None:
        self.review: Review | None = None
        self.plan: Plan | None = None
        self.broken: Mapping[str, str] = {}
        self.nobody: Sequence[str] = ()
        """Changed files that nobody is asked about."""
        self.error: PrunError | None = None
        """Why there is no plan, although the probes were collected."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Plan what was collected."""
        manager = session.config.pluginmanager
        active = manager.get_plugin("prun_review-session")
        if active is None:
            return
        review: Review = active.review
        collector: Any = manager.get_plugin("prun_review-collector")
        proposals = collector.proposals(session.items)
        self.review = review
        try:
            self.plan, self.broken = review.head.plan(proposals, lambda name: "")
            self.nobody = _nobody(self.plan, self.broken, review)
        except PrunError as error:  # inside a hook it would be an internal error of pytest
            self.error = error


def _nobody(plan: Plan, broken: Mapping[str, str], review: Review) -> Sequence[str]:
    """The changed files that make the verdict INCOMPLETE whatever is answered, with their kinds."""
    from prun_review.covering import UNREADABLE, ignores

    tree = review.head.tree
    units = [u for u in plan.units if u.id not in broken and u.brief.contract.kind == "findings"]
    held = {name for unit in units for name in unit.files}
    whole = any(u.brief.scope == "tree" and not u.brief.reads and not u.files for u in units)
    ignored = ignores(review.config.gate.uncovered)
    found = []
    for file in tree.change.records() if tree.change else ():
        seen = file.path in held or (whole and file.status != "deleted")
        if file.path not in tree.alters and not ignored(file) and (file.kind in UNREADABLE or not seen):
            found.append(file.path if file.kind == "text" else f"{file.path} ({file.kind})")
    return found


def _print(plan: Plan, review: Review, broken: Mapping[str, str], *, prompts: bool) -> None:
    from prun_review.reporting import announcement, cost_range, examination_range, sendable

    for unit in plan.units:
        print(f"{unit.executor:10} {one_line(unit.id, 200)}")
        print(f"{'':10} {_detail(unit)}")
        if unit.id in broken:
            print(f"{'':10} BROKEN: {one_line(broken[unit.id], 300)}")
        elif prompts:
            print(_prompt(unit, review))
    for left in plan.not_asked:
        print(f"{'not asked':10} {one_line(left.case)} {one_line(left.executor)}: {one_line(left.text)}")
    print()
    print(announcement(plan, review.executors, None, broken))
    asked = sendable(plan, broken)
    further = examination_range(asked, review.executors, review.root, review.config)
    for line in (*cost_range(asked, review.executors, review.root), *further):
        print(plain(line))


def _detail(unit: Unit) -> str:
    brief = unit.brief
    kind = brief.contract.kind + (" with sources" if brief.contract.sources else "")
    needs = f", needs {one_line(', '.join(brief.needs))}" if brief.needs else ""
    limit = f"at most {brief.timeout:.0f} s{needs}"
    return f"{kind}, access {brief.access}, {_about(unit)}, {limit}"


def _about(unit: Unit) -> str:
    if unit.brief.scope == "tree":
        return f"{len(unit.files)} files" if unit.brief.reads else "the whole tree"
    files = f"{len(unit.files)} changed {'file' if len(unit.files) == 1 else 'files'}"
    shown = set(unit.inlined)
    rest = [one_line(name) for name in unit.files if name not in shown]
    if not shown:
        return f"{files} ({', '.join(rest)}), no diff in the prompt"
    return f"{files}, {len(shown)} in the prompt" + (f", not in it {', '.join(rest)}" if rest else "")


def _prompt(unit: Unit, review: Review) -> str:
    from prun_review import extensions, prompts

    kinds = extensions.contracts(review.extensions)
    native = review.executors[unit.executor].native
    diff = review.head.diffs("<beside>")(unit)
    text = prompts.compose(unit, kinds[unit.brief.contract.kind], fence="<random>", native=native, diff=diff)
    return "\n".join("    " + line for line in plain(text).splitlines())
