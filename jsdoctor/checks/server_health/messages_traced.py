"""JSD849: servers that log every message, by their logs."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import is_recent
from jsdoctor.checks.logs.words import by_server, when, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_NS_PER_US = 1_000


@check("server_health.messages_traced_logged", lines_of="servers")
def messages_traced_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Judge how long servers traced, by the first and the last traced ping: connections ping every two minutes."""
    for trace in bursts(logs, "ping-traced", subjects=by_server, calm=False):
        yield _finding(trace, is_recent(logs, trace), params.integer("lasting"))


def _finding(trace: Burst, is_on: bool, lasting_ns: int) -> Finding:
    lasted_ns = _lasted_ns(trace)
    length = f" for {span(lasted_ns)}" if lasted_ns else ""
    return failed(
        trace.subject,
        f"it logged each message of its protocol (trace){length}{when(trace.first, trace.last)}, with what"
        f" clients send{'' if is_on else '; no longer at the end of the log'}",
        *trace.evidence,
        severity=None if is_on and lasted_ns is not None and lasted_ns >= lasting_ns else Severity.INFO,
        measured=(lasted_ns, lasting_ns, "duration"),
        between=(zoned(trace.first), zoned(trace.last)),
    )


def _lasted_ns(trace: Burst) -> int | None:
    """From the first line to the last, or None where they have no times."""
    if trace.first is None or trace.last is None or not trace.first.timed:
        return None
    return (trace.last.us - trace.first.us) * _NS_PER_US
