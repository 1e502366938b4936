"""One connection seen at several places of a capture (interfaces, VLANs, tunnels): each packet counts once.

A packet that passes a bridge, a bond or a tunnel is captured again at every interface on its way, perhaps cut or
joined. A copy is the same packet at another place, or data that another place has shown with the same timestamp.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from enum import Enum
from typing import TypeAlias

from jsdoctor.packets.segment import (
    HALF,
    MASK,
    SYN,
    UNKNOWN_PLACE,
    CapturedPacket,
    Place,
    Segment,
    ahead,
    is_outgoing,
    place,
)
from jsdoctor.packets.tcp.state import MILLISECOND, State

_MIN_PACKETS = 1024
_MAX_PACKETS = 16 * _MIN_PACKETS
_KEPT_NS = 500 * MILLISECOND
"""How long packets beyond `_MIN_PACKETS` are kept: a fast host has more than a thousand in a queue."""

_MAX_RANGES = 1024
"""Maximum number of ranges of one timestamp, or of a connection without timestamps."""

_MAX_TIMESTAMPS = 1024
_SOON_NS = 20 * MILLISECOND
_STAMPED_SOON_NS = 200 * MILLISECOND
"""For packets with a timestamp of TCP: nothing is sent again sooner with the same one (the least timeout of Linux)."""

_Identity: TypeAlias = tuple[int | bytes, ...]


class PacketSighting(Enum):
    """What a packet is at a place: not seen before, a copy, or a copy that leaves the host which it had entered.

    The last one is only recognised where frames do not name their interface.
    """

    NEW = "new"
    COPY = "copy"
    ONWARD = "onward"


class _Sightings:
    """One packet: when it was first seen, how often at each place, whether it came in, and whether it left then."""

    __slots__ = ("came_in", "counts", "first_at", "went_on")

    def __init__(self, at: int, *, came_in: bool) -> None:
        self.first_at, self.came_in, self.went_on = at, came_in, False
        self.counts: dict[Place, int] = {}


class _Shown:
    """Bytes that were shown lately, by the timestamp of TCP of their packet; -1 when it had none.

    They are kept by time, not by number: a host with a busy path has hundreds of packets between two interfaces.
    """

    __slots__ = ("_by_timestamp",)

    def __init__(self) -> None:
        self._by_timestamp: OrderedDict[int, deque[tuple[int, int, Place, int]]] = OrderedDict()

    def add(self, seq: int, length: int, ts_val: int, here: Place, at: int) -> None:
        """Add bytes from that sequence number on, at that place and time."""
        ranges = self._by_timestamp.get(ts_val)
        if ranges is None:
            ranges = self._by_timestamp[ts_val] = deque(maxlen=_MAX_RANGES)
            self._forget(at)
        ranges.append((seq, length, here, at))

    def _forget(self, at: int) -> None:
        """Drop those of earlier timestamps that are too old for a copy."""
        while len(self._by_timestamp) > 1:
            ts_val, ranges = next(iter(self._by_timestamp.items()))
            if at - ranges[-1][-1] < _copy_within_ns(ts_val) and len(self._by_timestamp) <= _MAX_TIMESTAMPS:
                return
            del self._by_timestamp[ts_val]

    def has(self, seq: int, length: int, ts_val: int, here: Place, at: int) -> bool:
        """Whether another place has shown some of these bytes in the same packet, cut otherwise."""
        for start, size, other, other_at in reversed(self._by_timestamp.get(ts_val, ())):
            if other == here and (here[0] != UNKNOWN_PLACE or ts_val < 0):
                continue
            if ahead(start, seq) >= length or ahead(seq, start) >= size:
                continue
            if abs(at - other_at) < _copy_within_ns(ts_val):
                return True
        return False


class Merge:
    """One direction. `copies` counts the packets that were left out."""

    __slots__ = ("_first", "_packets", "_shown", "copies", "state")

    def __init__(self, state: State, first: Place) -> None:
        self.state = state
        self.copies = 0
        self._first = first
        self._packets: OrderedDict[_Identity, _Sightings] = OrderedDict()
        self._shown = _Shown()
        for start, end, _, ts_val, at, *_ in state.ring:
            seq = state.next_seq - ((state.next_offset or 0) - start) & MASK
            self._shown.add(seq, end - start, ts_val, first, at)

    def check(self, packet: CapturedPacket) -> PacketSighting:
        """Whether that packet was seen at another place before. Counts it if so."""
        segment, _, at, _ = packet
        key = segment[0]
        here = place(key)
        identity = _identity(packet)
        seen = self._packets.get(identity)
        if seen is None:
            seen = self._packets[identity] = _Sightings(at, came_in=not is_outgoing(key))
            self._forget(at)
        if not self._seen_before(seen, segment, here, at):
            return PacketSighting.NEW
        self.copies += 1
        if here[0] != UNKNOWN_PLACE or not seen.came_in or seen.went_on or not is_outgoing(key):
            return PacketSighting.COPY
        seen.went_on = True
        return PacketSighting.ONWARD

    def _forget(self, at: int) -> None:
        """Drop the packets that are too old for a copy, down to the first thousand, and the oldest of far too many."""
        while len(self._packets) > _MIN_PACKETS:
            identity, oldest = next(iter(self._packets.items()))
            if at - oldest.first_at < _KEPT_NS and len(self._packets) <= _MAX_PACKETS:
                return
            del self._packets[identity]

    def _seen_before(self, seen: _Sightings, segment: Segment, here: Place, at: int) -> bool:
        seq, length, ip_id, ts_val, state = segment[1], *segment[8:11], self.state
        counts = seen.counts
        others = max((count for other, count in counts.items() if other != here), default=0)
        # A host may hold a packet for longer than senders wait, as the queue of a shaped link does. It is the same one
        # if it came in and leaves now, or has the same number of IP: what is sent again gets another.
        passed_on = seen.came_in and not seen.went_on and is_outgoing(segment[0])
        same = passed_on or (ip_id > 0 and ts_val >= 0) or at - seen.first_at < _copy_within_ns(ts_val)
        repeated = here[0] == UNKNOWN_PLACE and here in counts and same
        counts[here] = counts.get(here, 0) + 1
        if counts[here] <= others or repeated:
            return True
        if len(counts) == 1 and counts[here] == 1 and self._was_last(segment, here):
            return True
        if not length:
            return False
        fresh = state.next_offset is None or (seq - state.next_seq & MASK) < HALF
        copied = not fresh and self._shown.has(seq, length, ts_val, here, at)
        if not copied:
            self._shown.add(seq, length, ts_val, here, at)
        return copied

    def _was_last(self, segment: Segment, here: Place) -> bool:
        """Whether it is the last packet of the first place before there was a second one: its SYN, or its last ack."""
        seq, ack, flags, length = segment[1], segment[2], segment[3], segment[8]
        if here == self._first or self.state.next_offset is None or len(self._packets) > 1:
            return False
        if flags & SYN:
            return self.state.isn == seq
        return not length and seq == self.state.next_seq and ack == self.state.ack


def _identity(packet: CapturedPacket) -> _Identity:
    """What is the same for all copies of a packet.

    Acks of one moment may differ in their window and in what they acknowledge selectively alone: those of a receiver
    of many late packets do. Options of others may be changed on the way, as the largest segment of a SYN is.
    """
    _, seq, ack, flags, window, options_at, payload_at, _, length, ip_id, ts_val, _, _ = packet.segment
    if length or flags & SYN:
        return seq, ack, flags, length, ip_id, ts_val
    return seq, ack, flags, window, ip_id, ts_val, packet.block[options_at:payload_at]


def _copy_within_ns(ts_val: int) -> int:
    """The time within which an equal packet is a copy."""
    return _SOON_NS if ts_val < 0 else _STAMPED_SOON_NS
