"""Elections: of the meta leader, which every server logs, and of streams and consumers, which the winner logs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from jsdoctor.logs.aggregate.aggregated import Sighting
from jsdoctor.logs.aggregate.runs import time_of
from jsdoctor.logs.aggregate.series import File, Names
from jsdoctor.logs.lines import builtin
from jsdoctor.logs.scan.rows import MarkRow
from jsdoctor.model.log import Leadership, LogTime, Occurrence

SIGHTINGS_KEPT = 2000
"""Maximum number of lines about the meta leader kept of one series, the newest."""

SAME_ELECTION_US = 30_000_000
"""Lines about the same new meta leader within this time, in microseconds, belong to one election."""

WINDOW_US = 600_000_000
"""Changes are counted in windows of ten minutes."""

_EXEMPLARS = 3
_LEADERS = {builtin.STREAM_LEADER: "stream", builtin.CONSUMER_LEADER: "consumer"}


def sightings(files: Sequence[File], names: Names, marks: Mapping[str, list[MarkRow]]) -> list[Sighting]:
    """The lines of a series on new meta leaders; a server that elects itself is its own leader."""
    result = []
    for file in files:
        for mark in marks.get(file.part.name, ()):
            at = time_of(file, mark)
            if at is None or mark.name not in {builtin.META_LEADER, builtin.META_SELF}:
                continue
            server = names.find(file, mark.start, mark.process, mark.seen.offset).name
            leader = mark.seen.fields[0][1] if mark.seen.fields else server
            result.append(Sighting(server, leader, at, file.exemplar(mark.start, mark.seen, at)))
    result.sort(key=_order)
    return result[-SIGHTINGS_KEPT:]


def _order(seen: Sighting) -> tuple[int, str, str, str, int]:
    return (seen.at.us, seen.server, seen.leader, seen.exemplar.file, seen.exemplar.offset)


def meta_leadership(seen: Sequence[Sighting], shift_us: Mapping[str, int]) -> Leadership | None:
    """The meta group's elections, each counted once. `shift_us` brings each server's time to a common one.

    Servers whose clocks cannot be compared with the others' are left out, unless they saw more elections than those.
    """
    comparable: list[tuple[int, Sighting]] = []
    alone: dict[str, list[tuple[int, Sighting]]] = defaultdict(list)
    for election in seen:
        if election.server in shift_us:
            comparable.append((election.at.us + shift_us[election.server], election))
        else:
            alone[election.server].append((election.at.us, election))
    groups = (comparable, *(alone[server] for server in sorted(alone)))
    candidates = [_first_lines(group) for group in groups if group]
    if not candidates:
        return None
    best = max(candidates, key=len)
    busiest, changes = _busiest([us for us, _ in best])
    leaders = Counter(election.leader for _, election in best)
    by_time = sorted(best, key=lambda pair: pair[0])
    return Leadership(
        kind="meta",
        changes=len(best),
        leaders=tuple(sorted(leaders.items(), key=lambda pair: (-pair[1], pair[0]))),
        busiest_changes=changes,
        busiest_at=by_time[busiest][1].at,
        first=by_time[0][1].at,
        last=by_time[-1][1].at,
        exemplars=tuple(election.exemplar for _, election in by_time[:_EXEMPLARS]),
    )


def _first_lines(seen: list[tuple[int, Sighting]]) -> list[tuple[int, Sighting]]:
    """The first line about each election: others about the same leader follow within SAME_ELECTION_US of each other."""
    last_us: dict[str, int] = {}
    kept = []
    for us, election in sorted(seen, key=lambda pair: (pair[0], _order(pair[1]))):
        before_us = last_us.get(election.leader)
        if before_us is None or us - before_us > SAME_ELECTION_US:
            kept.append((us, election))
        last_us[election.leader] = us
    return kept


def _busiest(times: list[int]) -> tuple[int, int]:
    """The index of the time at which the ten minutes with most elections begin, and how many they have."""
    best = (0, 0)
    end = 0
    for begin, us in enumerate(times):
        while end < len(times) and times[end] < us + WINDOW_US:
            end += 1
        if end - begin > best[1]:
            best = (begin, end - begin)
    return best


def leaderships(occurrences: Sequence[Occurrence]) -> list[Leadership]:
    """Elections of streams and consumers, over all servers, most changes first."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        if occurrence.signature in _LEADERS:
            groups[occurrence.signature, occurrence.fields].append(occurrence)
    result = [_leadership(_LEADERS[signature], mine) for (signature, _), mine in sorted(groups.items())]
    return sorted(result, key=lambda group: (-group.changes, group.kind, group.account, group.stream, group.consumer))


def _leadership(kind: str, same: list[Occurrence]) -> Leadership:
    leaders: Counter[str] = Counter()
    buckets: list[tuple[int, int, bool, int]] = []
    for occurrence in same:
        leaders[occurrence.logged_by] += occurrence.count
        buckets.extend((first, last, occurrence.zoned, count) for first, last, count in occurrence.histogram.spans())
    buckets.sort()
    most, most_at, within, end = 0, None, 0, 0
    for first_us, _, zoned, count in buckets:
        while end < len(buckets) and buckets[end][0] < first_us + WINDOW_US:
            within += buckets[end][3]
            end += 1
        if within > most:
            most, most_at = within, LogTime(first_us, zoned)
        within -= count
    lines = sorted(
        (line for occurrence in same for line in occurrence.exemplars), key=lambda line: (line.file, line.offset)
    )
    firsts = [occurrence.first for occurrence in same if occurrence.first is not None]
    lasts = [occurrence.last for occurrence in same if occurrence.last is not None]
    return Leadership(
        kind=kind,
        account=same[0].value("account"),
        stream=same[0].value("stream"),
        consumer=same[0].value("consumer"),
        changes=sum(leaders.values()),
        leaders=tuple(sorted(leaders.items(), key=lambda pair: (-pair[1], pair[0]))),
        busiest_changes=most,
        busiest_at=most_at,
        first=min(firsts, default=None),
        last=max(lasts, default=None),
        exemplars=tuple(lines[:_EXEMPLARS]),
    )
