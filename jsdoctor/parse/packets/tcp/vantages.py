"""Reordering of a connection that was seen at several places of a capture, judged at each of them by itself.

Of copies, the first one counts (see `merge`): it is the one from before a reordering inside the capturing host, and
where a place missed a packet, the copy of another place comes later than it should. So each place follows the packets
that it saw itself, and the one with the most reordering is reported, with its own number of packets.
"""

from __future__ import annotations

from copy import deepcopy

from jsdoctor.model.packets import Reordering
from jsdoctor.parse.packets.keys import Place, full_place_text, is_of_any_interface, place
from jsdoctor.parse.packets.segment import CapturedPacket
from jsdoctor.parse.packets.tcp.figures import reordering, settle
from jsdoctor.parse.packets.tcp.follow import follow
from jsdoctor.parse.packets.tcp.merge import PacketSighting
from jsdoctor.parse.packets.tcp.state import State

_MAX_PLACES = 8
"""At so many places of a connection reordering is judged."""

_WHOLE_TENTHS = 9
"""A place has seen a direction whole when it saw this part of the bytes that all places have seen together."""

_LEAVING = "the way out of the host"

_Both = tuple[State, State]
"""Towards the server, and back."""


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
        """One packet, copy or not."""
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
        whole = [here for here, state in seen.items() if _is_whole(state, merged)]
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


def _is_whole(state: State, merged: State) -> bool:
    return state.distinct_bytes * 10 >= merged.distinct_bytes * _WHOLE_TENTHS


def _gravity(state: State) -> tuple[int, int, int]:
    return max(state.three_reordered, state.reordered_needless), state.reordered, state.downstream


def _name(here: Place) -> str:
    return _LEAVING if is_of_any_interface(here) else full_place_text(here)
