"""JSD405: messages wait without a client: push without a subscriber, or pull without pull requests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import msgspec

from jsdoctor.checks.consumer_lag.progress import (
    Key,
    histories,
    is_full,
    key,
    left_alone,
    moved,
    patience_ns,
    quiet_ns,
    stalled_ns,
    still_ns,
    unserved_since,
    until,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, shown, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.partial import shown_or
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import ConsumerHistory, History, Trend
from jsdoctor.model.wording import counted, span

_LATE_FACTOR = 2
"""Clients are late when they stay away for this many times their longest absence so far."""


class Limits(NamedTuple):
    """Parameters of JSD405 in nanoseconds: how long clients may stay away, in general and if they left messages."""

    absent_for_ns: int
    left_for_ns: int


class AbsenceLimit(msgspec.Struct, frozen=True):
    """Time without clients after which they count as absent, in nanoseconds, and its reason; `why` may be empty.

    `expected`: the limit comes from earlier samples or the parameter, so that no job at intervals explains a longer
    absence. Else it comes from configuration or state, and a job may run at longer intervals.
    """

    after_ns: int
    why: str = ""
    expected: bool = True


def absence(stream: Stream, consumer: Consumer, quiet_ns: int, rhythm_ns: int | None, limits: Limits) -> AbsenceLimit:
    """The limit for clients that have been away for `quiet_ns`; `rhythm_ns` is their longest absence before."""
    usual = AbsenceLimit(limits.absent_for_ns)
    if rhythm_ns is not None:
        why = f"in the looks of --history its clients were never away for longer than {span(rhythm_ns)}"
        usual = AbsenceLimit(_LATE_FACTOR * rhythm_ns, why)
    if quiet_ns >= usual.after_ns:
        return usual
    return min((usual, *_limits_by_configuration(stream, consumer, limits.left_for_ns)), key=lambda item: item.after_ns)


def _limits_by_configuration(stream: Stream, consumer: Consumer, left_for_ns: int) -> Iterator[AbsenceLimit]:
    expiry_ns = stream.config.max_age_ns
    if expiry_ns > 0:
        why = f"messages that no client fetches expire after {span(expiry_ns)}"
        yield AbsenceLimit(max(expiry_ns, left_for_ns), why, expected=False)
    if stream.config.retention == "interest":
        yield AbsenceLimit(left_for_ns, "the stream grows by all that it does not acknowledge", expected=False)
    if consumer.delivered.consumer_seq == 0:
        yield AbsenceLimit(left_for_ns, "no client has ever come for it", expected=False)
    if consumer.num_ack_pending > 0:
        left = counted(consumer.num_ack_pending, "message")
        yield AbsenceLimit(left_for_ns, f"its clients left {left} unacknowledged that are due again", expected=False)


_MIN_VISITS = 3
"""Visits that make a rhythm: two gaps between them can be compared."""


def rhythms(history: History | None) -> dict[Key, int]:
    """The longest time between two known visits of clients, in nanoseconds, for each consumer with enough of them."""
    of_all = {key(seen.last): rhythm_ns(seen) for seen in (history.consumers() if history else ())}
    return {name: rhythm for name, rhythm in of_all.items() if rhythm is not None}


def rhythm_ns(history: ConsumerHistory) -> int | None:
    """The longest time between two visits of one consumer; None below three. A visit is a delivery or an ack."""
    pairs = [pair for reading in history.readings for pair in (reading.delivered, reading.ack_floor)]
    visits = sorted({pair.last_active for pair in pairs if pair.last_active})
    if len(visits) < _MIN_VISITS:
        return None
    return max(int((after - before).total_seconds() * 1e9) for before, after in pairwise(visits))


_TEMPORARY_NS = 3_600_000_000_000
"""An ephemeral consumer with a shorter inactive_threshold is not judged: it is deleted without clients."""


@check("consumer_lag.unbound")
def unbound(
    snapshots: SnapshotSeries, trend: Trend | None, history: History | None, params: Params
) -> Iterator[Finding]:
    """Judge consumers with pending messages and without a client.

    A pull consumer must be quiet for longer than its workers may hold messages, and messages must have waited as long:
    clients that fetch in batches have no request open in between. Workers that connect at intervals look like dead
    ones: until they are away for longer than configuration, state and earlier samples allow, the finding is an info.
    """
    idle_ns, enough = params.integer("idle_for"), params.integer("unproven_pending")
    limits = Limits(params.integer("absent_for"), params.integer("left_for"))
    seen, usual = histories(trend), rhythms(history)
    for stream, consumer in snapshots.last.led_consumers():
        full = is_full(consumer) and not left_alone(consumer)
        if consumer.paused or full or _is_temporary(stream, consumer):
            continue
        recent = seen.get(key(consumer))
        if _is_served(consumer, recent):
            yield _left_unacknowledged(consumer, recent, limits.left_for_ns) or passed(consumer.subject)
            continue
        long_ns = max(idle_ns, patience_ns(consumer) if consumer.num_ack_pending else 0)
        quiet = max(quiet_ns(consumer) or 0, still_ns(recent) if recent else 0)
        waited = shown_or(partial(_waited_ns, stream, consumer, recent), None)
        old = quiet >= long_ns and (consumer.num_pending >= enough or (waited or 0) >= long_ns)
        if waited is None and not (consumer.config.is_push or old) and quiet >= long_ns:
            yield _unknown_wait_finding(consumer, quiet)
        elif consumer.config.is_push or old:
            rhythm = usual.get(key(consumer))
            usual_limit = AbsenceLimit(limits.absent_for_ns)
            limit = shown_or(partial(absence, stream, consumer, quiet, rhythm, limits), usual_limit)
            yield _finding(stream, consumer, _Quiet(quiet, long_ns, old, limit, rhythm))
        elif quiet < long_ns and quiet_ns(consumer) is not None:
            never = consumer.delivered.consumer_seq == 0
            if (never or quiet >= idle_ns) and stalled_ns(consumer, recent) is not None:
                yield _early_finding(consumer, quiet, long_ns, never)
            else:
                # A client between two fetches, or one that has just died.
                moment = until(consumer, long_ns, quiet)
                yield unknown(
                    consumer.subject,
                    f"no client requests {counted(consumer.num_pending, 'message')}, and the last sign of a client is"
                    f" {span(quiet)} old: a client between two fetches looks the same until {moment}",
                    f"look again after {moment}: a client that works has fetched by then",
                )
        else:
            reason = f"no client requests {counted(consumer.num_pending, 'message')}, but for how long is not known"
            yield unknown(consumer.subject, reason, f"run with --interval {long_ns // 1_000_000_000 + 1}s")


def _has_client(consumer: Consumer) -> bool:
    return consumer.push_bound if consumer.config.is_push else consumer.num_waiting > 0


def _is_served(consumer: Consumer, recent: ConsumerHistory | None) -> bool:
    """Whether no message waits, a client is there, or one was between the samples."""
    readings = recent.readings if recent else ()
    served = any(_has_client(reading) or reading.num_pending == 0 for reading in (consumer, *readings))
    return served or (recent is not None and moved(recent))


def _left_unacknowledged(consumer: Consumer, recent: ConsumerHistory | None, left_for_ns: int) -> Finding | None:
    """An info if no message waits, no client is there, and messages delivered long ago are unacknowledged.

    A busy worker looks the same. With a long ack_wait nothing else shows that a client died: without a client there is
    no redelivery.
    """
    quiet = quiet_ns(consumer)
    if consumer.num_pending or not consumer.num_ack_pending or quiet is None or quiet < left_for_ns:
        return None
    if _has_client(consumer) or (recent and (moved(recent) or any(map(_has_client, recent.readings)))):
        return None
    patience, held = patience_ns(consumer), counted(consumer.num_ack_pending, "message")
    who = "no subscriber is bound" if consumer.config.is_push else "no client requests messages"
    due = (
        f"due again for {span(quiet - patience)}, which the next request gets"
        if quiet >= patience
        else f"if their client is gone, the last of them comes again only at {until(consumer, patience, quiet)}, after"
        f" ack_wait ({span(patience)}); a worker that is busy with them looks the same"
    )
    return failed(
        consumer.subject,
        f"{who}, and {held} delivered {span(quiet)} ago or before not acknowledged: {due}",
        consumer.observed("num_ack_pending", consumer.num_ack_pending),
        *shown(consumer, "push_bound" if consumer.config.is_push else "num_waiting", "delivered.last_active"),
        consumer.observed("config.ack_wait", consumer.config.ack_wait_ns),
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        measured=(quiet, left_for_ns, "duration"),
    )


def _is_temporary(stream: Stream, consumer: Consumer) -> bool:
    """Whether it may be without a client: the server deletes it soon, or it belongs to an MQTT session."""
    kept_ns = consumer.config.inactive_threshold_ns
    return stream.is_mqtt or (not consumer.config.durable_name and kept_ns < _TEMPORARY_NS)


def _waited_ns(stream: Stream, consumer: Consumer, history: ConsumerHistory | None) -> int:
    """A lower bound of how long a message has waited: the age of the stream's first if undelivered, else the last's."""
    first = consumer.delivered.stream_seq < stream.state.first_seq and not consumer.config.filters
    moments = (stream.state.first_ts if first else None, stream.state.last_ts)
    ages = [int((stream.at - moment).total_seconds() * 1e9) for moment in moments if moment]
    return max((*ages, int(history.elapsed_s * 1e9) if history else 0))


class _Quiet(NamedTuple):
    """How long nothing was delivered, and what that is compared with, in nanoseconds.

    `old`: it is past `long_ns`. `rhythm_ns` is the longest earlier absence of clients, None if earlier samples do not
    show it.
    """

    quiet_ns: int
    long_ns: int
    old: bool
    limit: AbsenceLimit
    rhythm_ns: int | None

    @property
    def absent(self) -> bool:
        """Whether clients have stayed away for too long."""
        return self.old and self.quiet_ns >= self.limit.after_ns

    def absence_text(self, push: bool) -> str:
        """Half a sentence: why a client counts as absent, or from when on it will."""
        if self.absent:
            return f"; {self.limit.why}" if self.limit.why else ""
        if push:
            return ""
        before = f"; its clients were away for up to {span(self.rhythm_ns)} before" if self.rhythm_ns else ""
        away = max(self.long_ns, self.limit.after_ns)
        return f"{before}; a worker that comes at intervals looks the same until it is away for {span(away)}"


def _early_finding(consumer: Consumer, quiet: int, long_ns: int, never: bool) -> Finding:
    """An info: no client requests messages, but not for long enough to be a fault."""
    moment = until(consumer, long_ns, quiet)
    since = "nothing was ever delivered" if never else f"nothing was delivered for {span(quiet)}"
    held = f", {counted(consumer.num_ack_pending, 'message')} not acknowledged" if consumer.num_ack_pending else ""
    return failed(
        consumer.subject,
        f"no client requests messages and {since}: {counted(consumer.num_pending, 'message')} waiting{held}; "
        f"that is normal for a client that starts or works until {moment}",
        *shown(consumer, "num_waiting", "num_pending", "delivered.consumer_seq", "created"),
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        measured=(quiet, long_ns, "duration"),
        how_to_get=f"look again after {moment}: then it is a fault",
    )


def _unknown_wait_finding(consumer: Consumer, quiet: int) -> Finding:
    """An info without a reply about the stream: the oldest waiting message may have been published just now."""
    return failed(
        consumer.subject,
        f"no client requests messages and the last sign of a client is {span(quiet)} old:"
        f" {counted(consumer.num_pending, 'message')} waiting; since when they wait is not shown",
        *shown(consumer, "num_waiting", "num_pending"),
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        measured=(quiet, None, "duration"),
        how_to_get="give the page of its stream, too: nats stream info STREAM",
    )


def _finding(stream: Stream, consumer: Consumer, seen: _Quiet) -> Finding:
    push = consumer.config.is_push
    never = consumer.delivered.consumer_seq == 0
    who = "no subscriber is bound" if push else "no client requests messages"
    since = "nothing was ever delivered" if never else f"nothing was delivered for {span(seen.quiet_ns)}"
    piles_up = shown_or(lambda: stream.config.retention in ("workqueue", "interest"), False)
    expected = seen.absent and seen.limit.expected and piles_up
    return failed(
        consumer.subject,
        f"{who} and {since}: {counted(consumer.num_pending, 'message')} waiting"
        + (", and the stream keeps them until this consumer acknowledges them" if piles_up else "")
        + seen.absence_text(push),
        *shown(
            consumer,
            "push_bound" if push else "num_waiting",
            "num_pending",
            "delivered.consumer_seq",
            "delivered.last_active",
        ),
        severity=Severity.ERROR if expected else None if push or seen.absent else Severity.INFO,
        measured=(seen.quiet_ns if seen.old else None, seen.long_ns, "duration"),
        between=(unserved_since(stream, consumer), None),
    )
