"""Dashboards are what Grafana's own types say: the compiler of TypeScript refuses unknown fields and wrong values."""

import subprocess
from pathlib import Path

import pytest

from tests.kit.dashboards import DASHBOARDS, DEPLOY
from tests.servers import ROOT

pytestmark = pytest.mark.nightly

TYPES = ROOT / ".cache" / "grafana"
OPTIONS = ("--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--moduleResolution", "nodenext")


def compiled(directory: Path, text: str) -> subprocess.CompletedProcess[str]:
    """What the compiler says of a dashboard in JSON."""
    compiler = TYPES / "node_modules" / ".bin" / "tsc"
    if not compiler.exists():
        pytest.skip("no types of Grafana: make grafana-schema (needs npm)")
    (directory / "node_modules").symlink_to(TYPES / "node_modules")
    source = directory / "dashboard.ts"
    source.write_text(
        f"import type {{ Dashboard }} from '@grafana/schema';\nexport const made: Dashboard = {text};\n", "utf-8"
    )
    return subprocess.run(
        [str(compiler), *OPTIONS, str(source)], cwd=directory, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_has_the_types_of_grafana(name: str, tmp_path: Path) -> None:
    done = compiled(tmp_path, (DEPLOY / "grafana" / f"{name}.json").read_text("utf-8"))
    assert done.returncode == 0, done.stdout
