"""What a probe file imports: ``brief`` and ``choice``; and how marks become one brief.

``brief`` is a pytest marker.  It checks nothing when it is applied: a malformed brief must fail its
own item, not the import of the whole file, so all checks are in :func:`resolve`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.config import REPEATS
from prun_review.errors import BriefError
from prun_review.model import MAX_DIFF, Brief, Contract
from prun_review.patterns import matcher
from prun_review.routing import Route, route
from prun_review.written import WRITING

if TYPE_CHECKING:
    import pytest

__all__ = ["Route", "Shape", "brief", "choice", "fill", "merge", "reads_of", "resolve", "route", "shape"]

MARK = "brief"
FIELDS = (
    *("prompt", "reads", "contract", "sources", "executors", "needs", "access", "timeout", "repeat"),
    *("scope", "max_diff", "mode", "verify"),
)
SHAPING = ("executors", "needs", "contract", "sources", "repeat", "scope", "max_diff", "mode")
"""Fields that decide how many items there are: they stand on the function or the module only."""
MODES = ("review", "write")
ACCESS = {"review": ("read", "run", "full"), "write": ("write", "full")}
"""By mode, the default first."""
SCOPES = ("tree", "diff")
DIFF_LIMIT = 1_000_000
"""Characters that ``max_diff`` may be at most."""


def brief(
    *,
    prompt: str | Path | Callable[..., str] | None = None,
    reads: Sequence[str] | None = None,
    contract: Contract | str | None = None,
    sources: bool | None = None,
    executors: Sequence[str] | None = None,
    needs: Sequence[str] | None = None,
    access: str | None = None,
    timeout: float | None = None,
    repeat: int | None = None,
    scope: str | Sequence[str] | None = None,
    max_diff: int | None = None,
    mode: str | None = None,
    verify: Sequence[str] | None = None,
    **unknown: Any,
) -> pytest.MarkDecorator:
    """Say what a probe asks.  A marker: on a function, in ``pytestmark``, in ``pytest.param(marks=)``.

    prompt: instead of the docstring: text, a file (relative to the probe file) or a function of the
    probe's parameters.  reads: patterns of files in the reviewed tree; their names go into the
    prompt.  contract: ``"findings"`` (default), ``"prose"`` or :func:`choice`.  sources: True for a
    question about the web: the answer lists every page fetched with its HTTP status; not with prose,
    and only with ``access="full"``.  executors: who is asked, instead of the configured ones.  needs:
    what they must provide (``"mcp:gmail"``), as ``provides`` in executor tables declares it.  access:
    ``"read"`` (default), ``"run"``, ``"full"``.  timeout: seconds per attempt.  repeat: how often
    each executor is asked, where ``--prun-repeat`` does not say it.  scope: ``"diff"`` asks about what a
    change does (``--prun-base``) to the files that ``reads`` names; the case is not asked where none of
    them changed.  max_diff: characters of the diff in one prompt; over it the case is split by file into
    several.

    mode: ``"write"`` has the executor change a throwaway copy of the tree; its contract is ``"change"``, and
    its access ``"write"`` (default) or ``"full"``.  scope is then a list of patterns of what it may touch,
    and verify a list of shell commands that are run on what it wrote; ``{name}`` is filled in both.
    """
    import pytest

    given = {
        "prompt": prompt,
        "reads": reads,
        "contract": contract,
        "sources": sources,
        "executors": executors,
        "needs": needs,
        "access": access,
        "timeout": timeout,
        "repeat": repeat,
        "scope": scope,
        "max_diff": max_diff,
        "mode": mode,
        "verify": verify,
    }
    mark: pytest.MarkDecorator = getattr(pytest.mark, MARK)(
        **{k: v for k, v in given.items() if v is not None}, **unknown
    )
    return mark


def choice(*options: str, criteria: Sequence[str] = ()) -> Contract:
    """The contract of a design question: choose one of ``options``, scoring each on ``criteria``."""
    return Contract("choice", tuple(options), tuple(criteria))


def merge(marks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Field by field, the first of ``marks`` (closest first) that has it.  ``BriefError`` if unknown."""
    merged: dict[str, Any] = {}
    for mark in marks:
        for name, value in mark.items():
            if name not in FIELDS:
                near = difflib.get_close_matches(name, FIELDS, 1)
                remedy = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(FIELDS)
                raise BriefError(f"brief() has no field {name!r}", remedy=remedy)
            merged.setdefault(name, value)
    return merged


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a brief that decide which items there are."""

    contract: Contract = field(default_factory=Contract)
    executors: tuple[str, ...] | None = None
    """Who is asked; None: the configured ones."""
    needs: tuple[str, ...] = ()
    repeat: int = 1
    scope: str = "tree"
    max_diff: int = MAX_DIFF
    mode: str = "review"


def shape(fields: Mapping[str, Any]) -> Shape:
    """The shaping part of merged fields; ``BriefError``."""
    executors = fields.get("executors")
    if executors is not None:
        executors = _strings("executors", executors)
        if not executors:
            raise BriefError("executors is empty", remedy="leave it out for the configured executors")
    repeat = fields.get("repeat", 1)
    if not isinstance(repeat, int) or isinstance(repeat, bool) or not 1 <= repeat <= REPEATS:
        raise BriefError(f"repeat is {repeat!r}", remedy=f"a whole number from 1 to {REPEATS}")
    needs = tuple(dict.fromkeys(_strings("needs", fields.get("needs", ()))))
    mode = fields.get("mode", "review")
    if mode not in MODES:
        raise BriefError(f"mode is {mode!r}", remedy="one of " + ", ".join(MODES))
    scope, max_diff = _scope(fields, mode)
    return Shape(_contract(fields, scope, mode), executors, needs, repeat, scope, max_diff, mode)


def _scope(fields: Mapping[str, Any], mode: str) -> tuple[str, int]:
    scope, limit = fields.get("scope", "tree"), fields.get("max_diff", MAX_DIFF)
    if mode == "write":
        _writes(fields)
        scope = "tree"
    elif "verify" in fields:
        raise BriefError(
            "verify goes with mode='write'", remedy="brief(mode='write', verify=[...]), or leave it out"
        )
    elif isinstance(scope, (list, tuple)):
        raise BriefError(
            "scope is a list, and nothing is written",
            remedy="brief(mode='write', scope=[...]); reads=[...] names what a review is about",
        )
    if scope not in SCOPES:
        raise BriefError(f"scope is {scope!r}", remedy="one of " + ", ".join(SCOPES))
    if "max_diff" in fields and scope != "diff":
        raise BriefError(
            "max_diff goes with scope='diff'", remedy="brief(scope='diff', max_diff=...), or leave it out"
        )
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= DIFF_LIMIT:
        raise BriefError(f"max_diff is {limit!r}", remedy=f"a whole number from 1 to {DIFF_LIMIT}")
    return scope, limit


def _writes(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The patterns of what a writing unit may touch, not filled in yet."""
    given = fields.get("scope", ())
    if isinstance(given, str):
        raise BriefError(
            f"scope is {given!r} beside mode='write'",
            remedy="a list of patterns of what may be touched; scope='diff' is for reviews",
        )
    patterns = _strings("scope", given)
    if "scope" in fields and not patterns:  # as if nothing had been said, all might be touched
        raise BriefError("scope is empty", remedy="leave it out where everything may be touched")
    return patterns


def _contract(fields: Mapping[str, Any], scope: str, mode: str) -> Contract:
    contract = fields.get("contract", Contract("change") if mode == "write" else Contract())
    if isinstance(contract, str):
        contract = Contract(contract)
    if not isinstance(contract, Contract):
        raise BriefError(f"contract is {contract!r}", remedy="'findings', 'prose' or choice('a', 'b')")
    if contract.kind == "examination":  # its answers are about findings: without them they would gate nothing
        raise BriefError(
            "contract 'examination' is the second wave's own",
            remedy="'findings', 'prose' or choice('a', 'b')",
        )
    if (contract.kind in WRITING) != (mode == "write"):
        raise BriefError(
            f"contract {contract.kind!r} beside mode={mode!r}",
            remedy="mode='write' goes with contract='change' (its default), and with nothing else that does",
        )
    _check_choice(contract)
    sources = fields.get("sources", contract.sources)
    if not isinstance(sources, bool):
        raise BriefError(f"sources is {sources!r}", remedy="True or False")
    if sources and contract.kind == "prose":
        raise BriefError(
            "sources go with a payload, and a prose answer has none",
            remedy="contract='findings' or choice('a', 'b'), or leave sources out",
        )
    return replace(contract, sources=sources, change=scope == "diff" and contract.kind == "findings")


def resolve(
    fields: Mapping[str, Any],
    *,
    docstring: str | None,
    params: Mapping[str, Any],
    folder: Path,
    timeout: float,
    watched: Callable[[Path], bool] | None = None,
) -> Brief:
    """The brief of one case.  ``folder`` is where the probe file lies, ``timeout`` the default; ``watched``
    says of a prompt file whether a change of it is noticed, and is None where no change is reviewed.

    ``BriefError`` says what is malformed.  An exception raised by a prompt function comes out as it is.
    """
    wanted = shape(fields)
    given = fields.get("prompt")
    if watched and isinstance(given, Path) and not watched(folder / given):
        raise BriefError(
            f"the prompt file {given} lies outside the panels, and a change could rewrite it",
            remedy="move it into the panels folder, or add it to guarded in [tool.prun_review]",
        )
    prompt = _prompt(given, docstring, params, folder)
    if not prompt.strip():
        raise BriefError(
            "the prompt is empty",
            remedy="give the probe a docstring (python -OO removes them) or brief(prompt=...)",
        )
    allowed = ACCESS[wanted.mode]
    access = fields.get("access", allowed[0])
    if access not in allowed:
        beside = "" if wanted.mode == "review" else f" beside mode={wanted.mode!r}"
        raise BriefError(f"access is {access!r}{beside}", remedy="one of " + ", ".join(allowed))
    if wanted.contract.sources and access != "full":
        raise BriefError(
            f"sources are asked for with access {access!r}: no page can be fetched",
            remedy="brief(sources=True, access='full')",
        )
    seconds = fields.get("timeout", timeout)
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 < seconds < 10**7:
        raise BriefError(f"timeout is {seconds!r}", remedy="seconds above 0")
    return Brief(
        prompt.strip(),
        wanted.contract,
        reads_of(fields, params),
        access,
        float(seconds),
        wanted.needs,
        wanted.scope,
        wanted.max_diff,
        mode=wanted.mode,
        writes=_checked_writes(fields, params) if wanted.mode == "write" else (),
        verify=_strings("verify", [fill(c, params) for c in _strings("verify", fields.get("verify", ()))]),
    )


def _checked_writes(fields: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[str, ...]:
    """The patterns of what may be touched, filled; ``BriefError`` for one that leaves the tree."""
    filled = _strings("scope", [fill(pattern, params) for pattern in _writes(fields)])
    matcher(filled)
    return filled


def reads_of(fields: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[str, ...]:
    """The patterns of merged fields, filled; ``BriefError`` where they are no list of strings."""
    return tuple(fill(p, params) for p in _strings("reads", fields.get("reads", ())))


def fill(text: str, params: Mapping[str, Any]) -> str:
    """``{name}`` becomes the parameter of that name; every other brace stays as it is."""
    return re.sub(r"\{(\w+)\}", lambda m: str(params[m[1]]) if m[1] in params else m[0], text)


def _prompt(given: Any, docstring: str | None, params: Mapping[str, Any], folder: Path) -> str:
    if given is None:
        import inspect

        return fill(inspect.cleandoc(docstring or ""), params)
    if isinstance(given, str):
        return fill(given, params)
    if isinstance(given, Path):
        path = folder / given
        try:
            return fill(path.read_text(encoding="utf-8"), params)
        except (OSError, UnicodeDecodeError) as error:
            raise BriefError(f"prompt file {path} cannot be read: {error}") from None
    if callable(given):
        import inspect

        names = inspect.signature(given).parameters
        prompt = given(**{k: v for k, v in params.items() if k in names})
        if isinstance(prompt, str):
            return prompt
        raise BriefError(f"the prompt function gave {type(prompt).__name__}", remedy="return a string")
    raise BriefError(f"prompt is {given!r}", remedy="a string, a Path, or a function of the parameters")


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(v, str) and v.strip() for v in value):
        return tuple(value)
    raise BriefError(f"{name} is {value!r}", remedy="a list of strings")


def _check_choice(contract: Contract) -> None:
    if contract.kind != "choice":
        return
    _strings("the options of choice()", contract.options)
    _strings("the criteria of choice()", contract.criteria)
    for what, names in (("options", contract.options), ("criteria", contract.criteria)):
        if len(set(names)) < len(names):
            raise BriefError(f"choice() has {what} twice: {', '.join(names)}")
    if len(contract.options) < 2:
        raise BriefError("choice() needs two options or more", remedy="choice('a', 'b', criteria=[...])")
