"""A rule has one module: its predicates for all kinds of evidence stand in it, beside each other."""

from pathlib import Path

from jsdoctor.model.rule import Rule
from tests.support.ruleset import checks, rules

SHARED = {
    "jsdoctor.checks.server_health.pod_places": {"JSD832", "JSD833"},
    "jsdoctor.checks.server_health.process_limits": {"JSD829", "JSD830"},
    "jsdoctor.checks.server_health.store_volume": {"JSD827", "JSD828"},
}
"""Modules of two rules that read the same objects in the same way."""

DECLARED = "jsdoctor.checks.declared_lines"
"""Rules of logs whose page is all there is of them."""

SUFFIXES = ("_logged", "_declared", "_captured", "_stored", "_history")


def modules(rule: Rule) -> set[str]:
    return {checks()[name].predicate.__module__ for name in rule.checks}


def test_a_rule_has_one_module() -> None:
    modules_by_rule = {rule.code: modules(rule) for rule in rules() if rule.checks}
    assert modules_by_rule
    assert {code: places for code, places in modules_by_rule.items() if len(places) > 1} == {}


def test_a_module_has_one_rule() -> None:
    codes: dict[str, set[str]] = {}
    for rule in rules():
        for module in modules(rule):
            codes.setdefault(module, set()).add(rule.code)
    assert codes.pop(DECLARED)
    assert {module: mine for module, mine in codes.items() if len(mine) > 1} == SHARED


def test_no_module_is_named_after_a_kind_of_evidence() -> None:
    package = Path(__file__).resolve().parents[2] / "jsdoctor" / "checks"
    assert [path.name for path in package.rglob("*.py") if path.stem.endswith(SUFFIXES)] == []
