"""A mutant put into the running program: the function keeps its identity and gets other code.

Whoever imported the function has the mutant then, and no module is loaded twice. A constant of a module is replaced in
every module that holds it under its name. What neither way reaches (bodies of classes) raises `NotAppliedError`.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutation.operators import Function, Mutant, changed

_FUTURE = ast.parse("from __future__ import annotations").body


class NotAppliedError(Exception):
    """This change cannot be made in a running program."""


Undo = Callable[[], None]


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The program with the change, as long as the context lasts."""
    module = importlib.import_module(mutant.module)
    with changed(mutant) as statement:
        try:
            code = compile(_tree(statement), module.__file__ or mutant.module, "exec")
        except SyntaxError as error:
            raise NotAppliedError(str(error)) from error
        change = _replace_function if _is_function(mutant) else _replace_constant
        undo = change(module, mutant, code)
    _forget(module)
    try:
        yield
    finally:
        undo()
        _forget(module)


def can_apply(mutant: Mutant) -> bool:
    """Whether the program has the place that the mutant changes. A module that is not loaded has none."""
    module = sys.modules.get(mutant.module)
    if module is None or not _is_function(mutant):
        return module is None or mutant.owner in vars(module)
    return live_function(module, mutant.owner) is not None


def _tree(statement: ast.stmt) -> ast.Module:
    return ast.Module([*_FUTURE, statement], [])


def _is_function(mutant: Mutant) -> bool:
    return isinstance(mutant.statement, (*Function.__args__, ast.ClassDef))


def _replace_function(module: ModuleType, mutant: Mutant, code: CodeType) -> Undo:
    live = live_function(module, mutant.owner)
    new = next((candidate for candidate in codes(code) if candidate.co_qualname == mutant.owner), None)
    if live is None or new is None or new.co_freevars != live.__code__.co_freevars:
        raise NotAppliedError(f"{mutant.owner} is no function of the running program")
    former = live.__code__, live.__defaults__, dict(live.__kwdefaults__ or {})

    def undo() -> None:
        live.__code__, live.__defaults__, live.__kwdefaults__ = former

    if isinstance(mutant.edits[0].holder, ast.arguments):
        _replace_default(module, live, mutant)
    else:
        live.__code__ = new
    return undo


def _replace_default(module: ModuleType, live: FunctionType, mutant: Mutant) -> None:
    (edit,) = mutant.edits
    assert isinstance(edit.value, ast.expr)
    assert edit.index is not None
    value = eval(compile(ast.Expression(edit.value), "default", "eval"), vars(module))  # noqa: S307 - our own code
    if edit.name == "defaults":
        defaults = list(live.__defaults__ or ())
        defaults[edit.index] = value
        live.__defaults__ = tuple(defaults)
    else:
        name = live.__code__.co_varnames[live.__code__.co_argcount + edit.index]
        live.__kwdefaults__ = {**(live.__kwdefaults__ or {}), name: value}


def live_function(module: ModuleType, owner: str) -> FunctionType | None:
    """The function of that qualified name, whatever it is wrapped in."""
    value: Any = module
    for part in owner.split("."):
        value = vars(value).get(part)
        if value is None:
            return None
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, cached_property):
        value = value.func
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value if isinstance(value, FunctionType) else None


def codes(code: CodeType) -> Iterator[CodeType]:
    """The functions inside of some code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def _replace_constant(module: ModuleType, mutant: Mutant, code: CodeType) -> Undo:
    if "." in mutant.owner or mutant.owner not in vars(module):
        raise NotAppliedError(f"{mutant.owner} is no constant of a module")
    scope = dict(vars(module))
    exec(code, scope)  # noqa: S102 - our own code
    new = {mutant.owner}
    for statement in followers(module, mutant.owner):
        exec(compile(_tree(statement), "follower", "exec"), scope)  # noqa: S102 - our own code
        new |= assigned(statement)
    former = [(holder, name, vars(holder)[name]) for name in new for holder in holders(module, name)]
    for holder, name, _ in former:
        vars(holder)[name] = scope[name]

    def undo() -> None:
        for holder, name, value in former:
            vars(holder)[name] = value

    return undo


def followers(module: ModuleType, name: str) -> list[ast.stmt]:
    """The assignments of a module that use this constant, or one that does."""
    names: set[str] = {name}
    statements: list[ast.stmt] = []
    for statement in _parsed(module.__file__ or "").body:
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and not names.isdisjoint(used - assigned(statement)):
            names |= assigned(statement)
            statements.append(statement)
    return statements


@cache
def _parsed(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def assigned(statement: ast.stmt) -> set[str]:
    """The names that an assignment gives a value."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def holders(module: ModuleType, name: str) -> list[ModuleType]:
    """The modules that hold a constant of this module under its name."""
    return [other for other in _program(module) if name in vars(other) and vars(other)[name] is vars(module).get(name)]


def _program(module: ModuleType) -> list[ModuleType]:
    """The loaded modules of its outermost package."""
    package = module.__name__.partition(".")[0]
    return [other for path, other in list(sys.modules.items()) if path.partition(".")[0] == package]


def _forget(module: ModuleType) -> None:
    """Empty the caches of the program: they hold what it worked out before the change."""
    for clear in _caches(module.__name__.partition(".")[0]):
        clear()


@cache
def _caches(package: str) -> list[Callable[[], None]]:
    clear_by_id: dict[int, Callable[[], None]] = {}
    for other in _program(sys.modules[package]):
        for value in vars(other).values():
            clear = getattr(value, "cache_clear", None)
            if callable(clear):
                clear_by_id[id(value)] = clear
    return list(clear_by_id.values())
