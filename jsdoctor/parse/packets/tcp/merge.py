"""One connection seen at several places of a capture (interfaces, VLANs, tunnels): each packet counts once.

A packet that passes a bridge, a bond or a tunnel is captured again at every interface on its way, perhaps cut or
joined. A copy is the same packet at another place, or data that another place has shown with the same timestamp.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from enum import Enum

from jsdoctor.parse.packets.keys import UNKNOWN_PLACE, Place, is_outgoing, place
from jsdoctor.parse.packets.segment import SYN, Segment
from jsdoctor.parse.packets.tcp.numbers import HALF, MASK, ahead
from jsdoctor.parse.packets.tcp.state import MILLISECOND, State

_PACKETS = 1024
_RANGES = 256
_SOON_NS = 20 * MILLISECOND
_STAMPED_SOON_NS = 200 * MILLISECOND
"""For packets with a timestamp of TCP: nothing is sent again sooner with the same one (the least timeout of Linux)."""


class PacketSighting(Enum):
    """What a packet is at a place: not seen before, a copy, or a copy that leaves the host which it had entered.

    The last one is only recognised where frames do not name their interface.
    """

    NEW = "new"
    COPY = "copy"
    ONWARD = "onward"


class _Sightings:
    """Of one packet: when it was first seen, how often at each place, whether it came in, and whether it left then."""

    __slots__ = ("came_in", "counts", "first_at", "went_on")

    def __init__(self, at: int, *, came_in: bool) -> None:
        self.first_at, self.came_in, self.went_on = at, came_in, False
        self.counts: dict[Place, int] = {}


class Merge:
    """One direction. `copies` counts the packets that were left out."""

    __slots__ = ("_first", "_packets", "_ranges", "copies", "state")

    def __init__(self, state: State, first: Place) -> None:
        self.state = state
        self.copies = 0
        self._first = first
        self._packets: OrderedDict[tuple[int, ...], _Sightings] = OrderedDict()
        self._ranges: deque[tuple[int, int, int, Place, int]] = deque(maxlen=_RANGES)
        for start, end, _, ts_val, at, *_ in state.ring:
            seq = state.next_seq - ((state.next_offset or 0) - start) & MASK
            self._ranges.append((seq, end - start, ts_val, first, at))

    def check(self, segment: Segment, at: int) -> PacketSighting:
        """Whether that packet was seen at another place before."""
        key, seq, ack, flags, _, _, _, _, length, ip_id, ts_val, _, _ = segment
        here = place(key)
        identity = (seq, ack, flags, length, ip_id, ts_val)
        seen = self._packets.get(identity)
        if seen is None:
            seen = self._packets[identity] = _Sightings(at, came_in=not is_outgoing(key))
            if len(self._packets) > _PACKETS:
                self._packets.popitem(last=False)
        if not self._seen_before(seen, segment, here, at):
            return PacketSighting.NEW
        self.copies += 1
        if here[0] != UNKNOWN_PLACE or not seen.came_in or seen.went_on or not is_outgoing(key):
            return PacketSighting.COPY
        seen.went_on = True
        return PacketSighting.ONWARD

    def _seen_before(self, seen: _Sightings, segment: Segment, here: Place, at: int) -> bool:
        seq, length, ts_val, state = segment[1], segment[8], segment[10], self.state
        counts = seen.counts
        others = max((count for other, count in counts.items() if other != here), default=0)
        again = here[0] == UNKNOWN_PLACE and here in counts and at - seen.first_at < _soon(ts_val)
        counts[here] = counts.get(here, 0) + 1
        if counts[here] <= others or again:
            return True
        if len(counts) == 1 and counts[here] == 1 and self._was_last(segment, here):
            return True
        if not length:
            return False
        fresh = state.next_offset is None or (seq - state.next_seq & MASK) < HALF
        copied = not fresh and self._was_shown(seq, length, ts_val, here, at)
        if not copied:
            self._ranges.append((seq, length, ts_val, here, at))
        return copied

    def _was_last(self, segment: Segment, here: Place) -> bool:
        """What the first place had shown before there was a second one: its SYN, and its last ack."""
        seq, ack, flags, length = segment[1], segment[2], segment[3], segment[8]
        if here == self._first or self.state.next_offset is None or len(self._packets) > 1:
            return False
        if flags & SYN:
            return self.state.isn == seq
        return not length and seq == self.state.next_seq and ack == self.state.ack

    def _was_shown(self, seq: int, length: int, ts_val: int, here: Place, at: int) -> bool:
        """Whether another place has shown some of these bytes in the same packet, cut otherwise."""
        for start, size, other_ts, other, other_at in reversed(self._ranges):
            if other == here and here[0] != UNKNOWN_PLACE:
                continue
            if ahead(start, seq) >= length or ahead(seq, start) >= size:
                continue
            if ts_val == other_ts and (ts_val >= 0 or other != here) and abs(at - other_at) < _soon(ts_val):
                return True
        return False


def _soon(ts_val: int) -> int:
    """Within which time a packet that looks the same is the same one."""
    return _SOON_NS if ts_val < 0 else _STAMPED_SOON_NS
