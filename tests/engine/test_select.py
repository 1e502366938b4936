"""Selection by code, slug and prefix."""

import pytest

from jsdoctor.engine.select import Selection, SelectionError, find_rule, select_rules
from jsdoctor.model.finding import Severity
from jsdoctor.model.rule import Rule, RuleStatus


def rule(code: str, slug: str, status: RuleStatus = RuleStatus.STABLE) -> Rule:
    return Rule(code=code, slug=slug, title=slug, checks=("x",), severity=Severity.ERROR, status=status)


RULES = [
    rule("JSD401", "lag-high"),
    rule("JSD403", "at-limit"),
    rule("JSD701", "no-meta-leader"),
    rule("JSD799", "new-one", RuleStatus.PREVIEW),
    rule("JSD798", "gone", RuleStatus.RETIRED),
]


def codes(selection: Selection) -> list[str]:
    return [chosen.code for chosen in selection.rules]


def test_prefix_slug_and_case() -> None:
    assert codes(select_rules(RULES, ["jsd4"])) == ["JSD401", "JSD403"]
    assert codes(select_rules(RULES, ["No-Meta-Leader"])) == ["JSD701"]
    assert codes(select_rules(RULES, ["ALL"], ignore=["JSD4"])) == ["JSD701", "JSD799"]


def test_preview_rules_run_when_requested_and_retired_ones_never() -> None:
    assert "JSD799" in codes(select_rules(RULES, extend_select=["new-one"]))
    with pytest.raises(SelectionError, match=r"^no rule is left to run: every selected rule is also ignored$"):
        select_rules(RULES, ["JSD798"])


def test_unknown_names_are_reported_with_the_option_that_has_them() -> None:
    with pytest.raises(SelectionError, match=r"^--select 'x' names no rule$"):
        select_rules(RULES, ["x"])
    with pytest.raises(SelectionError, match=r"^--extend-select 'x' names no rule$"):
        select_rules(RULES, extend_select=["x"])
    with pytest.raises(SelectionError, match=r"^no rule is named 'x'$"):
        find_rule(RULES, "x")
    with pytest.raises(SelectionError, match=r"^no rule, symptom or API error is named 'storm'; did you mean 'storms'"):
        find_rule(RULES, "storm", ["storms"])


def test_unknown_names() -> None:
    with pytest.raises(SelectionError, match="--ignore 'at-limt' names no rule; did you mean 'at-limit'"):
        select_rules(RULES, ignore=["at-limt"])
    with pytest.raises(SelectionError, match="did you mean 'JSD403'"):
        find_rule(RULES, "JSD4O3")
    with pytest.raises(SelectionError):
        select_rules(RULES, [" "])
