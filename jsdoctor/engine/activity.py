"""How streams and consumers moved over the last checks: their lag and their rates, in bounded memory."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.snapshot import ClusterSnapshot

MAX_POINTS = 60
MAX_ASSETS = 1_000
"""In a larger deployment only the streams and consumers with the most movement are followed."""


class AssetActivity(msgspec.Struct, frozen=True):
    """A stream or consumer over the last checks, oldest first.

    `lag` are messages not yet delivered or acknowledged, one value a check; empty for a stream. `rates` are messages a
    second, stored or delivered, one value for each pair of checks. `sequence` is the last one stored or delivered, read
    at `at`.
    `lag_rate` is by how many messages a second the lag grew between the last two checks.
    """

    subject: Subject
    created: datetime | None
    sequence: int
    at: datetime
    lag: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    lag_rate: float = 0.0

    @property
    def movement(self) -> float:
        """The newest rate plus the range of the lag over the remembered checks: the rank in `busiest`."""
        swing = max(self.lag) - min(self.lag) if self.lag else 0
        return (self.rates[-1] if self.rates else 0.0) + swing


Activities = dict[Subject, AssetActivity]


def follow(before: Activities, snapshot: ClusterSnapshot) -> Activities:
    """The activities after one more check. Assets that are gone are dropped; a recreated one starts again."""
    at = snapshot.taken_at
    now = [
        _appended(before.get(stream.subject), AssetActivity(stream.subject, stream.created, stream.state.last_seq, at))
        for stream in snapshot.led_streams()
    ]
    for _, consumer in snapshot.led_consumers():
        lag = (consumer.num_pending + consumer.num_ack_pending,)
        seen = AssetActivity(consumer.subject, consumer.created, consumer.delivered.consumer_seq, at, lag)
        now.append(_appended(before.get(consumer.subject), seen))
    if len(now) > MAX_ASSETS:
        now = busiest({activity.subject: activity for activity in now}, MAX_ASSETS)
    return {activity.subject: activity for activity in now}


def busiest(activities: Activities, most: int) -> list[AssetActivity]:
    """The `most` activities with the highest movement, highest first; ties by name."""
    return sorted(activities.values(), key=lambda activity: (-activity.movement, activity.subject.label))[:most]


def _appended(before: AssetActivity | None, now: AssetActivity) -> AssetActivity:
    """`before` with the values of `now` added; `now` alone for an asset that is new or was recreated."""
    if before is None or before.created != now.created:
        return now
    elapsed = (now.at - before.at).total_seconds()
    if elapsed <= 0:
        return before
    rate = max(now.sequence - before.sequence, 0) / elapsed
    return AssetActivity(
        now.subject,
        now.created,
        now.sequence,
        now.at,
        (*before.lag, *now.lag)[-MAX_POINTS:],
        (*before.rates, rate)[-MAX_POINTS:],
        (now.lag[-1] - before.lag[-1]) / elapsed if now.lag and before.lag else 0.0,
    )
