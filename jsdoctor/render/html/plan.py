"""A remediation plan as one HTML file: the steps in order, what each changes and gives up, its proof and way back."""

from __future__ import annotations

from jsdoctor.model.plan import Plan
from jsdoctor.model.rule import Risk
from jsdoctor.render.html.environment import plain_page
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.plan_text import headline

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
