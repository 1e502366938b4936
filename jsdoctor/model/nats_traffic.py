"""NATS in a capture: clients, publishes and their replies, deliveries, errors, clocks.

Payloads and credentials are never kept. Times are nanoseconds since 1970 by the clock of the capturing host.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from jsdoctor.model.latency import Latencies


class Content(StrEnum):
    """What the bytes of a connection are. For all but `NATS`, only TCP is known; `UNKNOWN`: no data was sent.

    `WEBSOCKET`: an HTTP request for WebSocket was seen.
    """

    UNKNOWN = "unknown"
    NATS = "nats"
    TLS = "tls"
    S2 = "s2"
    WEBSOCKET = "websocket"
    OTHER = "other"


class NatsPeers(StrEnum):
    """Who is at the two ends of a NATS connection."""

    CLIENT = "client"
    ROUTE = "route"
    GATEWAY = "gateway"
    LEAF = "leaf"


class Retry(msgspec.Struct, frozen=True, gc=False):
    """A message that was published again under the same Nats-Msg-Id.

    `answer_ns` is when the first copy was acknowledged, None if that was not captured.
    """

    subject: str
    first_ns: int
    again_ns: int
    answer_ns: int | None = None


class RefusedPublishes(msgspec.Struct, frozen=True, kw_only=True):
    """Publishes that JetStream refused for one reason.

    `actual` and `expected` are those of the last error that has them. `ahead`, `behind`: the expected sequence lies
    beyond, or before, the last sequence. `repeats` is the maximum number of times that the same expectation on the same
    subject was refused. `after_stored`: refused although an earlier publish with the same expectation was stored or had
    no reply yet, so this one is its retry.
    """

    err_code: int
    description: str
    stream: str = ""
    subject: str = ""
    count: int = 0
    first_ns: int = 0
    last_ns: int = 0
    ahead: int = 0
    behind: int = 0
    repeats: int = 0
    after_stored: int = 0
    expected: int | None = None
    actual: int | None = None


class Publishing(msgspec.Struct, frozen=True, kw_only=True):
    """What one connection published, and the replies to it.

    `requests` have a reply subject; `acks` are those that JetStream acknowledged or refused, `ack_ns` how long that
    took at the capture point. `identified` have a Nats-Msg-Id, `retries` repeat one after `retry_ns`. `duplicates` were
    acknowledged with `duplicate: true`, `unproven` of these with sequence 0. `no_responders`: the reply was status 503.
    `unanswered` publishes to subjects of JetStream had no reply when the capture or the connection ended; `waiting_ns`
    is the time from their publish to that end.
    """

    messages: int = 0
    requests: int = 0
    identified: int = 0
    acks: int = 0
    ack_ns: Latencies = Latencies()
    duplicates: int = 0
    unproven: int = 0
    duplicate_streams: tuple[str, ...] = ()
    retries: int = 0
    retries_elsewhere: int = 0
    retries_answered: int = 0
    retry_ns: Latencies = Latencies()
    retry_examples: tuple[Retry, ...] = ()
    refusals: tuple[RefusedPublishes, ...] = ()
    no_responders: int = 0
    no_responder_subjects: tuple[str, ...] = ()
    unanswered: int = 0
    waiting_ns: Latencies = Latencies()


class ProtocolError(msgspec.Struct, frozen=True, gc=False):
    """A `-ERR` line. `from_server` False: the client sent it, which is no valid use of the protocol."""

    text: str
    count: int
    first_ns: int
    last_ns: int
    from_server: bool = True


class StatusMessages(msgspec.Struct, frozen=True, gc=False):
    """Messages that are only a status line, such as `408 Request Timeout`."""

    code: int
    text: str
    count: int
    first_ns: int
    last_ns: int


class IdleHeartbeats(msgspec.Struct, frozen=True, gc=False):
    """Heartbeats of idle consumers, and the subscription that was silent longest for its interval.

    `interval_ns` is what the client requested, else the least time between two heartbeats; `silence_ns` the longest
    without anything behind one.
    """

    count: int = 0
    interval_ns: int = 0
    silence_ns: int = 0


class StreamFlow(msgspec.Struct, frozen=True, gc=False):
    """Flow control of push consumers: how often the server requested it, and how often the client replied.

    `open` requests had no reply, the oldest for `waiting_ns`; `stalled` counts heartbeats that report deliveries as
    waiting for the reply.
    """

    requests: int = 0
    answered: int = 0
    open: int = 0
    stalled: int = 0
    longest_ns: int = 0
    waiting_ns: int = 0


class ApiFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Requests to the JetStream API that failed for one reason; `subject` is that of the first."""

    operation: str
    subject: str = ""
    code: int = 0
    err_code: int = 0
    description: str = ""
    count: int = 0
    first_ns: int = 0
    last_ns: int = 0


class ApiTraffic(msgspec.Struct, frozen=True):
    """Requests of one connection to the JetStream API, without pulls.

    `unanswered` of them had no response when the capture or the connection ended, the oldest after `waiting_ns`.
    """

    requests: int = 0
    unanswered: int = 0
    failures: tuple[ApiFailure, ...] = ()
    waiting_ns: int = 0


class NatsConnection(msgspec.Struct, frozen=True, kw_only=True):
    """One connection, `number` of its capture as in `model.packets.TcpConnection`.

    `whole`: captured from its beginning without a gap, so that what was not captured did not happen; `gapless`: the
    same from where reading began, for a connection that is older than its capture. `advisories` of JetStream are
    counted by kind and by stream and consumer. `subjects` are the most frequent subjects of publishes. `swapped`: the
    side that TCP takes for the client is the server. `held_ns` is the longest time that bytes waited until a hole
    before them was filled, to the server and to the client.
    """

    number: int
    content: Content = Content.UNKNOWN
    link: NatsPeers = NatsPeers.CLIENT
    whole: bool = False
    gapless: bool = False
    swapped: bool = False
    resyncs: int = 0
    bad_lines: int = 0
    server: str = ""
    server_version: str = ""
    cluster: str = ""
    client: str = ""
    lang: str = ""
    version: str = ""
    publishing: Publishing = Publishing()
    deliveries: int = 0
    errors: tuple[ProtocolError, ...] = ()
    statuses: tuple[StatusMessages, ...] = ()
    heartbeats: IdleHeartbeats = IdleHeartbeats()
    flow_control: StreamFlow = StreamFlow()
    api: ApiTraffic = ApiTraffic()
    advisories: tuple[tuple[str, int], ...] = ()
    subjects: tuple[tuple[str, int], ...] = ()
    longest_ping_wait_ns: int = 0
    held_ns: tuple[int, int] = (0, 0)

    @property
    def who(self) -> str:
        """The client as text: `billing (python3 2.16.0)`."""
        library = " ".join(filter(None, (self.lang, self.version)))
        return f"{self.client} ({library})" if self.client and library else self.client or library


class ConsumerTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """Deliveries of one consumer in a capture, and what became of them.

    `domain` and `account_hash` are set if acks contain them; `connections` are the numbers of the connections of the
    deliveries. `exclusive`: a push subscription without a queue group that was captured from its beginning, so that
    every consumer sequence must be present; only then are `missing` ones lost, otherwise other subscribers got them.
    `restarts`: how often the sequence began at 1 again. `heartbeats_ahead` name a later consumer sequence than had
    arrived. `ack_ns` runs from delivery to the ack. `acked_late` came after the message had been sent again, `late_ns`
    after the delivery that they acknowledge. `redelivery_ns` is the time between two deliveries of which the first was
    not acknowledged.
    """

    stream: str
    consumer: str
    domain: str = ""
    account_hash: str = ""
    routed: bool = False
    connections: tuple[int, ...] = ()
    exclusive: bool = False
    deliveries: int = 0
    redeliveries: int = 0
    most_deliveries: int = 0
    missing: int = 0
    restarts: int = 0
    heartbeats: int = 0
    heartbeats_ahead: int = 0
    acks: int = 0
    naks: int = 0
    in_progress: int = 0
    terminated: int = 0
    acked_late: int = 0
    ack_ns: Latencies = Latencies()
    late_ns: Latencies = Latencies()
    redelivery_ns: Latencies = Latencies()
    first_ns: int = 0
    last_ns: int = 0


class StoreClock(msgspec.Struct, frozen=True, kw_only=True):
    """The clock that dates a stream's messages (its leader's) against the clock of the capture: ahead by an interval.

    `high_ns` None: only deliveries were seen, which bound one side. `messages` were compared. `steady` False: no single
    offset fits all of them: one of the clocks was set, drifted, or the leader changed; the interval spans them.
    """

    stream: str
    low_ns: int
    high_ns: int | None = None
    messages: int = 0
    steady: bool = True


class NatsTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """NATS in one capture. `omitted` counts what was left out of lists that would have grown too long."""

    capture: int = 0
    connections: tuple[NatsConnection, ...] = ()
    consumers: tuple[ConsumerTraffic, ...] = ()
    clocks: tuple[StoreClock, ...] = ()
    omitted: int = 0

    def connection(self, number: int) -> NatsConnection | None:
        """The connection of that number."""
        return next((connection for connection in self.connections if connection.number == number), None)
