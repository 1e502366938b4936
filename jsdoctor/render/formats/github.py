"""The report as workflow commands of GitHub Actions: annotations of the run, and of lines of files where there are any.

GitHub shows ten annotations of each level per step: lists are bounded as in a report for people, worst comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Report, Result
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.escape import ascii_only, printable, shortened
from jsdoctor.render.findings import advice_and_commands, numbers
from jsdoctor.render.incidents import groups_without
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order, with_outcome
from jsdoctor.render.places import file_path, places
from jsdoctor.render.unseen import undecided, without_gaps

_LEVELS = {Severity.CRITICAL: "error", Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report, options: RenderOptions) -> str:
    """One command to a line, and the verdict as a plain line at the end."""
    lines = [*_crashes(report, options), *_findings(report, options), *_gaps(report, options)]
    lines += [*_undecided(report, options), printable(verdict_sentence(report))]
    text = "\n".join(lines) + "\n"
    return ascii_only(text) if options.ascii_only else text


def _findings(report: Report, options: RenderOptions) -> Iterator[str]:
    for group in groups_without(report, without_gaps(report)[1]):
        block, why = group.results, f" (explained by {group.explanation})" if group.explanation else ""
        level, rule = _LEVELS[block[0].severity], block[0].rule
        shown = block[: options.max_examples or None]
        for result in shown:
            yield _command(level, f"{rule.code} {rule.slug}", _message(result) + printable(why), _position(result))
        if len(shown) < len(block):
            yield _command(level, f"{rule.code} {rule.slug}", f"and {len(block) - len(shown):,} more")


def _message(result: Result) -> str:
    finding = result.finding
    parts = [": ".join(part for part in (finding.subject.label, finding.message) if part), numbers(finding)]
    parts += [f"{label}: {command}" for label, command in advice_and_commands(result)]
    parts.append(f"Why: jsdoctor explain {result.rule.code}")
    return "\n".join(printable(shortened(part)) for part in parts if part)


def _position(result: Result) -> dict[str, str]:
    seen = places(result.finding)
    if not seen:
        return {}
    place = seen[0]
    numbered = {"line": place.line, "col": place.column}
    return {"file": file_path(place.file)} | {name: str(number) for name, number in numbered.items() if number}


def _crashes(report: Report, options: RenderOptions) -> Iterator[str]:
    crashes = with_outcome(report.results, Outcome.ERROR)
    shown = crashes[: options.max_examples or None]
    for result in shown:
        text = f"{result.finding.subject.label}: {result.finding.message}"
        yield _command("error", f"{result.rule.code} check failed", printable(shortened(text)))
    if len(shown) < len(crashes):
        yield _command("error", "checks failed", f"and {len(crashes) - len(shown):,} more")


def _gaps(report: Report, options: RenderOptions) -> Iterator[str]:
    missing = [gap for gap in gaps_in_order(report.gaps) if gap.requested]
    shown = missing[: options.max_examples or None]
    for gap in shown:
        way = f" → {gap.how_to_get}" if gap.how_to_get else ""
        yield _command("warning", "not seen", printable(shortened(f"{gap.subject.label}: {gap.reason}{way}")))
    if len(shown) < len(missing):
        yield _command("warning", "not seen", f"and {len(missing) - len(shown):,} more")


def _undecided(report: Report, options: RenderOptions) -> Iterator[str]:
    """All in one notice: each rule that could not be judged is named, the reasons are bounded."""
    groups = undecided(report)
    if not groups:
        return
    shown = groups[: options.max_examples or None]
    lines = [
        f"{', '.join(sorted(group.codes))}: {group.reason}" + (f" → {group.how_to_get}" if group.how_to_get else "")
        for group in shown
    ]
    if rest := sorted({code for group in groups[len(shown) :] for code in group.codes}):
        lines.append(f"for other reasons: {', '.join(rest)}")
    yield _command("notice", "not evaluated", "\n".join(printable(shortened(line)) for line in lines))


def _command(level: str, title: str, message: str, where: dict[str, str] | None = None) -> str:
    properties = {**(where or {}), "title": printable(title)}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {written}::{_data(message)}"


def _data(text: str) -> str:
    """As `escapeData` of @actions/core does it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """As `escapeProperty` of @actions/core does it."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
