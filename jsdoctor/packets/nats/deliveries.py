"""Deliveries of JetStream consumers and their acks, over all connections of a capture.

Nine tokens: `$JS.ACK.STREAM.CONSUMER.DELIVERED.STREAM_SEQ.CONSUMER_SEQ.TIME.PENDING`; eleven or more with domain and
hash of the account before the stream (feature flag js_ack_fc_v2). Between servers `@SUBJECT` follows.
Source: nats-server consumer.go (ackReply), route.go.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from jsdoctor.model.latency import LatencyTally
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.packets.nats.identity import shortened, text

PREFIX = b"$JS.ACK."
_SHORT, _LONG = 9, 11
_MAX_DIGITS = 19
"""More digits do not fit into 64 bits: the subject is damaged, or not one of the server."""


class Delivered(NamedTuple):
    """What a delivery says of itself. `delivered` counts attempts from 1; `stored_ns` is the server's clock."""

    domain: bytes
    account_hash: bytes
    stream: bytes
    consumer: bytes
    delivered: int
    stream_seq: int
    consumer_seq: int
    stored_ns: int


def delivered(reply: bytes) -> Delivered | None:
    """The delivery that this reply subject belongs to, or None."""
    tokens = reply.split(b".")
    if len(tokens) == _SHORT or (len(tokens) > _SHORT and b"@" in tokens[_SHORT - 1]):
        return _from_tokens(b"", b"", tokens[2:])
    if len(tokens) >= _LONG:
        domain = b"" if tokens[2] == b"_" else tokens[2]
        return _from_tokens(domain, tokens[3], tokens[4:])
    return None


def _from_tokens(domain: bytes, account_hash: bytes, tokens: list[bytes]) -> Delivered | None:
    stream, consumer, count, stream_seq, consumer_seq, stored_ns = tokens[:6]
    if not (count.isdigit() and stream_seq.isdigit() and consumer_seq.isdigit() and stored_ns.isdigit()):
        return None
    if max(len(count), len(stream_seq), len(consumer_seq), len(stored_ns)) > _MAX_DIGITS:
        return None
    return Delivered(
        domain, account_hash, stream, consumer, int(count), int(stream_seq), int(consumer_seq), int(stored_ns)
    )


_MAX_OUTSTANDING = 100_000
_MAX_CONSUMERS = 10_000
_MAX_CONNECTIONS = 8


class _Outstanding:
    """One message in flight: times of its last delivery, the one before and the last progress report, and its ack."""

    __slots__ = ("answered", "attempts", "before_ns", "delivered_ns", "spoken_ns")

    def __init__(self, at_ns: int, attempts: int) -> None:
        self.before_ns = self.delivered_ns = self.spoken_ns = at_ns
        self.attempts = attempts
        self.answered = b""


class ConsumerTally:
    """The counts of one consumer."""

    __slots__ = (
        *("ack_ns", "connections", "consumer_seq", "counts", "exclusive", "first_ns", "last_ns"),
        *("late_ns", "most_deliveries", "redelivery_ns", "shared"),
    )

    def __init__(self, at_ns: int) -> None:
        self.counts: dict[str, int] = {}
        self.connections: list[int] = []
        self.consumer_seq = 0
        self.exclusive = True
        self.shared = False
        self.first_ns = self.last_ns = at_ns
        self.most_deliveries = 0
        self.ack_ns = LatencyTally()
        self.late_ns = LatencyTally()
        self.redelivery_ns = LatencyTally()

    def count(self, what: str, more: int = 1) -> None:
        """Add to that field of `ConsumerTraffic`."""
        self.counts[what] = self.counts.get(what, 0) + more

    def received(self, connection: int, at_ns: int, *, exclusive: bool) -> None:
        """Count a delivery over that connection. If deliveries return to an earlier one, the consumer is shared."""
        self.last_ns = at_ns
        self.exclusive = self.exclusive and exclusive
        if self.connections and self.connections[-1] == connection:
            return
        if connection in self.connections:
            self.shared = True
        else:
            self.connections.append(connection)
            if len(self.connections) > _MAX_CONNECTIONS:
                self.shared = True
                self.connections.pop(0)

    def next_seq(self, consumer_seq: int) -> None:
        """Take a consumer sequence: one more than the last, or else deliveries are missing or restarted.

        The same sequence again is a copy for another subscription.
        """
        if self.consumer_seq and consumer_seq > self.consumer_seq + 1:
            self.count("missing", consumer_seq - self.consumer_seq - 1)
        elif consumer_seq == 1 < self.consumer_seq:
            self.count("restarts")
        self.consumer_seq = consumer_seq

    def heartbeat(self, last_consumer_seq: int) -> None:
        """Count a heartbeat, which has the last consumer sequence that the server sent."""
        self.count("heartbeats")
        if last_consumer_seq > self.consumer_seq:
            self.count("heartbeats_ahead")


_Key = tuple[bool, bytes, bytes, bytes, bytes]
"""Whether a consumer was seen between servers; domain, hash of the account, stream, and its name."""


class DeliveryBook:
    """The consumers of all connections of a capture. `omitted` counts deliveries of consumers beyond the bound."""

    def __init__(self) -> None:
        self._consumers: dict[_Key, ConsumerTally] = {}
        self._outstanding: OrderedDict[tuple[_Key, int], _Outstanding] = OrderedDict()
        self._pulled: set[tuple[bytes, bytes]] = set()
        self.omitted = 0

    def pulled(self, stream: bytes, consumer: bytes) -> None:
        """Note that a client requests messages of this consumer: others may, too."""
        if len(self._pulled) < _MAX_CONSUMERS:
            self._pulled.add((stream, consumer))

    def delivered(
        self, connection: int, at_ns: int, message: Delivered, *, routed: bool, exclusive: bool
    ) -> ConsumerTally | None:
        """Count one delivery. `exclusive`: seen from its beginning, a subscription without a queue group."""
        key = _key(message, routed)
        tally = self._consumers.get(key)
        if tally is None:
            if len(self._consumers) >= _MAX_CONSUMERS:
                self.omitted += 1
                return None
            tally = self._consumers[key] = ConsumerTally(at_ns)
        tally.received(connection, at_ns, exclusive=exclusive)
        tally.count("deliveries")
        tally.most_deliveries = max(tally.most_deliveries, message.delivered)
        tally.next_seq(message.consumer_seq)
        known = self._outstanding.get((key, message.stream_seq))
        if message.delivered > 1:
            tally.count("redeliveries")
            if known is not None:
                _count_redelivery(tally, known, at_ns)
        if known is None:
            if len(self._outstanding) >= _MAX_OUTSTANDING:
                self._outstanding.popitem(last=False)
            self._outstanding[key, message.stream_seq] = _Outstanding(at_ns, message.delivered)
        else:
            known.before_ns = known.delivered_ns
            known.delivered_ns = known.spoken_ns = at_ns
            known.attempts, known.answered = message.delivered, b""
        return tally

    def answered(self, at_ns: int, message: Delivered, kind: bytes, *, routed: bool) -> None:
        """Count an ack of any kind; an empty one is `+ACK` (server: consumer.go processAck)."""
        key = _key(message, routed)
        tally, known = self._consumers.get(key), self._outstanding.get((key, message.stream_seq))
        if tally is None:
            return
        if kind.startswith(b"+WPI"):
            tally.count("in_progress")
            if known is not None:
                known.spoken_ns = at_ns
            return
        nak, terminated = kind.startswith(b"-NAK"), kind.startswith(b"+TERM")
        tally.count("naks" if nak else "terminated" if terminated else "acks")
        if known is None or known.answered:
            return
        if message.delivered < known.attempts:
            tally.count("acked_late")
            tally.late_ns.add(at_ns - known.before_ns)
        else:
            known.answered = b"-" if nak else b"+"
        if not nak and message.delivered == known.attempts:
            tally.ack_ns.add(at_ns - known.delivered_ns)

    def consumers(self, whole: frozenset[int]) -> tuple[ConsumerTraffic, ...]:
        """All consumers, by name. Where the connection of a client shows one, routes are left out."""
        at_clients = {key[1:] for key in self._consumers if not key[0]}
        return tuple(
            self._traffic(key, tally, whole)
            for key, tally in sorted(self._consumers.items())
            if not key[0] or key[1:] not in at_clients
        )

    def _traffic(self, key: _Key, tally: ConsumerTally, whole: frozenset[int]) -> ConsumerTraffic:
        routed, domain, account_hash, stream, consumer = key
        alone = tally.exclusive and not tally.shared and not routed and (stream, consumer) not in self._pulled
        return ConsumerTraffic(
            stream=shortened(text(stream)),
            consumer=shortened(text(consumer)),
            domain=text(domain),
            account_hash=text(account_hash),
            routed=routed,
            connections=tuple(tally.connections),
            exclusive=alone and whole.issuperset(tally.connections),
            most_deliveries=tally.most_deliveries,
            ack_ns=tally.ack_ns.latencies(),
            late_ns=tally.late_ns.latencies(),
            redelivery_ns=tally.redelivery_ns.latencies(),
            first_ns=tally.first_ns,
            last_ns=tally.last_ns,
            **tally.counts,
        )


def _key(message: Delivered, routed: bool) -> _Key:
    return routed, message.domain, message.account_hash, message.stream, message.consumer


def _count_redelivery(tally: ConsumerTally, known: _Outstanding, at_ns: int) -> None:
    if known.answered == b"+":
        tally.count("acked_late")
    elif not known.answered:
        tally.redelivery_ns.add(at_ns - known.spoken_ns)
