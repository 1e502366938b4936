"""JSD205: a consumer that has been given messages its stream does not have: the stream lost its tail.

From logs: consumers that had a higher sequence than the last of their stream.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import Consumer
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted

_RESET_SINCE = (2, 14)


@check("sequence_mismatch.consumer_ahead")
def consumer_ahead(trend: Trend, servers: Servers | None, connected: ConnectedServer | None) -> Iterator[Finding]:
    """Positions of the oldest reading against the end of the stream in the newest.

    Consumer and stream may be led by different servers and read at different moments, so on a busy stream a consumer
    looks ahead in any single reading. A stream that had those messages has them in every later reading.
    """
    for history in trend.consumers():
        earlier, now, stream = history.first, history.last, history.stream
        last_seq = stream.state.last_seq
        ahead = min(_furthest(earlier), _furthest(now))
        if ahead <= last_seq or _waits_for_the_future(now, last_seq):
            yield passed(now.subject)
            continue
        yield Finding(
            subject=now.subject,
            message=(
                f"the consumer stands at message {ahead:,} but the stream ends at {last_seq:,}: the stream lost "
                f"messages, and this consumer may never get the next {counted(ahead - last_seq, 'new message')}"
                f"{_recovery(version_at(now.answered_by, servers, connected), last_seq)}"
            ),
            measured=ahead,
            threshold=last_seq,
            unit="count",
            evidence=(
                earlier.observed("delivered.stream_seq", earlier.delivered.stream_seq),
                now.observed("delivered.stream_seq", now.delivered.stream_seq),
                now.observed("ack_floor.stream_seq", now.ack_floor.stream_seq),
                stream.observed("state.last_seq", last_seq),
            ),
        )


def _recovery(version: str, last_seq: int) -> str:
    """Before 2.14 servers do not know the request that puts a consumer elsewhere, and never answer it."""
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
    """Created for a sequence that is still to come: legal (JSD407 speaks of it)."""
    return consumer.delivered.consumer_seq == 0 and consumer.config.opt_start_seq > last_seq


_AHEAD = ("consumer-delivered-ahead", "consumer-acked-ahead", "consumer-floor-ahead")
_LOST = "the stream lost its end or was recreated; find out why it did, the consumer is only the witness"


@check("sequence_mismatch.consumer_ahead_logged")
def consumer_ahead_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Servers before 2.14 say nothing at a start; from then on they move the consumer back and say so (consumer.go)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = bursts(logs, *_AHEAD, calm=False)
    for burst in found:
        only = {one.signature for one in burst.found}
        repaired = only == {"consumer-delivered-ahead"}
        then = f"the server moved it back, {_LOST}" if repaired else _LOST
        acks = only == {"consumer-acked-ahead"}
        yield detailed_finding(burst, _what(burst), then, Severity.ERROR if repaired or acks else None)
    if not found:
        yield passed(CLUSTER)


def _what(burst: Burst) -> str:
    exemplar = next((line for one in burst.found for line in one.exemplars), None)
    known = dict(exemplar.fields) if exemplar else {}
    at, last = known.get("at"), known.get("last")
    return f"at sequence {int(at):,} of a stream that ends at {int(last):,}" if at and last else "ahead of its stream"
