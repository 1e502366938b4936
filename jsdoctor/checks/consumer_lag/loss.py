"""When the limits of a stream reach a consumer's position: messages that it has not delivered by then are lost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory
from jsdoctor.model.wording import counted, span

_MATERIAL = 0.05
"""A position that falls back by less than this share of what arrives, or of time, is level: rates are never even."""
_NS_PER_S = 1_000_000_000


class LossForecast(msgspec.Struct, frozen=True, gc=False):
    """The limit that first removes undelivered messages, and in how many seconds at the present rates.

    `share`: the part of the way to the limit that is behind. `how`: the calculation, in words.
    """

    limit: str
    seconds: float
    share: float
    how: str


def time_to_loss(history: ConsumerHistory) -> LossForecast | None:
    """The earliest loss at the rates between first and last sample; None when no limit ever reaches the consumer.

    Only streams that discard old messages by age or size lose them so; with `discard: new` publishers are refused
    instead, and work queues are emptied by other rules. Messages are taken to be of the stream's average size, and
    stored at an even pace between the stream's first and last one.
    """
    stream = history.stream
    if stream.config.retention != "limits" or stream.state.messages == 0 or history.last.num_pending == 0:
        return None
    return min(_losses(history, stream), key=lambda loss: loss.seconds, default=None)


def falls_back(history: ConsumerHistory) -> bool:
    """Whether the consumer's distance from the stream's end shrank between no two consecutive samples."""
    behind = [_behind(s, c) for s, c in zip(history.streams, history.readings, strict=True)]
    return all(after >= before for before, after in pairwise(behind))


def _losses(history: ConsumerHistory, stream: Stream) -> Iterator[LossForecast]:
    config = stream.config
    arriving = (stream.state.last_seq - history.streams[0].state.last_seq) / history.elapsed_s
    behind = _behind(stream, history.last)
    falling = (behind - _behind(history.streams[0], history.first)) / history.elapsed_s
    if config.max_age_ns > 0:
        yield from _by_age(history, stream)
    if config.discard != "old" or falling <= 0 or falling < _MATERIAL * arriving:
        return
    size = stream.state.bytes / stream.state.messages
    for limit, room in (("max_msgs", config.max_msgs), ("max_bytes", config.max_bytes / max(size, 1.0))):
        if room <= 0:
            continue
        left = max(0.0, room - behind)
        whence = f" ({config.max_bytes:,} bytes at {size:,.0f} each)" if limit == "max_bytes" else ""
        fits = counted(round(room), "message")
        how = f"{limit} leaves room for {fits}{whence}, {behind:,} are behind it: {left:,.0f} left"
        yield LossForecast(limit, left / falling, min(1.0, behind / room), f"{how}, {falling:,.1f} fewer each second")


def _by_age(history: ConsumerHistory, stream: Stream) -> Iterator[LossForecast]:
    """The next message's age now, and how fast the age of the next message grows."""
    now, before = _next_at_s(stream, history.last), _next_at_s(stream, history.first)
    if now is None or before is None:
        return
    age, ageing = max(0.0, -now), 1 - (now - before) / history.elapsed_s
    limit = stream.config.max_age_ns / 1e9
    if ageing < _MATERIAL:
        return
    left = max(0.0, limit - age)
    how = (
        f"the next message is {_span(age)} old of a max_age of {_span(limit)}: {_span(left)} left, and the one that is "
        f"next gets {min(ageing, 1.0):.2f} s older each second"
    )
    yield LossForecast("max_age", left / ageing, min(1.0, age / limit), how)


def _next_at_s(stream: Stream, consumer: Consumer) -> float | None:
    """When the consumer's next message was stored, in seconds before the stream's present, so never above 0."""
    state = stream.state
    if state.first_ts is None or state.last_ts is None:
        return None
    first, last = ((moment - stream.at).total_seconds() for moment in (state.first_ts, state.last_ts))
    sequences = max(state.last_seq - state.first_seq, 1)
    place = min(max(consumer.delivered.stream_seq + 1 - state.first_seq, 0), sequences)
    return min(first + (last - first) * place / sequences, 0.0)


def _behind(stream: Stream, consumer: Consumer) -> int:
    """How many sequences of the stream are past the consumer's position, those that it filters out included."""
    return max(0, stream.state.last_seq - consumer.delivered.stream_seq)


def _span(seconds: float) -> str:
    return span(round(seconds) * _NS_PER_S)
