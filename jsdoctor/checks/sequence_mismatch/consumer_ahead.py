"""JSD205: a consumer that has been given messages its stream does not have: the stream lost its tail."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
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
