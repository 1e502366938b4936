"""JSD505: publishes that JetStream acknowledged late, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packet_reordering.causes import network_faults, way_and_server
from jsdoctor.checks.packets.views import View, moment, most_severe_of_each, observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share
from jsdoctor.model.wording import span


@check("packet_reordering.publish_ack_slow")
def publish_ack_slow(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each connection that publishes to JetStream with a reply subject."""

    def judge(view: View) -> Finding | None:
        publishing = view.nats.publishing
        late = publishing.ack_ns.at_least(params.integer("slow"))
        never = _never(view, params.integer("timeout"))
        if late or never:
            return _finding(view, late, never, params)
        return passed(view.subject) if publishing.acks else None

    yield from most_severe_of_each(packets, judge, Severity.WARNING)


def _never(view: View, timeout_ns: int) -> int:
    """Publishes that still waited, longer than any client would; 0 unless all replies must be in the capture."""
    return view.nats.publishing.waiting_ns.at_least(timeout_ns) if view.nats.gapless else 0


def _finding(view: View, late: int, never: int, params: Params) -> Finding:
    publishing, timeout_ns = view.nats.publishing, params.integer("timeout")
    answers = publishing.ack_ns
    over = answers.at_least(timeout_ns) + never
    share = Share(late, answers.count)
    severity: Severity | None = Severity.INFO
    if over:
        severity = Severity.ERROR
    elif share.reaches(params.number("warn"), params.integer("enough")):
        severity = None
    p99_ns = answers.quantile_ns(0.99)
    return failed(
        view.subject,
        f"{_words(view, late, never, over, params)}{view.who}"
        + "".join(f"; {part}" for part in (way_and_server(view, answers), network_faults(view)) if part),
        *observed(
            view,
            acknowledgements=answers.count,
            p50_ns=answers.quantile_ns(0.5),
            p95_ns=answers.quantile_ns(0.95),
            p99_ns=p99_ns,
            largest_ns=answers.largest_ns,
            never_answered=never,
        ),
        severity=severity,
        measured=(
            max(p99_ns, publishing.waiting_ns.largest_ns) if never else p99_ns,
            timeout_ns if over else params.integer("slow"),
            "duration",
        ),
        between=(moment(view.tcp.first_ns), moment(view.tcp.last_ns)),
    )


def _words(view: View, late: int, never: int, over: int, params: Params) -> str:
    answers = view.nats.publishing.ack_ns
    parts = []
    if late:
        parts.append(
            f"{late:,} of {answers.count:,} publishes were acknowledged after {span(params.integer('slow'))} or"
            f" more: at most {span(answers.largest_ns)}"
        )
    if never:
        parts.append(f"{never:,} {'was' if never == 1 else 'were'} never acknowledged")
    if over:
        parts.append(f"clients that wait {span(params.integer('timeout'))} give up and publish again")
    return "; ".join(parts)
