"""Packets and capture files made by hand, for what no network can be made to do on purpose."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import ip_address

from jsdoctor.packets.segment import ACK, PSH, SYN

START_NS = 1_790_000_000_000_000_000
MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Packet:
    """One TCP packet. Times are ns after START_NS; ts_val -1: no timestamps; the direction is `to_server`."""

    at: int
    seq: int
    payload: bytes = b""
    ack: int = 0
    flags: int = ACK | PSH
    ip_id: int = 0
    ts_val: int = -1
    to_server: bool = True
    window: int = 512
    client: str = "192.0.2.1"
    server: str = "192.0.2.2"
    client_port: int = 40_000
    server_port: int = 4222
    options: bytes = b""

    def ip(self) -> bytes:
        """From the IP header on."""
        ends = [(self.client, self.client_port), (self.server, self.server_port)]
        (source, source_port), (target, target_port) = ends if self.to_server else reversed(ends)
        options = self.options
        if self.ts_val >= 0:
            options += b"\x01\x01\x08\x0a" + struct.pack(">II", self.ts_val & 0xFFFFFFFF, 0)
        offset = (5 + len(options) // 4) << 12
        tcp = struct.pack(
            ">HHIIHHHH",
            *(source_port, target_port, self.seq & 0xFFFFFFFF, self.ack & 0xFFFFFFFF),
            *(offset | self.flags, self.window, 0, 0),
        )
        tcp += options + self.payload
        addresses = ip_address(source).packed + ip_address(target).packed
        if len(addresses) == 32:
            return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + addresses + tcp
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), self.ip_id & 0xFFFF, 0x4000, 64, 6, 0) + addresses + tcp

    def ethernet(self, tags: bytes = b"") -> bytes:
        """With an Ethernet header, and VLAN tags (4 bytes each) if given."""
        packet = self.ip()
        kind = b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00"
        return b"\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02" + tags + kind + packet


def handshake(isn: int = 1000, server_isn: int = 9000, *, like: Packet | None = None, at: int = 0) -> list[Packet]:
    """SYN, SYN-ACK, ACK with a round trip of 1 ms. Data begins at `isn + 1`."""
    template = like or Packet(0, 0)
    return [
        replace(template, at=at, seq=isn, flags=SYN, payload=b""),
        replace(template, at=at + MILLISECOND, seq=server_isn, ack=isn + 1, flags=SYN | ACK, to_server=False),
        replace(template, at=at + MILLISECOND, seq=isn + 1, ack=server_isn + 1, flags=ACK),
    ]


def pcap(
    frames: Iterable[tuple[int, bytes]], *, link: int = 1, order: str = "<", nanos: bool = True, snaplen: int = 262_144
) -> bytes:
    """A classic capture file of frames and their times after START_NS."""
    magic, unit = (0xA1B23C4D, 1) if nanos else (0xA1B2C3D4, 1000)
    written = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for at, frame in frames:
        seconds, fraction = divmod(START_NS + at, 1_000_000_000)
        kept = frame[:snaplen]
        written.append(struct.pack(order + "IIII", seconds, fraction // unit, len(kept), len(frame)) + kept)
    return b"".join(written)


def ethernet_pcap(packets: Iterable[Packet]) -> bytes:
    """A classic capture file of these packets on Ethernet."""
    return pcap((packet.at, packet.ethernet()) for packet in packets)


def pcapng_block(kind: int, body: bytes, order: str = "<") -> bytes:
    """One block of a pcapng file."""
    body += b"\x00" * (-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def pcapng_section(order: str = "<") -> bytes:
    """The header that begins a section."""
    return pcapng_block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def pcapng_interface(link: int = 1, order: str = "<", *, name: str = "", resolution: int | None = None) -> bytes:
    """An interface; `resolution` is the raw byte of if_tsresol."""
    options = b""
    if name:
        options += pcapng_option(2, name.encode(), order)
    if resolution is not None:
        options += pcapng_option(9, bytes([resolution]), order)
    if options:
        options += struct.pack(order + "HH", 0, 0)
    return pcapng_block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)


def pcapng_option(code: int, value: bytes, order: str = "<") -> bytes:
    """One option of a block."""
    return struct.pack(order + "HH", code, len(value)) + value + b"\x00" * (-len(value) % 4)


def pcapng_packet(at: int, frame: bytes, order: str = "<", *, interface: int = 0, per_second: int = 10**6) -> bytes:
    """An enhanced packet block; `at` is ns after START_NS, `per_second` the resolution of its interface."""
    ticks = (START_NS + at) * per_second // 10**9
    head = struct.pack(order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
    return pcapng_block(6, head + frame, order)
