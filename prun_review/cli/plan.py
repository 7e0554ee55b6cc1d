"""``prun-review plan [PATH...]``: what ``pytest panels/`` would ask whom, and what it may cost; of a
directory of waves, or of tasks in one (``DIR::task-001``), who does what.

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

    from prun_review.authors import Authors
    from prun_review.model import Plan, Unit
    from prun_review.review import Review


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "plan", help="show what would be asked of whom, and the cost range", description=__doc__
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="panels, probe files, node ids, or a directory of waves"
    )
    register_asking(parser)
    register_waves(parser)
    parser.add_argument("--prompts", action="store_true", help="print every prompt in full")
    parser.add_argument("-k", metavar="EXPR", default="", help="as pytest's -k")


def register_waves(parser: argparse.ArgumentParser) -> None:
    """Add the options of how often everybody is asked, and what is asked about the answers."""
    # Under pytest's names too, since the plan's own lines name those.
    often = "as --prun-repeat: ask each executor K times"
    parser.add_argument("--repeat", "--prun-repeat", type=int, metavar="K", help=often)
    parser.add_argument(
        "--cross-examine",
        "--prun-cross-examine",
        choices=("off", "gate", "all"),
        help="as --prun-cross-examine",
    )


def waves(args: argparse.Namespace) -> list[str]:
    """The same as pytest knows them."""
    options = [f"--prun-repeat={args.repeat}"] if args.repeat is not None else []
    return options + ([f"--prun-cross-examine={args.cross_examine}"] if args.cross_examine else [])


def run(args: argparse.Namespace) -> int:
    """Print the plan; 0 when every brief can be built, 1 when one cannot."""
    import pytest

    from prun_review.cli import planwaves
    from prun_review.settings import read_settings

    if found := planwaves.named(args.paths):
        return planwaves.run(*found, args, [*asking(args), *waves(args), *["-k"] * bool(args.k)])
    paths = list(args.paths) or [str(p) for p in panels(*read_settings(Path.cwd()))]
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *STARTED, *asking(args)]
    options += waves(args)
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
    wrote = _authors(review).wrote
    units = [
        u
        for u in plan.units
        if u.id not in broken and u.brief.contract.kind == "findings" and not wrote(u.executor)
    ]
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
    for line in (*cost_range(asked, review.executors, review.root), *further, *_quorums(asked, review)):
        print(plain(line))


def _quorums(plan: Plan, review: Review) -> Sequence[str]:
    """A warning for each panels folder that cannot reach its quorum, whatever is answered."""
    from prun_review.answers import Answers
    from prun_review.folders import Folder
    from prun_review.model import ExecutorInfo
    from prun_review.verdict import number

    infos = {n: ExecutorInfo(n, e.vendor, e.lineage, e.paid) for n, e in review.executors.items()}
    authors, warnings = _authors(review), []
    for name in sorted({unit.folder for unit in plan.units}):
        units = tuple(u for u in plan.units if u.folder == name)
        policy = review.config.policy(name)
        folder = Folder(name, policy, units, (), Answers(), (), infos, authors=authors)
        asked = [tuple(sorted(names)) for names in folder.asked().values()]
        for names in sorted(set(asked)) if folder.decides else ():
            need, have = folder.quorum(names), len(folder.voices(names))
            if have < need:
                warnings.append(
                    f"warning: {one_line(name)}: the quorum is {need}, and "
                    f"{number(asked.count(names), 'case')} will be asked of {', '.join(names)} only "
                    f"({have} independent{authors.disowned(names)}): INCOMPLETE, whatever is answered"
                )
    return warnings


def _authors(review: Review) -> Authors:
    """Who wrote what is reviewed."""
    from prun_review.authors import among

    return among(review.config.authors, list(review.executors.values()))


def _detail(unit: Unit) -> str:
    brief = unit.brief
    kind = brief.contract.kind + (" with sources" if brief.contract.sources else "")
    needs = f", needs {one_line(', '.join(brief.needs))}" if brief.needs else ""
    limit = f"at most {brief.timeout:.0f} s{needs}"
    return f"{kind}, access {brief.access}, {_about(unit)}, {limit}"


def _about(unit: Unit) -> str:
    from prun_review.verdict import number

    if unit.brief.scope == "tree":
        return number(len(unit.files), "file") if unit.brief.reads else "the whole tree"
    files = number(len(unit.files), "changed file")
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
