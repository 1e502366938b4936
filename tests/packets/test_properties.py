"""Whatever the order, the loss and the copies: labels and bytes are those of an oracle that keeps sets of bytes."""

from dataclasses import dataclass, replace
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jsdoctor.model.packets import Flow, Label, TcpConnection
from jsdoctor.packets.segment import ACK, SYN
from tests.packets.frames import MILLISECOND, Packet, ethernet_pcap, handshake, pcap
from tests.packets.reading import Bytes, Noted, analyze

_STREAM = bytes(index * 7 % 251 for index in range(4000))


@dataclass(frozen=True)
class Arrival:
    """A segment as it arrives: its place in the stream, and its number in the order of sending."""

    start: int
    end: int
    sent: int


@st.composite
def journeys(draw: st.DrawFn) -> list[Arrival]:
    """A stream cut into segments, some sent again, some copied, all of it shuffled a little, and some of it lost."""
    cuts = sorted(draw(st.sets(st.integers(1, 1999), min_size=12, max_size=40)))
    whole = [(left, right) for left, right in zip([0, *cuts], [*cuts, 2000], strict=True)]
    chance = Random(draw(st.integers(0, 2**32)))  # noqa: S311 - hypothesis gives the seed
    sent: list[Arrival] = []
    for left, right in whole:
        sent.append(Arrival(left, right, len(sent)))
        if chance.random() < 0.15 and sent:
            again = chance.choice(sent)
            sent.append(Arrival(again.start, again.end, len(sent)))
    arriving: list[tuple[float, Arrival]] = []
    for segment in sent:
        if chance.random() < 0.1 and segment.start:
            continue
        late = chance.uniform(1, 12) if chance.random() < 0.2 and segment.start else 0
        arriving.append((segment.sent + late, segment))
        if chance.random() < 0.1:
            arriving.append((segment.sent + late + chance.uniform(0, 3), segment))
    return [arrival for _, arrival in sorted(arriving, key=lambda pair: pair[0])]


def packets_of(journey: list[Arrival], isn: int, *, like: Packet | None = None, offset: int = 1000) -> list[Packet]:
    """The packets of a journey, one every ms; ids and timestamps tell the order of sending."""
    template = like or Packet(0, 0)
    first = [replace(packet, ip_id=1, ts_val=0) for packet in handshake(isn=isn, like=template)]
    first = [replace(packet, ip_id=packet.ip_id + (not packet.flags & SYN)) for packet in first]
    warm = [replace(template, at=2 * MILLISECOND + n, seq=isn + 1, flags=ACK, ip_id=3 + n, ts_val=1) for n in range(9)]
    return (
        first
        + warm
        + [
            replace(
                template,
                at=(5 + position) * MILLISECOND,
                seq=isn + 1 + arrival.start,
                payload=_STREAM[arrival.start : arrival.end],
                ack=9001,
                ip_id=20 + arrival.sent,
                ts_val=offset + arrival.sent,
            )
            for position, arrival in enumerate(journey)
        ]
    )


def expected(journey: list[Arrival]) -> dict[int, Label]:
    """By position: what each arrival is, from the set of bytes that were seen, and who had been sent before whom."""
    seen: set[int] = set()
    copies: set[int] = set()
    labels: dict[int, Label] = {}
    sent_before: dict[int, list[Arrival]] = {}
    for position, arrival in enumerate(journey):
        own = set(range(arrival.start, arrival.end))
        due = max(seen, default=-1) + 1
        if arrival.sent in copies:
            labels[position] = Label.DUPLICATE
        elif own <= seen:
            labels[position] = (
                Label.REORDERED_NEEDLESS if arrival.sent < _last(sent_before, arrival) else Label.SENT_AGAIN
            )
        elif arrival.start < due:
            opener = next(other for other in journey[:position] if other.start > arrival.start)
            labels[position] = Label.REORDERED if arrival.sent < opener.sent else Label.LOST_UPSTREAM
        copies.add(arrival.sent)
        seen |= own
        sent_before.setdefault(arrival.start, []).append(arrival)
    return labels


def _last(arrived: dict[int, list[Arrival]], arrival: Arrival) -> int:
    """The most recent arrival of the same bytes."""
    return arrived[arrival.start][-1].sent


@given(journeys(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_labels_and_bytes_are_those_of_the_oracle(journey: list[Arrival], isn: int) -> None:
    noted, observer = Noted(), Bytes()
    packets = packets_of(journey, isn)
    analyzed = analyze(ethernet_pcap(packets), noted=noted, observer=observer)
    (connection,) = analyzed.connections
    before = len(packets) - len(journey)
    assert {frame - before - 1: label for frame, label in noted.labels["to_server"].items()} == expected(journey)
    seen = {byte for arrival in journey for byte in range(arrival.start, arrival.end)}
    flow = connection.to_server
    assert flow.distinct_bytes >= len(seen)
    assert flow.bytes == sum(arrival.end - arrival.start for arrival in journey)
    assert flow.unfilled_bytes == len(set(range(max(seen) + 1)) - seen)
    content = observer.content[1, "to_server"]
    assert content == {byte: _STREAM[byte] for byte in seen}


@given(journeys(), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6000), max_size=12))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_pieces_and_numbers_change_nothing(journey: list[Arrival], isn: int, cuts: list[int]) -> None:
    content = ethernet_pcap(packets_of(journey, isn))
    plain = analyze(ethernet_pcap(packets_of(journey, 1000)))
    assert analyze(content, pieces=[min(cut, len(content)) for cut in cuts]) == plain
    on_ipv6 = packets_of(journey, isn, like=Packet(0, 0, client="2001:db8::1", server="2001:db8::2"))
    flow = analyze(ethernet_pcap(on_ipv6)).connections[0].to_server
    assert flow.distinct_segments == plain.connections[0].to_server.distinct_segments


@given(st.lists(journeys(), min_size=2, max_size=4), st.integers(0, 2**32))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_of_connections_changes_nothing(journeys_: list[list[Arrival]], seed: int) -> None:
    flows = [
        packets_of(journey, 5000 * number, like=Packet(0, 0, client_port=40_000 + number))
        for number, journey in enumerate(journeys_)
    ]
    one_by_one = [packet for flow in flows for packet in flow]
    chance = Random(seed)  # noqa: S311 - hypothesis gives the seed
    mixed, left = [], [list(flow) for flow in flows]
    while any(left):
        mixed.append(chance.choice([flow for flow in left if flow]).pop(0))
    assert _by_client(analyze(ethernet_pcap(one_by_one)).connections) == _by_client(
        analyze(ethernet_pcap(mixed)).connections
    )


@given(
    st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=90)), max_size=30),
    st.sampled_from((0, 1, 101, 113, 276)),
)
@settings(max_examples=300)
def test_no_frame_raises_anything(frames: list[tuple[int, bytes]], link: int) -> None:
    capture = analyze(pcap(frames, link=link)).capture
    assert capture.packets == len(frames)
    assert capture.tcp + capture.cut + capture.fragments + capture.tunnelled <= len(frames)


@given(
    st.lists(
        st.builds(
            Packet,
            at=st.integers(0, 10**10),
            seq=st.integers(0, 2**32 - 1),
            ack=st.integers(0, 2**32 - 1),
            payload=st.binary(max_size=20),
            flags=st.integers(0, 255),
            ip_id=st.integers(0, 65_535),
            ts_val=st.integers(-1, 2**32 - 1),
            to_server=st.booleans(),
            window=st.integers(0, 3),
            options=st.binary(max_size=24).map(lambda raw: raw + b"\x00" * (-len(raw) % 4)),
            client_port=st.integers(1, 3),
        ),
        max_size=60,
    )
)
@settings(max_examples=150)
def test_no_segment_raises_anything(packets: list[Packet]) -> None:
    analyzed = analyze(ethernet_pcap(packets), observer=Bytes())
    assert analyzed.capture.tcp == len(packets)
    for connection in analyzed.connections:
        for flow in connection.flows:
            assert min(_figures(flow)) >= 0


def _figures(flow: Flow) -> list[int]:
    parts = (flow, flow.reordering, flow.retransmission, flow.ack_rtt_ns, flow.reordering.extent)
    values = [getattr(part, name) for part in parts for name in part.__struct_fields__]
    return [value for value in values if isinstance(value, int)]


def _by_client(connections: tuple[TcpConnection, ...]) -> dict[str, list[object]]:
    by_client: dict[str, list[object]] = {}
    for connection in connections:
        flows = [(flow, [event.label for event in flow.events]) for flow in connection.flows]
        plain = [(_figures(flow), labels) for flow, labels in flows]
        by_client.setdefault(str(connection.client), []).append(
            (plain, connection.handshake_ns, connection.first_ns, connection.last_ns, connection.closed)
        )
    return by_client
