"""Pictures of the HTML report: light, dark, on a phone, on paper. Run `python -m tools.screenshots DIR`."""

from __future__ import annotations

import sys
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.html.browser import CHROMIUM, Tab, browser
from tests.html.pages import hostile, html, large, report_of_logs
from tests.render import reports

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "fixtures" / "logs" / "2.12.8"


def main(place: Path) -> None:
    """Write the pages and their pictures into that directory."""
    if CHROMIUM is None:
        sys.exit("no Chromium on this machine: apt-get install chromium")
    place.mkdir(parents=True, exist_ok=True)
    pages = {
        "healthy": reports.clean(),
        "one": report_of_logs(LOGS / "publish-cluster_noquorum.log"),
        "incidents": report_of_logs(LOGS),
        "skewed": report_of_logs(ROOT / "fixtures" / "rules" / "JSD106" / "logs"),
        "large": large(200, 5_000),
        "hostile": hostile(),
    }
    with TemporaryDirectory() as profile, browser(Path(profile)) as tab:
        for name, report in pages.items():
            file = place / f"{name}.html"
            file.write_text(html(report), encoding="utf-8")
            for kind, width, dark in (("light", 1280, False), ("dark", 1280, True), ("phone", 390, False)):
                tab.open(file, width=width, dark=dark)
                tab.screenshot(place / f"{name}-{kind}.png")
            paper(tab, place / f"{name}.pdf")
    sys.stdout.write(f"pictures are in {place}\n")


def paper(tab: Tab, file: Path) -> None:
    """The page as it is printed."""
    file.write_bytes(b64decode(tab.call("Page.printToPDF", printBackground=True)["data"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
