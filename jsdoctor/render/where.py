"""Where things are, for a person and for machines."""

from __future__ import annotations

import msgspec

from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.whereabouts import SCHEMA, WhereReport
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.wording import rfc3339

_GAPS = 3


def render_where(report: WhereReport, options: RenderOptions) -> str:
    """The sentence first, then each stream or consumer that has to do with it; `quiet` leaves the sentences."""
    page = Page(options)
    for number, result in enumerate(report.results):
        page.blank() if number and not options.quiet else None
        page.line((f"{result.sentence}.", "bold"))
        for place in result.found if not options.quiet else ():
            if len(result.found) > 1 or not result.sentence.startswith(place.subject.label):
                page.line((place.subject.label, "bold"), indent=2)
            for fact in place.facts:
                page.line(fact, indent=4)
    gaps = list(dict.fromkeys(gap for result in report.results for gap in result.unseen))
    page.blank() if gaps and not options.quiet else None
    for gap in gaps[: None if options.verbose else _GAPS] if not options.quiet else ():
        label = "servers" if gap.subject == CLUSTER else gap.subject.label
        page.line(f"Not seen: {label}: {gap.reason}. {gap.how_to_get}")
    return page.text()


def render_where_json(report: WhereReport, options: RenderOptions) -> str:
    """One JSON object and a newline."""
    document = {"schema": SCHEMA, "jsdoctor": report.version, "started": rfc3339(report.started)}
    results = [msgspec.to_builtins(result) for result in report.results]
    return dumps({**document, "headline": report.headline, "results": results}, options.ascii_only)
