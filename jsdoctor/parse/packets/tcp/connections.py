"""The connections of one capture: who talks to whom, where it was seen, and which of many are remembered."""

from __future__ import annotations

import heapq

from jsdoctor.model.packets import TcpConnection
from jsdoctor.parse.packets.keys import addresses, base, endpoints, place, place_text, reverse
from jsdoctor.parse.packets.segment import ACK, SYN, Connection, Segment, StreamObserver
from jsdoctor.parse.packets.tcp.figures import flow, settle
from jsdoctor.parse.packets.tcp.state import Noticed, State

MOST_FOLLOWED = 20_000
"""So many connections are followed at once; of more, those that were silent longest are forgotten."""

MOST_REPORTED = 1000
"""So many connections are reported: those with the most to tell."""

_FORGOTTEN_AFTER_NS = 60_000_000_000
_FEWEST_PACKETS = 10
_TWICE_TENTHS = 3


class Pair:
    """Both directions of a connection at one place. `views` are those of the same connection at other places."""

    __slots__ = ("connection", "first_at", "keys", "to_client", "to_server", "views")

    def __init__(self, connection: Connection, key: bytes, at: int, to_server: State, to_client: State) -> None:
        self.connection, self.first_at = connection, at
        self.to_server, self.to_client = to_server, to_client
        to_server.peer, to_client.peer = to_client, to_server
        self.keys = [key, reverse(key)]
        self.views: list[Pair] = []

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
        """How it ended: `reset`, `fin` when both sides said so, or empty."""
        if self.to_server.reset or self.to_client.reset:
            return "reset"
        return "fin" if self.to_server.closed and self.to_client.closed else ""


class Connections:
    """Finds the direction that a packet belongs to, and keeps the figures of what is over."""

    def __init__(self, capture: int, observer: StreamObserver | None, noticed: Noticed | None) -> None:
        self._capture, self._observer, self._noticed = capture, observer, noticed
        self.states: dict[bytes, State] = {}
        self._pairs: dict[bytes, Pair] = {}
        self._finished: list[tuple[int, int, tuple[str, str, int], int, TcpConnection]] = []
        self.opened = 0
        self.left_out = 0

    def find(self, segment: Segment, at: int) -> State:
        """The direction of a packet whose key is new, or that carries SYN."""
        key, seq, _, flags = segment[:4]
        state = self.states.get(key)
        if state is not None:
            fresh = flags & (SYN | ACK) == SYN and state.next_offset is not None and state.isn != seq
            if not fresh:
                return state
            self._finish(self._pairs[base(key)])
        return self._open(key, seq, flags, at)

    def forget(self, at: int) -> None:
        """Give up what is over for a minute, and the longest silent ones of too many."""
        pairs = list(self._pairs.values())
        for pair in pairs:
            if pair.closed and at - pair.last_at > _FORGOTTEN_AFTER_NS:
                self._finish(pair)
        surplus = len(self._pairs) - MOST_FOLLOWED
        if surplus > 0:
            for pair in heapq.nsmallest(
                surplus + MOST_FOLLOWED // 10, self._pairs.values(), key=lambda one: one.last_at
            ):
                self._finish(pair)

    def finish(self) -> tuple[TcpConnection, ...]:
        """The capture is over: all connections that are reported, in order of their start."""
        for pair in list(self._pairs.values()):
            self._finish(pair)
        found = [entry[-1] for entry in self._finished]
        return tuple(sorted(found, key=lambda one: (one.first_ns, one.number)))

    def _open(self, key: bytes, seq: int, flags: int, at: int) -> State:
        canonical = base(key)
        primary = self._pairs.get(canonical)
        if primary is not None and flags & (SYN | ACK) == SYN and primary.to_server.isn not in {-1, seq}:
            self._finish(primary)
            primary = None
        if primary is not None and (missing := self._returns_elsewhere(primary, key)):
            self.states[key] = missing
            primary.keys.append(key)
            return missing
        observer = self._observer if primary is None else None
        if primary is None:
            self.opened += 1
        source, destination = endpoints(key)
        from_client = flags & (SYN | ACK) == SYN or (not flags & SYN and source.port >= destination.port)
        client, server = (source, destination) if from_client else (destination, source)
        number = self.opened if primary is None else 0
        connection = Connection(self._capture, number, client, server, midstream=not flags & SYN)
        to_server = State(connection.to_server, observer, self._noticed if primary is None else None)
        to_client = State(connection.to_client, observer, self._noticed if primary is None else None)
        pair = Pair(connection, key, at, to_server, to_client)
        mine, other = (to_server, to_client) if from_client else (to_client, to_server)
        self.states[key], self.states[pair.keys[1]] = mine, other
        if primary is None:
            self._pairs[canonical] = pair
            if observer is not None:
                observer.opened(connection)
        else:
            primary.views.append(pair)
        return mine

    def _returns_elsewhere(self, primary: Pair, key: bytes) -> State | None:
        """The missing direction of a connection whose way back carries another VLAN tag."""
        expected = primary.keys[1]
        missing = self.states[expected]
        if missing.packets or addresses(key) != addresses(expected) or place(key)[0] != place(expected)[0]:
            return None
        return missing

    def _finish(self, pair: Pair) -> None:
        del self._pairs[base(pair.keys[0])]
        for view in (pair, *pair.views):
            for key in view.keys:
                self.states.pop(key, None)
            for state in (view.to_server, view.to_client):
                settle(state, view.last_at)
        if self._observer is not None:
            self._observer.closed(pair.connection, pair.last_at)
        found = _evidence(pair)
        entry = (_to_tell(found), pair.packets, _identity(found), -found.number, found)
        if len(self._finished) < MOST_REPORTED:
            heapq.heappush(self._finished, entry)
        else:
            heapq.heappushpop(self._finished, entry)
            self.left_out += 1


def _evidence(pair: Pair) -> TcpConnection:
    """The figures of a connection, of the view that saw both directions and most packets."""
    views = (pair, *pair.views)
    best = max(views, key=lambda view: (not view.one_sided, view is pair, view.packets))
    connection = pair.connection
    both = best.to_server.syn_rtt, best.to_client.syn_rtt
    return TcpConnection(
        capture=connection.capture,
        number=connection.number,
        client=connection.client,
        server=connection.server,
        place=place_text(best.keys[0]),
        to_server=flow(best.to_server),
        to_client=flow(best.to_client),
        first_ns=best.first_at,
        last_ns=best.last_at,
        handshake_ns=sum(both) if all(both) else None,
        midstream=connection.midstream,
        one_sided=best.one_sided,
        closed=best.closed,
        copies=sum(view.packets for view in views) - best.packets,
        captured_twice=_captured_twice(best),
    )


def _captured_twice(pair: Pair) -> bool:
    """Whether so much came twice, in both directions, that the capture is the reason and not the network."""
    both = pair.to_server, pair.to_client
    packets = sum(state.packets for state in both)
    copies = sum(state.duplicates + state.duplicate_packets for state in both)
    if packets < 2 * _FEWEST_PACKETS or copies * 10 < (packets - copies) * _TWICE_TENTHS:
        return False
    busy = [state for state in both if state.distinct >= _FEWEST_PACKETS]
    return all(state.duplicates * 10 >= state.distinct * _TWICE_TENTHS for state in busy)


def _to_tell(connection: TcpConnection) -> int:
    """How much there is to tell of a connection."""
    return sum(
        one.reordering.segments
        + one.reordering.downstream
        + one.retransmission.segments
        + one.retransmission.syn
        + one.duplicates
        + one.zero_windows
        + one.resets
        + bool(one.missed_bytes)
        for one in connection.flows
    )


def _identity(connection: TcpConnection) -> tuple[str, str, int]:
    return str(connection.client), str(connection.server), connection.first_ns
