"""Which packets a capture saw, in few bytes each: what two captures of one connection are matched by."""

from __future__ import annotations

from array import array

from jsdoctor.parse.packets.keys import addresses
from jsdoctor.parse.packets.segment import ACK, SYN, Segment
from jsdoctor.parse.packets.tcp.numbers import ahead

MAX_PACKETS = 1_000_000
"""Maximum number of packets of a capture kept for matching, in 32 bytes each."""


class SeenPackets:
    """The packets of one direction of a connection at one place, in the order of the capture.

    `prints` tell packets apart: sequence and ack numbers, flags, length, IPv4 id and timestamp; `plain_prints` do
    without the id, which some hosts on the way rewrite. `acked` is the highest ack that these packets carry.
    """

    __slots__ = ("acked", "is_client", "lengths", "plain_prints", "prints", "seqs", "times")

    def __init__(self) -> None:
        self.prints = array("q")
        self.plain_prints = array("q")
        self.seqs = array("I")
        self.times = array("q")
        self.lengths = array("I")
        self.is_client: bool | None = None
        self.acked: int | None = None


class PacketIndex:
    """All packets of one capture, by direction. `truncated`: there were more than are remembered."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.first_ns = self.last_ns = 0
        self.truncated = False
        self._count = 0
        self._seen: dict[bytes, SeenPackets] = {}

    def take(self, segment: Segment, at: int) -> None:
        """Remember one packet."""
        key, seq, ack, flags, _, _, _, _, length, ip_id, ts_val, _, _ = segment
        self._count += 1
        if self._count > MAX_PACKETS:
            self.truncated = True
            return
        seen = self._seen.get(key)
        if seen is None:
            seen = self._seen[key] = SeenPackets()
        if flags & SYN:
            seen.is_client = not flags & ACK
        if flags & ACK and (seen.acked is None or ahead(ack, seen.acked) > 0):
            seen.acked = ack
        plain = hash((seq, ack, flags, length, ts_val))
        seen.plain_prints.append(plain)
        seen.prints.append(hash((plain, ip_id)))
        seen.seqs.append(seq)
        seen.times.append(at)
        seen.lengths.append(length)
        self.first_ns = self.first_ns or at
        self.last_ns = max(self.last_ns, at)

    def directions(self) -> dict[bytes, SeenPackets]:
        """What was seen of each direction, at the place that saw most of it; the key is without the place."""
        best: dict[bytes, SeenPackets] = {}
        for key, seen in self._seen.items():
            plain = addresses(key)
            if plain not in best or len(seen.prints) > len(best[plain].prints):
                best[plain] = seen
        return best
