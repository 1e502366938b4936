"""Pages of six incidents pass axe-core, in light and dark and at a phone's width, without errors or requests."""

from pathlib import Path
from typing import Any

import pytest

from tests.html.browser import CHROMIUM, Tab
from tests.html.incidents import INCIDENTS, ROOT
from tests.html.pages import hostile, html

AXE = ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.skipif(not AXE.exists(), reason="no axe-core: make axe (needs npm)"),
]
SAMPLES = ((1280, False), (1280, True), (390, False))
CI = ("lost-quorum",)
RUN = """axe.run().then((found) => ({
  passes: found.passes.map((one) => one.id),
  violations: found.violations.map((one) => [one.id, one.nodes.slice(0, 5).map((node) => node.html.slice(0, 200))]),
}))"""


def judged(tab: Tab) -> dict[str, Any]:
    """What axe-core says of the page that is open. The page's policy does not bind the debugger."""
    tab.value(AXE.read_text(encoding="utf-8") + "; true")
    axe_results: dict[str, Any] = tab.value(RUN)
    assert "color-contrast" in axe_results["passes"]
    return axe_results


@pytest.mark.parametrize(
    "name",
    [incident if incident in CI else pytest.param(incident, marks=pytest.mark.nightly) for incident in INCIDENTS],
)
def test_an_incident_is_accessible(tab: Tab, tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.html"
    INCIDENTS[name](file)
    for width, dark in SAMPLES:
        tab.open(file, width=width, dark=dark)
        tab.value("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        assert judged(tab)["violations"] == []
        assert tab.value("document.documentElement.scrollWidth") <= width
        assert tab.problems == []
        assert tab.requests == [file.as_uri()]


def test_a_fault_is_found(tab: Tab, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(html(hostile()), encoding="utf-8")
    tab.open(file)
    assert judged(tab)["violations"] == []
    tab.value("document.querySelector('main').insertAdjacentHTML('beforeend', '<input>'); true")
    assert [name for name, _ in judged(tab)["violations"]] == ["label"]
