"""Reordering of a connection that passes several interfaces of the capturing host: each interface judges by itself."""

import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from jsdoctor.model.packets import Reordering
from jsdoctor.packets.analysis import Analysis
from jsdoctor.packets.segment import ACK
from tests.packets.frames import MILLISECOND, Packet, handshake, pcap, pcapng_interface, pcapng_packet, pcapng_section
from tests.packets.reading import analyze

FULL, MANY = 1000, 120
COOKED_1, COOKED_2 = 113, 276
Seen = tuple[int, Packet]
"""At which interface: 1 is where the packets of the client come in, 2 is where they leave."""


def data(*, ids: bool = True) -> list[Packet]:
    """A handshake and many packets, one each millisecond."""
    segments = [
        Packet((10 + number) * MILLISECOND, 1001 + number * FULL, b"x" * FULL, ack=9001, ip_id=number + 1)
        for number in range(MANY)
    ]
    packets = [*handshake(), *segments]
    return [replace(packet, ip_id=packet.ip_id * ids, ts_val=1000 + packet.at // MILLISECOND) for packet in packets]


def acknowledged(packets: Sequence[Packet]) -> list[Packet]:
    """With the peer's acknowledgements, half a millisecond behind every second packet."""
    acks = [
        Packet(
            packet.at + MILLISECOND // 2, 9001, ack=packet.seq + FULL, flags=ACK, ts_val=packet.ts_val, to_server=False
        )
        for packet in packets[4::2]
    ]
    return sorted([*packets, *acks], key=lambda packet: packet.at)


def passed_on(packets: Sequence[Packet], late: Sequence[int] = (), *, within: int = 100_000) -> list[Seen]:
    """In at one interface and out at the other 100 µs later; these packets to the server take 4.5 ms instead."""
    seen: list[Seen] = []
    for packet in packets:
        number = (packet.seq - 1001) // FULL
        takes = 4_500_000 if packet.to_server and number in late and packet.payload else within
        ways = (1, 2) if packet.to_server else (2, 1)
        seen += [(ways[0], packet), (ways[1], replace(packet, at=packet.at + takes))]
    return sorted(seen, key=lambda seen_packet: seen_packet[1].at)


def cooked_1(interface: int, packet: Packet) -> bytes:
    """Linux cooked v1: whether the host sends the frame, not on which interface."""
    sent = packet.to_server == (interface == 2)
    return struct.pack(">HHH8sH", 4 if sent else 0, 1, 6, b"\x02" * 6 + b"\x00\x00", 0x0800) + packet.ip()


def cooked_2(interface: int, packet: Packet) -> bytes:
    sent = packet.to_server == (interface == 2)
    head = struct.pack(">HHIHBB8s", 0x0800, 0, interface, 1, 4 if sent else 0, 6, b"\x02" * 6 + b"\x00\x00")
    return head + packet.ip()


def content(form: str, seen: Sequence[Seen]) -> bytes:
    if form == "pcapng":
        parts = [pcapng_packet(packet.at, packet.ethernet(), interface=where - 1) for where, packet in seen]
        return b"".join([pcapng_section(), pcapng_interface(), pcapng_interface(), *parts])
    made, link = (cooked_1, COOKED_1) if form == "cooked v1" else (cooked_2, COOKED_2)
    return pcap([(packet.at, made(where, packet)) for where, packet in seen], link=link)


def reordering(form: str, seen: Sequence[Seen]) -> Reordering:
    (connection,) = analyze(content(form, seen)).connections
    assert connection.to_client.reordering == Reordering()
    assert not connection.to_server.retransmission.segments
    assert not connection.to_server.duplicates
    return connection.to_server.reordering


FORMS = {
    "cooked v2": ("interface 2", "interface 1"),
    "pcapng": ("interface 2 of the file", "interface 1 of the file"),
    "cooked v1": ("the way out of the host", ""),
}


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_a_host_that_changes_the_order_between_two_interfaces(form: str, ids: bool) -> None:
    late = range(20, 100, 10)
    seen_reordering = reordering(form, passed_on(acknowledged(data(ids=ids)), late))
    assert (seen_reordering.segments, seen_reordering.three_reordered, seen_reordering.packets) == (
        len(late),
        len(late),
        MANY,
    )
    assert (seen_reordering.place, seen_reordering.in_order_at) == FORMS[form]


@pytest.mark.parametrize("form", FORMS)
def test_a_host_that_keeps_the_order(form: str) -> None:
    assert reordering(form, passed_on(acknowledged(data()))) == Reordering()


@pytest.mark.parametrize("form", FORMS)
def test_hundreds_of_packets_wait_in_a_host_that_changes_their_numbers(form: str) -> None:
    """One every 50 µs, each for 40 ms: what leaves the host is not sent again, though it has another number of IP."""
    packets = [replace(packet, at=packet.at // 20) for packet in data()]
    for number in range(MANY, 1200):
        last = packets[-1]
        seq, ip_id = 1001 + number * FULL, number + 1
        packets.append(replace(last, at=last.at + 50_000, seq=seq, ip_id=ip_id, ts_val=1001 + number // 20))
    seen = passed_on(packets, within=40 * MILLISECOND)
    seen = [(where, packet if where == 1 else replace(packet, ip_id=0)) for where, packet in seen]
    assert reordering(form, seen) == Reordering()


@pytest.mark.parametrize("form", FORMS)
def test_thousands_of_packets_wait_in_a_fast_host(form: str) -> None:
    """One every 5 µs, each for 15 ms: without timestamps, nothing else tells that what leaves is not sent again."""
    packets = [replace(packet, ts_val=-1) for packet in handshake()]
    packets += [
        Packet(2 * MILLISECOND + 5_000 * number, 1001 + number * 100, b"x" * 100, ack=9001, ip_id=number + 1)
        for number in range(6000)
    ]
    assert reordering(form, passed_on(packets, within=15 * MILLISECOND)) == Reordering()


@pytest.mark.parametrize("form", ["cooked v2", "pcapng"])
def test_what_one_interface_missed_is_not_late_at_the_other(form: str) -> None:
    seen = [
        (where, packet if where == 1 else replace(packet, at=packet.at + 4 * MILLISECOND))
        for where, packet in passed_on(data())
    ]
    missed = {1001 + number * FULL for number in range(20, 100, 20)}
    kept = sorted(
        (
            seen_packet
            for seen_packet in seen
            if not (seen_packet[0] == 1 and seen_packet[1].seq in missed and seen_packet[1].payload)
        ),
        key=lambda seen_packet: seen_packet[1].at,
    )
    assert reordering(form, kept) == Reordering()


def test_reordering_before_both_interfaces_is_seen_at_both() -> None:
    late = {1001 + number * FULL for number in range(20, 100, 10)}
    before = [
        replace(packet, at=packet.at + 4_500_000) if packet.seq in late and packet.payload else packet
        for packet in data()
    ]
    before.sort(key=lambda packet: packet.at)
    for form in FORMS:
        seen_reordering = reordering(form, passed_on(before))
        assert seen_reordering.segments == len(late)
        assert seen_reordering.in_order_at == ""


def test_places_without_end_are_bounded() -> None:
    """A packet that comes through two hundred VLANs."""
    analysis = Analysis(0, "vlans")
    frames = [
        (packet.at + tag, packet.ethernet(struct.pack(">HH", 0x8100, tag)))
        for packet in data()[:20]
        for tag in range(1, 200)
    ]
    analysis.feed(pcap(frames))
    (connection,) = analysis.finish().connections
    assert connection.places == 199
    assert connection.to_server.reordering == Reordering()
