"""The HTML report: verdict, timeline, charts, findings, what was not seen, and the pages of the rules."""

from __future__ import annotations

from jsdoctor.model.finding import Outcome
from jsdoctor.model.picture import Picture
from jsdoctor.model.report import Report
from jsdoctor.render.closing import findings_by_severity, verdict_sentence
from jsdoctor.render.html.charts import charts
from jsdoctor.render.html.environment import asset, environment, policy
from jsdoctor.render.html.findings import ROWS_SHOWN, incident_cards, rows
from jsdoctor.render.html.rules import rule_pages
from jsdoctor.render.html.timeline import event_rows, timeline_json
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order, with_outcome
from jsdoctor.render.unseen import undecided


def render_html(report: Report, options: RenderOptions) -> str:
    """One self-contained file. `max_examples` and `verbose` do not apply: the page can filter and collapse lists."""
    picture = report.picture or Picture()
    style, script = asset("page.css"), asset("page.js")
    results, pages = report.failures(), rule_pages(report)
    text = (
        environment()
        .get_template("report.html")
        .render(
            report=report,
            style=style,
            script=script,
            policy=policy(style, script),
            version=report.version,
            started=report.started,
            finished=report.finished,
            title=verdict_sentence(report),
            verdict_parts=verdict_sentence(report).split(" · "),
            worst=_worst(report),
            severities=findings_by_severity(report),
            cards=incident_cards(report),
            rows=rows(report),
            left_out=max(0, len(results) - ROWS_SHOWN),
            picture=picture,
            timeline_json=timeline_json(picture.timeline),
            events=event_rows(picture.timeline),
            charts=charts(picture),
            gaps=[gap for gap in gaps_in_order(report.gaps) if gap.requested],
            undecided=undecided(report),
            crashes=with_outcome(report.results, Outcome.ERROR),
            suppressed=by_urgency(report.suppressed()),
            verdicts=sorted(report.verdicts, key=lambda verdict: verdict.rule.code),
            pages=pages,
            page_codes={page.code for page in pages},
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode() if options.ascii_only else text


def _worst(report: Report) -> str:
    """The colour of the verdict: the worst severity, `unsure` where something was not seen, else `good`."""
    for severity, number in findings_by_severity(report).items():
        if number:
            return severity.value
    passed = any(verdict.outcome is Outcome.PASS for verdict in report.verdicts)
    seen = not any(gap.requested for gap in report.gaps) and not with_outcome(report.results, Outcome.ERROR)
    return "good" if passed and seen else "unsure"
