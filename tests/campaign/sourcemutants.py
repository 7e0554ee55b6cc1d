"""Small changes of a module's source: what a test of it must notice.  On the syntax tree, never in a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Site:
    """One change of one module."""

    kind: str
    """comparison, boolean, not, constant, return, condition, arithmetic or call."""
    line: int
    node: int
    """Place of the node in a walk of the tree."""
    choice: int
    """Which of the changes that the node allows."""
    what: str
    """In words: ``< is <=``."""

    @property
    def id(self) -> str:
        """The same as long as the source is."""
        return f"{self.line}.{self.node}.{self.kind}.{self.choice}"


def sites(source: str) -> list[Site]:
    """Every change that can be made to a source, in the order of its lines."""
    found = []
    tree = ast.parse(source)
    decorators = [d for n in ast.walk(tree) for d in getattr(n, "decorator_list", ())]
    aside = {id(node) for decorator in decorators for node in ast.walk(decorator)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in aside:  # frozen=True and the like: how a record is made, not what it decides
            continue
        line = getattr(node, "lineno", 0)
        for choice, (kind, what, _) in enumerate(_changes(node)):
            found.append(Site(kind, line, number, choice, what))
    return sorted(found, key=lambda s: (s.line, s.node, s.choice))


def changed(source: str, site: Site) -> ast.Module:
    """The tree of the source with this change."""
    tree = ast.parse(source)
    node = next(n for number, n in enumerate(ast.walk(tree)) if number == site.node)
    _, _, change = list(_changes(node))[site.choice]
    for field, value in change.items():
        setattr(node, field, value)
    return ast.fix_missing_locations(tree)


_Change = tuple[str, str, dict[str, Any]]
"""Kind, words, and the fields of the node that change."""


def _changes(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        for n, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                ops = [*node.ops[:n], other(), *node.ops[n + 1 :]]
                yield "comparison", f"{_name(op)} is {other.__name__}", {"ops": ops}
    elif isinstance(node, ast.BoolOp):
        other_op: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "boolean", f"{_name(node.op)} is {_name(other_op)}", {"op": other_op}
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        # What is not "not": the truth of it, whatever it is.
        double = ast.UnaryOp(ast.Not(), node.operand)
        yield "not", "not is left out", {"operand": double}
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        other_way = ARITHMETIC[type(node.op)]
        yield "arithmetic", f"{_name(node.op)} is {other_way.__name__}", {"op": other_way()}
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        plain = isinstance(node.test, (ast.Compare, ast.BoolOp, ast.UnaryOp))
        if not plain:
            yield "condition", "the condition is turned", {"test": ast.UnaryOp(ast.Not(), node.test)}
    elif isinstance(node, ast.Return) and not isinstance(node.value, (ast.Constant, type(None))):
        yield "return", "nothing is returned", {"value": ast.Constant(None)}
    elif isinstance(node, ast.Name) and node.id in CALLS and isinstance(node.ctx, ast.Load):
        yield "call", f"{node.id} is {CALLS[node.id]}", {"id": CALLS[node.id]}


def _constants(node: ast.Constant) -> Iterator[_Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", f"{value} is {not value}", {"value": not value}
    elif isinstance(value, int):
        for other in (value + 1, value - 1):
            yield "constant", f"{value} is {other}", {"value": other}
    elif isinstance(value, float):
        yield "constant", f"{value} is {value * 1.5 + 0.1:g}", {"value": value * 1.5 + 0.1}


def _name(op: object) -> str:
    return type(op).__name__


class Finder(PathFinder):
    """Imports one module with a change; everything else as it is."""

    def __init__(self, module: str, path: Path, site: Site) -> None:
        self._module, self._path, self._site = module, path, site

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # type: ignore[override]
        """The spec of the one module; None for any other."""
        if fullname != self._module:
            return None
        loader = _Loader(fullname, str(self._path), self._site)
        return ModuleSpec(fullname, loader, origin=str(self._path))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, site: Site) -> None:
        super().__init__(name, path)
        self._site = site

    def get_code(self, fullname: str) -> CodeType:
        """Never from a cache, and never into one."""
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(changed(source, self._site), self.path, "exec")
