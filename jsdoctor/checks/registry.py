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
    hints: dict[str, Any] = inspect.get_annotations(predicate, eval_str=True)
    hints.pop("return", None)
    for parameter, hint in hints.items():
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


def load_checks() -> dict[str, Check]:
    """Import every module below `jsdoctor.checks` and return all checks by name."""
    package = importlib.import_module("jsdoctor.checks")
    for module in pkgutil.walk_packages(package.__path__, "jsdoctor.checks."):
        importlib.import_module(module.name)
    return dict(_registry)
