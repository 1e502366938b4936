"""The shipped rules, checks and actions, loaded once for all tests."""

import traceback
from collections.abc import Iterator, Mapping
from functools import cache, wraps
from typing import Any

import msgspec

from jsdoctor.checks.registry import Check, Predicate, load_checks
from jsdoctor.engine.loader import load_rules
from jsdoctor.engine.runner import Evaluation, evaluate
from jsdoctor.engine.select import Selection, find_rule, select_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding
from jsdoctor.model.partial import NotShownError
from jsdoctor.model.rule import Rule
from jsdoctor.pages.rule_page import param_value
from jsdoctor.remedy.operation import Action
from jsdoctor.remedy.registry import load_actions
from jsdoctor.sources.rule_pages import shipped_pages


@cache
def checks() -> Mapping[str, Check]:
    """Every check by name."""
    return load_checks()


@cache
def _printing_checks() -> Mapping[str, Check]:
    """The checks, which print their exceptions: the engine keeps no more than the message, pytest shows the output."""
    return {
        name: msgspec.structs.replace(check, predicate=printing(check.predicate)) for name, check in checks().items()
    }


def printing(predicate: Predicate) -> Predicate:
    """The predicate, with the traceback of its exceptions on stderr."""

    @wraps(predicate)
    def checked(*args: Any, **kwargs: Any) -> Iterator[Finding]:
        try:
            yield from predicate(*args, **kwargs)
        except NotShownError:
            raise  # of a partial snapshot: the engine reports it as not evaluated
        except Exception:
            traceback.print_exc()
            raise

    return checked


@cache
def actions() -> Mapping[str, Action]:
    """Every remedy action by name."""
    return load_actions()


@cache
def rules() -> tuple[Rule, ...]:
    """Every shipped rule."""
    return load_rules(shipped_pages(), checks(), frozenset(actions()))


def run_rule(
    code: str, evidence: EvidenceSet, params: Mapping[str, Any] | None = None, keep_passes: bool = False
) -> Evaluation:
    """One rule on some evidence, with parameter values as a page would write them."""
    return run_with(code, evidence, overrides(code, params), keep_passes)


def run_with(
    code: str, evidence: EvidenceSet, given: Mapping[str, float | int | None], keep_passes: bool = False
) -> Evaluation:
    """One rule on some evidence, with parameter values in their units."""
    return evaluate(_rule_alone(code), _printing_checks(), evidence, {code: given}, keep_passes)


@cache
def _rule_alone(code: str) -> Selection:
    return select_rules(rules(), [code])


def overrides(code: str, params: Mapping[str, Any] | None) -> dict[str, float | int | None]:
    """The values of parameters that a page would write so."""
    known = find_rule(rules(), code).params
    return {name: param_value(known[name].unit, value) for name, value in (params or {}).items()}


def run_all(evidence: EvidenceSet) -> Evaluation:
    """Every rule on some evidence."""
    return evaluate(select_rules(rules()), _printing_checks(), evidence, {})
