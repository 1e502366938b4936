"""Link layers, VLANs, IPv6 with extensions, and everything that has no TCP header to read."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jsdoctor.sources.packets.files import read_capture
from tests.packets.frames import MILLISECOND, Packet, handshake, pcap, pcapng_interface, pcapng_packet, pcapng_section
from tests.packets.reading import Bytes, analyze

SESSION = [
    *handshake(),
    Packet(2 * MILLISECOND, 1001, b"PING\r\n", ack=9001, ip_id=7, ts_val=5),
    Packet(3 * MILLISECOND, 9001, b"PONG\r\n" + b"+" * 60, ack=1007, to_server=False, ip_id=9, ts_val=6),
]
Frame = Callable[[Packet], bytes]


def sll2(packet: Packet, interface: int = 3) -> bytes:
    return b"\x08\x00\x00\x00" + interface.to_bytes(4, "big") + b"\x00\x01\x04\x06" + b"\x00" * 8 + packet.ip()


LINKS: dict[str, tuple[int, Frame]] = {
    "Ethernet": (1, Packet.ethernet),
    "VLAN": (1, lambda packet: packet.ethernet(b"\x81\x00\x00\x2a")),
    "QinQ": (1, lambda packet: packet.ethernet(b"\x88\xa8\x00\x07\x81\x00\x00\x2a")),
    "MPLS": (1, lambda packet: b"\x00" * 12 + b"\x88\x47" + b"\x00\x01\x00\x40\x00\x02\x01\x40" + packet.ip()),
    "PPPoE": (1, lambda packet: b"\x00" * 12 + b"\x88\x64" + b"\x11\x00\x00\x01\x00\x40\x00\x21" + packet.ip()),
    "Linux cooked v1": (113, lambda packet: b"\x00" * 14 + b"\x08\x00" + packet.ip()),
    "Linux cooked v2": (276, sll2),
    "NULL": (0, lambda packet: b"\x02\x00\x00\x00" + packet.ip()),
    "LOOP": (108, lambda packet: b"\x00\x00\x00\x02" + packet.ip()),
    "raw 12": (12, Packet.ip),
    "raw 101": (101, Packet.ip),
    "IPv4": (228, Packet.ip),
}


@pytest.mark.parametrize("name", LINKS)
def test_the_same_connection_on_every_link(name: str) -> None:
    link, frame = LINKS[name]
    observer = Bytes()
    analyzed = analyze(pcap(((packet.at, frame(packet)) for packet in SESSION), link=link), observer=observer)
    (connection,) = analyzed.connections
    plain = analyze(pcap((packet.at, packet.ethernet()) for packet in SESSION)).connections[0]
    assert replaced_place(connection) == replaced_place(plain)
    assert observer.text(1, "to_client") == SESSION[-1].payload


def replaced_place(connection: object) -> str:
    return str(connection).replace("VLAN 42", "").replace("VLAN 28714", "").replace("interface 3", "")


@pytest.mark.parametrize(
    ("first", "headers"),
    [
        (0, b"\x06\x00\x01\x04\x00\x00\x00\x00"),
        (60, b"\x2b\x00\x01\x04\x00\x00\x00\x00" + b"\x06\x01" + b"\x00" * 14),
        (44, b"\x06\x00\x00\x01\x00\x00\x00\x09"),
        (51, b"\x06\x04" + b"\x00" * 22),
    ],
)
def test_extension_headers_are_walked(first: int, headers: bytes) -> None:
    def extended(packet: Packet) -> bytes:
        plain = packet.ip()
        length = int.from_bytes(plain[4:6], "big") + len(headers)
        return plain[:4] + length.to_bytes(2, "big") + bytes([first]) + plain[7:40] + headers + plain[40:]

    session = [replace(packet, client="2001:db8::1", server="2001:db8::2") for packet in SESSION]
    (connection,) = analyze(pcap(((packet.at, extended(packet)) for packet in session), link=229)).connections
    assert (connection.to_server.bytes, connection.to_client.bytes) == (6, 66)


def test_padding_of_short_frames_is_no_payload() -> None:
    padded = ((packet.at, packet.ethernet().ljust(60, b"\x00")) for packet in SESSION)
    (connection,) = analyze(pcap(padded)).connections
    assert connection.to_server.bytes == 6


@pytest.mark.parametrize("snaplen", [54, 66, 70, 96])
def test_what_the_snaplen_cut_off_is_known_to_exist(snaplen: int) -> None:
    observer = Bytes()
    frames = [(packet.at, packet.ethernet()) for packet in SESSION]
    (connection,) = analyze(pcap(frames, snaplen=snaplen), observer=observer).connections
    assert (connection.to_server.bytes, connection.to_client.bytes) == (6, 66)
    assert observer.text(1, "to_client") == SESSION[-1].payload[: max(snaplen - 66, 0)]


def test_what_has_no_tcp_header_is_counted() -> None:
    whole = SESSION[3].ethernet()
    second_fragment = whole[:20] + b"\x00\x10" + whole[22:]
    tunnel, udp = whole[:23] + b"\x2f" + whole[24:], whole[:23] + b"\x11" + whole[24:]
    frames = [
        whole,
        second_fragment,
        tunnel,
        udp,
        whole[:40],
        whole[:20],
        b"",
        b"\x00" * 80,
        whole[:12] + b"\x08\x06" + b"\x00" * 28,
    ]
    capture = analyze(pcap(enumerate(frames))).capture
    assert (capture.packets, capture.tcp) == (9, 1)
    assert (capture.fragments, capture.tunnelled, capture.cut, capture.unknown_link) == (1, 1, 3, 0)
    assert analyze(pcap(enumerate(frames), link=147)).capture.unknown_link == 9


def test_two_vlans_and_two_interfaces_are_two_places() -> None:
    tagged = [(packet.at + 1, packet.ethernet(b"\x81\x00\x00\x2a")) for packet in SESSION]
    plain = [(packet.at, packet.ethernet()) for packet in SESSION]
    (connection,) = analyze(pcap(sorted(plain + tagged))).connections
    assert (connection.copies, connection.to_server.duplicates) == (5, 0)
    content = pcapng_section() + pcapng_interface(name="a") + pcapng_interface(name="b")
    for at, frame in plain:
        content += pcapng_packet(at, frame) + pcapng_packet(at + 1000, frame, interface=1)
    (connection,) = analyze(content).connections
    assert (connection.copies, connection.to_server.duplicates) == (5, 0)


def test_foreign_link_layers_are_read_by_scapy(tmp_path: Path) -> None:
    pytest.importorskip("scapy")
    path = tmp_path / "ppp.pcap"
    path.write_bytes(pcap(((packet.at, b"\xff\x03\x00\x21" + packet.ip()) for packet in SESSION), link=9))
    analyzed = read_capture(path)
    (connection,) = analyzed.connections
    assert (connection.to_server.bytes, connection.to_client.bytes) == (6, 66)
    assert analyzed.capture.links == ("link type 9",)


def test_erf_is_read_by_scapy(tmp_path: Path) -> None:
    utils = pytest.importorskip("scapy.utils")
    ether = pytest.importorskip("scapy.layers.l2").Ether
    path = tmp_path / "card.erf"
    with utils.ERFEthernetWriter(str(path)) as writer:
        for packet in SESSION:
            frame = ether(packet.ethernet())
            frame.time = 1_790_000_000 + packet.at / 1e9
            writer.write(frame)
    (connection,) = read_capture(path).connections
    assert (connection.to_server.bytes, connection.to_client.bytes) == (6, 66)


def _udp(port: int, payload: bytes) -> bytes:
    head = struct.pack(">HHHH", 50_000, port, 8 + len(payload), 0)
    return _outer(17, head + payload)


def _outer(protocol: int, payload: bytes) -> bytes:
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 7, 0, 64, protocol, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    return b"\x02" * 12 + b"\x08\x00" + ip + payload


TUNNELS: dict[str, Callable[[Packet], bytes]] = {
    "VXLAN 42": lambda packet: _udp(4789, b"\x08\x00\x00\x00\x00\x00\x2a\x00" + packet.ethernet()),
    "VXLAN 1": lambda packet: _udp(8472, b"\x08\x00\x00\x00\x00\x00\x01\x00" + packet.ethernet()),
    "GENEVE 7": lambda packet: _udp(6081, b"\x01\x00\x65\x58\x00\x00\x07\x00" + b"\x00" * 4 + packet.ethernet()),
    "GRE": lambda packet: _outer(47, b"\x00\x00\x08\x00" + packet.ip()),
    "GRE 9": lambda packet: _outer(47, b"\x20\x00\x65\x58\x00\x00\x00\x09" + packet.ethernet()),
    "IP in IP": lambda packet: _outer(4, packet.ip()),
}


@pytest.mark.parametrize("name", TUNNELS)
def test_what_is_inside_a_tunnel_is_read(name: str) -> None:
    frame = TUNNELS[name]
    observer = Bytes()
    analyzed = analyze(pcap((packet.at, frame(packet)) for packet in SESSION), observer=observer)
    plain = analyze(pcap((packet.at, packet.ethernet()) for packet in SESSION)).connections[0]
    assert analyzed.connections[0].place == name
    assert analyzed.connections[0].flows == plain.flows


@pytest.mark.parametrize("name", TUNNELS)
def test_the_same_packets_inside_and_outside_of_a_tunnel_count_once(name: str) -> None:
    frame = TUNNELS[name]
    both = [
        (packet.at + late, made) for packet in SESSION for late, made in ((0, packet.ethernet()), (9, frame(packet)))
    ]
    (connection,) = analyze(pcap(both)).connections
    plain = analyze(pcap((packet.at, packet.ethernet()) for packet in SESSION)).connections[0]
    assert connection.flows == plain.flows
    assert (connection.copies, connection.places) == (len(SESSION), 2)
