"""Requests and their raw replies: the common form of live, captured and recorded evidence."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, cast

import msgspec

from jsdoctor.model.gap import Gap

_ReadT = TypeVar("_ReadT")


class Access(StrEnum):
    """Through which access a reply came; each access shows different data. `PASTED`: of one server, with its envelope.

    `PACKETS`, `HOST` and `KUBERNETES` are not replies of a server: they hold, in our own form, what this host captured
    on a network, what its kernel reports, and what the API of Kubernetes reports of the pods.
    """

    SYSTEM = "system"
    ACCOUNT = "account"
    MONITOR = "monitor"
    CLIENT = "client"
    NTP = "ntp"
    PASTED = "pasted"
    PACKETS = "packets"
    HOST = "host"
    KUBERNETES = "kubernetes"


class Endpoint(StrEnum):
    """What was requested. Values are the server's own names.

    The body of `STORED_MESSAGES` has our own form, without message contents (`replies.stored`).
    `…_AGAIN` were requested after the last sample, for assets that changed while it was taken.
    The body of `STREAM_SUBJECTS` has our own form, with the few subjects that are near a filter
    (`replies.near_subjects`).
    The body of `CONSUMERS_AT_REST` is a list of streams whose consumers cannot have changed since the last sample.
    The body of `ACK_METRICS` is a list of the metrics that were received while samples were taken, as the server wrote
    them.
    The body of `CLIENT_ADDRESSES` is what became of each address in `CONNECT_INFO` (`model.client_addresses`).
    The body of `SUBSZ` is which leaders listen to the subjects of their streams (`model.leader_interest`).
    The body of `PACKETS` is the result of reading captures (`packets.kept`), never the packets. The bodies of
    `HOST` (`sources.host`) and `KUBERNETES` (`model.kubernetes`) have our own form.
    """

    VARZ = "VARZ"
    JSZ = "JSZ"
    JSZ_STREAMS = "JSZ.streams"
    JSZ_AGAIN = "JSZ.again"
    HEALTHZ = "HEALTHZ"
    RAFTZ = "RAFTZ"
    CONNZ = "CONNZ"
    CONNZ_CLOSED = "CONNZ.closed"
    GATEWAYZ = "GATEWAYZ"
    LEAFZ = "LEAFZ"
    ROUTEZ = "ROUTEZ"
    ACCOUNTZ = "ACCOUNTZ"
    SUBSZ = "SUBSZ"
    STREAM_LIST = "STREAM.LIST"
    CONSUMER_LIST = "CONSUMER.LIST"
    STREAM_INFO_AGAIN = "STREAM.INFO.again"
    CONSUMER_LIST_AGAIN = "CONSUMER.LIST.again"
    CONSUMER_INFO_AGAIN = "CONSUMER.INFO.again"
    CONSUMERS_AT_REST = "CONSUMER.LIST.rest"
    ACCOUNT_INFO = "INFO"
    USER_INFO = "USER.INFO"
    CONNECT_INFO = "CONNECT"
    CLIENT_ADDRESSES = "CONNECT.addresses"
    CLOCK = "CLOCK"
    NTP = "NTP"
    STORED_MESSAGES = "STORED.MESSAGES"
    ACK_METRICS = "METRIC.CONSUMER.ACK"
    STREAM_SUBJECTS = "STREAM.SUBJECTS"
    PACKETS = "PACKETS"
    HOST = "HOST"
    KUBERNETES = "KUBERNETES"


class Exchange(msgspec.Struct, frozen=True, dict=True):
    """One request and one raw reply to it; a request to all servers makes one exchange per server that responds.

    `target` is the subject or URL of the request; `asked_at` our clock when it was sent; `round_trip_ns` the time until
    this reply came. `body` is the reply as received: it may not be valid JSON. `login` numbers the logins of a run,
    from 0.
    """

    access: Access
    endpoint: Endpoint
    target: str
    asked_at: datetime
    round_trip_ns: int
    body: bytes
    login: int = 0

    def once(self, read: Callable[[Exchange], _ReadT]) -> _ReadT:
        """The result of `read` for this reply, cached by the function's name; exceptions are not cached.
        Decoding a reply of a hundred thousand consumers takes a second.
        """
        known = self.__dict__
        if (key := read.__qualname__) not in known:
            known[key] = read(self)
        return cast("_ReadT", known[key])

    def without_body(self) -> Exchange:
        """This exchange without its body, but with the cached results of `once`."""
        return self._changed(body=b"")

    def of_login(self, number: int) -> Exchange:
        """This exchange with another login number, and with the cached results of `once`."""
        return self._changed(login=number)

    def _changed(self, **changes: object) -> Exchange:
        changed = msgspec.structs.replace(self, **changes)
        changed.__dict__.update(self.__dict__)
        return changed

    def __repr__(self) -> str:
        # Without the body, which may be megabytes: asyncio.run formats the result of its coroutine and discards the
        # text.
        return f"Exchange({self.access.value} {self.endpoint.value} {self.target!r}, {len(self.body)} bytes)"


class Sample(msgspec.Struct, frozen=True):
    """All exchanges of one sample of the cluster, and the gaps in it. `taken_at` is our clock."""

    taken_at: datetime
    exchanges: tuple[Exchange, ...]
    gaps: tuple[Gap, ...] = ()
