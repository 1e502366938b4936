"""JSD205: a consumer that has been given messages its stream does not have: the stream lost its tail.

From one sample: consumers whose last delivery was long before. From logs: consumers that had a higher sequence than the
last of their stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, failed, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted

_RESET_SINCE = (2, 14)
_MAX_SEQUENCE = 1 << 63
"""No stream reaches a higher sequence."""


@check("sequence_mismatch.consumer_ahead")
def consumer_ahead(trend: Trend, servers: Servers | None, connected: ConnectedServer | None) -> Iterator[Finding]:
    """Compare positions in the oldest reading with the end of the stream in the newest.

    Consumer and stream are read at different moments, so on a busy stream a consumer may seem ahead in one reading.
    """
    for history in trend.consumers():
        earlier, now, stream = history.first, history.last, history.stream
        last_seq = stream.state.last_seq
        if _furthest(now) <= last_seq or _furthest(earlier) <= last_seq or _waits_for_the_future(now, last_seq):
            yield passed(now.subject)
            continue
        yield _ahead_finding(
            min(_furthest(earlier), _furthest(now)),
            (earlier, now),
            stream,
            version_at(now.answered_by, servers, connected),
        )


@check("sequence_mismatch.consumer_ahead_in_one_sample")
def consumer_ahead_in_one_sample(
    snapshots: SnapshotSeries, trend: Trend | None, servers: Servers | None, params: Params
) -> Iterator[Finding]:
    """Judge idle consumers by one sample: the stream was read after their last delivery. It passes none of them."""
    if trend is not None:
        return
    has_consumers = False
    for stream, consumer in snapshots.last.led_consumers():
        has_consumers = True
        delivered = consumer.delivered
        if delivered.stream_seq > _MAX_SEQUENCE:
            # A server that counted below zero shows a number near 2^64 (nats-server issue 4677).
            yield failed(
                consumer.subject,
                f"the consumer stands at message {delivered.stream_seq:,}, which no stream reaches: its position "
                "is damaged and it delivers nothing; delete it and add it again with --deliver and the first message"
                f" that is not worked on (its ack floor is at {consumer.ack_floor.stream_seq:,})",
                consumer.observed("delivered.stream_seq", delivered.stream_seq),
                measured=(delivered.stream_seq, None, "count"),
            )
            continue
        last_seq = stream.state.last_seq
        if delivered.stream_seq <= last_seq or delivered.consumer_seq == 0 or delivered.last_active is None:
            continue
        if (stream.at - delivered.last_active).total_seconds() * 1e9 >= params.integer("idle"):
            yield _ahead_finding(
                _furthest(consumer), (consumer,), stream, version_at(consumer.answered_by, servers, None)
            )
    if has_consumers:
        reason = "it takes two samples: one shows it of idle consumers only"
        yield unknown(CLUSTER, reason, "run with --samples 2 or more")


def _ahead_finding(ahead: int, readings: Sequence[Consumer], stream: Stream, version: str) -> Finding:
    now, last_seq = readings[-1], stream.state.last_seq
    return failed(
        now.subject,
        f"the consumer stands at message {ahead:,} but the stream ends at {last_seq:,}: the stream lost "
        "its end or was recreated, and this consumer may never get the next "
        f"{counted(ahead - last_seq, 'new message')}"
        f"{_recovery(version, last_seq)}",
        *(reading.observed("delivered.stream_seq", reading.delivered.stream_seq) for reading in readings),
        now.observed("ack_floor.stream_seq", now.ack_floor.stream_seq),
        stream.observed("state.last_seq", last_seq),
        measured=(ahead, last_seq, "count"),
    )


def _recovery(version: str, last_seq: int) -> str:
    """How to move the consumer back: servers before 2.14 do not respond to a reset request."""
    if not version:
        return ""
    if release(version) >= _RESET_SINCE:
        return f"; stop its clients and reset it to the first message not worked on, {last_seq + 1:,} or before"
    return (
        f"; server {version} does not know consumer reset, that command waits in vain: delete the consumer and add it "
        f"again with --deliver and the first message not worked on, {last_seq + 1:,} or before"
    )


def _furthest(consumer: Consumer) -> int:
    return max(consumer.delivered.stream_seq, consumer.ack_floor.stream_seq)


def _waits_for_the_future(consumer: Consumer, last_seq: int) -> bool:
    """Whether it was created with a start sequence beyond the stream's end, which is legal (JSD407 judges it)."""
    return consumer.delivered.consumer_seq == 0 and consumer.config.opt_start_seq > last_seq


_LOST = "the stream lost its end or was recreated; find out why it did, the consumer is only the witness"


@check("sequence_mismatch.consumer_ahead_logged", lines_of="servers")
def consumer_ahead_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Servers before 2.14 log nothing at a start; later ones move the consumer back and log it (consumer.go)."""
    for burst in bursts(logs, "consumer-delivered-ahead", "consumer-acked-ahead", "consumer-floor-ahead", calm=False):
        only = {item.signature for item in burst.found}
        repaired = only == {"consumer-delivered-ahead"}
        effect = f"the server moved it back, {_LOST}" if repaired else _LOST
        acks = only == {"consumer-acked-ahead"}
        yield detailed_finding(burst, _position_text(burst), effect, Severity.ERROR if repaired or acks else None)


def _position_text(burst: Burst) -> str:
    exemplar = next((line for occurrence in burst.found for line in occurrence.exemplars), None)
    known = dict(exemplar.fields) if exemplar else {}
    at, last = known.get("at"), known.get("last")
    return f"at sequence {int(at):,} of a stream that ends at {int(last):,}" if at and last else "ahead of its stream"
