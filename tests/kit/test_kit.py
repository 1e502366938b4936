"""Alerts have the thresholds of the rules, fire and are silent as they should; dashboards ask for what is recorded."""

import re
import subprocess
from typing import Any

import pytest
import yaml

from jsdoctor.engine.select import find_rule
from tests.kit.dashboards import DASHBOARDS, DEPLOY
from tests.prometheus.stack import program
from tests.servers.binaries import ROOT
from tests.support.ruleset import rules

NAME = re.compile(r"jsdoctor:\w+")


def listed(name: str) -> list[dict[str, Any]]:
    """The rules of one file of deploy/prometheus."""
    [group] = yaml.safe_load((DEPLOY / "prometheus" / f"jsdoctor-{name}.yaml").read_text("utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


RECORDED = {record["record"] for record in listed("records")}


@pytest.mark.parametrize("alert", listed("alerts"), ids=lambda alert: alert["alert"])
def test_an_alert_links_its_page_and_has_its_thresholds(alert: dict[str, Any]) -> None:
    code, annotations = alert["labels"]["code"], alert["annotations"]
    rule = find_rule(rules(), code)
    assert annotations["runbook_url"].endswith(f"/rules/{code}/"), "as tools/site/pages.py has it"
    assert annotations["summary"] == f"{code} {rule.slug}"
    assert len(list(ROOT.glob(f"rules/*/{code}.md"))) == 1
    assert set(NAME.findall(alert["expr"])) <= RECORDED
    numbers = re.findall(r"\d+(?:\.\d+)?", f"{alert['expr']} {alert['for']}")
    for name in annotations.get("parameters", "").split(", "):
        if name:
            param = rule.params[name]
            assert param.default is not None
            default = param.default / 1e9 if param.unit == "duration" else param.default
            assert f"{default:.10g}" in numbers, f"{name} of {code} is {default:.10g}"


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_whole(name: str) -> None:
    made = DASHBOARDS[name]
    panels = made["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
    known = {variable["name"] for variable in made["templating"]["list"]}
    for panel in panels:
        [target] = panel["targets"]
        assert set(NAME.findall(target["expr"])) <= RECORDED
        assert set(re.findall(r"\$(\w+)", target["expr"])) <= known


@pytest.mark.parametrize(
    "arguments",
    [["check", "rules", "jsdoctor-records.yaml", "jsdoctor-alerts.yaml"], ["test", "rules", "jsdoctor-tests.yaml"]],
)
def test_promtool_accepts_the_rules_and_proves_the_alerts(arguments: list[str]) -> None:
    promtool = program("promtool")
    done = subprocess.run(
        [str(promtool), *arguments], cwd=DEPLOY / "prometheus", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
