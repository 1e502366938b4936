"""JSD406: one consumer is far behind others that get the same messages: the delay is its own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec

from jsdoctor.checks.consumer_lag.progress import acknowledged, flow, histories, key, lag_cause
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.trend import ConsumerHistory, Trend


@check("consumer_lag.overlapping_filter_laggard")
def overlapping_filter_laggard(snapshots: SnapshotSeries, trend: Trend | None, params: Params) -> Iterator[Finding]:
    """Compare consumers of a limits stream: if siblings keep up, neither stream nor servers are the cause.

    A sibling is a consumer with deliveries whose filters match everything that the late consumer's filters match.
    """
    minimum, factor = params.integer("min_pending"), params.number("factor")
    seen = histories(trend)
    for stream in snapshots.last.led_streams():
        consumers = [c for c in stream.consumers if c.from_leader and not c.paused]
        if stream.config.retention != "limits" or len(consumers) < 2:
            continue
        behind = any(consumer.num_pending >= minimum for consumer in consumers)
        siblings = Siblings(c for c in consumers if behind and c.delivered.consumer_seq)
        for consumer in consumers:
            if consumer.num_pending < minimum:
                yield passed(consumer.subject)
            elif _falls_behind(seen.get(key(consumer)), trend is not None):
                typical, count = siblings.typical_lag(consumer)
                far = count > 0 and consumer.num_pending >= factor * max(typical, 1.0)
                why = lag_cause(history) if (history := seen.get(key(consumer))) else ""
                yield _finding(consumer, typical, count, minimum, why) if far else passed(consumer.subject)


def _falls_behind(history: ConsumerHistory | None, several_samples: bool) -> bool:
    """Whether the consumer works and does not catch up; assumed where there is one sample only."""
    if history is None:
        return not several_samples
    rates = flow(history)
    return acknowledged(history) and rates is not None and rates.growth >= 0


def _finding(consumer: Consumer, typical: float, count: int, minimum: int, why: str) -> Finding:
    others = f"{count:,} other consumers that get" if count > 1 else "another consumer that gets"
    return failed(
        consumer.subject,
        f"{consumer.num_pending:,} messages behind, while {others} the same messages "
        f"{'are' if count > 1 else 'is'} {typical:,.0f} behind: the delay is this consumer's own, "
        "consumers of one stream do not hold each other up" + (f"; {why}" if why else ""),
        consumer.observed("num_pending", consumer.num_pending),
        consumer.observed("config.filters", list(consumer.config.filters)),
        consumer.observed("consumers with the same messages", count),
        measured=(consumer.num_pending, minimum, "count"),
    )


Filters = tuple[str, ...]


class _Node(msgspec.Struct):
    """One token of filters: what follows it, and the consumers whose filter ends here."""

    children: dict[str, _Node] = msgspec.field(default_factory=dict)
    consumers: set[int] = msgspec.field(default_factory=set)


class Siblings:
    """The consumers of one stream, by what their filters let through.

    Filters are kept as a tree of tokens, so a stream with thousands of consumers, each with a filter of its own, costs
    no more than its tokens.
    """

    def __init__(self, consumers: Iterable[Consumer]) -> None:
        self._consumers = list(consumers)
        self._root = _Node()
        self._lags: dict[Filters, list[int]] = {}
        for number, consumer in enumerate(self._consumers):
            for subject in _filters(consumer):
                node = self._root
                for token in subject.split("."):
                    node = node.children.setdefault(token, _Node())
                node.consumers.add(number)

    def typical_lag(self, consumer: Consumer) -> tuple[float, int]:
        """The median lag of the other consumers that get all that this one gets, and how many they are."""
        filters = _filters(consumer)
        if filters not in self._lags:
            covering = set.intersection(*(self._covering(subject) for subject in filters))
            self._lags[filters] = sorted(self._consumers[number].num_pending for number in covering)
        lags = self._lags[filters]
        # The consumer itself is among them unless it was left out of the siblings.
        own = bisect_left(lags, consumer.num_pending) if consumer.delivered.consumer_seq else len(lags)
        count = len(lags) - (own < len(lags))
        if count == 0:
            return 0.0, 0
        low, high = (lags[place if place < own else place + 1] for place in ((count - 1) // 2, count // 2))
        return (low + high) / 2, count

    def _covering(self, subject: str) -> set[int]:
        """Consumers with a filter that lets through whatever matches `subject` (server: sublist.go subsetMatch)."""
        covering: set[int] = set()
        nodes = [self._root]
        for token in subject.split("."):
            for node in nodes:
                if rest := node.children.get(">"):
                    covering |= rest.consumers
            wider = {token, "*"} if token != ">" else set()
            nodes = [node.children[name] for node in nodes for name in wider if name in node.children]
        return covering.union(*(node.consumers for node in nodes))


def _filters(consumer: Consumer) -> Filters:
    return consumer.config.filters or (">",)
