"""Two captures of one connection, matched: loss and duplication exactly, delay, and both clocks.

A packet takes some time and never arrives before it was sent: with both directions, that bounds how far the clocks of
the two hosts are apart, as NTP does it (RFC 5905, section 8). Addresses may differ (NAT); sequence numbers do not.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from jsdoctor.model.packets import PairedConnection, PathDelay, UnmatchedCaptures, WhyUnmatched
from jsdoctor.packets.segment import ACK, MASK, SYN, Segment, addresses, ahead, endpoints, reverse
from jsdoctor.packets.tcp.acks import merged
from jsdoctor.packets.value_histogram import ValueHistogram

MAX_PACKETS = 1_000_000
"""Maximum number of packets of a capture kept for matching, in 32 bytes each."""


class SeenPackets:
    """The packets of one direction of a connection at one place, in the order of the capture.

    `prints` identify packets: sequence and ack numbers, flags, length, IPv4 id and timestamp; `plain_prints` do
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
    """The packets of one capture, by direction: the first ones, at most `MAX_PACKETS`, and how many are `left_out`."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.first_ns = self.last_ns = 0
        self.left_out = 0
        self._count = 0
        self._seen: dict[bytes, SeenPackets] = {}

    def take(self, segment: Segment, at: int) -> None:
        """Add one packet, unless there are too many."""
        key, seq, ack, flags, _, _, _, _, length, ip_id, ts_val, _, _ = segment
        self._count += 1
        if self._count > MAX_PACKETS:
            self.left_out += 1
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


_SMALLEST_FULL, _MAX_FULL = 536, 9216
_USUAL_FULL, _ETHERNET_FULL = 1448, 1460
_MIN_COUNT = 3


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
    counts = [*_ranges(mine, theirs, low, arrived, least=1), *_ranges(mine, theirs, arrived, high)]
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
    usual = [size for size, count in sizes.items() if count >= _MIN_COUNT]
    return max((size for size in usual if size <= _ETHERNET_FULL), default=0) or min(usual, default=_USUAL_FULL)


def _ranges(mine: list[_Span], theirs: list[_Span], low: int, high: int, least: int = 0) -> list[tuple[int, int, int]]:
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
    """For each packet, the time from the first sending of its last byte to the first arrival."""
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


_EDGE_NS = 500_000_000
"""Packets within this time of the begin or end of a capture may be missing because it was not running."""

_MIN_MATCHED = 5
_SAMPLE_PACKETS = 300
"""Number of packets of a direction that are compared to find the same connection under other addresses."""

_MAX_STRANGE_SHARE = 0.02
"""Maximum share of data packets that were not sent like this; if there are more, packets were cut or joined."""


class _Match(msgspec.Struct, frozen=True):
    """One direction: which packet of the one capture is which of the other, by index; -1 was not found."""

    source: SeenPackets
    target: SeenPackets
    partner: array[int]
    extra: int
    """How many packets of the target were copies of one that had been matched already."""

    delays: array[int]
    """Times between the two captures, by two clocks: only their differences are meaningful."""

    acked: int | None = None
    """The highest ack of the receiver, by either capture."""

    compared: Comparison | None = None
    """The comparison by bytes, if packets were cut or joined on the way (TSO, GRO)."""


def paired(captures: Sequence[PacketIndex]) -> tuple[tuple[PairedConnection, ...], tuple[UnmatchedCaptures, ...]]:
    """All connections that two of these captures saw, both directions matched; and the captures without any."""
    paired_connections: list[PairedConnection] = []
    unmatched: list[UnmatchedCaptures] = []
    for number, capture in enumerate(captures):
        for other in captures[number + 1 :]:
            pairs = _pairs_of(capture, other)
            paired_connections += pairs
            if not pairs:
                unmatched.append(UnmatchedCaptures(capture.index, other.index, _why_unmatched(capture, other)))
    ordered = sorted(paired_connections, key=lambda pair: (pair.near, pair.far, pair.client, pair.server))
    return tuple(ordered), tuple(unmatched)


def _pairs_of(first: PacketIndex, second: PacketIndex) -> list[PairedConnection]:
    mine, theirs = first.directions(), second.directions()
    pairs = []
    unmatched_keys: list[bytes] = []
    for key in mine.keys() & theirs.keys():
        back = reverse(key)
        if back in mine and back in theirs and _is_from_client(key, mine[key]):
            pair = _pair((key, key), _View(first, mine[key], mine[back]), _View(second, theirs[key], theirs[back]))
            if pair is not None:
                pairs.append(pair)
    taken = {(pair.client, pair.server) for pair in pairs}
    for key, seen in mine.items():
        if reverse(key) in mine and _is_from_client(key, seen) and endpoints(key) not in taken:
            unmatched_keys.append(key)
    for key, their_key in _translated(unmatched_keys, mine, theirs):
        pair = _pair(
            (key, their_key),
            _View(first, mine[key], mine[reverse(key)]),
            _View(second, theirs[their_key], theirs[reverse(their_key)]),
        )
        if pair is not None:
            pairs.append(pair)
    return pairs


def _translated(
    unmatched_keys: Sequence[bytes], mine: dict[bytes, SeenPackets], theirs: dict[bytes, SeenPackets]
) -> Iterator[tuple[bytes, bytes]]:
    """Connections under other addresses or ports: the same numbers, flags, lengths and timestamps."""
    owners: dict[int, bytes] = {}
    for key, seen in theirs.items():
        if reverse(key) in theirs:
            owners.update((print_, key) for print_ in seen.plain_prints[:_SAMPLE_PACKETS])
    for key in unmatched_keys:
        votes = Counter(owners[print_] for print_ in mine[key].plain_prints[:_SAMPLE_PACKETS] if print_ in owners)
        for their_key, count in votes.most_common(1):
            if count >= _MIN_MATCHED:
                yield key, their_key


def _why_unmatched(first: PacketIndex, second: PacketIndex) -> WhyUnmatched:
    if first.last_ns < second.first_ns or second.last_ns < first.first_ns:
        return WhyUnmatched.OTHER_TIME
    mine, theirs = first.directions(), second.directions()
    common = mine.keys() & theirs.keys()
    if not common:
        return WhyUnmatched.NOTHING_COMMON
    if any(reverse(key) in mine and reverse(key) in theirs for key in common):
        return WhyUnmatched.OTHER_NUMBERS
    return WhyUnmatched.ONE_SIDED


def _is_from_client(key: bytes, seen: SeenPackets) -> bool:
    """Whether the client sends in this direction: it sent SYN, or if that was not seen, it has the higher port."""
    if seen.is_client is not None:
        return seen.is_client
    source, destination = endpoints(key)
    return (source.port, source.address) > (destination.port, destination.address)


class _View(NamedTuple):
    """A capture, and what it saw of a connection in both directions."""

    capture: PacketIndex
    to_server: SeenPackets
    to_client: SeenPackets


def _pair(keys: tuple[bytes, bytes], first: _View, second: _View) -> PairedConnection | None:
    forward, back = _both_ways(first, second)
    if len(forward.delays) < _MIN_MATCHED or len(back.delays) < _MIN_MATCHED:
        return None
    if _median(forward.delays) + _median(back.delays) < 0:  # the packets were at the second place first
        first, second, keys = second, first, (keys[1], keys[0])
        forward, back = _both_ways(first, second)
        if len(forward.delays) < _MIN_MATCHED or len(back.delays) < _MIN_MATCHED:
            return None
    high, low = min(forward.delays), -min(back.delays)
    offset = (high + low) // 2
    client, server = endpoints(keys[0])
    far_client, far_server = endpoints(keys[1])
    return PairedConnection(
        client=client,
        server=server,
        far_client=far_client,
        far_server=far_server,
        near=first.capture.index,
        far=second.capture.index,
        to_server=_path(forward, second.capture, offset),
        to_client=_path(back, first.capture, -offset),
        clock_low_ns=min(low, high),
        clock_high_ns=max(low, high),
        least_round_trip_ns=max(high - low, 0),
    )


def _both_ways(first: _View, second: _View) -> tuple[_Match, _Match]:
    """Towards the server and back; each with what its receiver acknowledged."""
    return (
        _match(first.to_server, second.to_server, highest(first.to_client.acked, second.to_client.acked)),
        _match(second.to_client, first.to_client, highest(first.to_server.acked, second.to_server.acked)),
    )


def _match(source: SeenPackets, target: SeenPackets, acked: int | None) -> _Match:
    """Match with IPv4 ids, or without them if they were rewritten on the way; by bytes if packets were cut again."""
    best = _match_by(source, target, source.prints, target.prints)
    if len(best.delays) * 10 < 9 * min(len(source.prints), len(target.prints)):
        plain = _match_by(source, target, source.plain_prints, target.plain_prints)
        if len(plain.delays) > len(best.delays):
            best = plain
    if not _cut_again(best):
        return msgspec.structs.replace(best, acked=acked)
    compared = compare_bytes(source, target, acked)
    delays = best.delays if len(best.delays) >= _MIN_MATCHED else compared.delays
    return msgspec.structs.replace(best, delays=delays, acked=acked, compared=compared)


def _cut_again(match: _Match) -> bool:
    """Whether the target saw data in packets of other lengths than the source sent, while the source was captured."""
    matched = {there for there in match.partner if there != _NONE}
    data = [index for index, length in enumerate(match.target.lengths) if length]
    if not data or not any(match.source.lengths):
        return False
    if matched:
        first, last = min(matched), max(matched)
        within = [index for index in data if first <= index <= last] or data
    else:
        within = data
    known = set(match.source.plain_prints)
    strange = sum(match.target.plain_prints[index] not in known for index in within if index not in matched)
    return strange >= 2 and strange > _MAX_STRANGE_SHARE * len(within)


def _match_by(source: SeenPackets, target: SeenPackets, source_prints: array[int], target_prints: array[int]) -> _Match:
    """Match packets with equal prints in their order: only copies, and acks in the same tick, have equal prints."""
    waiting: dict[int, int] = {}
    more: dict[int, deque[int]] = {}
    for index, print_ in enumerate(target_prints):
        if print_ in waiting:
            more.setdefault(print_, deque()).append(index)
        else:
            waiting[print_] = index
    partner, delays = array("q"), array("q")
    for here, print_ in enumerate(source_prints):
        there = waiting.pop(print_, _NONE)
        partner.append(there)
        if there == _NONE:
            continue
        delays.append(target.times[there] - source.times[here])
        if print_ in more:
            waiting[print_] = more[print_].popleft()
            if not more[print_]:
                del more[print_]
    again = {print_ for print_ in source_prints if print_ in waiting}
    extra = sum(1 + len(more.get(print_, ())) for print_ in again)
    return _Match(source, target, partner, extra, delays)


def _median(delays: Sequence[int]) -> int:
    return sorted(delays)[(len(delays) - 1) // 2]


def _path(match: _Match, target: PacketIndex, offset: int) -> PathDelay:
    """What happened on the way. `offset`: by how much the target's clock is ahead."""
    tally = ValueHistogram()
    least = min(match.delays)
    for delay in match.delays:
        tally.add(delay - least)
    if match.compared is not None:
        compared = match.compared
        return PathDelay(
            sent=compared.sent,
            lost=compared.lost,
            duplicated=compared.duplicated,
            lost_bytes=compared.lost_bytes,
            delay_above_least_ns=tally.quantiles(),
            by_bytes=True,
        )
    matched = [here for here, there in enumerate(match.partner) if there != _NONE]
    first, last = matched[0], matched[-1]
    begins, ends = target.first_ns - offset + _EDGE_NS, target.last_ns - offset - _EDGE_NS
    sent = lost = lost_bytes = 0
    missed = missed_by_capture(match.source, match.target, match.partner, match.acked)
    for here, there in enumerate(match.partner):
        at = match.source.times[here]
        if there == _NONE and not (first < here < last or begins < at < ends):
            continue  # the other capture may not have been running
        if here in missed:
            continue
        sent += 1
        if there == _NONE:
            lost += 1
            lost_bytes += match.source.lengths[here]
    return PathDelay(
        sent=sent,
        lost=lost,
        duplicated=match.extra,
        reordered=_reordered(match),
        lost_bytes=lost_bytes,
        delay_above_least_ns=tally.quantiles(),
    )


def _reordered(match: _Match) -> int:
    """How many packets came after one that was sent later (RFC 4737)."""
    arrived = sorted((there, here) for here, there in enumerate(match.partner) if there != _NONE)
    latest = count = 0
    for _, here in arrived:
        if here < latest:
            count += 1
        latest = max(latest, here)
    return count
