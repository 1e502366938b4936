"""Progress of a consumer between samples: deliveries, acknowledgements, their rates, and how long it has been idle.

One rule judges a failing consumer: `JSD403` consumers that are full, `JSD404`, `JSD405` and `JSD417` stalled ones,
`JSD401` and `JSD402` those that move, and `JSD414` paused ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec

from jsdoctor.model.jetstream import SequencePair
from jsdoctor.model.partial import shown_or
from jsdoctor.model.snapshot import Consumer
from jsdoctor.model.trend import ConsumerHistory, ConsumerKey, Trend

Key = ConsumerKey

_MATERIAL_SHARE = 0.05
"""A lag that grows by less than this share of what arrived is level: arrivals and acknowledgements are never even."""
_VISIBLE_NS = 2_000_000_000
"""One sample shows a stall only if it has lasted as long as the interval between two samples of a default run."""


def key(consumer: Consumer) -> Key:
    """Account, stream and name."""
    return consumer.account, consumer.stream, consumer.name


def histories(trend: Trend | None) -> Mapping[Key, ConsumerHistory]:
    """The history of every consumer that has one; empty after a single sample."""
    return trend.by_consumer if trend else {}


def is_full(consumer: Consumer) -> bool:
    """Whether the ack-pending limit keeps new messages back (server: consumer.go getNextMsg, errMaxAckPending)."""
    return 0 < consumer.config.max_ack_pending <= consumer.num_ack_pending and consumer.config.ack_policy != "none"


def left_alone(consumer: Consumer) -> bool:
    """Whether a pull consumer with a limit of one is full of what a client left that is due again: none requests it.

    With a higher limit a client that goes away seldom leaves all places taken; with this one it nearly always does.
    Not where that message was delivered before: then clients came back for it, and it is the message that fails.
    """
    serial = is_full(consumer) and consumer.config.max_ack_pending == 1
    asked = consumer.config.is_push or consumer.num_waiting > 0
    alone = serial and not asked and (quiet_ns(consumer) or 0) > patience_ns(consumer)
    return alone and consumer.num_redelivered < consumer.num_ack_pending


def moved(history: ConsumerHistory) -> bool:
    """Whether the consumer delivered, acknowledged or got progress reports between the first and the last sample."""
    first, last = history.first, history.last
    return (
        first.num_ack_pending != last.num_ack_pending
        or _changed(first.delivered, last.delivered)
        or _changed(first.ack_floor, last.ack_floor)
    )


def acknowledged(history: ConsumerHistory) -> bool:
    """Whether anything was acknowledged (with ack policy none: delivered) between the first and the last sample."""
    first, last = history.first, history.last
    return last.num_ack_pending < first.num_ack_pending or _changed(first.ack_floor, last.ack_floor)


def _changed(before: SequencePair, after: SequencePair) -> bool:
    # Not the stream sequence: servers move the ack floor of a consumer without clients behind the stream's first
    # message (server: consumer.go checkAckFloor).
    if before.consumer_seq != after.consumer_seq:
        return True
    # A new leader does not know when its consumer was last active: a time that vanished is no sign of life.
    return after.last_active is not None and after.last_active != before.last_active


def quiet_ns(consumer: Consumer) -> int | None:
    """How long no message was delivered or acknowledged and no worker reported progress, in ns; None if unknown.

    Only the leader has these times, and only since it leads. "In progress" from a worker counts as a delivery there
    (server: consumer.go progressUpdate, updateDelivered).
    """
    known = [pair.last_active for pair in (consumer.delivered, consumer.ack_floor) if pair.last_active]
    return _since_ns(consumer, max(known) if known else _nothing_since(consumer, consumer.delivered))


def unacknowledged_ns(consumer: Consumer) -> int | None:
    """How long nothing was acknowledged, in ns; None if unknown."""
    floor = consumer.ack_floor
    return _since_ns(consumer, floor.last_active or _nothing_since(consumer, floor))


def _nothing_since(consumer: Consumer, pair: SequencePair) -> datetime | None:
    if pair.consumer_seq == 0:
        return shown_or(lambda: consumer.created, None)
    return consumer.cluster.leader_since if consumer.cluster else None


def _since_ns(consumer: Consumer, moment: datetime | None) -> int | None:
    return None if moment is None else max(0, int((consumer.at - moment).total_seconds() * 1e9))


def still_ns(history: ConsumerHistory) -> int:
    """Lower bound of the time that the consumer has been stalled, in ns: at least the time between the samples."""
    return max(int(history.elapsed_s * 1e9), quiet_ns(history.last) or 0)


def patience_ns(consumer: Consumer) -> int:
    """How long a worker may hold a message without a report, in ns: the longest wait before a redelivery."""
    return max((consumer.config.ack_wait_ns, *consumer.config.backoff_ns))


def stalled_ns(consumer: Consumer, history: ConsumerHistory | None) -> int | None:
    """How long a stalled consumer has not moved, in ns; None when it moved, or one sample shows too little.

    A stall may be normal for some time. It is never healthy by default: rules with a time limit report it from here on,
    with the time until which it is normal.
    """
    if history is not None:
        return None if moved(history) else still_ns(history)
    quiet = quiet_ns(consumer)
    return quiet if quiet is not None and quiet >= _VISIBLE_NS else None


def until(consumer: Consumer, limit_ns: int, still: int) -> str:
    """When a limit of time will have passed, by the clock of the leader: `2026-11-21 14:03:05Z`."""
    moment = consumer.at + timedelta(microseconds=max(0, limit_ns - still) // 1000)
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def delivers_by_design_late(consumer: Consumer) -> bool:
    """Whether the configuration itself holds messages back while clients wait for them."""
    config = consumer.config
    priority = config.priority_policy not in ("", "none")
    return priority or config.replay_policy == "original" or config.rate_limit_bps > 0


class DeliveryRates(msgspec.Struct, frozen=True, gc=False):
    """Messages per second that came for a consumer, and that its clients were done with."""

    arriving: float
    done: float

    @property
    def growth(self) -> float:
        """By how many messages a second the backlog grows; negative when it falls."""
        return self.arriving - self.done


def backlog(consumer: Consumer) -> int:
    """Everything that clients are not done with. Fetching a batch does not change it; acknowledging does."""
    return consumer.num_pending + consumer.num_ack_pending


def flow(history: ConsumerHistory) -> DeliveryRates | None:
    """The rates between the first and the last sample; None when the consumer was reset in between.

    The share of redeliveries among what a filtered consumer delivered is not known exactly: `done` is rather too high.
    """
    first, last = history.first, history.last
    by_consumer = last.delivered.consumer_seq - first.delivered.consumer_seq
    by_stream = last.delivered.stream_seq - first.delivered.stream_seq
    if by_consumer < 0 or by_stream < 0:
        return None
    done = max(0, min(by_consumer, by_stream) - last.num_ack_pending + first.num_ack_pending)
    growth = backlog(last) - backlog(first)
    return DeliveryRates(arriving=max(0, growth + done) / history.elapsed_s, done=done / history.elapsed_s)


def grows(history: ConsumerHistory, rates: DeliveryRates) -> bool:
    """Whether the backlog became larger from each sample to the next, and by more than chance."""
    rising = all(backlog(after) > backlog(before) for before, after in pairwise(history.readings))
    return rising and rates.growth >= _MATERIAL_SHARE * rates.arriving


def wait_s(consumer: Consumer, rates: DeliveryRates) -> float:
    """How long a message that arrives now waits for its turn, in seconds."""
    return consumer.num_pending / rates.done if rates.done else float("inf")
