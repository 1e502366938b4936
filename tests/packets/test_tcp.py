"""Figures of single connections, made packet by packet: what each of them counts, and what it does not."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from jsdoctor.model.packets import Label, Reordering, Retransmission, TcpConnection
from jsdoctor.parse.packets.segment import ACK, FIN, RST, SYN
from jsdoctor.parse.packets.tcp import connections as table
from tests.packets.frames import MILLISECOND, Packet, ethernet_pcap, handshake, pcap
from tests.packets.reading import Bytes, Noted, analyze

SECOND = 1000 * MILLISECOND


def connection_of(packets: list[Packet], noted: Noted | None = None, observer: Bytes | None = None) -> TcpConnection:
    (connection,) = analyze(ethernet_pcap(packets), noted=noted, observer=observer).connections
    return connection


def sent(number: int, at: int, *, size: int = 100, ip_id: int | None = None) -> Packet:
    """The segment of that number of a stream of equal segments, in order of its number unless `ip_id` is given."""
    marker = number + 10 if ip_id is None else ip_id
    return Packet(at, 1001 + number * size, b"x" * size, ack=9001, ip_id=marker, ts_val=marker)


def acked(number: int, at: int, *, size: int = 100, sack: tuple[int, int] | None = None, window: int = 512) -> Packet:
    """The server has all segments below that number, and perhaps those of `sack`."""
    options = b""
    if sack is not None:
        options = b"\x01\x01\x05\x0a" + struct.pack(">II", 1001 + sack[0] * size, 1001 + sack[1] * size)
    return Packet(
        at,
        9001,
        b"",
        ack=1001 + number * size,
        flags=ACK,
        to_server=False,
        window=window,
        options=options,
        ts_val=at // MILLISECOND,
    )


def warm(count: int = 20) -> list[Packet]:
    """A handshake and so many segments in order, 1 ms apart, each acknowledged: ids and timestamps are known then."""
    packets = handshake()
    for number in range(count):
        packets += [sent(number, (2 + number) * MILLISECOND), acked(number + 1, (2 + number) * MILLISECOND + 1000)]
    return packets


def test_a_quiet_connection_has_nothing_to_report() -> None:
    connection = connection_of(warm())
    flow = connection.to_server
    assert (flow.segments, flow.distinct_segments, flow.bytes) == (20, 20, 2000)
    assert (connection.closed, connection.midstream, connection.one_sided) == ("", False, False)
    assert flow.ack_rtt_ns.count == 20
    assert flow.ack_rtt_ns.largest == 1000
    assert (flow.reordering, flow.retransmission, flow.events) == (Reordering(), Retransmission(), ())


def test_reordering_has_extent_lateness_and_needs_three() -> None:
    base = 30 * MILLISECOND
    packets = [*warm(), *(sent(number, base + number * 10_000) for number in (21, 22, 23, 20, 24))]
    packets[-2:] = [sent(20, base + MILLISECOND), sent(24, base + 2 * MILLISECOND)]
    flow = connection_of(packets).to_server
    assert (flow.reordering.segments, flow.reordering.three_reordered) == (1, 1)
    assert flow.reordering.extent.largest == 3
    assert flow.reordering.late_ns.largest == MILLISECOND - 210_000
    assert flow.reordering.free_run.largest == 23
    assert flow.retransmission.segments == 0
    two = [*warm(), *(sent(number, base + position) for position, number in enumerate((21, 22, 20)))]
    assert connection_of(two).to_server.reordering.three_reordered == 0


def test_lost_upstream_and_sent_again_fast() -> None:
    base = 30 * MILLISECOND
    packets = [*warm(), sent(21, base)]
    packets += [acked(20, base + 1000 * n, sack=(21, 22)) for n in range(1, 4)]
    packets += [sent(20, base + 5 * MILLISECOND, ip_id=40), acked(22, base + 6 * MILLISECOND)]
    noted = Noted()
    connection = connection_of(packets, noted)
    again = connection.to_server.retransmission
    assert list(noted.all.values()) == [Label.LOST_UPSTREAM]
    assert (again.segments, again.upstream, again.fast, again.timeout, again.needless) == (1, 1, 1, 0, 0)
    assert again.longest_wait_ns == 5 * MILLISECOND
    assert connection.to_client.sacks == 3
    assert connection.to_server.reordering.downstream == 0


def test_a_chain_of_timeouts_and_its_wait() -> None:
    base = 30 * MILLISECOND
    packets = [*warm(), sent(20, base)]
    for number, after in enumerate((206, 620, 1450)):
        packets.append(sent(20, base + after * MILLISECOND, ip_id=50 + number))
    packets.append(acked(21, base + 1451 * MILLISECOND))
    flow = connection_of(packets).to_server
    again = flow.retransmission
    assert (again.segments, again.downstream, again.timeout, again.longest_chain) == (3, 3, 3, 3)
    assert flow.ack_rtt_ns.largest == 1000, "which copy the last ack is for cannot be known"
    assert again.longest_wait_ns == again.waited_ns == 1450 * MILLISECOND


def test_needless_by_ack_and_by_dsack() -> None:
    base = 30 * MILLISECOND
    by_ack = [*warm(), sent(19, base, ip_id=60)]
    assert connection_of(by_ack).to_server.retransmission.needless == 1
    by_dsack = [
        *warm(),
        sent(20, base),
        sent(20, base + 250 * MILLISECOND, ip_id=60),
        acked(21, base + SECOND, sack=(20, 21)),
    ]
    connection = connection_of(by_dsack)
    assert connection.to_server.retransmission.needless == 1
    assert connection.to_client.dsacks == 1


def test_a_timeout_in_vain_is_no_wait() -> None:
    """The receiver had it, and says so; the other segment that was sent again was lost indeed."""
    base = 30 * MILLISECOND
    vain = [*warm(), sent(20, base), sent(20, base + 250 * MILLISECOND, ip_id=60)]
    dsack = acked(21, base + 260 * MILLISECOND, sack=(20, 21))
    lost = [sent(21, base + 300 * MILLISECOND), sent(21, base + 305 * MILLISECOND, ip_id=61)]
    before = connection_of([*vain, *lost]).to_server.retransmission
    assert (before.timeout, before.needless_timeouts, before.longest_wait_ns) == (1, 0, 250 * MILLISECOND)
    again = connection_of([*vain, dsack, *lost]).to_server.retransmission
    assert (again.timeout, again.needless_timeouts, again.longest_wait_ns) == (1, 1, 5 * MILLISECOND)
    once_more = [*vain, dsack, sent(20, base + 500 * MILLISECOND, ip_id=62)]
    assert connection_of(once_more).to_server.retransmission.needless_timeouts == 2, "it was acknowledged before"


def test_a_gap_of_the_receiver_that_closes_by_itself_is_reordering_behind_here() -> None:
    base = 30 * MILLISECOND
    packets = [*warm(), *(sent(number, base + number) for number in (20, 21, 22))]
    packets += [acked(20, base + MILLISECOND, sack=(21, 22)), acked(23, base + 2 * MILLISECOND)]
    flow = connection_of(packets).to_server
    assert (flow.reordering.downstream, flow.reordering.segments) == (1, 0)
    resent = [*packets[:-1], sent(20, base + 1_500_000, ip_id=60), packets[-1]]
    assert connection_of(resent).to_server.reordering.downstream == 0
    early = [*packets[:-2], sent(20, base + 900_000, ip_id=60), *packets[-2:]]
    assert connection_of(early).to_server.reordering.downstream == 0


def test_an_ack_that_the_late_original_has_passed_on_the_way_is_no_gap() -> None:
    base = 30 * MILLISECOND
    packets = [
        *warm(),
        sent(21, base),
        sent(20, base + 1000),
        acked(20, base + 1100, sack=(21, 22)),
        acked(22, base + 1200),
    ]
    flow = connection_of(packets).to_server
    assert (flow.reordering.segments, flow.reordering.downstream) == (1, 0)


def test_ids_of_a_whole_host_are_not_compared_across_a_pause() -> None:
    base = 30 * MILLISECOND
    noted = Noted()
    later = replace(sent(20, base + 300 * MILLISECOND), ip_id=31 + 40_000, ts_val=331)
    flow = connection_of([*warm(), sent(21, base), later], noted).to_server
    assert list(noted.all.values()) == [Label.LOST_UPSTREAM]
    assert flow.retransmission.timeout == 1


def test_numbers_in_the_upper_half() -> None:
    isn, server_isn = 0xFFFF_FF00, 0xF000_0000
    packets = handshake(isn, server_isn)
    for number in range(6):
        at = (2 + number) * MILLISECOND
        packets.append(Packet(at, isn + 1 + number * 100, b"x" * 100, ack=server_isn + 1))
        answer = Packet(at + 1, server_isn + 1, ack=isn + 101 + number * 100, flags=ACK, to_server=False)
        packets.append(answer)
    connection = connection_of(packets)
    assert connection.handshake_ns is not None
    assert connection.to_server.ack_rtt_ns.count == 6
    assert connection.to_server.distinct_bytes == 600


def test_copies_at_one_place_are_recognised_by_their_hops() -> None:
    frames: list[tuple[int, bytes]] = []
    for packet in warm():
        frame = bytearray(packet.ethernet())
        frames.append((packet.at, bytes(frame)))
        frame[22] -= 1  # one hop later
        frames.append((packet.at + 200, bytes(frame)))
    (connection,) = analyze(pcap(frames)).connections
    assert connection.captured_twice
    assert connection.to_server.duplicates == connection.to_server.duplicates_of_other_hop == 20
    assert connection.to_server.retransmission.segments == 0
    assert connection.to_client.duplicate_acks == 0


def test_some_copies_are_the_network() -> None:
    packets = warm()
    packets.insert(8, replace(packets[7], at=packets[7].at + 300))
    connection = connection_of(packets)
    assert (connection.to_server.duplicates + connection.to_client.duplicate_acks, connection.captured_twice) == (
        1,
        False,
    )


def test_what_the_peer_acknowledges_was_not_lost() -> None:
    base = 30 * MILLISECOND
    observer = Bytes()
    packets = [
        *warm(),
        sent(22, base),
        acked(23, base + MILLISECOND),
        sent(23, base + SECOND),
        acked(24, base + 2 * SECOND),
    ]
    packets += [acked(26, base + 3 * SECOND), sent(26, base + 4 * SECOND), acked(27, base + 5 * SECOND)]
    flow = connection_of(packets, observer=observer).to_server
    assert flow.missed_bytes == 400
    assert (flow.unfilled_bytes, flow.retransmission.segments) == (0, 0)
    assert observer.lost_spans == [("to_server", 2000, 2200), ("to_server", 2400, 2600)]


def test_an_ack_that_was_captured_before_its_data_is_no_loss() -> None:
    base = 30 * MILLISECOND
    noted = Noted()
    packets = [*warm(), acked(21, base), sent(20, base + 20_000), sent(21, base + SECOND), acked(22, base + SECOND + 1)]
    flow = connection_of(packets, noted).to_server
    assert (flow.missed_bytes, noted.all, flow.distinct_segments) == (0, {}, 22)


def test_a_closed_window() -> None:
    base = 30 * MILLISECOND
    packets = [*warm(), sent(20, base), acked(20, base + 1, window=0), sent(20, base + SECOND, ip_id=60)]
    packets += [
        acked(20, base + SECOND + 1, window=0),
        acked(20, base + 3 * SECOND, window=9),
        acked(21, base + 4 * SECOND),
    ]
    connection = connection_of(packets)
    assert (connection.to_client.zero_windows, connection.to_client.duplicate_acks) == (1, 0)
    assert connection.to_client.zero_window_ns == 3 * SECOND - 1
    assert (connection.to_server.into_zero_window, connection.to_server.retransmission.segments) == (1, 0)


def test_keep_alives_are_not_sent_again() -> None:
    probe = replace(sent(20, SECOND), seq=1000 + 2000, payload=b"")
    with_a_byte = replace(probe, at=2 * SECOND, payload=b"\x00")
    flow = connection_of([*warm(), probe, with_a_byte]).to_server
    assert (flow.keep_alives, flow.retransmission.segments, flow.segments) == (2, 0, 20)


def test_ends_and_beginnings() -> None:
    syn, answer, third = handshake()
    late = [
        syn,
        replace(syn, at=SECOND, ip_id=5),
        replace(answer, at=SECOND + MILLISECOND),
        replace(third, at=SECOND + MILLISECOND),
    ]
    connection = connection_of(late)
    assert connection.to_server.retransmission.syn == 1
    assert connection.handshake_ns is None, "nobody knows which SYN was answered"
    fin = Packet(SECOND, 3001, b"", ack=9001, flags=FIN | ACK)
    back = Packet(SECOND + 1, 9001, b"", ack=3002, flags=FIN | ACK, to_server=False)
    last = Packet(SECOND + 2, 3002, b"", ack=9002, flags=ACK)
    closed = connection_of([*warm(), fin, replace(fin, at=SECOND + 1, ip_id=99), back, last])
    assert closed.closed == "fin"
    assert closed.to_server.retransmission.fin == 1
    assert [flow.missed_bytes + flow.keep_alives for flow in closed.flows] == [0, 0]
    broken = connection_of([*warm(), replace(fin, flags=RST)])
    assert (broken.closed, broken.to_server.resets) == ("reset", 1)


def test_a_lost_segment_before_fin_is_found() -> None:
    base = 30 * MILLISECOND
    fin = Packet(base, 1001 + 2100, b"", ack=9001, flags=FIN | ACK, ip_id=31, ts_val=31)
    noted = Noted()
    packets = [*warm(), fin, sent(20, base + 5 * MILLISECOND, ip_id=32), acked(21, base + 6 * MILLISECOND)]
    packets[-1] = replace(packets[-1], ack=1001 + 2101)
    connection = connection_of(packets, noted)
    assert list(noted.all.values()) == [Label.LOST_UPSTREAM]
    assert connection.to_server.missed_bytes == 0


def test_a_port_that_is_used_again_is_another_connection() -> None:
    again = [replace(packet, at=packet.at + SECOND) for packet in handshake(isn=700_000, server_isn=3)]
    observer = Bytes()
    analyzed = analyze(ethernet_pcap([*warm(), *again]), observer=observer)
    assert [connection.number for connection in analyzed.connections] == [1, 2]
    assert (observer.opened_connections, observer.closed_connections) == ([1, 2], [1, 2])


def test_a_connection_met_midway() -> None:
    observer = Bytes()
    connection = connection_of([*warm()[23:], replace(sent(9, 40 * MILLISECOND), ip_id=19)], observer=observer)
    assert connection.midstream
    assert str(connection.server) == "192.0.2.2:4222"
    assert connection.handshake_ns is None
    assert min(observer.content[1, "to_server"]) <= 0


def test_one_side_only() -> None:
    connection = connection_of([packet for packet in warm() if packet.to_server])
    assert connection.one_sided
    assert connection.to_server.missed_bytes == 0
    assert connection.to_client.packets == 0


def test_data_on_syn() -> None:
    syn, answer, third = handshake()
    observer = Bytes()
    packets = [replace(syn, payload=b"CONNECT"), replace(answer, ack=1008), replace(third, seq=1008)]
    connection = connection_of([*packets, Packet(9 * MILLISECOND, 1008, b" {}\r\n", ack=9001)], observer=observer)
    assert observer.text(1, "to_server") == b"CONNECT {}\r\n"
    assert (connection.to_server.missed_bytes, connection.to_server.packets) == (0, 3)


def test_marks_of_congestion_are_counted() -> None:
    frames = [(packet.at, packet.ethernet()) for packet in warm()]
    marked = [(at, frame[:15] + b"\x03" + frame[16:]) for at, frame in frames]
    assert analyze(pcap(marked)).connections[0].to_server.congestion_marks == 22


def test_what_is_over_is_removed_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jsdoctor.parse.packets.analysis._FORGET_EVERY", 10)
    monkeypatch.setattr(table, "MAX_FOLLOWED", 4)
    packets = []
    for number in range(12):
        start = number * 100 * SECOND
        packets += handshake(like=Packet(0, 0, client_port=50_000 + number), at=start)
        packets.append(Packet(start + SECOND, 1001, b"", flags=RST, client_port=50_000 + number))
    observer = Bytes()
    content = ethernet_pcap(packets)
    analyzed = analyze(content, pieces=range(400, len(content), 400), observer=observer)
    assert len(analyzed.connections) == analyzed.capture.connections == 12
    assert observer.closed_connections == list(range(1, 13))


def test_the_connections_with_most_to_report_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_REPORTED", 2)
    packets: list[Packet] = []
    for number in range(5):
        odd = [sent(19, 90 * MILLISECOND + n, ip_id=60 + n) for n in range(number)]
        packets += [replace(packet, client_port=50_000 + number) for packet in [*warm(), *odd]]
    analyzed = analyze(ethernet_pcap(packets))
    assert sorted(connection.client.port for connection in analyzed.connections) == [50_003, 50_004]
    assert (analyzed.capture.connections, analyzed.capture.connections_left_out) == (5, 3)


def test_flags_of_no_connection_open_none_twice() -> None:
    first, answer, third = handshake()
    late_syn = [answer, first, third]
    assert len(analyze(ethernet_pcap(late_syn)).connections) == 1
    assert first.flags == SYN
