"""How to make room in a stream that is full or nearly full, by what should remove its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from jsdoctor.checks.consumer_lag.progress import acknowledged, histories, key, patience_ns, unacknowledged_ns
from jsdoctor.checks.streams.limits import StreamLimitUse, larger_limits
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import listed

_SHOWN = 3
_BUSY_NS = 60_000_000_000
"""Workers that acknowledged something within this time are at work, however short `ack_wait` is."""
_INSPECT = {"action": "stream.inspect"}


class MoreRoom(msgspec.Struct, frozen=True):
    """The parameters of the remedy, and advice if a higher limit alone does not help."""

    remedy: dict[str, Any]
    advice: str = ""


def room(stream: Stream, trend: Trend | None, *fills: StreamLimitUse) -> MoreRoom:
    """A higher limit if messages leave the stream by themselves; else advice on what should remove them."""
    config = stream.config
    if config.retention == "limits":
        if config.max_age_ns > 0:
            return MoreRoom(larger_limits(stream, *fills))
        return MoreRoom(
            _INSPECT,
            "Set max_age or delete what is not needed: a higher limit only delays it.",
        )
    holding = tuple(_holding(stream))
    idle = [consumer.name for consumer in holding if not _at_work(consumer, trend)]
    if idle:
        names = listed(idle, _SHOWN)
        return MoreRoom(
            {"action": "stream.look_at_consumers"},
            f"Get the workers of {names} going again: the stream keeps each message until they acknowledge it. A "
            "higher limit only delays it.",
        )
    if holding or not stream.consumers_seen:
        return MoreRoom(larger_limits(stream, *fills))
    return MoreRoom(
        {"action": "stream.look_at_consumers"},
        "Create a consumer that takes what is stored, or purge it: no consumer wants any of it.",
    )


def _holding(stream: Stream) -> Iterator[Consumer]:
    """The consumers that the stream keeps messages for."""
    return (c for c in stream.consumers if c.config.ack_policy != "none" and c.num_pending + c.num_ack_pending > 0)


def _at_work(consumer: Consumer, trend: Trend | None) -> bool:
    """Whether clients acknowledge, between the samples or shortly before; True if the leader did not report it."""
    if not consumer.from_leader:
        return True
    history = histories(trend).get(key(consumer))
    ago = unacknowledged_ns(consumer)
    return (history is not None and acknowledged(history)) or (
        ago is not None and consumer.ack_floor.last_active is not None and ago <= max(patience_ns(consumer), _BUSY_NS)
    )
