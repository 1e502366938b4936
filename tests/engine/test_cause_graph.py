"""What rule pages may state as the cause of a finding: rules that are in use, and no circle of them."""

from jsdoctor.engine.loader import cause_graph_misfits
from jsdoctor.model.finding import Severity
from jsdoctor.model.rule import Explanation, Relation, Rule, RuleStatus


def rule(code: str, *causes: str, status: RuleStatus = RuleStatus.STABLE) -> Rule:
    return Rule(
        code=code,
        slug=code.lower(),
        title=code,
        checks=("x",),
        severity=Severity.ERROR,
        status=status,
        explained_by=tuple(Explanation(cause, next(iter(Relation))) for cause in causes),
        origin=f"rules/{code}.md",
    )


def problems(*rules: Rule) -> list[str]:
    return list(cause_graph_misfits(rules))


def test_a_circle_is_found_behind_causes_that_lie_in_none() -> None:
    circle = ["rules/JSD201.md:1: 'explained_by' goes in a circle: JSD201 <- JSD301 <- JSD201"]
    assert problems(rule("JSD101"), rule("JSD201", "JSD101", "JSD301"), rule("JSD301", "JSD201")) == circle
    assert problems(rule("JSD401"), rule("JSD201", "JSD401", "JSD301"), rule("JSD301", "JSD201")) == circle
