"""Packets that one of two captures missed: their receiver has acknowledged them, so the network did not lose them."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from jsdoctor.parse.packets.sightings import SeenPackets
from jsdoctor.parse.packets.tcp.numbers import MASK, ahead
from jsdoctor.parse.packets.tcp.sack import merged

_NONE = -1


def highest(*acks: int | None) -> int | None:
    """The ack that is ahead of the others."""
    best: int | None = None
    for ack in acks:
        if ack is not None and (best is None or ahead(ack, best) > 0):
            best = ack
    return best


def missed_by_capture(source: SeenPackets, target: SeenPackets, partner: array[int], acked: int | None) -> set[int]:
    """Which packets of the source, by index, the capture of the target missed.

    Data that was acknowledged has arrived. What of it the target never saw, even when it was sent again, was missed
    there: once, the last time it was sent. A capture that misses data misses pure acks too: these then prove no loss.
    """
    if acked is None or _NONE not in partner:
        return set()
    spans = _offsets(source)
    end = max((span[1] for span in spans), default=0)
    arrived = end + ahead(acked, source.seqs[0] + end & MASK)
    seen = merged(tuple(span for span in _offsets(target, source.seqs[0]) if span[1] > span[0]))
    starts = [start for start, _ in seen]
    last_sent: dict[tuple[int, int], int] = {}
    for here, there in enumerate(partner):
        span = spans[here]
        if there == _NONE and span[0] < span[1] <= arrived:
            at = bisect_right(starts, span[1] - 1) - 1
            if at < 0 or seen[at][1] <= span[0]:
                last_sent[span] = here
    missed = set(last_sent.values())
    if missed:
        missed.update(here for here, there in enumerate(partner) if there == _NONE and spans[here][0] == spans[here][1])
    return missed


def _offsets(packets: SeenPackets, reference: int | None = None) -> list[tuple[int, int]]:
    """First byte and end of every packet, counted from `reference`, without wrapping."""
    offsets = []
    offset, last = 0, packets.seqs[0] if reference is None else reference
    for seq, length in zip(packets.seqs, packets.lengths, strict=True):
        offset, last = offset + ahead(seq, last), seq
        offsets.append((offset, offset + length))
    return offsets
