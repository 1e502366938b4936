"""JSD106: the logs of two servers give different times for the same elections, time zones aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jsdoctor.checks.logs.words import listed, no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Subject, failed, passed, unknown
from jsdoctor.model.log import LogEvidence, ServerOffset
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span

_LONGER = "name the logs of all servers of a cluster, over an election of the meta leader"

_MIN_EVENTS = 2
"""Fewest common events: a single one may have been logged late, which is not a wrong clock."""


@check("clock_skew.log_clock_skew_logged")
def log_clock_skew_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Compare each server with the one that was compared with most others, directly or through others.

    A server whose log has no election in common with any other log is not evaluated.
    """
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    if not logs.offsets:
        why = "no two servers' logs have an event in common by which their clocks could be compared"
        yield unknown(CLUSTER, why, _LONGER)
        return
    compared_with: dict[str, list[ServerOffset]] = defaultdict(list)
    for pair in logs.offsets:
        compared_with[pair.server].append(pair)
    done: set[str] = set()
    for reference in _possible_references(logs.offsets):
        if reference not in done:
            done.add(reference)
            yield passed(Subject(kind="server", name=reference))
            for path in _comparison_paths(reference, compared_with):
                done.add(path[-1].other)
                yield _judged(path, params)
    for name in sorted({server.name for server in logs.servers} - done):
        why = "no election of a meta leader in its log is in another server's log, so their clocks cannot be compared"
        yield unknown(Subject(kind="server", name=name), why, _LONGER)


def _comparison_paths(
    reference: str, compared_with: Mapping[str, Sequence[ServerOffset]]
) -> Iterator[tuple[ServerOffset, ...]]:
    """The shortest chain of comparisons from the reference to each server that has one (breadth-first search).

    Logs of different days form a chain: the first and the last have no event in common.
    """
    reached = {reference}
    paths: list[tuple[ServerOffset, ...]] = [()]
    for path in paths:
        for pair in compared_with[path[-1].other if path else reference]:
            if pair.other not in reached:
                reached.add(pair.other)
                paths.append((*path, pair))
    yield from paths[1:]


def _possible_references(offsets: tuple[ServerOffset, ...]) -> list[str]:
    """The servers by number of comparisons, most first; of equal ones the one that differs least."""
    skews: dict[str, list[int]] = defaultdict(list)
    for pair in offsets:
        skews[pair.server].append(abs(pair.skew_us))
    return sorted(skews, key=lambda name: (-len(skews[name]), sum(skews[name]), name))


def _judged(path: Sequence[ServerOffset], params: Params) -> Finding:
    subject = Subject(kind="server", name=path[-1].other)
    skew_ns, bound_ns = (1000 * sum(us) for us in zip(*((p.skew_us, p.uncertainty_us) for p in path), strict=True))
    zone_ns = 1000 * sum(pair.zone_us for pair in path)
    side = "ahead of" if skew_ns > 0 else "behind"
    apart = f"{span(abs(skew_ns) // 1_000_000 * 1_000_000)} {side} those of {path[0].server} (±{span(bound_ns)})"
    if abs(skew_ns) <= params.integer("tolerance"):
        return passed(subject)
    if abs(skew_ns) - bound_ns <= params.integer("tolerance"):
        better = "measure the clocks live: jsdoctor check with a login of the system account"
        return unknown(subject, f"the times in its log are {apart}, which is too uncertain to tell", better)
    if min(pair.events for pair in path) < _MIN_EVENTS:
        why = f"the times in its log are {apart} for one event, which a paused server logs late as well"
        return unknown(subject, why, _LONGER)
    zone = f", beside {span(abs(zone_ns))} of time zone" if zone_ns else ""
    return failed(
        subject,
        f"the times in its log are {apart} {_events_text(path)}{zone}: one of the"
        " two clocks was wrong; expiry, duplicate windows and redelivery of a stream jump when its leader moves"
        " between the two",
        *(line.observed for pair in path for line in pair.exemplars),
        measured=(skew_ns, params.integer("tolerance"), "duration"),
        uncertainty=bound_ns,
    )


def _events_text(path: Sequence[ServerOffset]) -> str:
    events = counted(min(pair.events for pair in path), "event")
    through = listed(pair.server for pair in path[1:])
    return (
        f"for {events} that each logged as the next, through {through}" if through else f"for {events} that both logged"
    )
