"""Which rules to run: `--select`, `--extend-select` and `--ignore`, by code, slug or code prefix."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.rule import Rule, RuleStatus


class SelectionError(ValueError):
    """A selector that names no rule."""


class Selection(msgspec.Struct, frozen=True):
    """The rules to run, and the codes of those that were named one by one: for them missing evidence is a gap."""

    rules: tuple[Rule, ...]
    named: frozenset[str]


def select_rules(
    rules: Sequence[Rule],
    select: Sequence[str] = (),
    extend_select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Selection:
    """Without `select`: every stable rule. Preview rules run when named. Raises `SelectionError` for unknown names."""
    chosen = {rule.code for rule in rules if rule.status is RuleStatus.STABLE}
    if select:
        chosen = codes_of(rules, select, "--select")
    chosen |= codes_of(rules, extend_select, "--extend-select")
    chosen -= codes_of(rules, ignore, "--ignore")
    exact = {selector.strip().lower() for selector in (*select, *extend_select)}
    named = frozenset(rule.code for rule in rules if rule.code.lower() in exact or rule.slug in exact)
    kept = tuple(rule for rule in rules if rule.code in chosen and rule.status is not RuleStatus.RETIRED)
    if not kept:
        raise SelectionError("no rule is left to run: every selected rule is also ignored")
    return Selection(kept, named)


def find_rule(rules: Sequence[Rule], name: str, also: Sequence[str] = ()) -> Rule:
    """The rule with that code or slug. Raises `SelectionError` with the nearest spelling, of rules or `also`."""
    for rule in rules:
        if name.upper() == rule.code or name.lower() == rule.slug:
            return rule
    names = [name for rule in rules for name in (rule.code, rule.slug)]
    what = "rule, symptom or API error" if also else "rule"
    raise SelectionError(f"no {what} is named {name!r}{did_you_mean(name, [*names, *also])}")


def codes_of(rules: Sequence[Rule], selectors: Sequence[str], option: str) -> set[str]:
    """The rules that codes, prefixes or slugs mean. Raises `SelectionError` for one that means none."""
    codes: set[str] = set()
    for selector in selectors:
        wanted = selector.strip()
        matching = {
            rule.code
            for rule in rules
            if wanted.lower() == rule.slug or (wanted and rule.code.startswith(wanted.upper())) or wanted == "ALL"
        }
        if not matching:
            names = [name for rule in rules for name in (rule.code, rule.slug)]
            raise SelectionError(f"{option} {wanted!r} names no rule{did_you_mean(wanted, names)}")
        codes |= matching
    return codes
