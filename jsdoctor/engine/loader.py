"""Rule pages to a validated rule set: codes and slugs unique, every check and remedy action known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from jsdoctor.checks.registry import Check
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.rule import RESERVED_PREFIX, Rule, RuleStatus
from jsdoctor.pages.front_matter import PageError
from jsdoctor.pages.rule_page import parse_rule_page


class PageText(msgspec.Struct, frozen=True):
    """A rule page before it is parsed: its path, its folder's name, its text, and whether jsdoctor ships it."""

    origin: str
    failure_mode: str
    text: str
    shipped: bool = True


def load_rules(
    pages: Iterable[PageText], checks: Mapping[str, Check] | None = None, actions: frozenset[str] | None = None
) -> tuple[Rule, ...]:
    """All rules by code. Raises `PageError` with the mistakes of all pages together.

    `checks` and `actions` are those that a page may name; without them what it names is not checked.
    """
    rules: dict[str, Rule] = {}
    slugs: dict[str, Rule] = {}
    problems: list[str] = []
    for page in pages:
        try:
            rule = parse_rule_page(page.origin, page.text, page.failure_mode)
        except PageError as error:
            problems.extend(error.problems)
            continue
        problems.extend(_misfits(rule, page, checks, actions))
        for other in (rules.get(rule.code), slugs.get(rule.slug)):
            if other is not None:
                problems += [f"{rule.origin}:1: {rule.code} {rule.slug!r} is already taken by {other.origin}"]
        rules.setdefault(rule.code, rule)
        slugs.setdefault(rule.slug, rule)
    problems.extend(signature_misfits(rules.values()))
    problems.extend(cause_graph_misfits(rules.values()))
    if problems:
        raise PageError(dict.fromkeys(problems))
    return tuple(rules[code] for code in sorted(rules))


def signature_misfits(rules: Collection[Rule]) -> Iterator[str]:
    """Names of log signatures must be unique over all rules, and those that `resolved_by` names must be there."""
    taken: dict[str, str] = {}
    pairs = [(rule, signature) for rule in rules for signature in rule.signatures]
    for rule, signature in pairs:
        if taken.setdefault(signature.name, rule.origin) != rule.origin:
            yield f"{rule.origin}:1: signature {signature.name!r} is already taken by {taken[signature.name]}"
    for rule, signature in pairs:
        for name in signature.endings:
            if name not in taken and name not in RESOLVERS:
                yield f"{rule.origin}:1: signature {signature.name!r}: no signature is named {name!r}" + did_you_mean(
                    name, [*taken, *RESOLVERS]
                )
    for rule in rules:
        for name in (name for finding in rule.lines for name in finding.signatures if name not in taken):
            yield f"{rule.origin}:1: 'lines': no signature is named {name!r}{did_you_mean(name, taken)}"


def _misfits(
    rule: Rule, page: PageText, checks: Mapping[str, Check] | None, actions: frozenset[str] | None
) -> Iterable[str]:
    if checks is not None:
        for name in rule.checks:
            if name not in checks:
                yield f"{rule.origin}:1: no check is named {name!r}{did_you_mean(name, checks)}"
    if actions is not None and rule.remedy and rule.remedy.action not in actions:
        yield f"{rule.origin}:1: no remedy action is named {rule.remedy.action!r}" + did_you_mean(
            rule.remedy.action, actions
        )
    if not page.shipped and rule.code.startswith(RESERVED_PREFIX):
        yield f"{rule.origin}:1: the prefix {RESERVED_PREFIX} is reserved; give {rule.code} a prefix of your own"
    name = rule.origin.replace("\\", "/").rpartition("/")[2]
    if name != f"{rule.code}.md":
        yield f"{rule.origin}:1: a rule page is named after its code: {rule.code}.md"


RESOLVERS = ("@start", "@ready", "@meta-leader", "@meta-self", "@stream-leader", "@consumer-leader")
"""A start, readiness, a new meta leader (as others or the leader itself say), leaders of streams and consumers."""


def cause_graph_misfits(rules: Iterable[Rule]) -> Iterator[str]:
    """Codes in `explained_by` must be rules that are in use, and no rule may explain itself, directly or not."""
    by_code = {rule.code: rule for rule in rules}
    other = [code for code, rule in by_code.items() if rule.status is not RuleStatus.RETIRED]
    for rule in by_code.values():
        for edge in rule.explained_by:
            if edge.code not in other:
                yield f"{rule.origin}:1: 'explained_by': no rule has the code {edge.code!r}" + did_you_mean(
                    edge.code, other
                )
    if circle := _find_circle(by_code):
        yield f"{by_code[circle[0]].origin}:1: 'explained_by' goes in a circle: {' <- '.join(circle)}"


def _find_circle(by_code: dict[str, Rule]) -> list[str]:
    """One circle of `explained_by` by depth-first search, its first code repeated at the end; empty: there is none."""
    finished: set[str] = set()
    for start in sorted(by_code):
        path: list[str] = []
        pending: list[tuple[str, int]] = [(start, 0)]
        while pending:
            code, place = pending.pop()
            if place == 0:
                if code in finished:
                    continue
                path.append(code)
            causes = [edge.code for edge in by_code[code].explained_by if edge.code in by_code]
            if place == len(causes):
                finished.add(path.pop())
                continue
            if causes[place] in path:
                return [*path[path.index(causes[place]) :], causes[place]]
            pending += [(code, place + 1), (causes[place], 0)]
    return []
