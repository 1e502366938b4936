"""Two captures of one connection, matched packet by packet: loss and duplication exactly, delay, and both clocks.

A packet takes some time and never arrives before it was sent: with both directions, that bounds how far the clocks of
the two hosts are apart, as NTP does it (RFC 5905, section 8).
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence

import msgspec

from jsdoctor.model.packets import PairedConnection, PathDelay
from jsdoctor.parse.packets.keys import endpoints, reverse
from jsdoctor.parse.packets.sightings import Seen, Sightings
from jsdoctor.parse.packets.tally import Tally

_EDGE_NS = 500_000_000
"""Packets so near to the end of a capture may be missing because it ended."""

_FEWEST = 5
_NONE = -1


class _Match(msgspec.Struct, frozen=True):
    """One direction: which packet of the one capture is which of the other, by index; -1 was not found."""

    source: Seen
    target: Seen
    partner: array[int]
    extra: int
    """How many packets of the target were copies of one that had been matched already."""

    delays: array[int]
    """Times between the two captures, by two clocks: only their differences tell something."""


def paired(captures: Sequence[Sightings]) -> tuple[PairedConnection, ...]:
    """All connections that two of these captures saw, both directions matched."""
    found: list[PairedConnection] = []
    for number, one in enumerate(captures):
        for other in captures[number + 1 :]:
            found += _pairs_of(one, other)
    return tuple(sorted(found, key=lambda pair: (pair.near, pair.far, pair.client, pair.server)))


def _pairs_of(one: Sightings, other: Sightings) -> list[PairedConnection]:
    mine, theirs = one.directions(), other.directions()
    found = []
    for key in mine.keys() & theirs.keys():
        back = reverse(key)
        if back in mine and back in theirs and _is_from_client(key, mine[key]):
            pair = _pair(key, (one, mine[key], mine[back]), (other, theirs[key], theirs[back]))
            if pair is not None:
                found.append(pair)
    return found


def _is_from_client(key: bytes, seen: Seen) -> bool:
    """Who sent SYN is the client; if that was not seen, who has the higher port."""
    if seen.is_client is not None:
        return seen.is_client
    source, destination = endpoints(key)
    return (source.port, source.address) > (destination.port, destination.address)


_View = tuple[Sightings, Seen, Seen]
"""A capture, and what it saw towards the server and towards the client."""


def _pair(key: bytes, one: _View, other: _View) -> PairedConnection | None:
    ahead, back = _match(one[1], other[1]), _match(other[2], one[2])
    if len(ahead.delays) < _FEWEST or len(back.delays) < _FEWEST:
        return None
    if _middle(ahead.delays) + _middle(back.delays) < 0:  # it was there before it was here
        one, other = other, one
        ahead, back = _match(one[1], other[1]), _match(other[2], one[2])
    high, low = min(ahead.delays), -min(back.delays)
    offset = (high + low) // 2
    client, server = endpoints(key)
    return PairedConnection(
        client=client,
        server=server,
        near=one[0].index,
        far=other[0].index,
        to_server=_path(ahead, other[0], offset),
        to_client=_path(back, one[0], -offset),
        clock_low_ns=min(low, high),
        clock_high_ns=max(low, high),
        least_round_trip_ns=max(high - low, 0),
    )


def _match(source: Seen, target: Seen) -> _Match:
    """The nth packet that looks so is the nth that looks so: only copies look alike, and acks in the same tick."""
    waiting: dict[int, int] = {}
    more: dict[int, deque[int]] = {}
    for index, print_ in enumerate(target.prints):
        if print_ in waiting:
            more.setdefault(print_, deque()).append(index)
        else:
            waiting[print_] = index
    partner, delays = array("q"), array("q")
    for here, print_ in enumerate(source.prints):
        there = waiting.pop(print_, _NONE)
        partner.append(there)
        if there == _NONE:
            continue
        delays.append(target.times[there] - source.times[here])
        if print_ in more:
            waiting[print_] = more[print_].popleft()
            if not more[print_]:
                del more[print_]
    again = {print_ for print_ in source.prints if print_ in waiting}
    extra = sum(1 + len(more.get(print_, ())) for print_ in again)
    return _Match(source, target, partner, extra, delays)


def _middle(delays: Sequence[int]) -> int:
    return sorted(delays)[(len(delays) - 1) // 2]


def _path(match: _Match, target: Sightings, offset: int) -> PathDelay:
    """What happened on the way. `offset`: by how much the target's clock is ahead."""
    matched = [here for here, there in enumerate(match.partner) if there != _NONE]
    first, last = matched[0], matched[-1]
    begins, ends = target.first_ns - offset + _EDGE_NS, target.last_ns - offset - _EDGE_NS
    sent = lost = lost_bytes = 0
    for here, there in enumerate(match.partner):
        at = match.source.times[here]
        if there == _NONE and not (first < here < last or begins < at < ends):
            continue  # the other capture may not have been running
        sent += 1
        if there == _NONE:
            lost += 1
            lost_bytes += match.source.lengths[here]
    tally = Tally()
    least = min(match.delays)
    for delay in match.delays:
        tally.add(delay - least)
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
