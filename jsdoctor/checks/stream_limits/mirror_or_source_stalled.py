"""JSD607: a mirror, or a stream with sources, to which messages of its origin do not come any more.

From logs: mirrors and sources whose origin refused them, or whose messages they could not store.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.monitor_metadata import own_duration_ns
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.origins import (
    NO_SUCH_STREAM,
    Deployment,
    Origin,
    ahead,
    missing,
    origins_of,
    remade_origin,
    surplus,
)
from jsdoctor.checks.streams.limits import stored_subjects
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, suspected, unknown
from jsdoctor.model.jetstream import SourceConfig
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.subjects import overlaps_any
from jsdoctor.model.trend import StreamHistory, Trend
from jsdoctor.model.wording import counted, span

_LONGER = "run with --samples 6 --interval 12s"
"""Where the time since the last heartbeat starts again: past `warn_silence`, with readings between two attempts."""


class Stall(msgspec.Struct, frozen=True):
    """What is wrong with the copying from one origin. Measured and threshold are in `unit`."""

    text: str
    severity: Severity
    origin: str = ""
    measured: int | None = None
    threshold: int | None = None
    unit: str | None = None


@check("stream_limits.mirror_or_source_stalled")
def mirror_or_source_stalled(
    snapshots: SnapshotSeries,
    trend: Trend | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
    params: Params,
) -> Iterator[Finding]:
    """Lag alone shows nothing: it is 0 without contact to the origin, and if each message that arrives is refused."""
    deployment = Deployment(snapshots, servers, connected)
    histories = {(h.last.account, h.last.name): h for h in trend.streams()} if trend else {}
    for stream in snapshots.last.led_streams():
        if not (stream.config.mirror or stream.config.sources):
            continue
        history = histories.get((stream.account, stream.name))
        stalls = list(_stalls(stream, history, deployment, params))
        if stalls:
            yield _finding(stream, stalls, deployment)
        else:
            yield _undecided(stream, history, deployment, params) or passed(stream.subject)


def _undecided(stream: Stream, history: StreamHistory | None, deployment: Deployment, params: Params) -> Finding | None:
    """Why a stream without a visible fault cannot be judged; None if it can."""
    if history is None:
        return unknown(
            stream.subject,
            "whether messages still come shows between two samples, and its leader was seen in one",
            "run with --samples 2 or more",
        )
    origins = list(origins_of(stream, history))
    if not origins:
        return unknown(stream.subject, "its leader reported nothing of its origin", "run again in a minute")
    if any(unheard(origin, stream, deployment) for origin in origins):
        return unknown(
            stream.subject,
            "its leader has had no contact with its origin yet, and does not say since when it leads",
            f"run with --interval {span(params.integer('warn_silence'))}",
        )
    if all(map(is_heard, origins)) and (late := missing(history, deployment)):
        return suspected(
            stream.subject,
            f"{counted(late.count, 'message')} of its origins have not arrived for {span(int(late.for_ns))}",
            f"run with --interval {span(params.integer('min_stall'))}",
        )
    if any(is_unclear(stream, origin, deployment) for origin in origins):
        return suspected(
            stream.subject,
            "heartbeats of its origin were missed, and a server before 2.11 counts the time since the last one"
            " again with each attempt to reach the origin",
            _LONGER,
        )
    return None


def _stalls(stream: Stream, history: StreamHistory | None, deployment: Deployment, params: Params) -> Iterator[Stall]:
    origins = list(origins_of(stream, history))
    for origin in origins:
        if stall := _of_origin(stream, origin, history, deployment, params):
            yield stall
    for name, text in (*filters_without_subjects(stream, deployment), *sizes_below_origin(stream, deployment)):
        yield Stall(text, Severity.WARNING, name)
    for name, text, severity in starts_past_origin(stream, deployment):
        yield Stall(text, severity, name)
    if surplus(stream):
        text = (
            f"it holds {stream.state.messages:,} messages in {stream.state.last_seq - stream.state.first_seq + 1:,}"
            " sequences: it went on with an origin that was recreated, and messages of both are mixed"
        )
        yield Stall(text, Severity.ERROR, origins[0].now.name if origins else "")
    elif history and (by := ahead(history, deployment)):
        text = (
            f"it is {by:,} sequences past its origin, which was recreated, restored or lost its end:"
            f" the next {counted(by, 'message')} of the origin will not be copied"
        )
        yield Stall(text, Severity.ERROR, origins[0].now.name if origins else "", by, 0, "count")
    elif history and all(map(is_heard, origins)) and (lost := missing(history, deployment)):
        if lost.for_ns < params.integer("min_stall"):
            return
        lag = f"its lag is {max(origin.now.lag for origin in origins):,}, but " if origins else ""
        text = (
            f"{lag}{counted(lost.count, 'message')} of its origins did not arrive and nothing moves"
            f"{_cause(history, deployment)}"
        )
        yield Stall(text, Severity.ERROR, "", lost.count, 0, "count")


def _of_origin(
    stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment, params: Params
) -> Stall | None:
    name, silent_ns = origin.now.name, quiet_ns(stream, origin, history, deployment)
    fail_ns = own_duration_ns(params, "max_silence", stream.config.metadata, "seen-critical")
    warn_ns, lag = min(params.integer("warn_silence"), fail_ns), params.integer("warn_lag")
    received = f"last seen {span(silent_ns)} ago" if origin.now.active_ns >= 0 else f"not seen in {span(silent_ns)}"
    if origin.failing:
        grave = origin.error_code == NO_SUCH_STREAM or silent_ns >= warn_ns
        text = f"nothing is copied from {name}: {origin.error_text}"
        return Stall(text, Severity.ERROR if grave else Severity.WARNING, name, silent_ns, warn_ns, "duration")
    if not 0 <= origin.now.active_ns < HEARD_NS and deployment.has_no(stream, name):
        text = f"nothing is copied from {name}: " + (
            "it was deleted or never there, as its account lists all its streams"
            if deployment.lists_all(stream)
            else "no server that responded has a stream of that name"
        )
        return Stall(text, Severity.ERROR, name, silent_ns, warn_ns, "duration")
    if silent_ns >= warn_ns:
        late = silent_ns >= fail_ns
        text = f"{name} was {received}, not even its heartbeat: it is down, leaderless or cut off, and no message comes"
        limit = fail_ns if late else warn_ns
        return Stall(text, Severity.ERROR if late else Severity.WARNING, name, silent_ns, limit, "duration")
    lags = [reading.lag for reading in (*origin.before, origin.now)]
    if history and len(lags) > 1 and min(lags) >= lag and lags[-1] >= lags[0]:
        rests = history.first.state.last_seq == stream.state.last_seq
        how = "and nothing was copied" if rests else "and not catching up"
        text = f"it is {lags[-1]:,} messages behind {name} {how} within {span(int(history.elapsed_s * 1e9))}"
        return Stall(text, Severity.ERROR if rests else Severity.WARNING, name, lags[-1], lag, "count")
    if silent_ns >= HEARD_NS:
        text = (
            f"{name} was {received}, and origins send a heartbeat each second:"
            f" normal after a restart or an election, a warning from {span(warn_ns)} on"
        )
        return Stall(text, Severity.INFO, name, silent_ns, warn_ns, "duration")
    return None


def _cause(history: StreamHistory, deployment: Deployment) -> str:
    """As measured on 2.10.26, where the stall is permanent; a mirror has no window that can be edited.

    Its lag is that of the message at which it stopped: 0 or one less than what waits behind it.
    """
    stream = history.last
    if remade_origin(history, deployment):
        return (
            ": its origin was deleted and recreated, and before 2.14 a server leaves out as many messages of the new"
            f" one as it had copied of the old ({stream.state.last_seq:,})"
        )
    if not deployment.stops_at_repeated_ids(stream):
        return "; the log of its server may tell why"
    known = f", as before 2.12.8 at an id that was seen before; if the log of its server has '{_REPEATED_ID}',"
    if stream.config.mirror:
        return f"{known} restart that server, as a new mirror stops there again, and upgrade"
    return f"{known} a duplicate window of 100ms lets it go on within seconds; then upgrade to 2.14"


def _finding(stream: Stream, stalls: Sequence[Stall], deployment: Deployment) -> Finding:
    worst = max(stalls, key=lambda stall: stall.severity.rank)
    config = stream.config
    infos = (stream.mirror,) if stream.mirror else stream.sources
    local = {c.name for c in config.origins if c.external is None}
    gone = {origin.now.name for origin in origins_of(stream, None) if origin.error_code == NO_SUCH_STREAM}
    gone |= {name for name in local if deployment.has_no(stream, name)}
    asked = {stall.origin for stall in stalls if stall.origin} & local
    again = deployment.counts_again(stream)
    doubtful = worst.severity is Severity.INFO and worst.measured is not None
    return failed(
        stream.subject,
        "; ".join(dict.fromkeys(stall.text for stall in stalls)),
        stream.observed("state.last_seq", stream.state.last_seq),
        *(stream.observed(f"{info.name}.lag", info.lag) for info in infos),
        *(stream.observed(f"{info.name}.active", info.active_ns) for info in infos),
        severity=None if worst.severity is Severity.ERROR else worst.severity,
        confidence=Confidence.LOW if doubtful else Confidence.HIGH,
        measured=(worst.measured, worst.threshold, worst.unit),
        remedy={
            "origins": sorted(asked - gone) if asked else sorted(local - gone)[:3],
            **({"some_are_missing": True} if asked & gone else {}),
        },
        how_to_get="" if not doubtful else _LONGER if again else "run again in a minute",
    )


_WHAT = {
    "mirror-setup-refused": "a mirror cannot begin to copy",
    "source-setup-refused": "it cannot begin to copy from a source",
    "mirror-setup-unreadable": "a mirror got a reply that it does not understand",
    "source-setup-unreadable": "a source gave a reply that is not understood",
    "mirror-message-refused": "it could not store a message of its origin",
    "source-message-refused": "it could not store a message of a source",
    "source-recreated": "its source was deleted and recreated: it copies from its beginning",
}
_AT_WORK = ("mirror-message-refused", "source-message-refused", "source-recreated")
_SETTING_UP = tuple(name for name in _WHAT if name not in _AT_WORK)
"""While a server starts, origins cannot be reached yet."""

_REPEATED_ID = "msgid is duplicate"


@check("stream_limits.origin_stalled_logged", lines_of="servers")
def origin_stalled_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A stream that cannot store one message of its origin stops there (stream.go processInboundMirrorMsg)."""
    for burst in [*bursts(logs, *_AT_WORK, calm=False), *bursts(logs, *_SETTING_UP)]:
        recreated = {item.signature for item in burst.found} == {"source-recreated"}
        severity = Severity.INFO if recreated else None if is_recent(logs, burst) else Severity.WARNING
        yield finding_of(burst, _words(burst), severity)


def _words(burst: Burst) -> str:
    what = "; ".join(dict.fromkeys(_WHAT[occurrence.signature] for occurrence in burst.found))
    reasons = burst.values("reason")
    stuck = (
        ". A message with an id that it has already seen stops the copying before 2.12.8, and its lag reads 0 meanwhile"
    )
    why = f" ({reasons})" if reasons else ""
    return f"{what}{why}: {burst.story}{stuck if _REPEATED_ID in reasons else ''}"


HEARD_NS = 5_000_000_000
"""An origin sends a heartbeat each second: one received this lately shows that nothing waits to be sent (stream.go)."""
_MISSED_NS = 3_000_000_000
"""Three heartbeats. Half of what a server before 2.11 shows while an origin is silent is above it."""
_NEVER = -1


def is_heard(origin: Origin) -> bool:
    """Whether every reading shows a heartbeat, and no error."""
    readings = (*origin.before, origin.now)
    return all(0 <= reading.active_ns < HEARD_NS and not reading.error for reading in readings)


def quiet_ns(stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment) -> int:
    """For how long nothing was received. A leader that never received anything may have been elected just now."""
    if origin.now.active_ns >= 0:
        return max(origin.now.active_ns, _over_attempts_ns(stream, origin, history, deployment))
    since = deployment.copying_since(stream)
    if since:
        return int((stream.at - since).total_seconds() * 1e9)
    never = history and all(reading.active_ns < 0 for reading in origin.before)
    return int(history.elapsed_s * 1e9) if history and never else 0


def unheard(origin: Origin, stream: Stream, deployment: Deployment) -> bool:
    """Whether nothing was received yet, and nothing shows since when it could have been."""
    return origin.now.active_ns == _NEVER and deployment.copying_since(stream) is None


def is_unclear(stream: Stream, origin: Origin, deployment: Deployment) -> bool:
    """Whether heartbeats were missed and `active` may have started again since."""
    readings = (*origin.before, origin.now)
    return deployment.counts_again(stream) and any(reading.active_ns >= _MISSED_NS for reading in readings)


def _over_attempts_ns(stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment) -> int:
    """From the first reading that shows missed heartbeats to the last, where `active` starts again with each attempt.

    Two readings below the limit one after the other show that the origin sends again.
    """
    if not history or not deployment.counts_again(stream) or len(origin.before) != len(history.readings) - 1:
        return 0
    actives = [reading.active_ns for reading in (*origin.before, origin.now)]
    silent = [number for number, active in enumerate(actives) if active >= _MISSED_NS]
    received = history.first.state.last_seq != stream.state.last_seq
    if len(silent) < 2 or received or any(max(pair) < _MISSED_NS for pair in itertools.pairwise(actives[silent[0] :])):
        return 0
    between = history.readings[silent[-1]].at - history.readings[silent[0]].at
    return actives[silent[0]] + int(between.total_seconds() * 1e9)


_SEVERAL = 2


def filters_without_subjects(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin, and what is wrong, for each filter that no subject of its origin can match.

    Nothing for the copy of one origin that has messages: they may have matched before the origin's subjects were
    changed. Nothing for origins that copy others themselves, as they store messages under the subjects of those.
    """
    for source in _without_messages(stream):
        wanted = _wanted(source)
        origin = deployment.present_origin(stream, source) if wanted else None
        if origin is None or origin.config.mirror or origin.config.sources or not origin.config.subjects:
            continue
        subjects = stored_subjects(origin.config.subjects, origin.config.subject_transform)
        if not any(overlaps_any(text, subjects) for text in wanted):
            named = ", ".join(repr(text) for text in wanted[:3])
            yield (
                source.name,
                f"it takes {named} of {source.name}, which stores {', '.join(subjects[:3])}: no message is ever copied",
            )


def starts_past_origin(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str, Severity]]:
    """The origin, and what is wrong, for each copy that starts at a message or a time that is not there yet.

    A time that is to come may be meant, a sequence is that of an origin that was there before.

    The start acts once, so it counts only while nothing was copied (server: stream.go setupMirrorConsumer).
    """
    for source in _without_messages(stream):
        origin = deployment.present_origin(stream, source)
        if origin is None:
            continue
        waits_ns = int((source.opt_start_time - origin.at).total_seconds() * 1e9) if source.opt_start_time else 0
        if source.opt_start_seq > origin.state.last_seq + 1:
            text = f"it starts at message {source.opt_start_seq:,} of {source.name}, which ends at"
            yield source.name, f"{text} {origin.state.last_seq:,}: what comes before is not copied", Severity.WARNING
        elif waits_ns > 0:
            text = f"it starts at a time that is {span(waits_ns)} ahead: nothing of {source.name} is copied"
            yield source.name, text, Severity.INFO


def _without_messages(stream: Stream) -> tuple[SourceConfig, ...]:
    """The origins from which nothing may have come: all, where the copy is empty, or where another one fills it."""
    sources = stream.config.origins
    return () if stream.state.messages and len(sources) < _SEVERAL else sources


def sizes_below_origin(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin, and what is wrong, for each origin that takes larger messages than the copy.

    A server refuses to create such a copy, and does not look again when its origin is changed (server: stream.go).
    """
    config, limit = stream.config, stream.config.max_msg_size
    for source in config.origins:
        origin = deployment.present_origin(stream, source) if limit > 0 else None
        if origin is not None and not 0 < origin.config.max_msg_size <= limit:
            theirs = f"{origin.config.max_msg_size:,} bytes" if origin.config.max_msg_size > 0 else "any size"
            text = f"it takes messages of up to {limit:,} bytes, and {source.name} those of {theirs}"
            yield source.name, f"{text}: larger ones are not copied, and no lag is reported"


def _wanted(source: SourceConfig) -> tuple[str, ...]:
    """The subjects that it takes; empty for all. A source takes only what one of its transforms matches."""
    if source.subject_transforms:
        return tuple(transform.src or ">" for transform in source.subject_transforms)
    return (source.filter_subject,) if source.filter_subject else ()
