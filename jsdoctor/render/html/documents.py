"""Two reports side by side, a differential, or a remediation plan as one HTML file."""

from __future__ import annotations

from markupsafe import Markup

from jsdoctor import __version__
from jsdoctor.engine.comparison import FindingDifference, ReportComparison
from jsdoctor.model.diagnosis import Cause, Verdict
from jsdoctor.model.plan import Plan
from jsdoctor.model.rule import Risk
from jsdoctor.model.wording import counted
from jsdoctor.render.comparison import HEADINGS, OTHER_SOURCES, note, summary
from jsdoctor.render.diagnosis import WHAT_IT_WOULD_NEED, Consultation
from jsdoctor.render.html.environment import asset, environment, pages_of, plain_page, policy
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order
from jsdoctor.render.plan_text import headline


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


_ORDER = (Verdict.CONFIRMED, Verdict.EXPLAINED, Verdict.UNDECIDED, Verdict.RULED_OUT)


def render_diagnosis_html(consultation: Consultation, options: RenderOptions) -> str:
    """One file that needs no other."""
    diagnosis = consultation.diagnosis
    known = diagnosis.causes if diagnosis else ()
    causes = [cause for verdict in _ORDER for cause in known if cause.verdict is verdict]
    pages = pages_of({cause.rule.code: cause.rule for cause in causes})
    style, script = asset("page.css"), asset("page.js")
    symptom = diagnosis.question.symptom if diagnosis else None
    probed = consultation.probe is not None and not consultation.text
    text = (
        environment()
        .get_template("diagnosis.html")
        .render(
            version=consultation.version,
            started=consultation.started,
            finished=consultation.finished,
            title=symptom.title if symptom else "Probed" if probed else "Not recognised",
            counts=_counts(causes),
            worst=_worst_rule(causes),
            text=consultation.text,
            by=diagnosis.question.by if diagnosis else "",
            means=symptom.means if symptom else "",
            notes=diagnosis.notes if diagnosis else (),
            next_step=diagnosis.next_step.text if diagnosis and diagnosis.next_step else "",
            needs=() if diagnosis or probed else WHAT_IT_WOULD_NEED,
            causes=causes,
            sources=consultation.sources,
            headline=consultation.headline,
            probe=consultation.probe,
            gaps=gaps_in_order(consultation.gaps),
            undecided=(),
            crashes=(),
            suppressed=(),
            verdicts=(),
            pages=pages,
            page_codes={page.code for page in pages},
            style=style,
            script=script,
            policy=policy(style, script),
            timeline_json=Markup('{"lanes": []}'),
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode() if options.ascii_only else text


def _counts(causes: list[Cause]) -> str:
    if not causes:
        return ""
    parts = [(verdict, sum(cause.verdict is verdict for cause in causes)) for verdict in _ORDER]
    shown = ", ".join(f"{number} {verdict.value.replace('_', ' ')}" for verdict, number in parts if number)
    return f"{counted(len(causes), 'documented cause')}: {shown}"


def _worst_rule(causes: list[Cause]) -> str:
    verdicts = {cause.verdict for cause in causes}
    if Verdict.CONFIRMED in verdicts:
        return "error"
    return "good" if verdicts == {Verdict.RULED_OUT} else "unsure"


_GRADES = {Risk.SAFE: "good", Risk.DISRUPTIVE: "warning", Risk.DESTRUCTIVE: "error", Risk.MANUAL: "info"}
"""The colours of severities, for risks."""


def render_plan_html(plan: Plan, options: RenderOptions, flags: str = "") -> str:
    """One file that needs no other. `flags` lead a command of jsdoctor to the logins of this run."""
    return plain_page(
        "plan.html",
        options,
        version=plan.version,
        started=plan.created,
        finished=plan.created,
        title=headline(plan),
        plan=plan,
        flags=flags,
        grades={risk.value: grade for risk, grade in _GRADES.items()},
        worst="unsure" if plan.steps else "good",
    )
