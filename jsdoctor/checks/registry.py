"""The `@check` decorator: a check's signature declares the evidence it needs.

A parameter annotated with a kind of evidence is required; `Kind | None` corroborates when present; `params: Params`
receives the rule's parameters, `rule: Rule` its page.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache, wraps
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from jsdoctor.checks.logs.words import no_client_lines, no_server_lines
from jsdoctor.model.evidence import Evidence
from jsdoctor.model.finding import BY_HAND, CLUSTER, Finding, Outcome, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import RunningConfigurations
from jsdoctor.model.params import Params
from jsdoctor.model.rule import Rule

Predicate = Callable[..., Iterator[Finding]]


LinesOf = Literal["servers", "clients", "either", "any"]
LINES_OF: dict[LinesOf, Callable[[LogEvidence], Finding]] = {
    "servers": lambda logs: passed(CLUSTER) if logs.has_server_logs else no_server_lines(),
    "clients": lambda logs: passed(CLUSTER) if logs.has_client_logs else no_client_lines(),
    "either": lambda logs: passed(CLUSTER) if logs.has_server_logs or logs.has_client_logs else no_server_lines(),
    "any": lambda _: passed(CLUSTER),
}
"""The finding of a check of logs that yields nothing, by whose lines it needs."""


class Check(msgspec.Struct, frozen=True):
    """A registered predicate. `required` and `optional` map its parameter names to kinds of evidence.

    `compares_samples`: it judges the difference of two samples, so nothing passes with one sample.
    """

    name: str
    predicate: Predicate
    required: dict[str, type[Evidence]]
    optional: dict[str, type[Evidence]]
    takes_params: bool
    takes_rule: bool = False
    compares_samples: bool = False

    @property
    def kinds(self) -> set[type[Evidence]]:
        """Every kind of evidence that it can use."""
        return {*self.required.values(), *self.optional.values()}


_registry: dict[str, Check] = {}


def check(
    name: str, *, compares_samples: bool = False, also_mounted: bool = False, lines_of: LinesOf | None = None
) -> Callable[[Predicate], Predicate]:
    """Register a predicate under the name that rule pages use: `failure_mode.what_it_finds`; see `Check`.

    `lines_of`: a check of logs that yields nothing passes, if a line of servers or of clients was read.

    `also_mounted`: a check of manifests, `…_declared`, also judges as `…_mounted` the configurations that servers have
    mounted, which the next start reads.
    Raises `TypeError` when the signature requires something that is not evidence, `ValueError` for a duplicate name.
    """

    def register(predicate: Predicate) -> Predicate:
        if name in _registry and _registry[name].predicate.__module__ != predicate.__module__:
            raise ValueError(f"check {name!r} is defined twice")
        found = msgspec.structs.replace(_inspect(name, predicate), compares_samples=compares_samples)
        found = _with_finding_if_silent(found, lines_of) if lines_of else found
        found = _fixed_by_hand(found) if name.endswith("_declared") else found
        for entry in (found, _mounted_check(found)) if also_mounted else (found,):
            _registry[entry.name] = entry
        return predicate

    return register


def _with_finding_if_silent(found: Check, lines_of: LinesOf) -> Check:
    """The check; where it yields nothing it passes, or reports that the lines that it needs were not read."""
    parameter = next(name for name, kind in found.required.items() if kind is LogEvidence)

    @wraps(found.predicate)
    def predicate(**arguments: Any) -> Iterator[Finding]:
        silent = True
        for finding in found.predicate(**arguments):
            silent = False
            yield finding
        if silent:
            yield LINES_OF[lines_of](arguments[parameter])

    return msgspec.structs.replace(found, predicate=predicate)


def _fixed_by_hand(declared: Check) -> Check:
    """The check with a remedy by hand for its failures: a mistake in a manifest is fixed there, not by a command."""

    @wraps(declared.predicate)
    def predicate(**arguments: Any) -> Iterator[Finding]:
        for finding in declared.predicate(**arguments):
            by_hand = finding.outcome is Outcome.FAIL and not finding.remedy and not finding.advice
            yield msgspec.structs.replace(finding, remedy=BY_HAND) if by_hand else finding

    return msgspec.structs.replace(declared, predicate=predicate)


def _mounted_check(declared: Check) -> Check:
    (parameter,) = declared.required

    @wraps(declared.predicate)
    def predicate(**arguments: Any) -> Iterator[Finding]:
        return declared.predicate(**{**arguments, parameter: arguments[parameter].manifests})

    name = f"{declared.name.removesuffix('_declared')}_mounted"
    return msgspec.structs.replace(
        declared, name=name, predicate=predicate, required={parameter: RunningConfigurations}
    )


def _inspect(name: str, predicate: Predicate) -> Check:
    required: dict[str, type[Evidence]] = {}
    optional: dict[str, type[Evidence]] = {}
    takes_params = takes_rule = False
    for parameter, hint in _hints(predicate).items():
        if hint is Params:
            takes_params = True
        elif hint is Rule:
            takes_rule = True
        elif _is_evidence(hint):
            required[parameter] = hint
        elif get_origin(hint) in (UnionType, Union):
            kinds = [kind for kind in get_args(hint) if kind is not type(None)]
            if len(kinds) != 1 or not _is_evidence(kinds[0]):
                raise TypeError(f"check {name!r}: {parameter} must be one kind of evidence, or that | None")
            optional[parameter] = kinds[0]
        else:
            raise TypeError(f"check {name!r}: {parameter} is not a kind of evidence")
    return Check(name, predicate, required, optional, takes_params, takes_rule)


def _is_evidence(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Evidence)


def _hints(predicate: Predicate) -> dict[str, Any]:
    """The types of a predicate's parameters. Names of its module are looked up, which is faster than evaluation."""
    known: dict[str, Any] = getattr(predicate, "__globals__", {})
    hints = {parameter: hint for parameter, hint in predicate.__annotations__.items() if parameter != "return"}
    if all(isinstance(hint, str) and hint in known for hint in hints.values()):
        return {parameter: known[hint] for parameter, hint in hints.items()}
    evaluated = inspect.get_annotations(predicate, eval_str=True)
    return {parameter: evaluated[parameter] for parameter in hints}


def load_checks() -> dict[str, Check]:
    """Import every module below `jsdoctor.checks` and return all checks by name."""
    for name in _modules():
        importlib.import_module(name)
    return dict(_registry)


@cache
def _modules() -> tuple[str, ...]:
    package = importlib.import_module("jsdoctor.checks")
    return tuple(module.name for module in pkgutil.walk_packages(package.__path__, "jsdoctor.checks."))
