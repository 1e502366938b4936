"""Capture files of every kind give the same packets, and damage is told instead of raised."""

import bz2
import gzip
import lzma
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from jsdoctor.model.packets import Capture, TcpConnection
from jsdoctor.sources.packets.files import read_capture, read_captures
from tests.packets.frames import (
    MILLISECOND,
    START_NS,
    Packet,
    ethernet_pcap,
    handshake,
    pcap,
    pcapng_block,
    pcapng_interface,
    pcapng_option,
    pcapng_packet,
    pcapng_section,
)
from tests.packets.reading import CAPTURES, Bytes, analyze

SESSION = [
    *handshake(),
    Packet(2 * MILLISECOND, 1001, b"PING\r\n", ack=9001),
    Packet(3 * MILLISECOND, 9001, b"PONG\r\n", ack=1007, to_server=False),
    Packet(4 * MILLISECOND, 1007, b"SUB a 1\r\n", ack=9007),
]
FRAMES = [(packet.at, packet.ethernet()) for packet in SESSION]


def in_pcapng(order: str, per_second: int, resolution: int | None) -> bytes:
    packets = [pcapng_packet(at, frame, order, per_second=per_second) for at, frame in FRAMES]
    return pcapng_section(order) + pcapng_interface(order=order, resolution=resolution) + b"".join(packets)


FORMATS: dict[str, Callable[[], bytes]] = {
    "pcap little micro": lambda: pcap(FRAMES, nanos=False),
    "pcap big micro": lambda: pcap(FRAMES, order=">", nanos=False),
    "pcap little nano": lambda: pcap(FRAMES),
    "pcap big nano": lambda: pcap(FRAMES, order=">"),
    "pcapng little": lambda: in_pcapng("<", 10**6, None),
    "pcapng big": lambda: in_pcapng(">", 10**6, None),
    "pcapng nanoseconds": lambda: in_pcapng("<", 10**9, 9),
    "pcapng powers of two": lambda: in_pcapng(">", 2**20, 0x80 | 20),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_same_packets(name: str) -> None:
    observer = Bytes()
    analyzed = analyze(FORMATS[name](), observer=observer)
    (connection,) = analyzed.connections
    assert (analyzed.capture.packets, analyzed.capture.tcp, analyzed.capture.problem) == (6, 6, "")
    assert (observer.text(1, "to_server"), observer.text(1, "to_client")) == (b"PING\r\nSUB a 1\r\n", b"PONG\r\n")
    assert abs(connection.first_ns - START_NS) < 1000
    assert abs(connection.last_ns - START_NS - 4 * MILLISECOND) < 1000
    assert connection.handshake_ns is not None
    assert abs(connection.handshake_ns - MILLISECOND) < 2000
    assert (observer.opened_connections, observer.closed_connections) == ([1], [1])


def test_drops_that_the_capture_admits_are_reported() -> None:
    drops = b"\x00" * 12 + pcapng_option(5, (7).to_bytes(8, "little")) + pcapng_option(7, (2).to_bytes(8, "little"))
    content = in_pcapng("<", 10**6, None) + pcapng_block(5, drops)
    assert analyze(content).capture.kernel_drops == 9
    assert analyze(in_pcapng("<", 10**6, None)).capture.kernel_drops is None


def test_packets_that_contradict_their_file_are_counted() -> None:
    at, frame = FRAMES[0]
    too_long = pcapng_block(6, pcapng_packet(at, frame)[8:20] + b"\xff\x00\x00\x00" * 2 + frame)
    content = in_pcapng("<", 10**6, None) + pcapng_packet(at, frame, interface=3) + too_long
    capture = analyze(content).capture
    assert (capture.packets, capture.cut, capture.problem) == (6, 2, "")


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_packed_files_are_unpacked(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"c.pcap.{suffix}"
    path.write_bytes(pack(ethernet_pcap(SESSION)))
    assert read_capture(path).connections == analyze(ethernet_pcap(SESSION)).connections
    path.write_bytes(pack(ethernet_pcap(SESSION) * 1)[:-9])
    assert "cut short" in read_capture(path).capture.problem


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "nothing in it"),
        (b"\xd4\xc3", "cut short"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "cut short"),
        (b"hello, I am a text file\n" * 9, "68 65 6c 6c: neither pcap nor pcapng"),
        (ethernet_pcap(SESSION)[:-3], "cut short: 76 bytes"),
        (ethernet_pcap(SESSION) + b"\x00" * 8 + b"\xff" * 40, "damaged at byte"),
        (pcapng_section()[:8] + b"\x01\x02\x03\x04" * 5, "unknown byte order"),
        (in_pcapng("<", 10**6, None) + b"\x06\x00\x00\x00\x03\x00\x00\x00" + b"\x00" * 40, "a block of 3 bytes cannot"),
    ],
)
def test_damage_is_reported_and_what_came_before_counts(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "odd.pcap"
    path.write_bytes(content)
    capture = read_capture(path).capture
    assert problem in capture.problem
    if content[4:8] == ethernet_pcap(SESSION)[4:8] and len(content) > 100:
        assert capture.packets >= 5


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    (capture,) = read_captures([tmp_path / "none.pcap"]).captures
    assert capture.problem == "cannot be read: No such file or directory"
    assert read_captures([tmp_path]).captures[0].problem.startswith("cannot be read: ")


@pytest.mark.parametrize(
    "name", ["nats-stale.client.pcap.gz", "nats-two-interfaces.pcapng.gz", "nats-errors.client.pcap.gz"]
)
def test_cut_at_every_97th_byte(name: str) -> None:
    """Whatever is left is judged, and the rest is told."""
    content = gzip.decompress((CAPTURES / name).read_bytes())
    whole = analyze(content).capture.packets
    counts = []
    for end in range(97, len(content), 97):
        capture = analyze(content[:end]).capture
        counts.append(capture.packets)
        assert capture.packets < whole
        assert not capture.problem or capture.problem.startswith("cut short: ")
    assert counts == sorted(counts)


def test_the_evidence_survives_json() -> None:
    evidence = read_captures([CAPTURES / "nats-reorder.server.pcap.gz", CAPTURES / "nats-reorder.client.pcap.gz"])
    again = msgspec.json.decode(msgspec.json.encode(evidence), type=type(evidence))
    assert again == evidence
    assert isinstance(again.captures[0], Capture)
    assert isinstance(again.connections[0], TcpConnection)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(pack(ethernet_pcap(SESSION)),))
    writer.start()
    evidence = read_capture(path)
    writer.join()
    assert evidence.connections == analyze(ethernet_pcap(SESSION)).connections
    assert evidence.capture.problem == ""


@pytest.mark.parametrize("order", ["<", ">"])
def test_records_with_interface_and_protocol_are_read(order: str) -> None:
    """The form that patched versions of libpcap and some monitoring agents write."""
    content = struct.pack(order + "IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65_535, 1)
    for packet in SESSION:
        frame = packet.ethernet()
        head = struct.pack(order + "IIIIIHBB", 1_790_000_000, packet.at // 1000, len(frame), len(frame), 2, 8, 4, 0)
        content += head + frame
    plain = analyze(pcap((packet.at, packet.ethernet()) for packet in SESSION))
    for cut in (0, 30, 47, 60, len(content) // 2):
        analyzed = analyze(content, pieces=(cut,))
        assert [connection.flows for connection in analyzed.connections] == [
            connection.flows for connection in plain.connections
        ]
        assert analyzed.capture.problem == ""
