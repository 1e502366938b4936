"""The connections of one capture, from their handshake: who talks to whom, where, and which of many are remembered.

A connection is followed from its third packet on; until then its few packets wait here. What is refused, or never gets
a response, is only counted, by server.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from copy import deepcopy
from typing import TypeAlias

from jsdoctor.model.packets import Attempts, Reordering, SocketAddress, TcpConnection
from jsdoctor.packets.segment import (
    ACK,
    RST,
    SYN,
    CapturedConnection,
    CapturedPacket,
    Place,
    Segment,
    StreamObserver,
    addresses,
    connection_key,
    endpoints,
    full_place_text,
    is_of_any_interface,
    place,
    place_text,
    reverse,
)
from jsdoctor.packets.tcp.figures import flow, reordering, settle
from jsdoctor.packets.tcp.follow import follow
from jsdoctor.packets.tcp.merge import Merge, PacketSighting
from jsdoctor.packets.tcp.state import Noticed, State

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
            # An address and its port, from six or 18 bytes.
            address = endpoints(bytes(len(name) - 2) + name[:-2] + b"\x00\x00" + name[-2:])[1]
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


MAX_FOLLOWED = 20_000
"""Maximum number of connections followed at once; of more, those without packets for longest are dropped."""

MAX_REPORTED = 1000
"""Maximum number of connections reported: those with the most evidence."""

_FORGOTTEN_AFTER_NS = 60_000_000_000
_MIN_PACKETS = 10
_TWICE_TENTHS = 3


class Pair:
    """Both directions of a connection, and the merges of what was seen of it at several places."""

    __slots__ = ("connection", "first_at", "keys", "merges", "to_client", "to_server", "vantages")

    def __init__(self, connection: CapturedConnection, key: bytes, at: int, to_server: State, to_client: State) -> None:
        self.connection, self.first_at = connection, at
        self.to_server, self.to_client = to_server, to_client
        to_server.peer, to_client.peer = to_client, to_server
        self.keys = [key, reverse(key)]
        self.merges: tuple[Merge, Merge] | None = None
        self.vantages: Vantages | None = None

    @property
    def last_at(self) -> int:
        """When the last packet was seen."""
        return max(self.to_server.last_at, self.to_client.last_at)

    @property
    def packets(self) -> int:
        """How many packets were seen, both ways."""
        return self.to_server.packets + self.to_client.packets

    @property
    def one_sided(self) -> bool:
        """Whether one direction was never seen."""
        return not (self.to_server.packets and self.to_client.packets)

    @property
    def closed(self) -> str:
        """How it ended: `reset`, `fin` when both sides sent FIN, or empty."""
        if self.to_server.reset or self.to_client.reset:
            return "reset"
        return "fin" if self.to_server.closed and self.to_client.closed else ""


class ConnectionTable:
    """Finds the direction that a packet belongs to, and keeps the figures of what is over.

    `states` has the directions of connections that were seen at one place only: there a packet needs no other look.
    """

    def __init__(self, capture: int, observer: StreamObserver | None, noticed: Noticed | None) -> None:
        self._capture, self._observer, self._noticed = capture, observer, noticed
        self.states: dict[bytes, State] = {}
        self._merges: dict[bytes, Merge] = {}
        self._pairs: dict[bytes, Pair] = {}
        self._openings = Openings()
        self._finished: list[tuple[int, int, tuple[str, str, int], int, TcpConnection]] = []
        self.opened = 0
        self.left_out = 0

    def find(self, segment: Segment, frame: int, at: int, block: bytes) -> State | None:
        """The direction of a packet whose key is not in `states`, or that carries SYN. None: it needs no following."""
        key, seq, _, flags = segment[:4]
        merge = self._merges.get(key)
        state = self.states.get(key) if merge is None else merge.state
        if state is not None:
            fresh = flags & (SYN | ACK) == SYN and state.next_offset is not None and state.isn != seq
            if not fresh:
                if merge is None:
                    return state
                return self._merged(self._pairs[connection_key(key)], merge, CapturedPacket(segment, frame, at, block))
            self._finish(self._pairs[connection_key(key)])
        primary = self._pairs.get(connection_key(key))
        if primary is not None and flags & (SYN | ACK) == SYN and primary.to_server.isn not in {-1, seq}:
            self._finish(primary)
            primary = None
        if primary is not None:
            return self._elsewhere(primary, CapturedPacket(segment, frame, at, block))
        before = self._openings.take(segment, frame, at, block)
        if before is None:
            return None
        return self._begin(before, segment, frame, at, block)

    def known(self, key: bytes) -> State | None:
        """The direction with that key, if it is followed."""
        merge = self._merges.get(key)
        return self.states.get(key) if merge is None else merge.state

    def attempts(self) -> tuple[Attempts, ...]:
        """Handshakes that led to nothing, after `finish`."""
        return self._openings.attempts()

    def forget(self, at: int) -> None:
        """Give up what is over for a minute, and the longest silent ones of too many."""
        pairs = list(self._pairs.values())
        for pair in pairs:
            if pair.closed and at - pair.last_at > _FORGOTTEN_AFTER_NS:
                self._finish(pair)
        surplus = len(self._pairs) - MAX_FOLLOWED
        if surplus > 0:
            for pair in heapq.nsmallest(
                surplus + MAX_FOLLOWED // 10, self._pairs.values(), key=lambda item: item.last_at
            ):
                self._finish(pair)

    def finish(self) -> tuple[TcpConnection, ...]:
        """The capture is over: all connections that are reported, in order of their start."""
        for waiting in self._openings.finish():
            self._replay(waiting)
        for pair in list(self._pairs.values()):
            self._finish(pair)
        connections = [entry[-1] for entry in self._finished]
        return tuple(sorted(connections, key=lambda item: (item.first_ns, item.number)))

    def _begin(self, before: list[CapturedPacket], segment: Segment, frame: int, at: int, block: bytes) -> State | None:
        """A connection begins: with the packets of its handshake, if they were seen."""
        if not before:
            return self._open(CapturedPacket(segment, frame, at, block))
        self._replay(before)
        state = self.states.get(segment[0])
        return state if state is not None else self.find(segment, frame, at, block)

    def _replay(self, waiting: list[CapturedPacket]) -> None:
        for packet in waiting:
            primary = self._pairs.get(connection_key(packet.segment[0]))
            state = self.states.get(packet.segment[0]) if primary is not None else self._open(packet)
            if state is None and primary is not None:
                state = self._elsewhere(primary, packet)
            if state is not None:
                follow(state, packet.segment, packet.frame, packet.at, packet.block, memoryview(packet.block))

    def _open(self, packet: CapturedPacket) -> State:
        key, _, _, flags = packet.segment[:4]
        self.opened += 1
        source, destination = endpoints(key)
        from_client = flags & (SYN | ACK) == SYN or (not flags & SYN and source.port >= destination.port)
        client, server = (source, destination) if from_client else (destination, source)
        connection = CapturedConnection(self._capture, self.opened, client, server, midstream=not flags & SYN)
        to_server = State(connection.to_server, self._observer, self._noticed)
        to_client = State(connection.to_client, self._observer, self._noticed)
        pair = self._pairs[connection_key(key)] = Pair(connection, key, packet.at, to_server, to_client)
        mine, other = (to_server, to_client) if from_client else (to_client, to_server)
        self.states[key], self.states[pair.keys[1]] = mine, other
        if self._observer is not None:
            self._observer.opened(connection)
        if is_of_any_interface(place(key)):
            self._merge(pair)
            self._merged(pair, self._merges[key], packet)
        return mine

    def _elsewhere(self, pair: Pair, packet: CapturedPacket) -> State | None:
        """A packet of a known connection at another place; None when it is a copy."""
        key = packet.segment[0]
        if pair.merges is None:
            self._merge(pair)
        if key not in self._merges:
            name = addresses(key)
            same = next(known for known in pair.keys if addresses(known) == name)
            for known, other in ((same, key), (reverse(same), reverse(key))):
                self._merges[other] = self._merges[known]
                pair.keys.append(other)
        return self._merged(pair, self._merges[key], packet)

    @staticmethod
    def _merged(pair: Pair, merge: Merge, packet: CapturedPacket) -> State | None:
        """The direction of a packet of a connection with several places; None when it is a copy."""
        sighting = merge.check(packet)
        if pair.vantages is not None:
            pair.vantages.take(packet, sighting, to_server=merge.state is pair.to_server)
        return merge.state if sighting is PacketSighting.NEW else None

    def _merge(self, pair: Pair) -> None:
        """From now on, every packet of this connection is compared with those of other places."""
        merges = []
        for key in pair.keys:
            state = self.states.pop(key, None)
            if state is not None:
                merge = self._merges[key] = Merge(state, place(key))
                merges.append(merge)
        pair.merges = merges[0], merges[1]
        pair.vantages = Vantages(pair.to_server, pair.to_client, place(pair.keys[0]))

    def _finish(self, pair: Pair) -> None:
        del self._pairs[connection_key(pair.keys[0])]
        for key in pair.keys:
            self.states.pop(key, None)
            self._merges.pop(key, None)
        for state in (pair.to_server, pair.to_client):
            settle(state, pair.last_at)
        if pair.vantages is not None:
            pair.vantages.settle(pair.last_at)
        if self._observer is not None:
            self._observer.closed(pair.connection, pair.last_at)
        connection = _evidence(pair)
        identity = (str(connection.client), str(connection.server), connection.first_ns)
        entry = (_to_tell(connection), pair.packets, identity, -connection.number, connection)
        if len(self._finished) < MAX_REPORTED:
            heapq.heappush(self._finished, entry)
        else:
            heapq.heappushpop(self._finished, entry)
            self.left_out += 1


def _evidence(pair: Pair) -> TcpConnection:
    """The figures of a connection."""
    connection, vantages = pair.connection, pair.vantages
    both = pair.to_server.syn_rtt, pair.to_client.syn_rtt
    return TcpConnection(
        capture=connection.capture,
        number=connection.number,
        client=connection.client,
        server=connection.server,
        place=place_text(pair.keys[0]),
        to_server=flow(pair.to_server, vantages.reordering(to_server=True) if vantages else None),
        to_client=flow(pair.to_client, vantages.reordering(to_server=False) if vantages else None),
        first_ns=pair.first_at,
        last_ns=pair.last_at,
        handshake_ns=sum(both) if all(both) else None,
        midstream=connection.midstream,
        one_sided=pair.one_sided,
        closed=pair.closed,
        copies=sum(merge.copies for merge in pair.merges or ()),
        places=len({place(key) for key in pair.keys}),
        captured_twice=_captured_twice(pair),
    )


def _captured_twice(pair: Pair) -> bool:
    """Whether so much came twice, in both directions, that the capture is the reason and not the network."""
    both = pair.to_server, pair.to_client
    packets = sum(state.packets for state in both)
    copies = sum(state.duplicates + state.duplicate_packets for state in both)
    if packets < 2 * _MIN_PACKETS or copies * 10 < (packets - copies) * _TWICE_TENTHS:
        return False
    busy = [state for state in both if state.distinct >= _MIN_PACKETS]
    return all(state.duplicates * 10 >= state.distinct * _TWICE_TENTHS for state in busy)


def _to_tell(connection: TcpConnection) -> int:
    """How much there is to report of a connection."""
    return sum(
        flow.reordering.segments
        + flow.reordering.downstream
        + flow.retransmission.segments
        + flow.retransmission.syn
        + flow.duplicates
        + flow.zero_windows
        + flow.resets
        + bool(flow.missed_bytes)
        for flow in connection.flows
    )


# Reordering of a connection that was seen at several places of a capture, judged at each of them by itself.
#
# Of copies, the first one counts (see `merge`): it is the one from before a reordering inside the capturing host, and
# where a place missed a packet, the copy of another place comes later than it should. So each place follows the packets
# that it saw itself, and the one with the most reordering is reported, with its own number of packets.

_MAX_PLACES = 8
"""At so many places of a connection reordering is judged."""

_WHOLE_TENTHS = 9
"""A place has seen a direction whole when it saw this part of the bytes that all places have seen together."""

_LEAVING = "the way out of the host"

_Both = tuple[State, State]
"""The direction towards the server, and the one back."""


class Vantages:
    """Both directions of a connection as each place saw them.

    What was merged until now is what the first place saw. Where frames do not name their interface, the merged packets
    are those that came in or were sent by the host itself; those that it passed on are followed beside them.
    """

    def __init__(self, to_server: State, to_client: State, first: Place) -> None:
        self._merged = to_server, to_client
        self._views: dict[Place, _Both] = {}
        if not is_of_any_interface(first):
            self._views[first] = _copies(self._merged)

    def take(self, packet: CapturedPacket, sighting: PacketSighting, *, to_server: bool) -> None:
        """Let the place that saw this packet follow it; beyond `_MAX_PLACES` places none does.

        Where a frame does not name its interface, only a packet that the host passed on is followed here.
        """
        segment, frame, at, block = packet
        here = place(segment[0])
        if is_of_any_interface(here) and sighting is not PacketSighting.ONWARD:
            return
        view = self._views.get(here)
        if view is None:
            if len(self._views) >= _MAX_PLACES:
                return
            view = self._views[here] = _beginnings(self._merged)
        follow(view[not to_server], segment, frame, at, block, memoryview(block))

    def settle(self, at: int) -> None:
        """The capture of the connection ends."""
        for view in self._views.values():
            for state in view:
                settle(state, at)

    def reordering(self, *, to_server: bool) -> Reordering:
        """What the place says that saw the most of it; what was merged where no place saw the direction whole."""
        merged = self._merged[not to_server]
        seen = {here: view[not to_server] for here, view in self._views.items()}
        whole = [
            here for here, state in seen.items() if state.distinct_bytes * 10 >= merged.distinct_bytes * _WHOLE_TENTHS
        ]
        mixed = any(map(is_of_any_interface, seen))
        worst = max(seen, key=lambda here: _gravity(seen[here]), default=None)
        if worst is None or ((mixed or not whole) and _gravity(merged) >= _gravity(seen[worst])):
            return reordering(merged)
        worst_state = seen[worst]
        if not worst_state.reordered:
            return Reordering(downstream=max(worst_state.downstream, merged.downstream))
        in_order = next((_name(here) for here in whole if not seen[here].reordered), "")
        return reordering(
            worst_state, packets=worst_state.distinct + worst_state.joined, place=_name(worst), in_order_at=in_order
        )


def _copies(both: _Both) -> _Both:
    """Copies of the states so far, with the same directions and without observers."""
    known: dict[int, object] = {}
    for state in both:
        known[id(state.direction)] = state.direction
        known[id(state.observer)] = known[id(state.noticed)] = None
    return deepcopy(both, known)


def _beginnings(both: _Both) -> _Both:
    """Nothing seen so far, beside what the handshake has said elsewhere."""
    to_server, to_client = (State(state.direction, None, None) for state in both)
    to_server.peer, to_client.peer = to_client, to_server
    for made, known in ((to_server, both[0]), (to_client, both[1])):
        made.full, made.syn_rtt = known.full, known.syn_rtt
    return to_server, to_client


def _gravity(state: State) -> tuple[int, int, int]:
    return max(state.three_reordered, state.reordered_needless), state.reordered, state.downstream


def _name(here: Place) -> str:
    return _LEAVING if is_of_any_interface(here) else full_place_text(here)
