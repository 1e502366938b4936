"""Connections as checks use them: TCP and NATS of one together, and how far their capture can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from jsdoctor.checks.registry import Predicate, check
from jsdoctor.model.finding import Confidence, Finding, Observation, Outcome, Severity, Subject, unknown
from jsdoctor.model.nats_traffic import Content, NatsConnection, NatsPeers
from jsdoctor.model.packets import Capture, Flow, OrderProof, PacketEvidence, PairedConnection, PathDelay, TcpConnection
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share

CONFIDENCE = {
    OrderProof.IP_ID: Confidence.HIGH,
    OrderProof.TIMESTAMPS: Confidence.HIGH,
    OrderProof.TIME: Confidence.LOW,
}
"""Measured: right for 99.7 %, 97 % and 72 % of the segments whose true order was known."""

ORDER_IS_SAFE = "TCP puts the bytes in order again, so no message of a connection changes its place"


def percent(ratio: float) -> str:
    """Such as `0.12 %`, `3.4 %`, `12 %`."""
    value = ratio * 100
    return f"{value:.2g} %" if value < 10 else f"{value:.0f} %"


def observed(view: View, **values: object) -> tuple[Observation, ...]:
    """Figures of a connection as evidence: from which capture, under which name."""
    return tuple(
        Observation(source=view.capture.name, path=f"{view.tcp.subject.name}: {name.replace('_', ' ')}", value=value)
        for name, value in values.items()
    )


HOW_TO_CAPTURE = (
    "capture on one interface, not on `any`, with a large buffer:"
    " tcpdump -i IFACE --immediate-mode -B 65536 -s 256 -w FILE 'tcp port 4222'"
)
_DOUBTFUL_LOSS = 0.01
"""If the capture itself lost this share of what was sent, it does not prove loss in the network."""
_USELESS_LOSS = 0.1
"""If it lost this share, the network is not judged at all (Zeek's too_much_loss)."""


def missed(flow: Flow) -> Share:
    """Bytes that the receiver got and the capture did not, of all bytes."""
    return Share(flow.missed_bytes, flow.distinct_bytes + flow.missed_bytes)


def dropped(capture: Capture) -> Share:
    """Packets that the capturing host says it lost, of all packets."""
    drops = capture.kernel_drops or 0
    return Share(drops, capture.packets + drops)


def why_network_unjudged(view: View) -> str:
    """Why the network cannot be judged from this capture; empty: it can."""
    if view.tcp.captured_twice:
        return (
            "its packets were captured twice, so that copies cannot be distinguished from packets that were sent again"
        )
    lost = max(dropped(view.capture).ratio, *(missed(flow).ratio for flow in view.tcp.flows))
    if lost >= _USELESS_LOSS:
        return f"the capture itself lost {lost:.0%} of it"
    return ""


def proves_no_loss(view: View, flow: Flow) -> bool:
    """Whether the capture itself lost so much that it does not prove loss in the network."""
    return max(dropped(view.capture).ratio, missed(flow).ratio) >= _DOUBTFUL_LOSS


def lower_bound(view: View, flow: Flow) -> str:
    """A remark for figures of a capture that is not whole; empty otherwise."""
    if missed(flow).events or dropped(view.capture).events:
        return "; the capture is not whole, so this is a lower bound"
    return ""


PORTS = frozenset((4222, 5222, 6222, 7222, 7422, 8443))
"""Where NATS usually listens: clients, gateways and routes, leaf nodes, WebSocket."""
_WORST_FIRST = (Outcome.FAIL, Outcome.NOT_EVALUATED, Outcome.PASS)


class View(NamedTuple):
    """One connection in one capture. `pair` is there when two captures show it."""

    capture: Capture
    tcp: TcpConnection
    nats: NatsConnection
    pair: PairedConnection | None = None

    @property
    def subject(self) -> Subject:
        """The connection, named client first."""
        if self.nats.swapped:
            return Subject(kind="flow", name=f"{self.tcp.server} -> {self.tcp.client}")
        return self.tcp.subject

    @property
    def directions(self) -> tuple[DirectionView, DirectionView]:
        """From the client to the server, and back."""
        to_server, to_client = self.tcp.to_server, self.tcp.to_client
        path_to_server, path_to_client = (self.pair.to_server, self.pair.to_client) if self.pair else (None, None)
        client, server = self.ends
        if self.nats.swapped:
            to_server, to_client, path_to_server, path_to_client = to_client, to_server, path_to_client, path_to_server
        return DirectionView(client, server, to_server, path_to_server), DirectionView(
            server, client, to_client, path_to_client
        )

    @property
    def ends(self) -> tuple[str, str]:
        """The two sides in words."""
        if self.nats.link is NatsPeers.CLIENT:
            return "the client", "the server"
        return str(self.tcp.client), str(self.tcp.server)

    @property
    def who(self) -> str:
        """The client by its name and library, in brackets, or nothing."""
        return f" ({self.nats.who})" if self.nats.who else ""


class DirectionView(NamedTuple):
    """One direction. `path` is exact, from two captures."""

    sender: str
    receiver: str
    flow: Flow
    path: PathDelay | None


def views(packets: PacketEvidence) -> Iterator[View]:
    """Every connection that uses NATS, or that is unreadable and uses a port of NATS."""
    talks = {(reported.capture, talk.number): talk for reported in packets.nats for talk in reported.connections}
    pairs = {(pair.near, pair.client, pair.server): pair for pair in packets.pairs}
    pairs |= {(pair.far, pair.far_client, pair.far_server): pair for pair in packets.pairs}
    for tcp in packets.connections:
        talk = talks.get((tcp.capture, tcp.number)) or NatsConnection(number=tcp.number)
        if _may_be_nats(tcp, talk):
            pair = pairs.get((tcp.capture, tcp.client, tcp.server))
            yield View(packets.captures[tcp.capture], tcp, talk, pair)


def _may_be_nats(tcp: TcpConnection, talk: NatsConnection) -> bool:
    if talk.content in (Content.NATS, Content.WEBSOCKET, Content.S2) or talk.server:
        return True
    return talk.content is not Content.OTHER and bool(PORTS & {tcp.client.port, tcp.server.port})


def unreadable(view: View) -> bool:
    """Whether the capture may lack NATS traffic of this connection."""
    return view.nats.content is not Content.NATS or view.nats.resyncs > 0


def connection_check(
    name: str, severity: Severity = Severity.WARNING
) -> Callable[[Callable[[View, Params], Finding | None]], Predicate]:
    """Register a function that judges one connection as a check of all connections; `severity`: see `most_severe`."""

    def register(judge: Callable[[View, Params], Finding | None]) -> Predicate:
        def predicate(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
            judged = ((view, judge(view, params)) for view in views(packets))
            yield from most_severe((_seen_whole(view, finding) for view, finding in judged if finding), severity)

        predicate.__module__ = judge.__module__
        return check(name)(predicate)

    return register


def _seen_whole(view: View, finding: Finding) -> Finding:
    """The finding; a connection of which one direction was captured has passed nothing."""
    if finding.outcome is not Outcome.PASS or not view.tcp.one_sided:
        return finding
    return unknown(view.subject, "only one direction was captured", f"both directions are needed: {HOW_TO_CAPTURE}")


def most_severe(findings: Iterable[Finding], severity: Severity) -> Iterator[Finding]:
    """One finding for each subject, the most severe: captures from both ends show a connection twice.

    `severity` is that of findings without their own.
    """
    worst: dict[Subject, Finding] = {}
    for finding in findings:
        known = worst.get(finding.subject)
        if known is None or _severity_rank(finding, severity) > _severity_rank(known, severity):
            worst[finding.subject] = finding
    yield from worst.values()


def _severity_rank(finding: Finding, severity: Severity) -> tuple[int, int]:
    return -_WORST_FIRST.index(finding.outcome), (finding.severity or severity).rank


class _Lasting(Protocol):
    @property
    def first_ns(self) -> int: ...

    @property
    def last_ns(self) -> int: ...


def period(*things: _Lasting) -> tuple[datetime, datetime]:
    """When the first of them began and the last one ended."""
    return moment(min(thing.first_ns for thing in things)), moment(max(thing.last_ns for thing in things))


def moment(at_ns: int) -> datetime:
    """A time of a capture."""
    return datetime.fromtimestamp(at_ns / 1e9, UTC)
