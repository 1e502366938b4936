"""One line for each change: what a watch prints where there is no terminal."""

from __future__ import annotations

from jsdoctor.engine.watch import ChangeKind, FindingChange
from jsdoctor.model.wording import span
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page
from jsdoctor.render.watch.screen import CHANGE_STYLES
from jsdoctor.render.wording import to_the_second


def change_line(change: FindingChange, options: RenderOptions) -> str:
    """`2025-03-09 03:04:05Z appeared error JSD403 APP > ORDERS > billing: …`, with its line end."""
    finding, severity = change.result.finding, change.result.severity
    page = Page(options)
    lasted = span(max((change.at - change.appeared).total_seconds(), 0) * 1e9, 0)
    resolved = change.kind is ChangeKind.RESOLVED
    page.unwrapped(
        f"{to_the_second(change.at)} ",
        (change.kind.value, CHANGE_STYLES[change.kind]),
        " ",
        (severity.value, "" if resolved else SEVERITY_STYLES[severity]),
        f" {change.result.rule.code} {finding.subject.label}: ",
        f"after {lasted}" if resolved else finding.message or change.result.rule.title,
    )
    return page.text()
