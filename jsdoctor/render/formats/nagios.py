"""The report as the output of a Nagios plugin: one line with the state and performance data, details below it.

The only format with exit codes of its own: `engine.verdict.NagiosState`. Nagios reads no more than 4096 bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jsdoctor.engine.verdict import nagios_state
from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Report
from jsdoctor.render.closing import findings_by_severity, verdict_sentence
from jsdoctor.render.escape import ascii_only, printable, shortened
from jsdoctor.render.incidents import groups_without
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import COLLECTION_GAP, gaps_in_order, with_outcome
from jsdoctor.render.unseen import without_gaps

MAX_BYTES = 4096
_MAX_LINE = 300
_MORE = "and more that has no room here"
# A bar begins performance data; pages of Nagios and Icinga may show markup as such.
_RESERVED = str.maketrans({"|": "\\x7c", "<": "\\x3c"})


def render(report: Report, options: RenderOptions) -> str:
    """At most `MAX_BYTES` in UTF-8. With `quiet` the first line alone."""
    state = nagios_state(report, options.fail_on, options.exit_zero, options.allow_gaps, COLLECTION_GAP)
    first = _harmless(f"JSDOCTOR {state.name} - {verdict_sentence(report)}", options.ascii_only)
    written = [f"{first} | {' '.join(_performance(report))}"]
    left_bytes = MAX_BYTES - len(written[0].encode()) - 1 - len(_MORE) - 1
    for detail in () if options.quiet else _details(report, options):
        line = _harmless(detail, options.ascii_only)
        left_bytes -= len(line.encode()) + 1
        if left_bytes < 0:
            written.append(_MORE)
            break
        written.append(line)
    return "\n".join(written) + "\n"


def unknown_line(message: str, in_ascii: bool = False) -> str:
    """The output of a run that came to no report."""
    return _harmless(f"JSDOCTOR UNKNOWN - {message}", in_ascii) + "\n"


def _performance(report: Report) -> Iterator[str]:
    """`label=value;warn;crit;min`, without thresholds: what fails a run is said by `--fail-on`."""
    for severity, number in findings_by_severity(report).items():
        yield f"{severity.value}={number};;;0"
    outcomes = Counter(verdict.outcome for verdict in report.verdicts)
    for outcome in Outcome:
        yield f"rules_{outcome.value}={outcomes[outcome]};;;0"
    yield f"gaps={sum(gap.requested for gap in report.gaps)};;;0"
    yield f"time={max(0.0, (report.finished - report.started).total_seconds()):.3f}s;;;0"


def _details(report: Report, options: RenderOptions) -> Iterator[str]:
    for result in with_outcome(report.results, Outcome.ERROR):
        yield f"check failed {result.rule.code}: {result.finding.message}"
    for group in groups_without(report, without_gaps(report)[1]):
        block, why = group.results, f" (explained by {group.explanation})" if group.explanation else ""
        shown = block[: options.max_examples or None]
        lead = f"{block[0].severity.value} {block[0].rule.code}"
        for result in shown:
            yield f"{lead} {result.finding.subject.label}: {result.finding.message}{why}"
        if len(shown) < len(block):
            yield f"{lead} and {len(block) - len(shown):,} more"
    missing = [gap for gap in gaps_in_order(report.gaps) if gap.requested]
    for gap in missing[: options.max_examples or None]:
        yield f"not seen {gap.subject.label}: {gap.reason}"


def _harmless(text: str, in_ascii: bool) -> str:
    line = shortened(printable(text).translate(_RESERVED), _MAX_LINE)
    return ascii_only(line) if in_ascii else line
