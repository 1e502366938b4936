"""A clock of the capturing host that is set while it captures: found at whichever packet it was set."""

import gzip
import struct
from dataclasses import replace

import pytest

from jsdoctor.model.packets import Capture
from tests.packets.frames import MILLISECOND, Packet, ethernet_pcap, handshake
from tests.packets.mutations import Records
from tests.packets.reading import analyze
from tests.support.packet_cases import capture_path

SECOND = 1000 * MILLISECOND


def stepped(name: str, first: int, by: int) -> Capture:
    """What is read of that capture when the clock was set by so many seconds before packet `first`."""
    records = Records.of(gzip.decompress(capture_path(name).read_bytes()), most=1000)
    for packet in records.packets[first:]:
        struct.pack_into("<I", packet, 0, int.from_bytes(packet[:4], "little") + by)
    return analyze(records.content()).capture


@pytest.mark.parametrize("by", [90, -90, 5])
@pytest.mark.parametrize("first", [77, 146, 284, 362, 461, 485])
def test_a_step_is_found_though_the_next_packet_is_late_or_of_a_silent_connection(first: int, by: int) -> None:
    (step,) = stepped("lab-mixed.server", first, by).clock_steps
    assert abs(step.by_ns - by * SECOND) < SECOND


def test_a_step_before_a_new_connection_is_found() -> None:
    """Of its first packets nobody knows how old they are; the next one of a known connection tells."""
    known = [replace(packet, ts_val=1000 + packet.at // MILLISECOND) for packet in handshake()]
    new = [replace(packet, client_port=41_000, ts_val=7) for packet in handshake(at=90 * SECOND)]
    ping = [Packet(10 * MILLISECOND, 1001, b"PING\r\n", ack=9001, ts_val=1010)]
    later = [Packet(90 * SECOND + 20 * MILLISECOND, 1007, b"PING\r\n", ack=9001, ts_val=1020)]
    analyzed = analyze(ethernet_pcap([*known, *ping, *new, *later]))
    (step,) = analyzed.capture.clock_steps
    assert abs(step.by_ns - 90 * SECOND) < SECOND
    assert (
        analyzed.capture.tcp
        == sum(flow.packets for connection in analyzed.connections for flow in connection.flows)
        == 8
    )
    assert all(connection.last_ns - connection.first_ns < SECOND for connection in analyzed.connections)


def test_silence_is_no_step() -> None:
    known = [replace(packet, ts_val=1000 + packet.at // MILLISECOND) for packet in handshake()]
    new = [replace(packet, client_port=41_000, ts_val=7) for packet in handshake(at=90 * SECOND)]
    later = [Packet(90 * SECOND + 20 * MILLISECOND, 1001, b"PING\r\n", ack=9001, ts_val=91_020)]
    for packets in ([*known, *new, *later], [*known, *new]):
        analyzed = analyze(ethernet_pcap(packets))
        assert analyzed.capture.clock_steps == ()
        assert analyzed.capture.last_ns is not None
        assert analyzed.capture.last_ns - (analyzed.capture.first_ns or 0) >= 90 * SECOND
        assert sum(flow.packets for connection in analyzed.connections for flow in connection.flows) == len(packets)
