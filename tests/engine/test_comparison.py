"""Two reports side by side: what is gone was judged, what is new is marked where nothing was known before."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from jsdoctor.engine.comparison import FindingDifference, compare, exit_code
from jsdoctor.model.finding import Outcome, Severity, Subject
from jsdoctor.model.saved_report import SavedGap, SavedReport, SavedResult, SavedRule, SavedSource
from jsdoctor.render.comparison import comparison_json, comparison_markdown, comparison_text
from jsdoctor.render.options import RenderOptions
from tests.cli.invoke import jsdoctor
from tests.logs.corpus import REAL

ORDERS = Subject(kind="stream", name="ORDERS", account="APP")
BILLING = Subject(kind="consumer", name="billing", account="APP", stream="ORDERS")


def finding(code: str, severity: Severity, subject: Subject, measured: int = 3) -> SavedResult:
    return SavedResult(code, Outcome.FAIL, severity, subject, "text", f"{code}{subject.label}", measured, "count")


def report(
    *results: SavedResult, rules: dict[str, Outcome] | None = None, gaps: tuple[SavedGap, ...] = ()
) -> SavedReport:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    verdicts = {**{result.code: result.outcome for result in results}, **(rules or {})}
    return SavedReport(
        "jsdoctor.report/v1",
        at,
        at,
        (SavedSource("live", "prod"),),
        results,
        tuple(SavedRule(code, outcome) for code, outcome in verdicts.items()),
        gaps,
        "report.json",
    )


LAG = finding("JSD401", Severity.WARNING, BILLING)


@pytest.mark.parametrize(
    ("later", "difference", "code"),
    [
        (report(LAG), FindingDifference.UNCHANGED, 0),
        (report(finding("JSD401", Severity.ERROR, BILLING)), FindingDifference.WORSE, 1),
        (report(finding("JSD401", Severity.INFO, BILLING)), FindingDifference.BETTER, 0),
        (report(rules={"JSD401": Outcome.PASS}), FindingDifference.GONE, 0),
        (report(rules={"JSD401": Outcome.NOT_APPLICABLE}), FindingDifference.GONE, 0),
        (report(rules={"JSD401": Outcome.NOT_EVALUATED}), FindingDifference.NOT_JUDGED, 3),
        (report(rules={"JSD401": Outcome.ERROR}), FindingDifference.NOT_JUDGED, 3),
        (report(), FindingDifference.NOT_JUDGED, 3),
        (report(rules={"JSD401": Outcome.PASS}, gaps=(SavedGap(ORDERS, True),)), FindingDifference.NOT_JUDGED, 3),
        (report(rules={"JSD401": Outcome.PASS}, gaps=(SavedGap(ORDERS, False),)), FindingDifference.GONE, 0),
        (
            report(msgspec.structs.replace(LAG, outcome=Outcome.NOT_EVALUATED), rules={"JSD401": Outcome.PASS}),
            FindingDifference.NOT_JUDGED,
            3,
        ),
        (report(msgspec.structs.replace(LAG, suppressed={"kind": "waiver"})), FindingDifference.GONE, 0),
    ],
)
def test_a_finding_of_before(later: SavedReport, difference: FindingDifference, code: int) -> None:
    comparison = compare(report(LAG), later)
    assert [finding.difference for finding in comparison.findings] == [difference]
    assert exit_code(comparison, Severity.WARNING) == code


@pytest.mark.parametrize(("earlier", "known"), [(Outcome.PASS, True), (Outcome.NOT_EVALUATED, False)])
def test_a_new_finding(earlier: Outcome, known: bool) -> None:
    comparison = compare(report(rules={"JSD401": earlier}), report(LAG))
    assert [(finding.difference, finding.first_judged) for finding in comparison.findings] == [
        (FindingDifference.NEW, not known)
    ]
    assert exit_code(comparison, Severity.WARNING) == 1
    assert exit_code(comparison, Severity.ERROR) == 0
    assert ("not judged in the earlier report" in comparison_text(comparison, RenderOptions())) is not known


def test_findings_come_by_what_became_of_them_then_the_worst_first() -> None:
    info, warning, error = Severity.INFO, Severity.WARNING, Severity.ERROR
    full, risky = finding("JSD602", warning, ORDERS), finding("JSD605", warning, ORDERS)
    earlier = report(LAG, full, finding("JSD601", error, ORDERS), risky, rules={"JSD404": Outcome.PASS})
    later = report(
        *(finding("JSD401", info, BILLING), finding("JSD404", warning, BILLING), finding("JSD405", error, BILLING)),
        *(finding("JSD602", error, ORDERS), finding("JSD601", error, ORDERS)),
        *(finding("JSD404", warning, msgspec.structs.replace(BILLING, name="archive")),),
    )
    comparison = compare(earlier, later)
    assert [(f.difference.value, f.result.code, f.result.subject.name, f.is_there) for f in comparison.findings] == [
        ("new", "JSD405", "billing", True),
        ("new", "JSD404", "archive", True),
        ("new", "JSD404", "billing", True),
        ("worse", "JSD602", "ORDERS", True),
        ("better", "JSD401", "billing", True),
        ("not_judged", "JSD605", "ORDERS", False),
        ("unchanged", "JSD601", "ORDERS", True),
    ]
    (gone,) = compare(report(LAG), report(rules={"JSD401": Outcome.PASS})).findings
    assert not gone.is_there


def test_text_of_others_is_data() -> None:
    name = "a|b<script>\x1b[31m`x`"
    comparison = compare(report(), report(finding("JSD401", Severity.ERROR, Subject(kind="stream", name=name))))
    text = comparison_text(comparison, RenderOptions(width=200))
    markdown = comparison_markdown(comparison, RenderOptions())
    assert "\x1b" not in text + markdown
    assert "<script>" not in markdown
    assert msgspec.json.decode(comparison_json(comparison, RenderOptions()))["findings"][0]["subject"]["name"] == name


def test_reports_of_real_logs(tmp_path: Path) -> None:
    """As a user does it: two reports in files, and the difference as text, Markdown and JSON."""
    for name, log in (("a", "2.15.1/c2-n3.log"), ("b", "2.10.26/publish-cluster_noquorum.log")):
        jsdoctor("check", "--logs", str(REAL / log), "-o", f"{name}.json", cwd=tmp_path)
    done = jsdoctor("compare", "a.json", "b.json", "-o", "-", "-o", "d.md", "-o", "d.json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    comparison = msgspec.json.decode((tmp_path / "d.json").read_bytes())
    assert comparison["summary"]["new"] > 0
    assert comparison["summary"]["gone"] > 0
    assert not comparison["same_sources"]
    assert "The sources differ" in done.stdout
    assert (tmp_path / "d.md").read_text().startswith("## jsdoctor: ")
    same = jsdoctor("compare", "b.json", "b.json", cwd=tmp_path)
    assert (same.returncode, "new" in same.stdout.splitlines()[1]) == (0, False)
    for wrong in ("d.json", "d.md", "nothing.json"):
        refused = jsdoctor("compare", "a.json", wrong, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
