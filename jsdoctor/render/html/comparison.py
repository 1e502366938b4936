"""Two reports side by side as one HTML file: a table for each difference, which sorts."""

from __future__ import annotations

from jsdoctor import __version__
from jsdoctor.engine.comparison import FindingDifference, ReportComparison
from jsdoctor.render.comparison import HEADINGS, OTHER_SOURCES, note, summary
from jsdoctor.render.html.environment import plain_page
from jsdoctor.render.options import RenderOptions


def comparison_html(comparison: ReportComparison, options: RenderOptions) -> str:
    """One file that needs no other."""
    lists = [
        {"id": difference.value, "heading": heading, "findings": [(finding, note(finding)) for finding in findings]}
        for difference, heading in HEADINGS.items()
        if (findings := comparison.of(difference))
    ]
    return plain_page(
        "comparison.html",
        options,
        version=__version__,
        started=comparison.earlier.started,
        finished=comparison.later.finished,
        title=summary(comparison),
        comparison=comparison,
        lists=lists,
        other_sources=OTHER_SOURCES,
        worst=_worst(comparison),
    )


def _worst(comparison: ReportComparison) -> str:
    if comparison.of(FindingDifference.NEW) or comparison.of(FindingDifference.WORSE):
        return "error"
    return "unsure" if comparison.of(FindingDifference.NOT_JUDGED) else "good"
