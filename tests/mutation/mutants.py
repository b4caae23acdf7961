"""Random mutants of engine and model: small edits of the source, each of which a test should detect.

A candidate is one edit of one place: a comparison or an arithmetic operator replaced by another, a numeric constant changed, a
statement dropped. Excluded are assertions, as they are checks themselves, texts of errors, and statements without which
a name or an attribute is missing: that every run of the line would end in a NameError shows no more than that some test
runs it. Every candidate has a random priority that depends on the seed and on its own text only, so that the draw (the
candidates of least priority) is even, and an edit of one module leaves the rest of it as it was.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import yaml

SEED = 20261122
DRAWN = 100
PACKAGES = ("hostsim/engine", "hostsim/model")
EQUIVALENT = Path(__file__).parent / "equivalent.yaml"

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt, ast.GtE),
    ast.Gt: (ast.GtE, ast.LtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.FloorDiv, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
}
_STATEMENTS = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Delete)


@dataclass(frozen=True)
class Mutant:
    """One edit of one place.

    Attributes:
        path: the module.
        scope: class and function.
        kind: comparison, arithmetic, constant or statement.
        before: the statement's first line.
        after: the same of what replaces it.
        number: place among edits that read the same, in one scope.
        line: where it is, for readers; no part of its identity.
    """

    path: str
    scope: str
    kind: str
    before: str
    after: str
    number: int
    line: int

    @property
    def key(self) -> str:
        """Return its identity."""
        return " | ".join((self.path, self.scope, self.kind, self.before, self.after, str(self.number)))

    @cached_property
    def priority(self) -> float:
        """Return its position in the draw."""
        return random.Random(f"{SEED} {self.key}").random()


def candidates(root: Path) -> list[Mutant]:
    """Return all candidates, module by module."""
    found: list[Mutant] = []
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            found += mutants_of(file.read_text(encoding="utf-8"), file.relative_to(root).as_posix())
    return found


def mutants_of(text: str, path: str) -> list[Mutant]:
    """Return all candidates of a module."""
    return [mutant for mutant, _ in _edited(ast.parse(text), path)]


def planted(mutant: Mutant, text: str) -> str:
    """Return the source of the mutant's module, whose source is ``text``, with the edit.

    Raises:
        LookupError: the module has changed, and the mutant is no longer a candidate.
    """
    tree = ast.parse(text)
    for found, edit in _edited(tree, mutant.path):
        if found.key == mutant.key:
            edit()
            return ast.unparse(tree)
    raise LookupError(f"no candidate: {mutant.key}")


def _edited(tree: ast.Module, path: str) -> Iterator[tuple[Mutant, Callable[[], Callable[[], None]]]]:
    """Iterate over the candidates of a module, each with a function that makes the edit and returns one that undoes it."""
    seen: Counter[tuple[str, ...]] = Counter()
    for scope, statement, place, node in list(_places(tree)):
        for kind, replacement in _edits(node):
            edit = partial(_apply, node, place, replacement)
            before = _header(statement)
            undo = edit()
            after = _header(replacement if node is statement else statement)
            undo()
            number = seen[scope, kind, before, after]
            seen[scope, kind, before, after] += 1
            yield Mutant(path, scope, kind, before, after, number, statement.lineno), edit


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, tuple[ast.AST, str, int | None], ast.AST]]:
    """Iterate over the editable nodes: scope, statement, place in the parent, node."""

    def walk(
        parent: ast.AST, scope: str, statement: ast.stmt | None
    ) -> Iterator[tuple[str, ast.stmt, tuple[ast.AST, str, int | None], ast.AST]]:
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            children = enumerate(value) if isinstance(value, list) else [(None, value)]
            for position, node in children:
                if not isinstance(node, ast.AST) or isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
                    continue
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    continue  # a docstring
                if isinstance(node, ast.Assign | ast.AnnAssign) and _is_declaration(node):
                    continue
                inner, here = scope, statement
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    inner = f"{scope}.{node.name}".lstrip(".")
                if isinstance(node, ast.stmt):
                    here = node
                if here is not None and not (isinstance(node, _STATEMENTS) and (not scope or _binds(node, scope))):
                    yield inner, here, (parent, field, position), node
                if not isinstance(node, ast.Raise):
                    yield from walk(node, inner, here)

    yield from walk(tree, "", None)


def _is_declaration(node: ast.Assign | ast.AnnAssign) -> bool:
    """True for ``__all__``, ``__slots__`` and names of type variables."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    is_type = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "TypeVar"
    return is_type or any(name in ("__all__", "__slots__") for name in names)


def _binds(node: ast.AST, scope: str) -> bool:
    """True for the assignment of a variable, or of an attribute in a constructor."""
    if not isinstance(node, ast.Assign):
        return False
    targets = [name for target in node.targets for name in getattr(target, "elts", [target])]
    return scope.endswith("__init__") or any(isinstance(target, ast.Name) for target in targets)


def _edits(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return the edits of a node, at most one; the choice of the replacement is random, by its text."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        options = _COMPARISONS[type(node.ops[0])]
        operator = random.Random(f"{SEED} {ast.unparse(node)}").choice(options)()
        yield "comparison", ast.Compare(node.left, [operator, *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_text(node.left):
        other = random.Random(f"{SEED} {ast.unparse(node)}").choice(_OPERATORS[type(node.op)])()
        yield "arithmetic", ast.BinOp(node.left, other, node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in _OPERATORS:
        yield "arithmetic", ast.AugAssign(node.target, _OPERATORS[type(node.op)][0](), node.value)
        yield "statement", ast.Pass()
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        change = random.Random(f"{SEED} {node.value}").choice((1, -1)) if node.value else 1
        yield "constant", ast.Constant(node.value + change if isinstance(node.value, int) else node.value * 2 + 1)
    elif isinstance(node, _STATEMENTS):
        yield "statement", ast.Pass()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _apply(node: ast.AST, place: tuple[ast.AST, str, int | None], replacement: ast.AST) -> Callable[[], None]:
    parent, field, position = place
    if position is None:
        setattr(parent, field, replacement)
        return lambda: setattr(parent, field, node)
    siblings = getattr(parent, field)
    siblings[position] = replacement

    def undo() -> None:
        siblings[position] = node

    return undo


def _header(node: ast.AST) -> str:
    """Return the source of a statement, without the body of a compound one."""
    if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.FunctionDef | ast.ClassDef | ast.Match):
        body = {"cases": node.cases[:0]} if isinstance(node, ast.Match) else {"body": [ast.Pass()]}
        more = {"orelse": []} if isinstance(node, ast.If | ast.For | ast.While) else {}
        node = copy(node)
        for field, value in {**body, **more}.items():
            setattr(node, field, value)
        return ast.unparse(node).removesuffix("\n    pass")
    return ast.unparse(node)


def equivalents() -> dict[str, str]:
    """Return the candidates that compute the same as the original, each with the reason."""
    return yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or {}


def drawn(root: Path, count: int = DRAWN) -> list[Mutant]:
    """Draw mutants evenly from all candidates except equivalent ones."""
    excluded = equivalents()
    kept = [mutant for mutant in candidates(root) if mutant.key not in excluded]
    return sorted(kept, key=lambda mutant: mutant.priority)[:count]
