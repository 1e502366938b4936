"""The HTML report in a real browser: no errors, no requests, zoom and keys work, and nothing is wider than a phone."""

import sys
from base64 import b64decode
from pathlib import Path

import pytest

from bench.log_archive import ArchivePlan, write_archive
from tests.html.browser import CHROMIUM, Tab
from tests.html.incidents import INCIDENTS
from tests.html.pages import hostile, html, large, report_of_logs
from tests.render import reports

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html(report_of_logs(ROOT / "fixtures" / "logs" / "2.12.8")), encoding="utf-8")
    return file


def test_opens_without_errors_or_requests_and_zooms(tab: Tab, page: Path) -> None:
    tab.open(page)
    shown = tab.value("document.getElementById('span').textContent")
    tab.value("document.getElementById('plot').focus()")
    tab.press("+")
    closer = tab.value("document.getElementById('span').textContent")
    assert closer != shown
    tab.press("0")
    assert tab.value("document.getElementById('span').textContent") == shown
    tab.press("ArrowDown")
    tab.press("Enter")
    assert "Lines kept as evidence" in tab.value("document.getElementById('event').textContent")
    tab.value("document.querySelector('#plot .ev.outage').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert "byte" in tab.value("document.getElementById('event').textContent")
    assert tab.problems == []
    assert tab.requests == [page.as_uri()]


def test_filters_and_sorts(tab: Tab, page: Path) -> None:
    tab.open(page)
    count = "document.querySelectorAll('#findings-table tbody tr:not([hidden])').length"
    every = tab.value(count)
    tab.value(
        "document.getElementById('filter').value = 'JSD803';"
        "document.getElementById('filter').dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert 0 < tab.value(count) < every
    tab.value("document.querySelector('#findings-table th:nth-child(3) button').click()")
    names = tab.value("[...document.querySelectorAll('#findings-table .subject bdi')].map((one) => one.textContent)")
    assert len(names) == every
    assert tab.value("document.querySelector('#findings-table th:nth-child(3)').ariaSort") == "ascending"


def test_a_finding_opens_into_its_rule_and_the_rest_of_its_incident_is_folded(tab: Tab, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(html(reports.busy()), encoding="utf-8")
    tab.open(file)
    tab.value(
        "new Promise((done) => { const row = document.querySelector('#findings details');"
        " row.addEventListener('toggle', done); row.open = true; })"
    )
    rule = "document.querySelector(%r).textContent.trim()"
    assert tab.value(rule % "#findings details .prose") == tab.value(rule % "#rule-JSD701 .prose")
    folded = "document.querySelectorAll('#findings .folded').length"
    before = tab.value(folded)
    tab.value("document.querySelector('.unfold').click()")
    assert 0 <= tab.value(folded) < before


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(tab: Tab, page: Path, width: int) -> None:
    tab.open(page, width=width, height=740)
    assert tab.value("document.documentElement.scrollWidth") <= width


def test_hostile_names_run_nothing(tab: Tab, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(html(hostile()), encoding="utf-8")
    tab.open(file)
    tab.value("document.querySelector('#plot .ev').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert "alert(1)" in tab.value("document.getElementById('event').textContent")
    assert tab.value("document.querySelectorAll('script').length") == 2
    assert tab.value("document.querySelectorAll('img').length") == 0
    assert tab.problems == []
    assert tab.requests == [file.as_uri()]


@pytest.mark.parametrize("name", INCIDENTS)
def test_every_incident_opens_filters_and_prints(tab: Tab, tmp_path: Path, name: str) -> None:
    """Without console errors and requests; on paper every panel and table is there, and nothing to press."""
    file = tmp_path / f"{name}.html"
    INCIDENTS[name](file)
    tab.open(file)
    for word in ("JSD", "no such finding"):
        tab.value(
            f"(one => {{ if (one) {{ one.value = {word!r};"
            " one.dispatchEvent(new Event('input', {bubbles: true})); } })(document.getElementById('filter'))"
        )
    assert tab.problems == []
    assert tab.requests == [file.as_uri()]
    tab.open(file)
    pdf = b64decode(tab.call("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type /Page/") >= 1
    tab.call("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll(%r)].filter((one) => one.getClientRects().length).length"
    assert tab.value(shown % ".top, .tools, .copy") == 0
    assert tab.value(shown % "h1, h2, .panel") > 0
    tab.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["10,000 findings", "1,000,000 lines of trouble"])
def test_a_large_page_is_small_and_soon_on_the_screen(tab: Tab, tmp_path: Path, what: str) -> None:
    """`pytest -rP` shows what was measured."""
    if what.startswith("10,000"):
        report = large(10_000, 6_000)
    else:
        write_archive(tmp_path / "logs", ArchivePlan(400, storm=True))
        report = report_of_logs(tmp_path / "logs")
    file = tmp_path / "large.html"
    file.write_text(html(report), encoding="utf-8")
    tab.open(file)
    paint_ms = tab.value(
        "new Promise((done) => new PerformanceObserver((seen) =>"
        " seen.getEntriesByName('first-contentful-paint').forEach((one) => done(one.startTime))"
        ").observe({type: 'paint', buffered: true}))"
    )
    load_ms = tab.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
    size = file.stat().st_size
    sys.stdout.write(f"{what}: {size:,} bytes, first paint after {paint_ms:.0f} ms, loaded after {load_ms:.0f} ms\n")
    assert size < 2_000_000
    assert tab.problems == []
