"""JSD421: an ordered consumer that its client recreates again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream
from jsdoctor.model.trend import Trend

_Kind = tuple[str, ...]
_Incarnation = tuple[str, str, datetime | None]
_Consumers = dict[str, Consumer]


@check("consumer_lag.recreated")
def recreated(trend: Trend, params: Params) -> Iterator[Finding]:
    """A client that misses a message of an ordered consumer makes the next one at a start sequence (ADR-17).

    Readers of key-value buckets make ordered consumers of their own for each request: those start by a policy.
    """
    often = params.integer("often")
    ordered = [_ordered_by_stream(snapshot) for snapshot in trend.snapshots]
    for stream in trend.snapshots[-1].led_streams():
        counts = _resets([sample[_incarnation(stream)] for sample in ordered if _incarnation(stream) in sample])
        if counts is None:
            continue
        worst, times = max(counts.items(), key=lambda item: item[1], default=((), 0))
        if times >= often:
            yield _finding(stream, worst, times, often, len(trend.snapshots))
        elif times:
            yield suspected(
                stream.subject,
                f"an ordered consumer was recreated {times:,} times between the samples: too few to tell a fault",
                "run with --samples 6",
            )
        else:
            yield passed(stream.subject)


def _incarnation(stream: Stream) -> _Incarnation:
    return stream.account, stream.name, stream.created


def _ordered_by_stream(snapshot: ClusterSnapshot) -> dict[_Incarnation, _Consumers]:
    return {_incarnation(s): {c.name: c for c in s.consumers if _is_ordered(c)} for s in snapshot.streams}


def _resets(ordered: Sequence[_Consumers]) -> dict[_Kind, int] | None:
    """By filter, the number of samples in which a new ordered consumer with a start sequence replaced another one.

    None: no sample shows an ordered consumer.
    """
    if not any(ordered):
        return None
    counts: dict[_Kind, int] = defaultdict(int)
    for before, after in pairwise(ordered):
        gone = {_kind(consumer) for name, consumer in before.items() if name not in after}
        new = {_kind(c) for name, c in after.items() if name not in before and c.config.opt_start_seq > 1}
        for kind in gone & new:
            counts[kind] += 1
    return counts


def _is_ordered(consumer: Consumer) -> bool:
    """What client libraries make: no acknowledgements, one delivery, no durable name, in memory (ADR-17)."""
    config = consumer.config
    return (
        config.ack_policy == "none" and config.max_deliver in (1, -1) and config.mem_storage and not config.durable_name
    )


def _kind(consumer: Consumer) -> _Kind:
    return consumer.config.filters


def _finding(stream: Stream, kind: _Kind, times: int, often: int, samples: int) -> Finding:
    what = f" of {', '.join(kind)}" if kind else ""
    return Finding(
        subject=stream.subject,
        message=f"in {times:,} of {samples - 1:,} intervals between samples an ordered consumer{what} was replaced by"
        " a new one that starts at a sequence: its client misses messages or heartbeats and starts over each time. Each"
        " one costs the meta group a proposal, and the client reads some messages again",
        measured=times,
        threshold=often,
        unit="count",
        evidence=(stream.observed("state.consumer_count", stream.state.consumer_count),),
    )
