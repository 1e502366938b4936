"""Handshakes under way, in little memory: most of a flood of SYNs never becomes a connection.

A connection is followed from its third packet on; until then its few packets wait here. What is refused, or never gets
a response, is only counted, by server.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from jsdoctor.model.packets import Attempts, SocketAddress
from jsdoctor.parse.packets.keys import addresses, endpoints, reverse
from jsdoctor.parse.packets.segment import ACK, RST, SYN, CapturedPacket, Segment

_MAX_WAITING = 50_000
_MAX_PACKETS = 12
_MAX_SERVERS = 1000
_MAX_CLIENTS = 1000
_MAX_KEPT = 500
_HEADER = 20


_Packet: TypeAlias = tuple[Segment, int, int, bytes]
"""A packet that waits: segment, frame, time, bytes from its TCP header on. A plain tuple: floods have many."""


class _OpeningsOfServer:
    """What became of attempts to connect to one address and port."""

    __slots__ = ("clients", "first_at", "last_at", "refused", "tried", "unanswered", "unfinished")

    def __init__(self, at: int) -> None:
        self.tried = self.refused = self.unanswered = self.unfinished = 0
        self.clients: set[bytes] = set()
        self.first_at = self.last_at = at


class Openings:
    """Waiting handshakes by the addresses of the SYN, and the tally of those that came to nothing."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[bytes, list[_Packet]] = OrderedDict()
        self._servers: dict[bytes, _OpeningsOfServer] = {}

    def take(self, segment: Segment, frame: int, at: int, block: bytes) -> list[CapturedPacket] | None:
        """A packet of no known connection: None when it waits here, else the packets that came before it."""
        key, flags = segment[0], segment[3]
        plain = key if len(key) in {12, 36} else addresses(key)
        if flags & (SYN | ACK) == SYN:
            return self._add(plain, segment, frame, at, block)
        name = reverse(plain)
        if name not in self._waiting:
            name = plain
        known = self._waiting.get(name)
        if known is None:
            return []
        if flags & SYN:
            return self._add(name, segment, frame, at, block)
        if flags & RST and len(known) <= _MAX_PACKETS and not _is_answered(known):
            del self._waiting[name]
            self._tally(name, known, "refused")
            return None
        del self._waiting[name]
        self._tally(name, known, "")
        return [_moved(entry) for entry in known]

    def finish(self) -> list[list[CapturedPacket]]:
        """The end: handshakes that were tried more than once are worth a look, all are counted."""
        kept: list[list[CapturedPacket]] = []
        for name, known in self._waiting.items():
            self._give_up(name, known)
            if len(known) > 1 and len(kept) < _MAX_KEPT:
                kept.append([_moved(entry) for entry in known])
        self._waiting.clear()
        return kept

    def attempts(self) -> tuple[Attempts, ...]:
        """Servers to which not every attempt led to a connection, the worst first."""
        tried = []
        for name, server in self._servers.items():
            if not server.refused + server.unanswered + server.unfinished:
                continue
            address = _endpoint(name)
            tried.append(_attempts(address, server))
        return tuple(sorted(tried, key=lambda item: (-item.failed, item.server)))

    def _add(self, name: bytes, segment: Segment, frame: int, at: int, block: bytes) -> list[CapturedPacket] | None:
        kept = block[segment[5] - _HEADER : segment[6] + segment[7]]
        known = self._waiting.get(name)
        if known is None:
            if len(self._waiting) >= _MAX_WAITING:
                self._give_up(*self._waiting.popitem(last=False))
            known = self._waiting[name] = []
        elif known[0][0][1] != segment[1] and not segment[3] & ACK:
            self._give_up(name, known)
            known.clear()
        if segment[8] or len(known) >= _MAX_PACKETS:  # fast open, or a handshake that goes on and on
            del self._waiting[name]
            self._tally(name, known, "")
            return [_moved(entry) for entry in known]
        known.append((segment, frame, at, kept))
        return None

    def _give_up(self, name: bytes, known: list[_Packet]) -> None:
        self._tally(name, known, "unfinished" if _is_answered(known) else "unanswered")

    def _tally(self, name: bytes, known: list[_Packet], what: str) -> None:
        half = (len(name) - 4) // 2
        target = name[half : 2 * half] + name[-2:]
        server = self._servers.get(target)
        if server is None:
            if len(self._servers) >= _MAX_SERVERS:
                return
            at = known[0][2] if known else 0
            server = self._servers[target] = _OpeningsOfServer(at)
        server.tried += 1
        if known:
            server.last_at = max(server.last_at, known[-1][2])
        if what:
            if what == "unanswered":  # as those of a flood are
                server.unanswered += 1
            else:
                setattr(server, what, getattr(server, what) + 1)
            if len(server.clients) < _MAX_CLIENTS:
                server.clients.add(name[:half])


def _is_answered(known: list[_Packet]) -> bool:
    """Whether the server has said anything."""
    return len(known) > 1 and any(packet[0][3] & ACK for packet in known)


def _moved(packet: _Packet) -> CapturedPacket:
    """The packet by itself: the segment's places refer to the bytes that were kept."""
    segment, frame, at, kept = packet
    begins = segment[5] - _HEADER
    return CapturedPacket((*segment[:5], _HEADER, segment[6] - begins, *segment[7:]), frame, at, kept)


def _endpoint(target: bytes) -> SocketAddress:
    """An address and its port, from six or 18 bytes."""
    return endpoints(bytes(len(target) - 2) + target[:-2] + b"\x00\x00" + target[-2:])[1]


def _attempts(address: SocketAddress, server: _OpeningsOfServer) -> Attempts:
    return Attempts(
        server=address,
        tried=server.tried,
        refused=server.refused,
        unanswered=server.unanswered,
        unfinished=server.unfinished,
        clients=len(server.clients),
        first_ns=server.first_at,
        last_ns=server.last_at,
    )
