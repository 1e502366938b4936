"""Figures of single connections, made packet by packet: what each of them counts, and what it does not."""

import struct
from dataclasses import replace

import pytest

from jsdoctor.model.packets import Label, TcpConnection
from jsdoctor.packets.segment import ACK, RST
from jsdoctor.packets.tcp import connections as table
from tests.packets.frames import MILLISECOND, Packet, ethernet_pcap, handshake
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


def test_ids_of_a_whole_host_are_not_compared_across_a_pause() -> None:
    base = 30 * MILLISECOND
    noted = Noted()
    later = replace(sent(20, base + 300 * MILLISECOND), ip_id=31 + 40_000, ts_val=331)
    flow = connection_of([*warm(), sent(21, base), later], noted).to_server
    assert list(noted.all.values()) == [Label.LOST_UPSTREAM]
    assert flow.retransmission.timeout == 1


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


def test_keep_alives_are_not_sent_again() -> None:
    probe = replace(sent(20, SECOND), seq=1000 + 2000, payload=b"")
    with_a_byte = replace(probe, at=2 * SECOND, payload=b"\x00")
    flow = connection_of([*warm(), probe, with_a_byte]).to_server
    assert (flow.keep_alives, flow.retransmission.segments, flow.segments) == (2, 0, 20)


def test_what_is_over_is_removed_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jsdoctor.packets.analysis._FORGET_EVERY", 10)
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
