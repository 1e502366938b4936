"""Subscribes to ack metrics while samples are taken; only if a consumer has them enabled.

Servers publish one for a share of acknowledgements (`sample_freq`) in the account of the consumer. No request is sent
and nothing is changed; a login that may not subscribe gets a gap.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from time import monotonic_ns

import msgspec
from nats import errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from jsdoctor.model.ack_times import MAX_ACKS
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.ack_times import Heard, Metric
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.replies.jsz import read_consumers
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.servers.collection_result import CollectionResult

SUBJECT = "$JS.EVENT.METRIC.CONSUMER.ACK.>"


def are_sampled(exchanges: Iterable[Exchange]) -> bool:
    """Whether some listed consumer has ack sampling enabled."""
    for exchange in exchanges:
        if exchange.endpoint is Endpoint.CONSUMER_LIST:
            try:
                consumers = read_consumers(exchange).items
            except ReplyError:
                continue  # a gap where it is parsed
            if any(consumer.config.sample_freq for consumer in consumers):
                return True
    return False


class AckListener:
    """Keeps metrics between `begin` and `into`: stream, consumer, time and deliveries only."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._metrics: list[Metric] = []
        self._subscription: Subscription | None = None
        self._since, self._started = datetime.now(UTC), monotonic_ns()

    async def begin(self) -> None:
        """Subscribe."""
        with contextlib.suppress(errors.Error, OSError):
            self._subscription = await self._connection.client.subscribe(SUBJECT, cb=self._on_metric)

    async def into(self, collection: CollectionResult) -> None:
        """Unsubscribe, and add an exchange with the metrics, or a gap if the login may not subscribe."""
        if self._subscription is None:
            return
        with contextlib.suppress(errors.Error, OSError):
            await self._subscription.unsubscribe()
        if words := self._denial():
            reason = f"metrics of acknowledgements cannot be received: {words}"
            how = f'add "{SUBJECT}" to subscribe.allow of the user\'s permissions, or use another login'
            collection.gaps.append(Gap("metrics", CLUSTER, reason, how))
            return
        body = msgspec.json.encode(Heard(tuple(self._metrics)))
        took_ns = monotonic_ns() - self._started
        collection.exchanges.append(Exchange(Access.ACCOUNT, Endpoint.ACK_METRICS, SUBJECT, self._since, took_ns, body))

    def _denial(self) -> str:
        return next((words for words in self._connection.permission_errors if SUBJECT.lower() in words.lower()), "")

    async def _on_metric(self, message: Msg) -> None:
        if len(self._metrics) < MAX_ACKS:
            with contextlib.suppress(msgspec.DecodeError):
                self._metrics.append(decode_as(message.data, Metric))
