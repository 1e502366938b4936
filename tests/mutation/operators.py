"""The changes: which mutants a module has.

A mutant is one changed node. Annotations, docstrings, imports and decorators stay as they are: mypy and the registry of
checks test those.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], str]] = {
    ast.Lt: (ast.LtE, "< to <="),
    ast.LtE: (ast.Lt, "<= to <"),
    ast.Gt: (ast.GtE, "> to >="),
    ast.GtE: (ast.Gt, ">= to >"),
    ast.Eq: (ast.NotEq, "== to !="),
    ast.NotEq: (ast.Eq, "!= to =="),
    ast.Is: (ast.IsNot, "is to is not"),
    ast.IsNot: (ast.Is, "is not to is"),
    ast.In: (ast.NotIn, "in to not in"),
    ast.NotIn: (ast.In, "not in to in"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], str]] = {
    ast.Add: (ast.Sub, "+ to -"),
    ast.Sub: (ast.Add, "- to +"),
    ast.Mult: (ast.Div, "* to /"),
    ast.Div: (ast.Mult, "/ to *"),
    ast.FloorDiv: (ast.Mult, "// to *"),
    ast.Mod: (ast.FloorDiv, "% to //"),
    ast.Pow: (ast.Mult, "** to *"),
    ast.BitOr: (ast.BitAnd, "| to &"),
    ast.BitAnd: (ast.BitOr, "& to |"),
    ast.BitXor: (ast.BitOr, "^ to |"),
    ast.LShift: (ast.RShift, "<< to >>"),
    ast.RShift: (ast.LShift, ">> to <<"),
}
_CALLS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "sorted": "list",
    "earliest": "latest",
    "latest": "earliest",
}
_METHODS = {
    "lower": "upper",
    "upper": "lower",
    "startswith": "endswith",
    "endswith": "startswith",
    "partition": "rpartition",
    "rpartition": "partition",
    "removeprefix": "removesuffix",
    "removesuffix": "removeprefix",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "find": "rfind",
    "rfind": "find",
}
_MIN_LARGE = 1000
"""Nobody notices one more nanosecond in a second: large numbers are doubled."""
_LOGICAL = (ast.Compare, ast.BoolOp, ast.Constant)
_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `owner` is the function or method (qualified name) or the statement of the module that has it."""

    module: str
    owner: str
    change: str
    code: str
    number: int
    lines: tuple[int, int]
    edits: tuple[Edit, ...] = field(repr=False, compare=False)
    statement: ast.stmt = field(repr=False, compare=False)

    @property
    def key(self) -> str:
        """What tells it from all others while the line stays as it is."""
        return "\t".join((self.module, self.owner, self.change, self.code, str(self.number)))

    @property
    def is_constant(self) -> bool:
        """Whether it changes a constant of the module."""
        return not isinstance(self.statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.module.replace('.', '/')}.py:{self.lines[0]}"


@dataclass(frozen=True, slots=True)
class Edit:
    """Another value in one place of the tree."""

    holder: ast.AST
    name: str
    index: int | None
    value: object

    def swap(self, value: object) -> object:
        """Put a value there and return the former one."""
        if self.index is None:
            former = getattr(self.holder, self.name)
            setattr(self.holder, self.name, value)
            return former
        several = getattr(self.holder, self.name)
        former, several[self.index] = several[self.index], value
        return former


@contextmanager
def changed(mutant: Mutant) -> Iterator[ast.stmt]:
    """The statement of the module with the change, as long as the context lasts."""
    former = [edit.swap(edit.value) for edit in mutant.edits]
    try:
        yield mutant.statement
    finally:
        for edit, value in zip(mutant.edits, former, strict=True):
            edit.swap(value)


def mutants_of(path: Path, name: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    source = path.read_text(encoding="utf-8")
    visitor = _Visitor(name, source.splitlines())
    for statement in ast.parse(source).body:
        visitor.statement = statement
        visitor.visit_statement(statement, "")
    return visitor.mutants


class _Visitor:
    """Walks a module and notes the changes."""

    def __init__(self, module: str, lines: list[str]) -> None:
        self.module, self.source = module, lines
        self.mutants: list[Mutant] = []
        self.statement: ast.stmt = ast.Pass()
        self._owner = ""
        self._lines = (0, 0)
        self._numbers: Counter[tuple[str, str, str]] = Counter()

    def visit_statement(self, node: ast.stmt, inside: str) -> None:
        """`inside` is the class around it, with a dot."""
        if isinstance(node, Function):
            self._owner = f"{inside}{node.name}"
            self._function(node)
        elif isinstance(node, ast.ClassDef):
            for child in node.body:
                self.visit_statement(child, f"{inside}{node.name}.")
        elif isinstance(node, (ast.Import, ast.ImportFrom)) or _is_docstring(node):
            return
        else:
            self._owner = f"{inside}{_names(node)}"
            self._simple(node)

    def _function(self, node: Function) -> None:
        # A default is worked out when the module is loaded; who calls the function may notice it.
        self._lines = (node.lineno, node.end_lineno or node.lineno)
        for defaults in (node.args.defaults, node.args.kw_defaults):
            for index, value in enumerate(defaults):
                if value is not None:
                    holder_name = "defaults" if defaults is node.args.defaults else "kw_defaults"
                    self._expression(node.args, holder_name, index, value)
        self._body(node, "body")

    def _body(self, holder: ast.AST, name: str) -> None:
        for index, child in enumerate(getattr(holder, name)):
            if _is_docstring(child) or isinstance(child, (ast.Import, ast.ImportFrom, ast.Pass)):
                continue
            self._removed(holder, name, index, child)
            self._nested(child)

    def _removed(self, holder: ast.AST, name: str, index: int, child: ast.stmt) -> None:
        self._lines = (child.lineno, child.end_lineno or child.lineno)
        gone = ast.copy_location(ast.Pass(), child)
        if isinstance(child, ast.Expr):
            yields = isinstance(child.value, (ast.Yield, ast.YieldFrom))
            # A function without any yield is no generator: the statement stays, and yields nothing.
            empty = ast.copy_location(ast.parse("yield from ()").body[0], child)
            for node in ast.walk(empty):
                ast.copy_location(node, child)
            self._note("statement removed", Edit(holder, name, index, empty if yields else gone))
        elif isinstance(child, (ast.Raise, ast.AugAssign, ast.Delete)):
            self._note("statement removed", Edit(holder, name, index, gone))
        elif isinstance(child, ast.Continue):
            self._note("continue to break", Edit(holder, name, index, ast.copy_location(ast.Break(), child)))
        elif isinstance(child, ast.Break):
            self._note("break to continue", Edit(holder, name, index, ast.copy_location(ast.Continue(), child)))

    def _nested(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            return
        match node:
            case ast.If() | ast.While():
                self._tested(node, "test", node.test)
            case ast.For() | ast.AsyncFor():
                self._lines = _span(node.iter)
                self._expression(node, "iter", None, node.iter)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._lines = _span(item.context_expr)
                    self._expression(item, "context_expr", None, item.context_expr)
            case ast.Match():
                self._lines = _span(node.subject)
                self._expression(node, "subject", None, node.subject)
            case ast.Try() | ast.FunctionDef() | ast.AsyncFunctionDef():
                pass
            case _:
                self._simple(node)
        self._blocks(node)

    def _blocks(self, node: ast.stmt) -> None:
        """The statements inside of a statement."""
        if isinstance(node, ast.Match):
            for case in node.cases:
                if case.guard is not None:
                    self._tested(case, "guard", case.guard)
                self._body(case, "body")
            return
        for handler in getattr(node, "handlers", []):
            self._body(handler, "body")
        for name in ("body", "orelse", "finalbody"):
            if hasattr(node, name):
                self._body(node, name)

    def _tested(self, holder: ast.AST, name: str, node: ast.expr) -> None:
        self._lines = _span(node)
        self._condition(holder, name, None, node)

    def _simple(self, node: ast.stmt) -> None:
        self._lines = (node.lineno, node.end_lineno or node.lineno)
        if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
            kind, change = _ARITHMETIC[type(node.op)]
            self._note(f"{change} in assignment", Edit(node, "op", None, kind()))
        for name in ("value", "exc", "test", "msg"):
            child = getattr(node, name, None)
            if isinstance(child, ast.expr):
                self._expression(node, name, None, child)

    def _condition(self, holder: ast.AST, name: str, index: int | None, node: ast.expr) -> None:
        if not isinstance(node, _LOGICAL) and not _is_not(node):
            self._note("condition negated", Edit(holder, name, index, _negated(node)))
        self._expression(holder, name, index, node)

    def _expression(self, holder: ast.AST, name: str, index: int | None, node: ast.expr) -> None:
        self._changes(holder, name, index, node)
        if isinstance(node, ast.JoinedStr):
            self._format(node)
            return
        for child_name, value in ast.iter_fields(node):
            if child_name == "annotation":
                continue
            several = value if isinstance(value, list) else [value]
            for number, child in enumerate(several):
                place = number if isinstance(value, list) else None
                self._child(node, child_name, place, child)

    def _child(self, node: ast.expr, name: str, index: int | None, child: object) -> None:
        match child:
            case ast.comprehension():
                self._expression(child, "iter", None, child.iter)
                for number, condition in enumerate(child.ifs):
                    self._condition(child, "ifs", number, condition)
            case ast.keyword():
                self._expression(child, "value", None, child.value)
            case ast.expr() if name == "test":
                self._condition(node, name, index, child)
            case ast.expr():
                self._expression(node, name, index, child)

    def _format(self, node: ast.JoinedStr) -> None:
        """One mutant for the text, and those of its values. Format specifications are part of the text."""
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self._expression(value, "value", None, value.value)

    def _changes(self, holder: ast.AST, name: str, index: int | None, node: ast.expr) -> None:
        for change, value in _replacements(node):
            for inner in ast.walk(value):
                if not hasattr(inner, "lineno"):
                    ast.copy_location(inner, node)
            self._note(change, Edit(holder, name, index, value))
        match node:
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                kind, change = _ARITHMETIC[type(node.op)]
                self._note(change, Edit(node, "op", None, kind()))
            case ast.BoolOp():
                conjunction = isinstance(node.op, ast.And)
                change = "and to or" if conjunction else "or to and"
                self._note(change, Edit(node, "op", None, ast.Or() if conjunction else ast.And()))
            case ast.Compare():
                for number, operator in enumerate(node.ops):
                    kind_, change = _COMPARISONS[type(operator)]
                    self._note(change, Edit(node, "ops", number, kind_()))
            case ast.Call(func=ast.Name(id=called)) if called in _CALLS:
                self._note(f"{called} to {_CALLS[called]}", Edit(node.func, "id", None, _CALLS[called]))
            case ast.Call(func=ast.Attribute(attr=called)) if called in _METHODS:
                self._note(f"{called} to {_METHODS[called]}", Edit(node.func, "attr", None, _METHODS[called]))

    def _note(self, change: str, *edits: Edit) -> None:
        first, last = self._lines
        code = self.source[first - 1].strip()
        node = edits[0].holder if edits[0].index is None else None
        line = getattr(node, "lineno", None)
        if line is not None and first <= line <= last:
            code = self.source[line - 1].strip()
        number = self._numbers[self._owner, change, code]
        self._numbers[self._owner, change, code] += 1
        self.mutants.append(Mutant(self.module, self._owner, change, code, number, self._lines, edits, self.statement))


def _replacements(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Other expressions in place of a whole one."""
    match node:
        case ast.Constant():
            yield from _other_constants(node.value)
        case ast.JoinedStr():
            yield "text changed", ast.JoinedStr([ast.Constant("XX"), *node.values])
        case ast.UnaryOp(op=ast.Not()):
            yield "not removed", node.operand
        case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
            yield "minus removed", node.operand
        case ast.Call():
            for number, keyword in enumerate(node.keywords):
                if keyword.arg is not None:
                    rest = [other for place, other in enumerate(node.keywords) if place != number]
                    yield f"argument {keyword.arg} removed", ast.Call(node.func, node.args, rest)


def _other_constants(value: object) -> Iterator[tuple[str, ast.expr]]:
    match value:
        case bool():
            yield f"{value} to {not value}", ast.Constant(not value)
        case int() | float():
            other = value + 1 if value < _MIN_LARGE else 2 * value
            yield f"{value} to {other}", ast.Constant(other)
        case str():
            yield "text changed", ast.Constant(f"XX{value}XX" if value else "XX")
        case bytes():
            yield "bytes changed", ast.Constant(b"XX" + value + b"XX")


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _negated(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _span(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


def _names(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return type(node).__name__.lower()
