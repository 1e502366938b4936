"""A filter for the kernel (classic BPF): TCP on some ports, and what may carry it inside a tunnel.

What the kernel leaves out is never copied to this process. Addresses are relative to the network header, so that one
program serves every kind of interface. Source: Linux Documentation/networking/filter.rst, linux/filter.h.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

_LOAD_BYTE, _LOAD_HALF, _LOAD_HALF_AT_X = 0x30, 0x28, 0x48
_TO_X, _AND, _SHIFT_LEFT = 0x07, 0x54, 0x64
_EQUAL, _ANY_BIT, _RETURN = 0x15, 0x45, 0x06
_NETWORK, _PROTOCOL = 0xFFF0_0000, 0xFFFF_F000
"""SKF_NET_OFF, and SKF_AD_OFF + SKF_AD_PROTOCOL."""

_IPV4, _IPV6, _VLAN, _QINQ = 0x0800, 0x86DD, 0x8100, 0x88A8
_TCP, _UDP = 6, 17
_CARRIERS = (4, 41, 47)
_EXTENSIONS = (0, 43, 44, 60)
_TUNNEL_PORTS = (4789, 8472, 6081)
_WHOLE = 0x40000
_ACCEPT, _REJECT, _NEXT = "accept", "reject", ""


class _Step(NamedTuple):
    code: int
    value: int
    yes: str = _NEXT
    no: str = _NEXT
    label: str = ""


def tcp_filter(ports: Sequence[int] = ()) -> list[tuple[int, int, int, int]]:
    """The program as (code, jump if true, jump if false, value). Without ports: all of TCP."""
    steps = [
        _Step(_LOAD_HALF, _PROTOCOL),
        _Step(_EQUAL, _IPV4, "ipv4"),
        _Step(_EQUAL, _IPV6, "ipv6"),
        *(_Step(_EQUAL, kind, _ACCEPT) for kind in (_VLAN, _QINQ)),
        _Step(_RETURN, 0),
        _Step(_LOAD_BYTE, _NETWORK + 9, label="ipv4"),
        *(_Step(_EQUAL, protocol, _ACCEPT) for protocol in _CARRIERS),
        _Step(_EQUAL, _TCP, "tcp4"),
        _Step(_EQUAL, _UDP, "udp4", _REJECT),
        *_ipv4_ports("tcp4", (0, 2), ports),
        *_ipv4_ports("udp4", (2,), _TUNNEL_PORTS),
        _Step(_LOAD_BYTE, _NETWORK + 6, label="ipv6"),
        *(_Step(_EQUAL, protocol, _ACCEPT) for protocol in (*_CARRIERS, *_EXTENSIONS)),
        _Step(_EQUAL, _TCP, "tcp6"),
        _Step(_EQUAL, _UDP, "udp6", _REJECT),
        *_ipv6_ports("tcp6", (40, 42), ports),
        *_ipv6_ports("udp6", (42,), _TUNNEL_PORTS),
        _Step(_RETURN, _WHOLE, label=_ACCEPT),
        _Step(_RETURN, 0, label=_REJECT),
    ]
    places = {step.label: number for number, step in enumerate(steps) if step.label}

    def jump(number: int, label: str) -> int:
        return places[label] - number - 1 if label else 0

    return [(step.code, jump(number, step.yes), jump(number, step.no), step.value) for number, step in enumerate(steps)]


def packed(program: Sequence[tuple[int, int, int, int]]) -> bytes:
    """As the kernel takes it: an array of `struct sock_filter`."""
    return b"".join(struct.pack("HBBI", *step) for step in program)


def _ipv4_ports(label: str, places: Sequence[int], ports: Sequence[int]) -> list[_Step]:
    """Later fragments carry no ports."""
    if not ports:
        return [_Step(_RETURN, _WHOLE, label=label)]
    return [
        _Step(_LOAD_HALF, _NETWORK + 6, label=label),
        _Step(_ANY_BIT, 0x1FFF, _REJECT),
        _Step(_LOAD_BYTE, _NETWORK),
        _Step(_AND, 0x0F),
        _Step(_SHIFT_LEFT, 2),
        _Step(_TO_X, 0),
        *(step for place in places for step in _one_of(_LOAD_HALF_AT_X, _NETWORK + place, ports)),
        _Step(_RETURN, 0),
    ]


def _ipv6_ports(label: str, places: Sequence[int], ports: Sequence[int]) -> list[_Step]:
    if not ports:
        return [_Step(_RETURN, _WHOLE, label=label)]
    first, *others = [step for place in places for step in _one_of(_LOAD_HALF, _NETWORK + place, ports)]
    return [first._replace(label=label), *others, _Step(_RETURN, 0)]


def _one_of(load: int, place: int, ports: Sequence[int]) -> list[_Step]:
    return [_Step(load, place), *(_Step(_EQUAL, port, _ACCEPT) for port in ports)]
