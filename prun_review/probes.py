"""What a probe file imports: ``brief`` and ``choice``; and how marks become one brief.

``brief`` is a pytest marker.  It checks nothing when it is applied: a malformed brief must fail its
own item, not the import of the whole file, so all checks are in :func:`resolve`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.errors import BriefError
from prun_review.model import Brief, Contract

if TYPE_CHECKING:
    import pytest

MARK = "brief"
FIELDS = ("prompt", "reads", "contract", "executors", "access", "timeout", "repeat")
SHAPING = ("executors", "contract", "repeat")
"""Fields that decide how many items there are: they stand on the function or the module only."""
ACCESS = ("read", "run", "full")


def brief(
    *,
    prompt: str | Path | Callable[..., str] | None = None,
    reads: Sequence[str] | None = None,
    contract: Contract | str | None = None,
    executors: Sequence[str] | None = None,
    access: str | None = None,
    timeout: float | None = None,
    repeat: int | None = None,
    **unknown: Any,
) -> pytest.MarkDecorator:
    """Say what a probe asks.  A marker: on a function, in ``pytestmark``, in ``pytest.param(marks=)``.

    prompt: instead of the docstring: text, a file (relative to the probe file) or a function of the
    probe's parameters.  reads: patterns of files in the reviewed tree; their names go into the
    prompt.  contract: ``"findings"`` (default), ``"prose"`` or :func:`choice`.  executors: who is
    asked, instead of the configured ones.  access: ``"read"`` (default), ``"run"``, ``"full"``.
    timeout: seconds per attempt.  repeat: how often each executor is asked.
    """
    import pytest

    given = {
        "prompt": prompt,
        "reads": reads,
        "contract": contract,
        "executors": executors,
        "access": access,
        "timeout": timeout,
        "repeat": repeat,
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


def shape(fields: Mapping[str, Any]) -> tuple[Contract, tuple[str, ...] | None, int]:
    """Contract, executors (None: the configured ones) and repeat of merged fields."""
    contract = fields.get("contract", Contract())
    if isinstance(contract, str):
        contract = Contract(contract)
    if not isinstance(contract, Contract):
        raise BriefError(f"contract is {contract!r}", remedy="'findings', 'prose' or choice('a', 'b')")
    _check_choice(contract)
    executors = fields.get("executors")
    if executors is not None:
        executors = _strings("executors", executors)
        if not executors:
            raise BriefError("executors is empty", remedy="leave it out for the configured executors")
    repeat = fields.get("repeat", 1)
    if not isinstance(repeat, int) or isinstance(repeat, bool) or not 1 <= repeat <= 100:
        raise BriefError(f"repeat is {repeat!r}", remedy="a whole number from 1 to 100")
    return contract, executors, repeat


def resolve(
    fields: Mapping[str, Any],
    *,
    docstring: str | None,
    params: Mapping[str, Any],
    folder: Path,
    timeout: float,
) -> Brief:
    """The brief of one case.  ``folder`` is where the probe file lies, ``timeout`` the default.

    ``BriefError`` says what is malformed.  An exception raised by a prompt function comes out as it is.
    """
    contract, _, _ = shape(fields)
    prompt = _prompt(fields.get("prompt"), docstring, params, folder)
    if not prompt.strip():
        raise BriefError(
            "the prompt is empty",
            remedy="give the probe a docstring (python -OO removes them) or brief(prompt=...)",
        )
    access = fields.get("access", "read")
    if access not in ACCESS:
        raise BriefError(f"access is {access!r}", remedy="one of " + ", ".join(ACCESS))
    seconds = fields.get("timeout", timeout)
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 < seconds < 10**7:
        raise BriefError(f"timeout is {seconds!r}", remedy="seconds above 0")
    reads = tuple(fill(p, params) for p in _strings("reads", fields.get("reads", ())))
    return Brief(prompt.strip(), contract, reads, access, float(seconds))


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
    if isinstance(value, (list, tuple)) and all(isinstance(v, str) and v for v in value):
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
