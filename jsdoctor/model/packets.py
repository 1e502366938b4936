"""Packets as evidence: what a capture shows of every TCP connection, and how far the capture itself can be trusted.

Times are nanoseconds since 1970 by the clock of the capturing host; durations are nanoseconds. Sequence figures are of
TCP, not of JetStream. Terms: RFC 4737 (reordering), RFC 5681 (three duplicate acks), RFC 2883 (DSACK).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Subject
from jsdoctor.model.nats_traffic import NatsTraffic


class OrderProof(StrEnum):
    """The evidence that distinguishes a late original from a retransmission, strongest first.

    `IP_ID`: the sender numbers its IPv4 packets. `TIMESTAMPS`: TCP timestamps. `TIME`: lateness only, which is a guess.
    """

    IP_ID = "ip_id"
    TIMESTAMPS = "timestamps"
    TIME = "time"


class Label(StrEnum):
    """The classification of a segment that is not simply the next one.

    `REORDERED`: an original, late. `REORDERED_NEEDLESS`: the same, after its bytes had been retransmitted needlessly.
    `BEHIND_ACK`: an original that only a pure ack of its own side overtook.
    `LOST_UPSTREAM`: sent again, never captured before: its first copy was lost before the capture point.
    `SENT_AGAIN`: sent again, captured before: its first copy was lost behind the capture point, or not at all.
    `INTO_ZERO_WINDOW`: sent again while the peer's window was zero, to probe whether it has opened: no loss.
    `DUPLICATE`: the same packet twice: copied by the network or by the capture.
    """

    REORDERED = "reordered"
    REORDERED_NEEDLESS = "reordered_needless"
    BEHIND_ACK = "reordered_behind_ack"
    LOST_UPSTREAM = "retransmission_upstream"
    SENT_AGAIN = "retransmission_downstream"
    INTO_ZERO_WINDOW = "into_zero_window"
    DUPLICATE = "duplicate"


class PacketEvent(msgspec.Struct, frozen=True, gc=False):
    """One such segment: number of the packet in its file from 1, offset of its first byte in the stream, lateness."""

    frame: int
    at_ns: int
    label: Label
    offset: int
    length: int
    late_ns: int = 0


class Quantiles(msgspec.Struct, frozen=True, gc=False):
    """Many values in short. Quantiles are upper bounds of bins 6 % wide; `largest` is exact. 0 when `count` is 0."""

    count: int = 0
    p50: int = 0
    p95: int = 0
    p99: int = 0
    largest: int = 0


class Reordering(msgspec.Struct, frozen=True, kw_only=True):
    """Originals that arrived after later data (RFC 4737). They cannot change the order of a connection's bytes.

    `needless_retransmissions`: so late that the sender had sent them again. `three_reordered`: at least three later
    segments came directly before it, which makes senders resend (RFC 5681). `extent` counts segments, `late_ns` time.
    `downstream`: by the receiver's SACKs, behind the capture point; a lower bound. Where a capture has several
    interfaces, VLANs or tunnels, figures are those of the `place` with the most reordering, which saw so many `packets`
    (0: those of the flow); `in_order_at` is a place where the same packets were in order.
    """

    segments: int = 0
    needless_retransmissions: int = 0
    three_reordered: int = 0
    behind_ack: int = 0
    extent: Quantiles = Quantiles()
    late_ns: Quantiles = Quantiles()
    free_run: Quantiles = Quantiles()
    downstream: int = 0
    packets: int = 0
    place: str = ""
    in_order_at: str = ""


class Retransmission(msgspec.Struct, frozen=True, kw_only=True):
    """Data that was sent again. `upstream` + `downstream` = `segments`, as are `fast` + `timeout` + `early`.

    `packets` are the same as they are on the network: larger segments count as several, and so does `needless_packets`.
    `fast`: after two or more duplicate acks or a SACK gap. `timeout`: 200 ms or more after the bytes were last seen or
    due (Linux TCP_RTO_MIN). `early`: neither, as tail loss probes are. `needless`: the peer had them already.
    `needless_timeouts` are those of `timeout` for bytes that were sent again in vain each time.
    `longest_chain`: how often the same bytes were sent again. `longest_wait_ns`: from when bytes were first seen or due
    to their last resending; of bytes that the peer lacked, if there were any. `waited_ns` adds up such waits of
    `timeout`, each stretch of time once.
    """

    segments: int = 0
    packets: int = 0
    bytes: int = 0
    upstream: int = 0
    downstream: int = 0
    fast: int = 0
    timeout: int = 0
    early: int = 0
    needless: int = 0
    needless_packets: int = 0
    needless_timeouts: int = 0
    longest_chain: int = 0
    longest_wait_ns: int = 0
    waited_ns: int = 0
    syn: int = 0
    fin: int = 0


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of a connection, as seen at the capture point.

    `segments` carry data; `distinct_segments` leaves out what was sent again or duplicated, and `distinct_packets` are
    the same as they are on the network, where larger segments (`oversized`: TSO, GRO) are several packets: ratios are
    shares of these. `damaged` packets contradict their checksum and were left out.
    `stuck_length`: the shortest packet that was sent again and again, `stuck_times`, and never acknowledged, while none
    longer than `delivered_length` was.
    `missed_bytes` were never captured though the peer acknowledged them: a hole in the capture, not in the network.
    `unfilled_bytes` are holes that were not acknowledged before the end.
    `ack_rtt_ns`: from the capture point to the receiver and back. `zero_window_ns`: how long this side advertised a
    zero window; `into_zero_window` segments were sent again while the peer advertised one. `duplicate_acks`, `sacks`
    and `dsacks` are of this side. `keep_alives` are TCP's.
    `zero_until_ns` is when the last zero window ended. `ended_ns`: when this side first sent FIN or RST; `cut_ns`: when
    it sent RST before either side had ended the connection; `cut_hops`: by how much its TTL differs from that of data.
    """

    packets: int = 0
    segments: int = 0
    bytes: int = 0
    distinct_segments: int = 0
    distinct_packets: int = 0
    distinct_bytes: int = 0
    proof: OrderProof = OrderProof.TIME
    reordering: Reordering = Reordering()
    retransmission: Retransmission = Retransmission()
    duplicates: int = 0
    duplicates_of_other_hop: int = 0
    duplicate_acks: int = 0
    sacks: int = 0
    dsacks: int = 0
    missed_bytes: int = 0
    unfilled_bytes: int = 0
    zero_windows: int = 0
    zero_window_ns: int = 0
    longest_zero_window_ns: int = 0
    into_zero_window: int = 0
    keep_alives: int = 0
    zero_until_ns: int = 0
    resets: int = 0
    ended_ns: int = 0
    cut_ns: int = 0
    cut_hops: int = 0
    congestion_marks: int = 0
    oversized: int = 0
    stuck_length: int = 0
    stuck_times: int = 0
    delivered_length: int = 0
    damaged: int = 0
    ack_rtt_ns: Quantiles = Quantiles()
    events: tuple[PacketEvent, ...] = ()


class SocketAddress(msgspec.Struct, frozen=True, order=True, gc=False):
    """An address and a port."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class TcpConnection(msgspec.Struct, frozen=True, kw_only=True):
    """One connection in one capture. `number` counts from 1 per capture and joins the layers above.

    The client is who sent SYN; in a connection met midway (`midstream`), the side of the higher port. `place` names
    the interface, and VLAN or tunnel, where it was seen first; `places` counts them. `copies` of packets that were seen
    at another place before were left out;
    `captured_twice`: most packets came twice in a way that only the capture explains: no verdict on the network.
    `one_sided`: packets of one direction only. `handshake_ns`: SYN to the ack that ends the handshake.
    """

    capture: int
    number: int
    client: SocketAddress
    server: SocketAddress
    place: str = ""
    to_server: Flow
    to_client: Flow
    first_ns: int
    last_ns: int
    handshake_ns: int | None = None
    midstream: bool = False
    one_sided: bool = False
    closed: str = ""
    copies: int = 0
    places: int = 1
    captured_twice: bool = False

    @property
    def subject(self) -> Subject:
        """This connection as the subject of a finding."""
        return Subject(kind="flow", name=f"{self.client} -> {self.server}")

    @property
    def flows(self) -> tuple[Flow, Flow]:
        """To the server, to the client."""
        return self.to_server, self.to_client


class CaptureClockStep(msgspec.Struct, frozen=True, gc=False):
    """The clock of the capturing host was set by so much, after a packet of that time; forward is positive."""

    at_ns: int
    by_ns: int


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    """Handshakes with one server that led to no connection.

    `refused` got RST, `unanswered` got nothing; `unfinished` got a SYN-ACK, after which the client sent nothing more.
    `tried` are all handshakes in the capture, also those that led to a connection; `clients` counts addresses, at most
    1,000.
    """

    server: SocketAddress
    tried: int = 0
    refused: int = 0
    unanswered: int = 0
    unfinished: int = 0
    clients: int = 0
    first_ns: int = 0
    last_ns: int = 0

    @property
    def failed(self) -> int:
        """All handshakes that led to no connection."""
        return self.refused + self.unanswered + self.unfinished


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One capture: what was read, what was left out, what it lost by its own account.

    `name` is the file as the user gave it, or the interface. `packets` were read, of these `tcp` judged; `unknown_link`
    had an unsupported link layer, `cut` lacked their headers, `fragments` are IP fragments behind the first.
    `kernel_drops` is the number of packets that the capturing host reports as lost, None if it reports none.
    `connections_left_out` had less evidence than those that are listed. `not_compared`: packets that were not compared
    with those of other captures, as too many came before. `problem`: why reading ended early. `snaplen`: 0 unknown.
    `files`: how many files of a ring it was read from. `damaged_times`: packets without a usable time. `attempts` are
    handshakes that led to no connection. Times behind `clock_steps` are those of a clock that was not set.
    """

    name: str
    format: str = ""
    links: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    snaplen: int = 0
    packets: int = 0
    tcp: int = 0
    bytes: int = 0
    unknown_link: int = 0
    cut: int = 0
    fragments: int = 0
    tunnelled: int = 0
    damaged_times: int = 0
    clock_steps: tuple[CaptureClockStep, ...] = ()
    files: int = 1
    first_ns: int | None = None
    last_ns: int | None = None
    kernel_drops: int | None = None
    connections: int = 0
    connections_left_out: int = 0
    not_compared: int = 0
    attempts: tuple[Attempts, ...] = ()
    problem: str = ""


class PathDelay(msgspec.Struct, frozen=True, kw_only=True):
    """One direction between two captures, packet by packet: exact, no guess.

    `by_bytes`: packets were cut or joined on the way (TSO, GRO), so bytes were compared, and figures are in packets of
    the network's size. `sent` packets were seen where they came from, in the time both captures cover. `lost` never
    came, `duplicated` came more than once, `reordered` came after later ones. `delay_above_least_ns` is what delay
    varied by.
    """

    sent: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    lost_bytes: int = 0
    by_bytes: bool = False
    delay_above_least_ns: Quantiles = Quantiles()


class PairedConnection(msgspec.Struct, frozen=True, kw_only=True):
    """One connection in two captures: `near` is the index of the capture nearer to the client.

    The clock of the far capture is ahead of that of the near one by `clock_low_ns` to `clock_high_ns`; None: only
    packets of one direction were captured. `least_round_trip_ns` is the network between the two, both ways.
    `far_client` and `far_server` are the addresses in the far capture: others if NAT is on the path.
    """

    client: SocketAddress
    server: SocketAddress
    far_client: SocketAddress
    far_server: SocketAddress
    near: int
    far: int
    to_server: PathDelay
    to_client: PathDelay
    clock_low_ns: int | None = None
    clock_high_ns: int | None = None
    least_round_trip_ns: int | None = None


class WhyUnmatched(StrEnum):
    """Why two captures share no connection packet by packet.

    `OTHER_TIME`: they were taken at different times, by their clocks. `OTHER_NUMBERS`: the same addresses and ports,
    but other sequence numbers: a proxy, or a firewall that renumbers. `ONE_SIDED`: one of them has one direction
    only.
    """

    OTHER_TIME = "other_time"
    OTHER_NUMBERS = "other_numbers"
    ONE_SIDED = "one_sided"
    NOTHING_COMMON = "nothing_common"


class UnmatchedCaptures(msgspec.Struct, frozen=True):
    """Two captures, by index, in which no connection is the same."""

    one: int
    other: int
    why: WhyUnmatched


class PacketEvidence(Evidence, frozen=True, kw_only=True):
    """All captures of a run, their connections in order of their start, and pairs of the same connection.

    `nats` has the NATS traffic of each capture; `unmatched` are captures without a common connection.
    """

    source = EvidenceSource.PACKETS
    unavailable = not_offered(
        "no packet capture was given", "give captures of the connections in question: --pcap FILE", kind="pcap"
    )
    endpoints = (Endpoint.PACKETS,)

    captures: tuple[Capture, ...] = ()
    connections: tuple[TcpConnection, ...] = ()
    pairs: tuple[PairedConnection, ...] = ()
    unmatched: tuple[UnmatchedCaptures, ...] = ()
    nats: tuple[NatsTraffic, ...] = ()
