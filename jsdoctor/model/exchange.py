"""What was asked and what was answered, raw: the one form in which live, captured and recorded evidence travels."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from jsdoctor.model.gap import Gap


class Access(StrEnum):
    """Through which door a reply came; each sees something else. `PASTED`: of one server, with its envelope.

    `PACKETS` and `HOST` are no replies: what this host heard on a network and what its kernel says, in our own form.
    `KUBERNETES` is what the API of Kubernetes says of the pods, in our own form, too.
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
    """What was asked for. Values are the server's own names.

    Of `STORED_MESSAGES` the body is our own, as the messages themselves are nobody's business (`parse.stored_columns`).
    `…_AGAIN` were asked after the last sample, for assets that changed while it was taken.
    Of `STREAM_SUBJECTS` it is our own, too, with the few subjects that are near a filter (`parse.near_subjects`).
    Of `CONSUMERS_AT_REST` it is a list of streams whose consumers cannot have changed since the last sample.
    Of `ACK_METRICS` it is a list of what was published while we listened, each as the server wrote it.
    Of `PACKETS` it is what was found in captures (`parse.packets.kept`), never the packets. Of `HOST` it is our own
    (`parse.host`), and so it is of `KUBERNETES` (`model.kubernetes`).
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
    STREAM_LIST = "STREAM.LIST"
    CONSUMER_LIST = "CONSUMER.LIST"
    STREAM_INFO_AGAIN = "STREAM.INFO.again"
    CONSUMER_LIST_AGAIN = "CONSUMER.LIST.again"
    CONSUMER_INFO_AGAIN = "CONSUMER.INFO.again"
    CONSUMERS_AT_REST = "CONSUMER.LIST.rest"
    ACCOUNT_INFO = "INFO"
    USER_INFO = "USER.INFO"
    CONNECT_INFO = "CONNECT"
    CLOCK = "CLOCK"
    NTP = "NTP"
    STORED_MESSAGES = "STORED.MESSAGES"
    ACK_METRICS = "METRIC.CONSUMER.ACK"
    STREAM_SUBJECTS = "STREAM.SUBJECTS"
    PACKETS = "PACKETS"
    HOST = "HOST"
    KUBERNETES = "KUBERNETES"


class Exchange(msgspec.Struct, frozen=True):
    """One request and one raw reply to it (a request to all servers makes one exchange per answering server).

    `target` is the subject or URL asked; `asked_at` our clock when asking; `round_trip_ns` until this reply came.
    `body` is the reply as received: valid JSON is not assumed. `login` numbers the logins of a run, from 0.
    """

    access: Access
    endpoint: Endpoint
    target: str
    asked_at: datetime
    round_trip_ns: int
    body: bytes
    login: int = 0

    def __repr__(self) -> str:
        # Not the body, which may be megabytes: asyncio.run spells out what its coroutine returned, to throw it away.
        return f"Exchange({self.access.value} {self.endpoint.value} {self.target!r}, {len(self.body)} bytes)"


class Sample(msgspec.Struct, frozen=True):
    """All exchanges of one look at the cluster, and what could not be had in it. `taken_at` is our clock."""

    taken_at: datetime
    exchanges: tuple[Exchange, ...]
    gaps: tuple[Gap, ...] = ()
