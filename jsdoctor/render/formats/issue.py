"""The report as a block to be pasted into a ticket: versions, the deployment in a line, what is wrong, what to attach.

The addresses that were queried and the logins are left out; names of servers, streams and consumers stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Incident, Report
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.escape import ascii_only
from jsdoctor.render.incidents import IMPACT_WORDS, incidents_of, names_of
from jsdoctor.render.markdown_text import plain_text
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order, with_outcome
from jsdoctor.render.wording import to_the_second

_NAMES_SHOWN = 3
_LIVE = ("live", "kubernetes", "prometheus")


def render(report: Report, options: RenderOptions) -> str:
    """Markdown of few lines: every incident in a sentence, as many gaps as the options show."""
    lines = [*_incidents(report), *_unseen(report, options)]
    parts = ("\n".join(_opening(report)), "\n".join(lines), *_closing(report))
    text = "\n\n".join(filter(None, parts)) + "\n"
    return ascii_only(text) if options.ascii_only else text


def _opening(report: Report) -> Iterator[str]:
    seen = plain_text(report.headline or "no evidence")
    yield f"**jsdoctor {report.version}**, {to_the_second(report.started)}: {seen}"
    if report.topology:
        yield f"Deployment: {plain_text(report.topology.words())}"


def _incidents(report: Report) -> Iterator[str]:
    for incident in incidents_of(report):
        yield f"- **{incident.severity.value}** {plain_text(_sentence(incident))}"


def _sentence(incident: Incident) -> str:
    cause = incident.causes[0]
    began = f", since {to_the_second(incident.began)}" if incident.began else ""
    explains = ""
    if incident.consequences:
        codes = dict.fromkeys(consequence.result.rule.code for consequence in incident.consequences)
        number = counted(len(incident.consequences), "more finding")
        explains = f"; explains {number} ({listed(codes, _NAMES_SHOWN)})"
    names = names_of(incident.causes, _NAMES_SHOWN)
    facts = f"{cause.rule.code}, {IMPACT_WORDS[incident.impact]}{began}{explains}"
    return f"{names}: {cause.finding.message or cause.rule.title} ({facts})"


def _unseen(report: Report, options: RenderOptions) -> Iterator[str]:
    """Checks that failed, and requested evidence that is missing: their subjects must not count as healthy."""
    for result in with_outcome(report.results, Outcome.ERROR):
        yield f"- check failed: {result.rule.code}, {plain_text(result.finding.message)}"
    gaps = [gap for gap in gaps_in_order(report.gaps) if gap.requested]
    shown = gaps[: options.max_examples or None]
    for gap in shown:
        yield f"- not seen: {plain_text(f'{gap.subject.label}: {gap.reason}')}"
    if len(shown) < len(gaps):
        yield f"- not seen: {len(gaps) - len(shown):,} more"


def _closing(report: Report) -> Iterator[str]:
    yield plain_text(verdict_sentence(report))
    if any(source.kind in _LIVE for source in report.sources):
        yield "To attach: the file of `jsdoctor capture -o evidence.zip`, which has no passwords, keys or tokens."
    else:
        yield "To attach: the files that were read."
