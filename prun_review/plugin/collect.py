"""Probe files become pytest modules, probes become items, items become proposals.

Everything that a dispatch needs is known here, at collection, as data: see
:class:`prun_review.planning.Proposal`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from prun_review import planning, probes
from prun_review.config import Config
from prun_review.errors import BriefError
from prun_review.model import Brief
from prun_review.patterns import matcher
from prun_review.planning import Proposal
from prun_review.plugin import marks, parts, scope
from prun_review.ports import Executor
from prun_review.slices import Slice

PARAM = "prun_executor"
"""Name of the parameter that carries the executor; its value is an :class:`Asked`."""
NOT_ASKED_ID = "not-asked"


class ProbeWarning(pytest.PytestWarning):
    """Something in a probe file that will not be run."""


class Asked(tuple[str, int]):
    """Executor name and repeat; the parameter value of one item.  An empty name: nobody is asked."""

    __slots__ = ()

    def __new__(cls, executor: str, repeat: int = 1) -> Asked:
        return super().__new__(cls, (executor, repeat))


class ProbeModule(pytest.Module):
    """A ``probe_*.py`` file: its ``probe_*`` functions are the items."""

    def funcnamefilter(self, name: str) -> bool:
        """Only ``probe_*``."""
        return name.startswith("probe_")

    def classnamefilter(self, name: str) -> bool:
        """No classes."""
        return False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The items; warns of what a reader might take for one."""
        for name, value in vars(self.obj).items():
            own = getattr(value, "__module__", None) == self.obj.__name__
            if own and (isinstance(value, type) or (callable(value) and name.startswith("test_"))):
                kind = "class" if isinstance(value, type) else "test"
                self.warn(ProbeWarning(f"{self.nodeid}: {kind} {name} in a probe file is not run"))
        return super().collect()


class Collector:
    """The collection hooks of an active session."""

    def __init__(
        self, where: scope.Scope, config: Config, executors: Mapping[str, Executor], kinds: Collection[str]
    ) -> None:
        self.where = where
        self.config = config
        self.executors = executors
        self.kinds = kinds
        """The contract kinds there are; any other word is an error of its brief."""
        self.provided = {
            name: executor.provides | set(config.executor(name).provides)
            for name, executor in executors.items()
        }
        """What each executor declares, by name: briefs with ``needs`` go by it."""
        self.seen = 0
        self.left_out: dict[str, list[tuple[str, str, str]]] = {}
        """Probe function id -> (executor, reason code, text) of those that are not asked."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Probe files are collected below panels folders only."""
        if collection_path.match(scope.PATTERN) and not self._in_panels(collection_path):
            return True
        return None

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> ProbeModule | None:
        """Our module class for probe files."""
        if module_path.match(scope.PATTERN) and self._in_panels(module_path):
            module: ProbeModule = ProbeModule.from_parent(parent, path=module_path)
            return module
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(self, collector: Any) -> Generator[None, Any, Any]:
        """A probe about a change becomes an item for each part of it."""
        made = yield
        if isinstance(collector, ProbeModule) and isinstance(made, list):
            return [part for item in made for part in _spread(item)]
        return made

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize a probe over its executors, after every parametrization of its own."""
        if not is_probe(metafunc.definition):
            return
        values, ids = self._ask(metafunc.definition)
        metafunc.fixturenames.append(PARAM)
        metafunc.parametrize(PARAM, values, ids=ids)

    def _ask(self, definition: pytest.Item) -> tuple[list[Any], list[str]]:
        try:
            wanted = probes.shape(marks.fields(definition))
        except BriefError:  # reported by the proposal of each item, which builds the brief again
            wanted = probes.Shape()
        chosen = self.config.offline_executors if self.config.offline else self.config.executors
        route = probes.route(wanted, chosen, self.provided, restricted=self._restricted())
        asked = [name for name in route.asked if self._can_answer(name, wanted.contract.kind)]
        kind = wanted.contract.kind
        left_out = self.left_out.setdefault(definition.nodeid, [])
        left_out += route.left_out
        left_out += [
            (name, "contract", f"{name} cannot answer a {kind} question{self._unless(name, kind)}")
            for name in route.asked
            if name not in asked
        ]
        if route.unmet:  # no skip mark: the plan is refused, unless a mark of the probe's own skips it
            left_out.append(("", planning.UNMET, route.unmet))
            return [pytest.param(Asked(""))], [NOT_ASKED_ID]
        if not asked:
            texts = "; ".join(text for _, _, text in left_out)
            return [pytest.param(Asked(""), marks=pytest.mark.skip(f"not asked: {texts}"))], [NOT_ASKED_ID]
        repeat = self.config.repeat or wanted.repeat  # the command line's word, else the probe's
        pairs = [Asked(name, n) for name in asked for n in range(1, repeat + 1)]
        return pairs, [name if repeat == 1 else f"{name}~{n}" for name, n in pairs]

    def _can_answer(self, name: str, kind: str) -> bool:
        """Whether an executor takes the contract; unknown executors and kinds fail later, by name."""
        executor = self.executors.get(name)
        return executor is None or kind not in self.kinds or kind in executor.contracts

    def _unless(self, name: str, kind: str) -> str:
        """What would let a program of the user's own be asked; empty for all others."""
        table = self.config.executor_tables.get(name)
        mine = table is not None and table.type in ("command", "inbox")
        return f' (contracts = [..., "{kind}"] in its table says that it can)' if mine else ""

    def _check_kind(self, kind: str) -> None:
        if kind not in self.kinds:
            raise BriefError(f"unknown contract {kind!r}", remedy="known: " + ", ".join(sorted(self.kinds)))

    def _restricted(self) -> bool:
        return self.config.offline or self.config.sources.get("executors") == "command line"

    def _in_panels(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(p) for p in self.where.panels)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Count the probes before anything takes some away."""
        self.seen += is_probe(item)

    def left(self, items: Sequence[pytest.Item]) -> int:
        """How many probes were collected and are not in ``items``, whatever took them away."""
        return max(0, self.seen - sum(map(is_probe, items)))

    def proposals(self, items: Sequence[pytest.Item]) -> list[Proposal]:
        """One proposal an item, and one for each executor that a case is not put to."""
        made: list[Proposal] = []
        seen: set[tuple[str, str]] = set()
        for item in filter(is_probe, items):
            proposal = self._proposal(item)
            if proposal.executor:
                made.append(proposal)
            for executor, reason, text in self.left_out.get(_function_id(item), []):
                if (proposal.case, executor) not in seen:
                    seen.add((proposal.case, executor))
                    if reason == planning.UNMET and decided(item)[0]:
                        reason, text = decided(item)
                    made.append(
                        Proposal(
                            f"{proposal.case}::{executor}",
                            proposal.case,
                            proposal.folder,
                            executor,
                            place=proposal.place,
                            not_asked=reason,
                            text=text,
                        )
                    )
        return made

    def _proposal(self, item: pytest.Item) -> Proposal:
        params = dict(item.callspec.params)  # type: ignore[attr-defined]
        executor, repeat = params.pop(PARAM)
        folder = os.path.relpath(item.path.parent, self.where.root).replace(os.sep, "/")
        line = item.location[1]
        where = f"{item.location[0]}:{line + 1}" if line is not None else item.location[0]
        not_asked, text = _not_asked(item, executor)
        brief, error = Brief(""), ""
        if not not_asked:
            brief, error = self._brief(item, params)
            not_asked, text = ("", "") if error else parts.left_out(item, brief.reads)
        about = item.stash.get(parts.SLICE, Slice((), ()))
        return Proposal(
            *(item.nodeid, case_of(item), folder, executor or "", repeat, where, brief, error, not_asked),
            *(text, about.files, about.inlined),
        )

    def _brief(self, item: pytest.Item, params: Mapping[str, Any]) -> tuple[Brief, str]:
        function: Callable[..., Any] = item.obj  # type: ignore[attr-defined]
        try:
            marks.check_places(item)
            brief = probes.resolve(
                marks.fields(item),
                docstring=function.__doc__,
                params=params,
                folder=item.path.parent,
                timeout=self.config.timeout,
                watched=self._watched if self.config.base else None,
            )
            self._check_kind(brief.contract.kind)
        except Exception as error:  # a probe's own prompt function may raise anything
            return Brief(""), f"brief cannot be built: {type(error).__name__}: {error}"
        return brief, ""

    def _watched(self, path: Path) -> bool:
        """Whether a change of this file would be told as one of the review itself.

        Under the name that leads to it as well as under its own: either could be rewritten.
        """
        matches = matcher(self.config.guarded)
        root = Path(os.path.realpath(self.where.root))
        named = Path(os.path.normpath(root / os.path.relpath(path, self.where.root)))

        def counts(name: Path) -> bool:
            if any(name.is_relative_to(panel) for panel in self.where.panels):
                return True
            return name.is_relative_to(root) and matches(name.relative_to(root).as_posix())

        return counts(named) and counts(Path(os.path.realpath(path)))


def is_probe(item: Any) -> bool:
    """True for an item (or function definition) of a probe file."""
    return isinstance(item, pytest.Function) and item.getparent(ProbeModule) is not None


def case_of(item: pytest.Item) -> str:
    """The node id without the executor."""
    name = item.callspec.id  # type: ignore[attr-defined]
    last = _executor_id(item)
    rest = name[: -len(last)].removesuffix("-") if name.endswith(last) else name
    base = item.nodeid[: -len(f"[{name}]")]
    return f"{base}[{rest}]" if rest else base


def _executor_id(item: pytest.Item) -> str:
    """What stands for the executor in the item's name."""
    name, (executor, repeat) = item.callspec.id, item.callspec.params[PARAM]  # type: ignore[attr-defined]
    return executor if name.rpartition("~")[2] != str(repeat) else f"{executor}~{repeat}"


def _spread(item: Any) -> Sequence[Any]:
    if not is_probe(item) or not item.callspec.params[PARAM][0]:
        return [item]
    try:
        found = parts.slices(marks.fields(item), item.callspec.params)
    except Exception:  # whatever it is, the item's proposal and its plan meet it again and tell it
        return [item]
    return parts.spread(item, _executor_id(item), found)


def _function_id(item: pytest.Item) -> str:
    return item.nodeid.split("[", 1)[0]


def _not_asked(item: pytest.Item, executor: str) -> tuple[str, str]:
    if not executor:  # the placeholder item; ``left_out`` says who is not asked and why
        return "contract", ""
    return decided(item)


def decided(item: pytest.Item) -> tuple[str, str]:
    """Reason code and words where the marks of an item keep it from being asked; empty where none does."""
    try:
        skipped = evaluate_skip_marks(item)
        xfailed = evaluate_xfail_marks(item)
    except Exception:  # a broken condition fails the item itself, in pytest's own words
        return "", ""
    if skipped:
        return _emptied(item, skipped.reason) or ("skipped", skipped.reason)
    if xfailed and not xfailed.run:
        return _emptied(item, xfailed.reason) or ("skipped", f"xfail(run=False) {xfailed.reason}".strip())
    return "", ""


def _emptied(item: pytest.Item, reason: str) -> tuple[str, str] | None:
    """The same where pytest itself skips what has no parameters: nobody decided that."""
    if not reason.startswith("got empty parameter set"):
        return None
    code, text = parts.emptied(item)
    return code or "no-parameters", text or reason
