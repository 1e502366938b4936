"""JSD106: two servers date the same elections differently, zones aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Subject, passed, unknown
from jsdoctor.model.log import LogEvidence, ServerOffset
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span


@check("clock_skew.log_clock_skew_logged")
def log_clock_skew_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Each server against the one that agrees best with those it was compared with."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    if not logs.offsets:
        why = "no two servers' logs have an event in common by which their clocks could be compared"
        yield unknown(CLUSTER, why, "name the logs of all servers of a cluster, over an election of the meta leader")
        return
    done: set[str] = set()
    for reference in _best_first(logs.offsets):
        near = [pair for pair in logs.offsets if pair.server == reference and pair.other not in done]
        if reference not in done and near:
            done |= {reference, *(pair.other for pair in near)}
            yield passed(Subject(kind="server", name=reference))
            for pair in near:
                yield _judged(pair, params)


def _best_first(offsets: tuple[ServerOffset, ...]) -> list[str]:
    apart: dict[str, list[int]] = defaultdict(list)
    for pair in offsets:
        apart[pair.server].append(abs(pair.skew_us))
    return sorted(apart, key=lambda name: (-len(apart[name]), sum(apart[name]), name))


def _judged(pair: ServerOffset, params: Params) -> Finding:
    subject = Subject(kind="server", name=pair.other)
    skew_ns, bound_ns = pair.skew_us * 1000, pair.uncertainty_us * 1000
    side = "ahead of" if skew_ns > 0 else "behind"
    apart = f"{span(abs(skew_ns) // 1_000_000 * 1_000_000)} {side} those of {pair.server} (±{span(bound_ns)})"
    if abs(skew_ns) <= params.integer("tolerance"):
        return passed(subject)
    if abs(skew_ns) - bound_ns <= params.integer("tolerance"):
        better = "measure the clocks live: jsdoctor check with a login of the system account"
        return unknown(subject, f"the times in its log are {apart}, which is too uncertain to tell", better)
    zone = f", beside {span(abs(pair.zone_us) * 1000)} of time zone" if pair.zone_us else ""
    return Finding(
        subject=subject,
        message=(
            f"the times in its log are {apart} for {counted(pair.events, 'event')} that both logged{zone}: one of the"
            " two clocks was wrong; what a stream expires, forgets and redelivers moves when its lead goes from one"
            " to the other"
        ),
        measured=skew_ns,
        threshold=params.integer("tolerance"),
        unit="duration",
        uncertainty=bound_ns,
        evidence=tuple(line.observed for line in pair.exemplars),
    )
