"""The graph of which rule's findings explain which: its edges are in the rule pages, here they are validated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.rule import Rule, RuleStatus


def cause_graph_misfits(rules: Iterable[Rule]) -> Iterator[str]:
    """Codes in `explained_by` must be rules that are in use, and no rule may explain itself, directly or not."""
    by_code = {rule.code: rule for rule in rules}
    known = [code for code, rule in by_code.items() if rule.status is not RuleStatus.RETIRED]
    for rule in by_code.values():
        for edge in rule.explained_by:
            if edge.code not in known:
                yield f"{rule.origin}:1: 'explained_by': no rule has the code {edge.code!r}" + did_you_mean(
                    edge.code, known
                )
    if circle := _circle(by_code):
        yield f"{by_code[circle[0]].origin}:1: 'explained_by' goes in a circle: {' <- '.join(circle)}"


def _circle(by_code: dict[str, Rule]) -> list[str]:
    """One circle of codes, first and last alike; empty when there is none."""
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
