"""Progress of a consumer between samples, why it is behind, and when the limits of its stream reach its position.

One rule judges a failing consumer: `JSD403` consumers that are full, `JSD404`, `JSD405` and `JSD417` stalled ones,
`JSD401` and `JSD402` those that move, and `JSD414` paused ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import SequencePair
from jsdoctor.model.partial import shown_or
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream, same_incarnation
from jsdoctor.model.trend import ConsumerHistory, ConsumerKey, Trend
from jsdoctor.model.wording import counted, span


def lowest_values(
    snapshots: SnapshotSeries, counter: Callable[[Consumer], int], wanted: Callable[[Consumer], bool]
) -> dict[Subject, int]:
    """The lowest value of a counter over all samples, by subject, of the consumers `wanted` in the last sample."""
    lowest = {c.subject: counter(c) for _, c in snapshots.last.led_consumers() if wanted(c)}
    for snapshot in snapshots.snapshots[:-1] if lowest else ():
        for _, consumer in snapshot.led_consumers():
            if consumer.subject in lowest:
                lowest[consumer.subject] = min(lowest[consumer.subject], counter(consumer))
    return lowest


Key = ConsumerKey

_MATERIAL_SHARE = 0.05
"""A lag that grows by a smaller share of what arrived counts as constant, as rates always vary."""
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
    """Whether a client left the only message of a serial pull consumer, which is due again and which none requests.

    Not if that message was redelivered: then clients came back for it, and the message itself is the problem.
    """
    serial = is_full(consumer) and consumer.config.max_ack_pending == 1
    requested = consumer.config.is_push or consumer.num_waiting > 0
    overdue = (quiet_ns(consumer) or 0) > patience_ns(consumer)
    return serial and not requested and overdue and consumer.num_redelivered < consumer.num_ack_pending


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


def redeliveries(history: ConsumerHistory) -> int:
    """How many messages were delivered again between the first and the last sample; a lower bound.

    `num_redelivered` does not show it with `max_deliver`: it also counts messages that the server no longer delivers
    (server: consumer.go notifyDeliveryExceeded).
    """
    before, now = history.first.delivered, history.last.delivered
    return max(0, now.consumer_seq - before.consumer_seq - max(0, now.stream_seq - before.stream_seq))


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
    # The floor may be 0 with messages acknowledged past it: an election forgets when.
    elected = consumer.cluster.leader_since if consumer.cluster else None
    return _since_ns(consumer, floor.last_active or elected or _nothing_since(consumer, floor))


def unserved_since(stream: Stream, consumer: Consumer) -> datetime | None:
    """Since when the next message has been waiting for delivery; None where evidence does not show it.

    It does for a consumer of all messages whose next one is the first of the stream. For any other, the waiting
    message may have been published long after the last delivery.
    """
    return shown_or(lambda: _unserved_since(stream, consumer), None)


def _unserved_since(stream: Stream, consumer: Consumer) -> datetime | None:
    config, delivered, first = consumer.config, consumer.delivered, stream.state.first_ts
    wants_all = config.deliver_policy == "all" and not config.filters
    if not wants_all or first is None or delivered.stream_seq + 1 != stream.state.first_seq:
        return None
    reached = delivered.last_active or (consumer.created if delivered.consumer_seq == 0 else None)
    return max(first, reached) if reached else None


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
    """How long a stalled consumer has not moved, in ns; None if it moved, or if one sample shows too little."""
    if history is not None:
        return None if moved(history) else still_ns(history)
    quiet = quiet_ns(consumer)
    return quiet if quiet is not None and quiet >= _VISIBLE_NS else None


def until(consumer: Consumer, limit_ns: int, still: int) -> str:
    """The time at which a stall of `still` ns reaches the limit, by the leader's clock: `2026-11-21 14:03:05Z`."""
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
    """Pending and unacknowledged messages. Only acknowledgements reduce them: fetching a batch does not."""
    return consumer.num_pending + consumer.num_ack_pending


def was_replaced(before: Consumer, after: Consumer) -> bool:
    """Whether a later reading of one name is of another consumer, or of one that was reset."""
    return not same_incarnation(before, after) or _went_back(before, after)


def _went_back(before: Consumer, after: Consumer) -> bool:
    """Whether a position of a consumer is smaller than before, as after a reset."""
    old, new = before.delivered, after.delivered
    return new.consumer_seq < old.consumer_seq or new.stream_seq < old.stream_seq


def flow(history: ConsumerHistory) -> DeliveryRates | None:
    """The rates between the first and the last sample; None when the consumer was reset in between.

    The share of redeliveries among what a filtered consumer delivered is not known exactly: `done` is rather too high.
    """
    first, last = history.first, history.last
    by_consumer = last.delivered.consumer_seq - first.delivered.consumer_seq
    by_stream = last.delivered.stream_seq - first.delivered.stream_seq
    if _went_back(first, last):
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


_MIN_REPEATED_SHARE = 0.05
"""From this share of repeated deliveries on, redelivery and not slow clients is named as the cause."""
_SAMPLES_SHOWN = 6


def lag_cause(history: ConsumerHistory) -> str:
    """The cause of a lag, in words; or that the settings which decide it are not shown."""
    return shown_or(lambda: _lag_cause(history), "its configuration is not shown, so its cause is not known")


def _lag_cause(history: ConsumerHistory) -> str:
    """The first cause that applies; in this order, each excludes those after it.

    Server: consumer.go getNextMsg, loopAndGatherMsgs.
    """
    last, config = history.last, history.last.config
    share = repeated_share(history)
    if last.paused:
        return "it is paused (JSD414)"
    if is_full(last):
        taken = "its one place" if config.max_ack_pending == 1 else f"each of its {config.max_ack_pending:,} places"
        if limit_remedy(history):
            return f"workers acknowledge and more of them wait, but {taken} for unacknowledged messages is taken"
        return f"{taken} for unacknowledged messages is taken (JSD403)"
    if config.is_push and not last.push_bound:
        return "no subscriber is bound to it (JSD405)"
    if not config.is_push and not moved(history) and not any(reading.num_waiting for reading in history.readings):
        return "no client requested messages (JSD405)"
    if config.replay_policy == "original" or config.rate_limit_bps > 0:
        return "its configuration delivers slowly (replay policy or rate limit)"
    if share >= _MIN_REPEATED_SHARE:
        return f"{share:.0%} of its deliveries are repeats (JSD408)"
    if not moved(history):
        return "clients wait and the server delivers nothing (JSD404, JSD417)"
    return "its clients are slower than what arrives" if config.is_push else _pull_cause(history)


_LONGEST_ROUND_TRIP_S = 2
"""Round trips around the earth take less; what takes longer for a message is work."""


def _pull_cause(history: ConsumerHistory) -> str:
    """The cause of a lag of a pull consumer: its server is slow, its client fetches single messages, or is slow."""
    readings, done = history.readings, history.last.delivered.consumer_seq - history.first.delivered.consumer_seq
    if all(reading.num_pending and reading.num_waiting for reading in readings):
        return "requests of its clients wait each time: its server delivers less than arrives"
    one_by_one = all(reading.num_ack_pending + reading.num_waiting <= 1 for reading in readings)
    if one_by_one and history.elapsed_s <= done * _LONGEST_ROUND_TRIP_S:
        return (
            f"its client takes one message at a time, one in {span(round(1e9 * history.elapsed_s / done))}: if that is"
            " its round trip to the server (RTT in nats server report connections), it should fetch more at once"
        )
    return "its clients are slower than what arrives"


def limit_remedy(history: ConsumerHistory) -> dict[str, object]:
    """The remedy of a higher max_ack_pending, where workers acknowledge, others wait, and no place is free; else empty.

    A limit of one is never raised, as it means strict order.
    """
    return shown_or(lambda: _limit_remedy(history), {})


def _limit_remedy(history: ConsumerHistory) -> dict[str, object]:
    last, limit = history.last, history.last.config.max_ack_pending
    waits = all(is_full(reading) and reading.num_waiting > 0 for reading in history.readings)
    fails = last.num_redelivered >= last.num_ack_pending or repeated_share(history) >= _MIN_REPEATED_SHARE
    if limit <= 1 or not last.config.durable_name or not waits or fails or not acknowledged(history):
        return {}
    return {"action": "consumer.raise_max_ack_pending", "max_ack_pending": 2 * limit}


def repeated_share(history: ConsumerHistory) -> float:
    """The share of deliveries between the first and the last sample that were repeats, as a lower bound."""
    first, last = history.first.delivered, history.last.delivered
    by_consumer, by_stream = last.consumer_seq - first.consumer_seq, last.stream_seq - first.stream_seq
    return (by_consumer - by_stream) / by_consumer if by_consumer > by_stream >= 0 else 0.0


def samples_of(history: ConsumerHistory) -> str:
    """The backlog in each sample, as text."""
    backlogs = [backlog(reading) for reading in history.readings]
    shown = backlogs if len(backlogs) <= _SAMPLES_SHOWN else [*backlogs[: _SAMPLES_SHOWN - 1], backlogs[-1]]
    numbers = [f"{number:,}" for number in shown]
    if len(shown) < len(backlogs):
        numbers.insert(-1, "…")
    took = span(round(history.elapsed_s) * 1_000_000_000)
    return f"{len(backlogs)} looks in {took}: {', '.join(numbers)} not done"


def time_to_drain_s(history: ConsumerHistory) -> float | None:
    """In how many seconds the backlog is gone at the present rates; None when it does not fall."""
    rates = flow(history)
    return backlog(history.last) / -rates.growth if rates and rates.growth < 0 else None


_MIN_SHARE = 0.05
"""A position that falls back by a smaller share of what arrives, or of time, counts as constant, as rates vary."""
_NS_PER_S = 1_000_000_000


class LossForecast(msgspec.Struct, frozen=True, gc=False):
    """The limit that first removes undelivered messages, and in how many seconds at the present rates.

    `share`: how much of the limit is used up, from 0 to 1. `how`: the calculation, in words.
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
    """Whether the consumer's distance from the stream's end never shrank from one sample to the next."""
    behind = [_behind(s, c) for s, c in zip(history.streams, history.readings, strict=True)]
    return all(after >= before for before, after in pairwise(behind))


def _losses(history: ConsumerHistory, stream: Stream) -> Iterator[LossForecast]:
    config = stream.config
    arriving = (stream.state.last_seq - history.streams[0].state.last_seq) / history.elapsed_s
    held = _held_behind(stream, history.last)
    falling = (held - _held_behind(history.streams[0], history.first)) / history.elapsed_s
    if config.max_age_ns > 0:
        yield from _by_age(history, stream)
    if config.discard != "old" or falling <= 0 or falling < _MIN_SHARE * arriving:
        return
    size = stream.state.bytes / stream.state.messages
    for limit, room in (("max_msgs", config.max_msgs), ("max_bytes", config.max_bytes / max(size, 1.0))):
        if room <= 0:
            continue
        left = max(0.0, room - held)
        whence = f" ({config.max_bytes:,} bytes at {size:,.0f} each)" if limit == "max_bytes" else ""
        fits = counted(round(room), "message")
        how = f"{limit} leaves room for {fits}{whence}, {held:,} are behind it: {left:,.0f} left"
        yield LossForecast(limit, left / falling, min(1.0, held / room), f"{how}, {falling:,.1f} fewer each second")


def _by_age(history: ConsumerHistory, stream: Stream) -> Iterator[LossForecast]:
    """The loss by max_age: the age of the consumer's next message, and how fast that age grows."""
    now, before = _next_at_s(stream, history.last), _next_at_s(stream, history.first)
    if now is None or before is None:
        return
    age, ageing = max(0.0, -now), 1 - (now - before) / history.elapsed_s
    limit = stream.config.max_age_ns / 1e9
    if ageing < _MIN_SHARE:
        return
    left = max(0.0, limit - age)
    how = (
        f"the next message is {_span(age)} old of a max_age of {_span(limit)}: {_span(left)} left, and the one that is "
        f"next gets {min(ageing, 1.0):.2f} s older each second"
    )
    yield LossForecast("max_age", left / ageing, min(1.0, age / limit), how)


def _next_at_s(stream: Stream, consumer: Consumer) -> float | None:
    """When the consumer's next message was stored, in seconds relative to the reading of the stream: 0 or less."""
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


def _held_behind(stream: Stream, consumer: Consumer) -> int:
    """At most how many stored messages are past the consumer's position; sequences of removed ones are none."""
    stored = stream.state.messages if consumer.config.filters else min(stream.state.messages, consumer.num_pending)
    return min(_behind(stream, consumer), stored)


def _span(seconds: float) -> str:
    return span(round(seconds) * _NS_PER_S)
