"""JSD421: ordered consumers that their clients recreate: one again and again, or most of a stream at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import Trend

_Kind = tuple[str, ...]
_Incarnation = tuple[str, str, datetime | None]
_Consumers = dict[str, Consumer]


@check("consumer_lag.recreated")
def recreated(trend: Trend, params: Params) -> Iterator[Finding]:
    """Count replaced ordered consumers: a client that misses a message makes a new one at a start sequence (ADR-17).

    Readers of key-value buckets make one for each request; those start by a policy and do not count.
    """
    often, many = params.integer("often"), params.integer("many")
    ordered = [
        {_incarnation(stream): {c.name: c for c in stream.consumers if _is_ordered(c)} for stream in snapshot.streams}
        for snapshot in trend.snapshots
    ]
    for stream in trend.snapshots[-1].led_streams():
        readings = [sample[_incarnation(stream)] for sample in ordered if _incarnation(stream) in sample]
        if not any(readings):
            continue
        replaced = [_Replaced(_by_kind(before, after), len(before)) for before, after in pairwise(readings)]
        most = max((i for i in replaced if i.is_majority), key=lambda i: i.total, default=None)
        times = Counter(kind for interval in replaced for kind in interval.by_kind)
        worst, count = max(times.items(), key=lambda item: item[1], default=((), 0))
        if most and most.total >= many:
            text = (
                f"{most.total:,} of {most.before:,} ordered consumers were replaced between two samples, each by a new"
                " one of the same filter that starts at a sequence: their clients missed messages or heartbeats, or"
                " lost their connection"
            )
            yield _finding(stream, most.total, many, text)
        elif count >= often:
            yield _finding(stream, count, often, _repeated_text(worst, count, len(trend.snapshots)))
        elif count:
            yield suspected(
                stream.subject,
                f"an ordered consumer was recreated {count:,} times between the samples: too few to tell a fault",
                "run with --samples 6",
            )
        else:
            yield passed(stream.subject)


class _Replaced(NamedTuple):
    """Ordered consumers that were replaced between two samples, and how many there were before."""

    by_kind: Mapping[_Kind, int]
    before: int

    @property
    def total(self) -> int:
        return sum(self.by_kind.values())

    @property
    def is_majority(self) -> bool:
        return 2 * self.total > self.before


def _incarnation(stream: Stream) -> _Incarnation:
    return stream.account, stream.name, stream.created


def _by_kind(before: _Consumers, after: _Consumers) -> Mapping[_Kind, int]:
    """By filter, how many consumers vanished and were replaced by new ones with a start sequence."""
    gone = Counter(_kind(consumer) for name, consumer in before.items() if name not in after)
    return gone & Counter(_kind(c) for name, c in after.items() if name not in before and c.config.opt_start_seq > 1)


def _is_ordered(consumer: Consumer) -> bool:
    """Whether it is an ordered consumer of a client library: no acks, one delivery, not durable, in memory (ADR-17)."""
    config = consumer.config
    return (
        config.ack_policy == "none" and config.max_deliver in (1, -1) and config.mem_storage and not config.durable_name
    )


def _kind(consumer: Consumer) -> _Kind:
    return consumer.config.filters


def _repeated_text(kind: _Kind, times: int, samples: int) -> str:
    what = f" of {', '.join(kind)}" if kind else ""
    return (
        f"in {times:,} of {samples - 1:,} intervals between samples an ordered consumer{what} was replaced by"
        " a new one that starts at a sequence: its client misses messages or heartbeats and starts over each time"
    )


def _finding(stream: Stream, measured: int, threshold: int, message: str) -> Finding:
    return failed(
        stream.subject,
        f"{message}. Each one costs the meta group a proposal, and the client reads some messages again",
        stream.observed("state.consumer_count", stream.state.consumer_count),
        measured=(measured, threshold, "count"),
    )
