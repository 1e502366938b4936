"""The texts that a watch shows in place of its lists: one incident in full, or the page of its rule."""

from __future__ import annotations

from msgspec.structs import replace

from jsdoctor.model.report import Incident
from jsdoctor.render.explain_drawn import page_rendered
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.text import write_incident


def incident_text(incident: Incident, number: int, options: RenderOptions) -> str:
    """The incident as a report shows it with -v, without colours."""
    page = Page(replace(options, color=False, verbose=1))
    write_incident(page, number, incident, replace(options, color=False, verbose=1))
    return page.text().lstrip("\n")


def rule_text(incident: Incident, options: RenderOptions) -> str:
    """The page of the rule that found the cause, without colours."""
    return page_rendered(incident.causes[0].rule, replace(options, color=False))
