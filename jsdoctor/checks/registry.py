"""The `@check` decorator: a check's signature declares the evidence it needs.

A parameter annotated with a kind of evidence is required; `Kind | None` corroborates when present; `params: Params`
receives the rule's parameters.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from jsdoctor.checks.index import INDEX
from jsdoctor.model.evidence import KINDS, Evidence
from jsdoctor.model.finding import Finding
from jsdoctor.model.params import Params

Predicate = Callable[..., Iterator[Finding]]


class Check(msgspec.Struct, frozen=True):
    """A registered predicate. `required` and `optional` map its parameter names to kinds of evidence."""

    name: str
    predicate: Predicate
    required: dict[str, type[Evidence]]
    optional: dict[str, type[Evidence]]
    takes_params: bool

    @property
    def kinds(self) -> set[type[Evidence]]:
        """Every kind of evidence that it can use."""
        return {*self.required.values(), *self.optional.values()}


_registry: dict[str, Check] = {}


def check(name: str) -> Callable[[Predicate], Predicate]:
    """Register a predicate under the name that rule pages use: `failure_mode.what_it_finds`.

    Raises `TypeError` when the signature requires something that is not evidence, `ValueError` for a duplicate name.
    """

    def register(predicate: Predicate) -> Predicate:
        if name in _registry and _registry[name].predicate.__module__ != predicate.__module__:
            raise ValueError(f"check {name!r} is defined twice")
        _registry[name] = _inspect(name, predicate)
        return predicate

    return register


def _inspect(name: str, predicate: Predicate) -> Check:
    required: dict[str, type[Evidence]] = {}
    optional: dict[str, type[Evidence]] = {}
    takes_params = False
    for parameter, hint in _hints(predicate).items():
        if hint is Params:
            takes_params = True
        elif hint in KINDS:
            required[parameter] = hint
        elif get_origin(hint) in (UnionType, Union):
            kinds = [kind for kind in get_args(hint) if kind is not type(None)]
            if len(kinds) != 1 or kinds[0] not in KINDS:
                raise TypeError(f"check {name!r}: {parameter} must be one kind of evidence, or that | None")
            optional[parameter] = kinds[0]
        else:
            raise TypeError(f"check {name!r}: {parameter} is not a kind of evidence")
    return Check(name, predicate, required, optional, takes_params)


def _hints(predicate: Predicate) -> dict[str, Any]:
    """The types of its parameters. Most are names of its module, which need no evaluation."""
    known: dict[str, Any] = getattr(predicate, "__globals__", {})
    hints = {parameter: hint for parameter, hint in predicate.__annotations__.items() if parameter != "return"}
    if all(isinstance(hint, str) and hint in known for hint in hints.values()):
        return {parameter: known[hint] for parameter, hint in hints.items()}
    evaluated = inspect.get_annotations(predicate, eval_str=True)
    return {parameter: evaluated[parameter] for parameter in hints}


def load_checks() -> dict[str, Check]:
    """Import every module below `jsdoctor.checks` and return all checks by name."""
    package = importlib.import_module("jsdoctor.checks")
    for module in pkgutil.walk_packages(package.__path__, "jsdoctor.checks."):
        importlib.import_module(module.name)
    return dict(_registry)


def indexed_checks() -> dict[str, Check]:
    """All checks by name. Those of jsdoctor are in the index: their modules are imported when they are called.

    Raises `ValueError` if a plug-in has taken the name of one.
    """
    kinds = {kind.__name__: kind for kind in KINDS}
    indexed = {check.name: check for check in (_indexed(line, kinds) for line in INDEX.split("\n") if line)}
    for name, check in _registry.items():
        if name in indexed and not check.predicate.__module__.startswith("jsdoctor.checks."):
            raise ValueError(f"check {name!r} is defined twice")
    return indexed | _registry


def _indexed(line: str, kinds: dict[str, type[Evidence]]) -> Check:
    name, module, *parameters = line.split(" ")
    required: dict[str, type[Evidence]] = {}
    optional: dict[str, type[Evidence]] = {}
    for parameter, _, kind in (parameter.partition("=") for parameter in parameters if parameter != "params"):
        if parameter.endswith("?"):
            optional[parameter.removesuffix("?")] = kinds[kind]
        else:
            required[parameter] = kinds[kind]

    def predicate(**evidence: Any) -> Iterator[Finding]:
        importlib.import_module(f"jsdoctor.checks.{module}")
        return _registry[name].predicate(**evidence)

    return Check(name, predicate, required, optional, "params" in parameters)
