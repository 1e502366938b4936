"""What is remembered of one direction of a connection, bounded whatever the length of the capture; and TCP checksums.

A host that leaves checksums to its network card is captured with the sum of the pseudo header alone; that is no damage.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from typing import Protocol, TypeAlias

from jsdoctor.model.packets import Label, PacketEvent
from jsdoctor.packets.segment import Direction, Segment, StreamObserver, addresses
from jsdoctor.packets.value_histogram import ValueHistogram

_WORD = 0xFFFF
_TCP = 6
_CHECKSUM_AT, _TCP_HEADER = 16, 20


class Checksum(IntEnum):
    """What a checksum says. `UNKNOWN`: not all of the packet was captured. `PENDING`: left to the network card."""

    UNKNOWN = 0
    GOOD = 1
    PENDING = 2
    BAD = 3


def checksum(segment: Segment, block: bytes) -> Checksum:
    """Check the checksum of one packet."""
    key, options_at, payload_at, captured, length = segment[0], segment[5], segment[6], segment[7], segment[8]
    begins, ends = options_at - _TCP_HEADER, payload_at + captured
    if captured < length or ends > len(block) or payload_at < options_at:
        return Checksum.UNKNOWN
    size = ends - begins
    ends_of_pair = addresses(key)[:-4]
    pseudo = (int.from_bytes(ends_of_pair, "big") + _TCP + size) % _WORD
    body = block[begins:ends]
    if size & 1:
        body += b"\x00"
    if (int.from_bytes(body, "big") + pseudo) % _WORD == 0:
        return Checksum.GOOD
    stated = int.from_bytes(body[_CHECKSUM_AT : _CHECKSUM_AT + 2], "big")
    return Checksum.PENDING if stated == 0 or (stated - pseudo) % _WORD == 0 else Checksum.BAD


RING = 192
"""Number of segments back to which a copy is recognised."""

MAX_HOLES = 256
MAX_RESENT = 1024
"""Number of retransmitted byte ranges that are kept: a late DSACK must still match its own."""

USUAL_FULL = 1460
"""Payload of a full packet in bytes, if no handshake shows it."""

MAX_EVENTS = 8
_MIN_ID_STEPS = 8
MILLISECOND = 1_000_000


Seen: TypeAlias = tuple[int, int, int, int, int, int, int, bool]
"""A segment that was seen: start, end, IP id, TSval, time, epoch of the ids, hops, whether it came late.

A plain tuple, as there is one for every segment. An epoch is a stretch in which ids can be compared.
"""

BY_DATA, BY_ACK, BY_PEER = 0, 1, 2


class Hole:
    """Bytes `start <= offset < end` that did not come when something behind them did: the opener.

    `opener` is whether that was data, a pure ack of the same side, or an ack of the peer for what nobody captured.
    `index` is how many distinct segments came before it. `acked_at`: when the peer was seen to have the bytes, else 0.
    """

    __slots__ = ("acked_at", "at", "end", "epoch", "index", "ip_id", "opener", "start", "ts_val")

    def __init__(self, start: int, end: int, at: int, opener: int) -> None:
        self.start, self.end, self.at, self.opener = start, end, at, opener
        self.ip_id = self.ts_val = -1
        self.epoch = self.index = 0
        self.acked_at = 0


class Resent:
    """Bytes that were sent again: when they were first seen or due, when last, how often, and how often in vain.

    `timeouts` of the sendings followed a timeout; `vain_timeouts` are the same while all of the sendings were in vain.
    """

    __slots__ = (*("count", "due_at", "end", "index", "last_at", "needless", "packets"), *("timeouts", "vain_timeouts"))

    def __init__(self, end: int, due_at: int, last_at: int, index: int, packets: int) -> None:
        self.end, self.due_at, self.last_at, self.index = end, due_at, last_at, index
        self.packets = packets
        self.count = self.needless = 0
        self.timeouts = self.vain_timeouts = 0

    @property
    def was_needed(self) -> bool:
        """Whether the receiver lacked the bytes once, as far as is known."""
        return self.needless < self.count

    @property
    def wait_ns(self) -> int:
        """From when the bytes were first seen or due to their last sending."""
        return self.last_at - self.due_at


class Noticed(Protocol):
    """Takes every label that is given, as a test does that knows the right ones."""

    def __call__(self, direction: Direction, frame: int, label: Label) -> None:
        """Take the label of a packet of the file."""


class State:
    """One direction. Offsets count from 0 and do not wrap; `next_seq` is what `next_offset` is on the wire.

    `next_offset` is None until a packet was seen. `ack` is the last acknowledgement this side sent, raw; `window` and
    `scale` are this side's. `watched`: acks of the peer must be examined closely. `full` is what a packet of this side
    carries at most on the network, in bytes; `joined` are the packets that larger segments stand for, beyond one each.
    `ended_at` is when this side first sent FIN or RST, `cut_at` when it sent RST while nobody had ended the connection,
    and `cut_hops` by how much the TTL of that packet differs from those that carry data.
    `checked`: the result of the checksum of its first packet; `damaged` packets contradict theirs and were left out.
    """

    __slots__ = (
        *("direction", "peer", "observer", "noticed"),
        *(
            "next_seq",
            "next_offset",
            "isn",
            "fin_seq",
            "closed",
            "reset",
            "ended_at",
            "cut_at",
            "cut_hops",
            "full",
            "checked",
            "damaged",
        ),
        *("ack", "window", "scale", "acks_same", "sacking_at"),
        *("ip_id", "id_steps", "id_leaps", "id_still", "epoch"),
        *(
            "ring",
            "holes",
            "resent",
            "sacked",
            "sack_holes",
            "watched",
            "timed_end",
            "timed_at",
            "syn_rtt",
            "least_rtt",
        ),
        *("zero_since", "waited_until", "last_at", "ts_val"),
        *("packets", "segments", "bytes", "distinct", "distinct_bytes", "joined", "resent_packets", "needless_packets"),
        *("reordered", "reordered_needless", "three_reordered", "behind_ack", "downstream", "last_reordered"),
        *("extent", "late_ns", "free_run", "ack_rtt"),
        *("resent_segments", "resent_bytes", "upstream", "fast", "timeout", "early", "needless", "needless_timeouts"),
        *("longest_chain", "longest_wait", "longest_needed_wait", "waited", "syn_again", "fin_again"),
        *("duplicates", "duplicates_of_other_hop", "duplicate_packets"),
        *("duplicate_acks", "sacks", "dsacks", "missed", "unfilled"),
        *("zero_windows", "zero_window_ns", "longest_zero_window", "into_zero_window", "zero_until"),
        *("keep_alives", "resets", "congestion_marks", "oversized", "events"),
    )

    def __init__(self, direction: Direction, observer: StreamObserver | None, noticed: Noticed | None) -> None:
        self.direction = direction
        self.peer = self
        self.observer = observer
        self.noticed = noticed
        self.next_seq = 0
        self.next_offset: int | None = None
        self.isn = self.fin_seq = self.ts_val = -1
        self.closed = self.reset = False
        self.ended_at = self.cut_at = self.cut_hops = 0
        self.full = USUAL_FULL
        self.checked = Checksum.UNKNOWN
        self.damaged = self.joined = self.resent_packets = self.needless_packets = 0
        self.ack = self.window = self.scale = self.sacking_at = -1
        self.acks_same = 0
        self.ip_id = -1
        self.id_steps = self.id_leaps = self.id_still = self.epoch = 0
        self.ring: deque[Seen] = deque(maxlen=RING)
        self.holes: list[Hole] = []
        self.resent: dict[int, Resent] = {}
        self.sacked: list[tuple[int, int]] = []
        self.sack_holes: dict[tuple[int, int], bool] = {}
        self.watched = False
        self.timed_end = self.timed_at = self.syn_rtt = self.least_rtt = 0
        self.zero_since = self.waited_until = self.last_at = 0
        self.packets = self.segments = self.bytes = self.distinct = self.distinct_bytes = 0
        self.reordered = self.reordered_needless = self.three_reordered = self.behind_ack = 0
        self.downstream = self.last_reordered = 0
        self.extent, self.late_ns, self.free_run, self.ack_rtt = (
            ValueHistogram(),
            ValueHistogram(),
            ValueHistogram(),
            ValueHistogram(),
        )
        self.resent_segments = self.resent_bytes = self.upstream = 0
        self.fast = self.timeout = self.early = self.needless = self.needless_timeouts = 0
        self.longest_chain = self.longest_wait = self.longest_needed_wait = self.waited = 0
        self.syn_again = self.fin_again = 0
        self.duplicates = self.duplicates_of_other_hop = self.duplicate_packets = 0
        self.duplicate_acks = self.sacks = self.dsacks = self.missed = self.unfilled = 0
        self.zero_until = 0
        self.zero_windows = self.zero_window_ns = self.longest_zero_window = self.into_zero_window = 0
        self.keep_alives = self.resets = self.congestion_marks = self.oversized = 0
        self.events: list[PacketEvent] = []

    @property
    def ids_tell(self) -> bool:
        """Whether this side numbers its packets: ids increase by small steps, and do not repeat."""
        return self.id_steps >= _MIN_ID_STEPS and self.id_leaps * 10 <= self.id_steps and self.id_still <= self.id_steps

    def packets_of(self, length: int) -> int:
        """The number of packets on the network that carry this number of bytes."""
        return -(-length // self.full)

    def notice(self, event: PacketEvent) -> None:
        """Keep an event, and pass its label on."""
        if len(self.events) < MAX_EVENTS:
            self.events.append(event)
        if self.noticed is not None:
            self.noticed(self.direction, event.frame, event.label)
