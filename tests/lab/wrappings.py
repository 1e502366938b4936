"""What a path puts around the frames of hosts: VLAN tags, GENEVE, GRE, IP in IP; and headers that a box rewrites."""

import struct
from collections.abc import Callable
from dataclasses import dataclass

_ETHERNET = 14
_IPV4 = b"\x08\x00"
_UDP, _GRE, _IPIP = 17, 47, 4
_OUTER = (bytes((10, 9, 0, 1)), bytes((10, 9, 0, 2)))
_GENEVE_PORT = 6081


@dataclass(frozen=True, slots=True)
class Wrapping:
    """`put` takes an Ethernet frame and whether it goes to the server; `take` undoes it (None: not one of ours)."""

    put: Callable[[bytes, bool], bytes]
    take: Callable[[bytes], bytes | None]


def _checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def _outer(protocol: int, frame: bytes, payload: bytes, to_server: bool) -> bytes:
    """The Ethernet addresses of the frame, and IPv4 of the tunnel's ends."""
    ends = b"".join(_OUTER if to_server else _OUTER[::-1])
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0) + ends
    header = header[:10] + struct.pack(">H", _checksum(header)) + header[12:]
    return frame[:12] + _IPV4 + header + payload


def _inside(protocol: int, skipped: int) -> Callable[[bytes], bytes | None]:
    def take(frame: bytes) -> bytes | None:
        if frame[12:14] != _IPV4 or frame[23] != protocol:
            return None
        return frame[_ETHERNET + 20 + skipped :]

    return take


def _with_addresses(protocol: int, skipped: int) -> Callable[[bytes], bytes | None]:
    """For tunnels that carry IP only: the Ethernet addresses are those of the outer frame."""
    inner = _inside(protocol, skipped)

    def take(frame: bytes) -> bytes | None:
        packet = inner(frame)
        return None if packet is None else frame[:12] + _IPV4 + packet

    return take


def _tagged(*tags: bytes) -> Wrapping:
    tag = b"".join(tags)
    return Wrapping(
        lambda frame, _: frame[:12] + tag + frame[12:],
        lambda frame: frame[:12] + frame[12 + len(tag) :] if frame[12 : 12 + len(tag)] == tag else None,
    )


def _geneve(frame: bytes, to_server: bool) -> bytes:
    inner = struct.pack(">HHHH", 40_000, _GENEVE_PORT, 16 + len(frame), 0) + b"\x00\x00\x65\x58\x00\x00\x2a\x00" + frame
    return _outer(_UDP, frame, inner, to_server)


def _without_ids(frame: bytes, _to_server: bool) -> bytes:
    """As boxes that scrub headers do: the id of IPv4 is zero."""
    if frame[12:14] != _IPV4:
        return frame
    header = frame[14:18] + b"\x00\x00" + frame[20:24] + b"\x00\x00" + frame[26:34]
    return frame[:14] + header[:10] + struct.pack(">H", _checksum(header)) + header[12:] + frame[34:]


_PLAIN = Wrapping(lambda frame, _: frame, lambda frame: frame)
BONDS = ("bond", "bond by turns")
"""Two links between the hosts: one for each direction, as with a hash at both ends, or packet by packet."""

_GRE_IP, _GRE_ETHERNET = b"\x00\x00" + _IPV4, b"\x00\x00\x65\x58"
WRAPPINGS = {
    "plain": _PLAIN,
    "bond": _PLAIN,
    "bond by turns": _PLAIN,
    "zeroed ids": Wrapping(_without_ids, lambda frame: frame),
    "vlan": _tagged(b"\x81\x00\x00\x07"),
    "vlan stack": _tagged(b"\x88\xa8\x00\x09", b"\x81\x00\x00\x07"),
    "geneve": Wrapping(_geneve, _inside(_UDP, 16)),
    "gre": Wrapping(lambda frame, out: _outer(_GRE, frame, _GRE_IP + frame[14:], out), _with_addresses(_GRE, 4)),
    "gre ethernet": Wrapping(lambda frame, out: _outer(_GRE, frame, _GRE_ETHERNET + frame, out), _inside(_GRE, 4)),
    "ipip": Wrapping(lambda frame, out: _outer(_IPIP, frame, frame[14:], out), _with_addresses(_IPIP, 0)),
}
"""Those that carry IP only leave ARP to the hosts, which know each other's address."""
