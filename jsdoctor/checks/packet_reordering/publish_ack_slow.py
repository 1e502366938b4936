"""JSD505: publishes that JetStream acknowledged late, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packet_reordering.losses import latency_text, network_faults
from jsdoctor.checks.packets.views import View, connection_check, observed, period
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.latency import Latencies
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share
from jsdoctor.model.wording import span


@connection_check("packet_reordering.publish_ack_slow")
def publish_ack_slow(view: View, params: Params) -> Finding | None:
    """Judge each connection that publishes to JetStream with a reply subject."""
    publishing, timeout_ns = view.nats.publishing, params.integer("timeout")
    answers = publishing.ack_ns
    late = answers.at_least(params.integer("slow"))
    # Those that still waited, longer than any client would; 0 unless all replies must be in the capture.
    never = publishing.waiting_ns.at_least(timeout_ns) if view.nats.gapless else 0
    if not late and not never:
        return passed(view.subject) if publishing.acks else None
    after_timeout = answers.at_least(timeout_ns) + never
    often = Share(late, answers.count).reaches(params.number("warn"), params.integer("enough"))
    severity = Severity.ERROR if after_timeout else None if often else Severity.INFO
    p99_ns = answers.quantile_ns(0.99)
    return failed(
        view.subject,
        f"{'; '.join(_details(answers, late, never, after_timeout, params))}{view.who}"
        + "".join(f"; {part}" for part in (latency_text(view, answers), network_faults(view)) if part),
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
            timeout_ns if after_timeout else params.integer("slow"),
            "duration",
        ),
        between=period(view.tcp),
    )


def _details(answers: Latencies, late: int, never: int, after_timeout: int, params: Params) -> Iterator[str]:
    if late:
        slow, longest = span(params.integer("slow")), span(answers.largest_ns)
        yield f"{late:,} of {answers.count:,} publishes were acknowledged after {slow} or more: at most {longest}"
    if never:
        yield f"{never:,} {'was' if never == 1 else 'were'} never acknowledged"
    if after_timeout:
        yield f"clients that wait {span(params.integer('timeout'))} give up and publish again"
