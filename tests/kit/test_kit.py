"""The kit is up to date, every alert fires and is silent as it should, and dashboards ask for what is recorded."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.kit.alerts import alert_rules
from tests.kit.dashboards import DASHBOARDS, dashboard
from tests.kit.files import DEPLOY, files
from tests.kit.recording import records
from tests.prometheus.stack import program
from tests.servers.binaries import ROOT

RECORDED = {record["record"] for record in records()}
NAME = re.compile(r"jsdoctor:\w+")


def test_the_files_are_those_of_the_rule_pages() -> None:
    for name, content in files().items():
        assert (DEPLOY / name).read_text("utf-8") == content, f"deploy/{name} is out of date: make kit"


def test_each_alert_links_its_page_and_has_no_parameter_left() -> None:
    for rule in alert_rules():
        code = rule["labels"]["code"]
        assert rule["annotations"]["runbook_url"].endswith(f"/rules/{code}/"), "as tests/site/pages.py has it"
        assert len(list(ROOT.glob(f"rules/*/{code}.md"))) == 1
        assert not re.search(r"\{[a-z_]+\}", rule["expr"] + rule["for"])
        assert set(NAME.findall(rule["expr"])) <= RECORDED


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_whole(name: str) -> None:
    made = json.loads(json.dumps(dashboard(name)))
    panels = made["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
    variables = {variable["name"] for variable in made["templating"]["list"]}
    for panel in panels:
        [target] = panel["targets"]
        assert set(NAME.findall(target["expr"])) <= RECORDED
        assert set(re.findall(r"\$(\w+)", target["expr"])) <= variables


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
