"""When a stream's limits reach a consumer's position: what it has not been given by then, nobody gets."""

from __future__ import annotations

import msgspec

from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory


class Loss(msgspec.Struct, frozen=True, gc=False):
    """The limit that removes messages before delivery first, and in how many seconds at the present rates."""

    limit: str
    seconds: float


def time_to_loss(history: ConsumerHistory) -> Loss | None:
    """The earliest loss at the rates between the first and the last look; None when no limit ever reaches the consumer.

    Only streams that discard old messages by age or size lose them so; with `discard: new` publishers are refused
    instead, and work queues are emptied by other rules. Messages are taken to be of the stream's average size.
    """
    stream, config = history.stream, history.stream.config
    arriving = (stream.state.last_seq - history.streams[0].state.last_seq) / history.elapsed_s
    behind = _behind(stream, history.last)
    falling_back = (behind - _behind(history.streams[0], history.first)) / history.elapsed_s
    if config.retention != "limits" or arriving <= 0 or falling_back <= 0 or stream.state.messages == 0:
        return None
    found: list[Loss] = []
    if config.max_age_ns > 0:
        # A message read now is `behind / arriving` seconds old; that age grows as the consumer falls back.
        left = config.max_age_ns / 1e9 - behind / arriving
        found.append(Loss("max_age", max(0.0, left) * arriving / falling_back))
    if config.discard == "old":
        size = stream.state.bytes / stream.state.messages
        for limit, room in (("max_msgs", config.max_msgs), ("max_bytes", config.max_bytes / max(size, 1.0))):
            if room > 0:
                found.append(Loss(limit, max(0.0, room - behind) / falling_back))
    return min(found, key=lambda loss: loss.seconds, default=None)


def _behind(stream: Stream, consumer: Consumer) -> int:
    """How many places in the stream lie behind the consumer's position; what it need not see is counted, too."""
    return max(0, stream.state.last_seq - consumer.delivered.stream_seq)
