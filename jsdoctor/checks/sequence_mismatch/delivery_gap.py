"""JSD209: deliveries that did not arrive.

From packets: what a push consumer sent and its client was not sent, by the numbers of its deliveries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of, times
from jsdoctor.checks.packets.views import most_severe, period, unreadable, views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_MISMATCH, _DROPPED = "consumer-sequence-mismatch", "client-dropped-messages"
_RESETS = (
    "ordered-consumer-reset-python",
    "ordered-consumer-reset-javascript",
    "ordered-consumer-reset-net",
    "ordered-consumer-recreate-net",
    "ordered-consumer-reset-rust",
    "ordered-consumer-heartbeat-rust",
)
_NEGATIVE_DIGITS = 19
"""Go prints a negative gap as an unsigned number of so many digits or more."""


@check("sequence_mismatch.delivery_gap_logged", lines_of="clients")
def delivery_gap_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each application, with the most severe problem that it logged."""
    log_bursts = bursts(logs, _MISMATCH, _DROPPED, *_RESETS, subjects=client_of, calm=False)
    resets = {burst.subject: burst.most for burst in bursts(logs, *_RESETS, subjects=client_of, calm=False)}
    for burst in log_bursts:
        yield _finding(burst, resets.get(burst.subject, 0), params)


def _finding(burst: Burst, resets: int, params: Params) -> Finding:
    count: Counter[str] = Counter()
    for occurrence in burst.found:
        count[occurrence.signature] += occurrence.count
    severity: Severity | None = Severity.INFO
    if count[_DROPPED]:
        severity, what = None, "the client dropped messages because its handler was too slow"
    elif count[_MISMATCH] and _recreated(burst):
        what = "sequence mismatch, with a gap below zero: the consumer was deleted and created again under its client"
    elif count[_MISMATCH]:
        what = "sequence mismatch: messages that the server sent did not arrive"
    else:
        what = "ordered consumers missed messages and recreated themselves"
    often = count[_MISMATCH] >= params.integer("repeats") or resets >= params.integer("resets")
    return finding_of(
        burst,
        f"{what}, {burst.story}; with explicit acknowledgements they come again after ack_wait, without them they"
        " are lost to this client",
        None if often else severity,
        measured=(burst.count, params.integer("repeats") if count[_MISMATCH] else params.integer("resets"), "count"),
    )


def _recreated(burst: Burst) -> bool:
    gaps = [dict(line.fields).get("behind", "") for occurrence in burst.found for line in occurrence.exemplars]
    return any(gap.startswith("-") or len(gap) >= _NEGATIVE_DIGITS for gap in gaps)


_HOW = "capture the connection of a push subscription without a queue group, from its beginning"


@check("sequence_mismatch.delivery_gap_captured")
def delivery_gap_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By consumer. Where several clients share one, each gets a part of the numbers, and nothing is missing."""
    judged = [
        _judged(consumer, packets.captures[reported.capture].name, params)
        for reported in packets.nats
        for consumer in reported.consumers
        if consumer.exclusive
    ]
    yield from most_severe(judged, Severity.WARNING)
    if not judged and any(unreadable(view) for view in views(packets)):
        yield unknown(CLUSTER, "the captures show no push consumer of which every delivery must be there", _HOW)


def _judged(consumer: ConsumerTraffic, capture: str, params: Params) -> Finding:
    subject = Subject(kind="consumer", name=consumer.consumer, stream=consumer.stream)
    missing, ahead, restarts = consumer.missing, consumer.heartbeats_ahead, consumer.restarts
    if not (missing or ahead or restarts):
        return passed(subject)
    repeats, resets = params.integer("repeats"), params.integer("resets")
    quiet = not missing and ahead < repeats and restarts < resets
    measured = (missing, 1) if missing else (ahead, repeats) if ahead else (restarts, resets)
    return failed(
        subject,
        f"{'; '.join(_clauses(consumer))}; with explicit acknowledgements nothing is lost, without them"
        " what is missing is",
        Observation(capture, "deliveries", consumer.deliveries),
        Observation(capture, "consumer sequences missing", missing),
        Observation(capture, "began again", restarts),
        Observation(capture, "heartbeats ahead", ahead),
        severity=Severity.INFO if quiet else None,
        measured=(*measured, "count"),
        between=period(consumer),
    )


def _clauses(consumer: ConsumerTraffic) -> Iterator[str]:
    if missing := consumer.missing:
        it = "it was" if missing == 1 else "they were"
        yield (
            f"{missing:,} of its deliveries did not come over any connection in this capture: {it} sent while the"
            " client was not there, or over one that broke"
        )
    if ahead := consumer.heartbeats_ahead:
        yield f"{ahead:,} of {consumer.heartbeats:,} heartbeats name a later delivery than had come"
    if consumer.restarts:
        yield f"its sequence began again {times(consumer.restarts)}: it was deleted and created again"
