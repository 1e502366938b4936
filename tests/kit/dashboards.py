"""The dashboards of deploy/grafana."""

import json
from typing import Any

from tests.servers.binaries import ROOT

DEPLOY = ROOT / "deploy"
DASHBOARDS: dict[str, dict[str, Any]] = {
    file.stem: json.loads(file.read_text("utf-8")) for file in sorted(DEPLOY.glob("grafana/*.json"))
}


def variables(name: str) -> dict[str, str]:
    """The query of each variable, by name."""
    listed = DASHBOARDS[name]["templating"]["list"]
    return {variable["name"]: variable["query"] for variable in listed if variable["type"] == "query"}
