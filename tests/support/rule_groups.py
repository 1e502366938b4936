"""The tests of a rule: those of the modules that judge the cases of all rules."""

import re

_RULE = re.compile(r"tests/(?:test_\w+|logs/test_selection)\.py::\w+\[(JSD\d{3})\b")


def rule_of(nodeid: str) -> str:
    """The code of the rule whose cases a test reads, or nothing."""
    rule = _RULE.match(nodeid)
    return rule[1] if rule else ""
