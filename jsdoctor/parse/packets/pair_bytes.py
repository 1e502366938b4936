"""Two captures of one direction compared byte by byte, for packets that were cut or joined on the way (TSO, GRO)."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from typing import NamedTuple

from jsdoctor.parse.packets.sightings import SeenPackets
from jsdoctor.parse.packets.tcp.numbers import MASK, ahead

_SMALLEST_FULL, _MAX_FULL = 536, 9216
_USUAL_FULL, _ETHERNET_FULL = 1448, 1460
_OFTEN = 3


class Comparison(NamedTuple):
    """Packets as the network carried them: large ones count as several. `delays` are those of bytes first seen."""

    sent: int
    lost: int
    duplicated: int
    lost_bytes: int
    delays: array[int]


class _Span(NamedTuple):
    start: int
    end: int
    at: int


def compare_bytes(source: SeenPackets, target: SeenPackets, acked: int | None) -> Comparison:
    """How often each byte was sent and how often it arrived, within the range that both captures saw.

    `acked` is the highest ack of the receiver: bytes below it have arrived, even if the target's capture missed them.
    """
    mine = _spans(source, source.seqs[0])
    theirs = _spans(target, source.seqs[0])
    if not mine or not theirs:
        return Comparison(0, 0, 0, 0, array("q"))
    low = max(min(span.start for span in mine), min(span.start for span in theirs))
    high = min(max(span.end for span in mine), max(span.end for span in theirs))
    full = _full_size(source, target)
    arrived = low
    if acked is not None:
        last = max(span.end for span in mine)
        arrived = max(low, min(high, last + ahead(acked, source.seqs[0] + last & MASK)))
    lost = lost_bytes = duplicated = 0
    counts = [*_counts(mine, theirs, low, arrived, least=1), *_counts(mine, theirs, arrived, high)]
    for length, sent_times, came_times in counts:
        if sent_times > came_times:
            lost += (sent_times - came_times) * -(-length // full)
            lost_bytes += (sent_times - came_times) * length
        elif came_times > sent_times > 0:
            duplicated += (came_times - sent_times) * -(-length // full)
    within = [span for span in mine if span.start < high and span.end > low]
    sent = sum(-(-(span.end - span.start) // full) for span in within)
    return Comparison(sent, lost, duplicated, lost_bytes, _delays(mine, theirs))


def _spans(seen: SeenPackets, reference: int) -> list[_Span]:
    """Data of a direction with offsets from `reference` that do not wrap."""
    spans = []
    offset, last = 0, reference
    for seq, length, at in zip(seen.seqs, seen.lengths, seen.times, strict=True):
        offset, last = offset + ahead(seq, last), seq
        if length:
            spans.append(_Span(offset, offset + length, at))
    return spans


def _full_size(source: SeenPackets, target: SeenPackets) -> int:
    """The size of a full packet on the network: the most frequent one of those that can be."""
    sizes = Counter(
        length for seen in (source, target) for length in seen.lengths if _SMALLEST_FULL <= length <= _MAX_FULL
    )
    usual = [size for size, count in sizes.items() if count >= _OFTEN]
    return max((size for size in usual if size <= _ETHERNET_FULL), default=0) or min(usual, default=_USUAL_FULL)


def _counts(mine: list[_Span], theirs: list[_Span], low: int, high: int, least: int = 0) -> list[tuple[int, int, int]]:
    """Stretches of bytes: length, how often they were sent, how often they came, which was `least` times or more.

    Equal neighbours are one stretch.
    """
    steps: dict[int, list[int]] = {}
    for which, spans in enumerate((mine, theirs)):
        for span in spans:
            start, end = max(span.start, low), min(span.end, high)
            if start < end:
                steps.setdefault(start, [0, 0])[which] += 1
                steps.setdefault(end, [0, 0])[which] -= 1
    counts: list[tuple[int, int, int]] = []
    sent = came = before = 0
    for position in sorted(steps):
        if (sent or came) and position > before:
            if counts and counts[-1][1:] == (sent, max(came, least)):
                counts[-1] = (counts[-1][0] + position - before, *counts[-1][1:])
            else:
                counts.append((position - before, sent, max(came, least)))
        sent, came, before = sent + steps[position][0], came + steps[position][1], position
    return counts


def _delays(mine: list[_Span], theirs: list[_Span]) -> array[int]:
    """From when the last byte of a packet was first sent to when it first came."""
    first = _first_seen(mine)
    starts = [span.start for span in first]
    delays = array("q")
    for span in _first_seen(theirs):
        index = bisect_right(starts, span.end - 1) - 1
        if index >= 0 and first[index].end >= span.end:
            delays.append(span.at - first[index].at)
    return delays


def _first_seen(spans: list[_Span]) -> list[_Span]:
    """Bytes that came in order, with the time of their packet."""
    new_spans: list[_Span] = []
    highest: int | None = None
    for span in spans:
        if highest is None or span.end > highest:
            new_spans.append(_Span(span.start if highest is None else max(span.start, highest), span.end, span.at))
            highest = span.end
    return new_spans
