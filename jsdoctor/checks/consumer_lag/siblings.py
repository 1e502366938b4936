"""Which consumers of a stream get all the messages that another gets, and how far behind they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from jsdoctor.model.snapshot import Consumer

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
