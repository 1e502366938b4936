"""JSD814: servers that log how long they waited for a disk or for a processor."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import by_server
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_SLOW = {
    "readloop-slow": "reading from a connection",
    "internal-subscription-slow": "an internal request",
    "store-state-write-slow": "writing a stream's index",
    "store-limit-slow": "applying a stream's limits",
    "store-update-slow": "changing a stream's settings",
    "meta-snapshot-took": "a snapshot of the meta group",
    "meta-log-large": "the log of the meta group growing too large",
}


_START_FACTOR = 5
"""Factor of `lines` for lines of starts and stops, in which all stores are accessed at once."""


@check("server_health.disk_slow_logged", lines_of="servers")
def disk_slow_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Judge lines about slow operations; each is for seconds in which a connection or stream waited."""
    outside_starts = {burst.subject for burst in bursts(logs, *_SLOW, subjects=by_server)}
    for burst in bursts(logs, *_SLOW, subjects=by_server, calm=False):
        long_ns = burst.largest("took") or 0
        only_snapshots = all(occurrence.signature == "meta-snapshot-took" for occurrence in burst.found)
        if only_snapshots and (long_ns < params.integer("snapshot") or burst.subject not in outside_starts):
            continue
        yield _finding(burst, long_ns, params, burst.subject in outside_starts)


def _finding(burst: Burst, long_ns: int, params: Params, outside_starts: bool) -> Finding:
    what = ", ".join(dict.fromkeys(_SLOW[occurrence.signature] for occurrence in burst.found))
    lines = params.integer("lines") * (1 if outside_starts else _START_FACTOR)
    is_severe = burst.most >= lines or (outside_starts and long_ns >= params.integer("long"))
    at_most = f", up to {span(long_ns // 1_000_000 * 1_000_000)} at a time" if long_ns else ""
    where = "" if outside_starts else ", all of it while it started or stopped"
    return finding_of(
        burst,
        f"it was slow at {what}{at_most} ({burst.story}{where}): a slow disk, too little processor time, or a machine"
        " that was paused",
        None if is_severe else Severity.INFO,
    )
