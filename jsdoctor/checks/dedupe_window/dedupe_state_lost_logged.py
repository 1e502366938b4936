"""JSD306, from logs: duplicates that begin when a server has started."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.index import index_of
from jsdoctor.checks.logs.words import listed, no_client_lines, no_server_lines, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Severity, Subject, passed, unknown
from jsdoctor.model.log import LogEvidence, ProcessRun, RestoredFall, exemplars_of
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span

_DUPLICATES = (
    "application-duplicate-postgresql",
    "application-duplicate-mongodb",
    "application-duplicate-mysql",
    "application-duplicate-sqlite",
)
_RISE = 3


@check("dedupe_window.dedupe_state_lost_logged")
def dedupe_state_lost_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Starts of servers against what applications logged before and after them, on one clock."""
    if not logs.has_server_logs or not logs.has_client_logs:
        yield no_client_lines() if logs.has_server_logs else no_server_lines()
        return
    found = False
    for server in logs.servers:
        starts = [run for run in index_of(logs).runs_of(server.name) if run.started is not None and run.started.zoned]
        counts = [
            (_duplicates(logs, run, after, params), run)
            for run, after in zip(starts, [*starts[1:], None], strict=False)
        ]
        worst = max(
            ((count, run) for count, run in counts if count is not None), key=lambda told: told[0][1], default=None
        )
        if worst is not None:
            found = True
            yield _finding(logs, worst[1], worst[0], params)
    if found:
        return
    told = logs.occurrences(*_DUPLICATES)
    if told and not any(one.zoned for one in told if any(run.started and run.started.zoned for run in logs.runs)):
        why = "applications log duplicates and servers starts, but the time zones of both are not known"
        yield unknown(CLUSTER, why, "give the zones: --timezone 'PATTERN=ZONE'")
    else:
        yield passed(CLUSTER)


def _duplicates(
    logs: LogEvidence, run: ProcessRun, following: ProcessRun | None, params: Params
) -> tuple[int, int] | None:
    """Duplicates before and after a start, up to the next one; None when they are few or hardly more than before."""
    if run.started is None:
        return None
    start, within = run.started.us, params.integer("after") // 1000
    end = min(start + within, following.started.us) if following and following.started else start + within
    told = [one for one in logs.occurrences(*_DUPLICATES) if one.zoned]
    before = sum(one.between(start - within, start) for one in told)
    after = sum(one.between(start, end) for one in told)
    return (before, after) if after >= params.integer("duplicates") and after > _RISE * before else None


def _finding(logs: LogEvidence, run: ProcessRun, counts: tuple[int, int], params: Params) -> Finding:
    before, after = counts
    falls = [fall for fall in logs.restored_falls if fall.server == run.server and _at(fall, run)]
    smaller = f"; {listed(fall.subject.label for fall in falls)} came back with fewer messages" if falls else ""
    return Finding(
        subject=falls[0].subject if len(falls) == 1 else Subject(kind="server", name=run.server),
        severity=None if falls else Severity.INFO,
        confidence=Confidence.LOW,
        message=(
            f"{counted(after, 'duplicate')} in applications' logs within {span(params.integer('after'))} after"
            f" {run.server} started at {run.started}, {before:,} before{smaller}: ids of messages that are not stored"
            " any more are forgotten by a restart, so retries are stored again; or consumers redelivered"
        ),
        measured=after,
        threshold=params.integer("duplicates"),
        unit="count",
        first_seen=zoned(run.started),
        evidence=(
            *(fall.after_line.observed for fall in falls[:2]),
            *exemplars_of(logs.occurrences(*_DUPLICATES)),
        ),
    )


def _at(fall: RestoredFall, run: ProcessRun) -> bool:
    """Whether it was at the start of this process that the stream came back smaller."""
    at, until = fall.after_line.at, run.last
    return at is not None and run.started is not None and run.started <= at and (until is None or at <= until)
