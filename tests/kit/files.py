"""The files of the kit, by path below deploy/, with their content."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.kit.alerts import alert_rules, record_tests, unit_tests
from tests.kit.dashboards import DASHBOARDS, dashboard
from tests.kit.recording import records
from tests.servers.binaries import ROOT

DEPLOY = ROOT / "deploy"
_HEAD = "# Made from the rule pages by `make kit`. Thresholds are the defaults of the rules' parameters.\n"


def files() -> dict[str, str]:
    """Path below deploy/ to content."""
    made = {
        "prometheus/jsdoctor-records.yaml": _rules("jsdoctor-records", list(records())),
        "prometheus/jsdoctor-alerts.yaml": _rules("jsdoctor-alerts", list(alert_rules())),
        "prometheus/jsdoctor-tests.yaml": _yaml(
            {
                "rule_files": ["jsdoctor-records.yaml", "jsdoctor-alerts.yaml"],
                "evaluation_interval": "1m",
                "tests": [*record_tests(), *unit_tests()],
            }
        ),
    }
    return made | {f"grafana/{name}.json": json.dumps(dashboard(name), indent=2) + "\n" for name in DASHBOARDS}


def write() -> None:
    """Write all of them."""
    for name, content in files().items():
        (DEPLOY / name).write_text(content, "utf-8")


def _rules(name: str, listed: list[dict[str, Any]]) -> str:
    return _yaml({"groups": [{"name": name, "rules": listed}]})


def _yaml(value: Any) -> str:
    return _HEAD + yaml.safe_dump(value, sort_keys=False, width=140)
