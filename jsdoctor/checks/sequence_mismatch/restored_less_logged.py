"""JSD204 in logs: streams that came back with fewer messages than at the start before."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, passed
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.log import LogEvidence, RestoredFall
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted

_WHY = "limits, purges and acknowledgements explain that, or messages were lost: the log cannot tell"


@check("sequence_mismatch.restored_less_logged")
def restored_less_logged(logs: LogEvidence, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """`Restored N messages` at each start is often the only trace of a loss (server: jetstream.go EnableJetStream)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    streams = {stream.subject: stream.config for stream in (snapshots.last.streams if snapshots else ())}
    for fall in logs.restored_falls:
        config = streams.get(fall.subject)
        if config is not None and _keeps_all(config):
            yield _finding(fall, None, "it has no limit that explains that: they are lost", Confidence.MEDIUM)
        elif _damaged(logs, fall):
            why = "its server found damaged messages of that stream when it started: they are lost there"
            yield _finding(fall, None, why, Confidence.MEDIUM)
        elif _ended_badly(logs, fall):
            yield _finding(fall, Severity.WARNING, f"the server had not stopped in order; {_WHY}", Confidence.LOW)
        else:
            yield passed(fall.subject)


def _finding(fall: RestoredFall, severity: Severity | None, why: str, sure: Confidence) -> Finding:
    return Finding(
        subject=fall.subject,
        severity=severity,
        confidence=sure,
        message=(
            f"{fall.server} restored {counted(fall.after, 'message')} where it had {fall.before:,} at the start before"
            f" ({fall.before - fall.after:,} fewer): {why}"
        ),
        measured=fall.before - fall.after,
        threshold=0,
        unit="count",
        evidence=(fall.before_line.observed, fall.after_line.observed),
    )


def _keeps_all(config: StreamConfig) -> bool:
    """Whether nothing but a purge or a delete takes messages away."""
    bounded = (config.max_msgs, config.max_bytes, config.max_age_ns, config.max_msgs_per_subject)
    return config.retention == "limits" and all(limit <= 0 for limit in bounded) and not config.allow_msg_ttl


def _ended_badly(logs: LogEvidence, fall: RestoredFall) -> bool:
    """Whether a process between the two starts was killed or crashed."""
    begin, end = fall.before_line.at, fall.after_line.at
    return any(
        run.end in ("unclean", "failed")
        for run in logs.runs_of(fall.server)
        if run.last and begin and end and begin.us <= run.last.us <= end.us
    )


def _damaged(logs: LogEvidence, fall: RestoredFall) -> bool:
    """Whether that server logged at that start that a block of a stream of that name is missing or damaged."""
    return any(
        one.logged_by == fall.server and one.value("store") == fall.stream
        for one in logs.occurrences("store-block-missing", "store-record-corrupt")
    )
