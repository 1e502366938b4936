"""Six incidents as the report shows them, from real logs, recordings, captures and manifests."""

from collections.abc import Callable
from pathlib import Path

from jsdoctor.app.judging import open_judging
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.request import JudgeRequest
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.report import Report
from tests.cli.invoke import jsdoctor
from tests.html.pages import html, report_of_logs, week_of_lag
from tests.support.evidence import cases, evidence_of

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"


def _page(report: Report, file: Path) -> None:
    file.write_text(html(report), encoding="utf-8")


def _logs(where: Path) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        _page(report_of_logs(where), file)

    return write


def _recording(code: str, about: str | None) -> Callable[[Path], None]:
    """The first case of a rule that fires, judged by all rules; None: its recording without the edits."""

    def write(file: Path) -> None:
        case = next(
            known for known in cases(code) if known["kind"] == "fires" and (about is None or about in known["about"])
        )
        if about is None:
            case = {**case, "edit": []}
        judging = open_judging(JudgeRequest(isolated=True, output=(OutputTarget("html", file),)))
        evidence: EvidenceSet = evidence_of(case)
        file.write_text(html(judging.report(evidence, (), "")), encoding="utf-8")

    return write


def _checked(option: str, path: Path) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        done = jsdoctor("check", "--isolated", option, str(path), "-o", str(file), cwd=file.parent)
        assert done.returncode in (0, 1), done.stderr

    return write


INCIDENTS: dict[str, Callable[[Path], None]] = {
    "lost-quorum": _logs(FIXTURES / "rules" / "JSD106" / "logs"),
    "lag": lambda file: _page(week_of_lag(), file),
    "storm": _logs(FIXTURES / "logs" / "2.12.8"),
    "packets": _checked("--pcap", FIXTURES / "captures" / "own-slow-consumer.pcap.gz"),
    "manifests": _checked("--manifest", FIXTURES / "manifests" / "nack"),
    "healthy": _recording("JSD402", None),
}
"""The name of each incident, with what writes its page to a file."""
