"""JSD607: a mirror, or a stream with sources, that gets no more messages of its origin.

From logs: mirrors and sources whose origin refused them, or whose messages they could not store.

Servers compute lag from what they receive, so it is 0 if they refuse what they receive (server: stream.go).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property

import msgspec

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.monitor_metadata import own_duration_ns
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.acked_then_dropped import largest_payload
from jsdoctor.checks.streams.limits import stored_subjects
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, suspected, unknown
from jsdoctor.model.jetstream import SourceConfig, SourceInfo
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.release import release
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream, StreamKey
from jsdoctor.model.subjects import overlaps_any
from jsdoctor.model.trend import StreamHistory, Trend
from jsdoctor.model.wording import counted, span

_MORE_SAMPLES = "run with --samples 6 --interval 12s"
"""For servers whose time since the last heartbeat restarts: longer than `warn_silence`, with readings in between."""


class Stall(msgspec.Struct, frozen=True):
    """A fault of the copying from one origin. `measured`: the value, its threshold and their unit."""

    text: str
    severity: Severity
    origin: str = ""
    measured: tuple[int | None, int | None, str | None] = (None, None, None)


@check("stream_limits.mirror_or_source_stalled")
def mirror_or_source_stalled(
    snapshots: SnapshotSeries,
    trend: Trend | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
    params: Params,
) -> Iterator[Finding]:
    """Judge mirrors and sources. Lag alone is no proof: it is 0 without contact, and if each message is refused."""
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
            _MORE_SAMPLES,
        )
    return None


def _stalls(stream: Stream, history: StreamHistory | None, deployment: Deployment, params: Params) -> Iterator[Stall]:
    origins = list(origins_of(stream, history))
    for origin in origins:
        if stall := _origin_stall(stream, origin, history, deployment, params):
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
    elif history and (excess := ahead(history, deployment)):
        text = (
            f"it is {excess:,} sequences past its origin, which was recreated, restored or lost its end:"
            f" the next {counted(excess, 'message')} of the origin will not be copied"
        )
        yield Stall(text, Severity.ERROR, origins[0].now.name if origins else "", (excess, 0, "count"))
    elif history and all(map(is_heard, origins)) and (lost := missing(history, deployment)):
        if lost.for_ns < params.integer("min_stall"):
            return
        lag = f"its lag is {max(origin.now.lag for origin in origins):,}, but " if origins else ""
        text = (
            f"{lag}{counted(lost.count, 'message')} of its origins did not arrive and nothing moves"
            f"{_cause(history, deployment)}"
        )
        yield Stall(text, Severity.ERROR, "", (lost.count, 0, "count"))


def _origin_stall(
    stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment, params: Params
) -> Stall | None:
    name, silent_ns = origin.now.name, quiet_ns(stream, origin, history, deployment)
    fail_ns = own_duration_ns(params, "max_silence", stream.config.metadata, "seen-critical")
    warn_ns, lag = min(params.integer("warn_silence"), fail_ns), params.integer("warn_lag")
    copied = f"last seen {span(silent_ns)} ago" if origin.now.active_ns >= 0 else f"not seen in {span(silent_ns)}"
    if origin.failing:
        is_severe = origin.error_code == NO_SUCH_STREAM or silent_ns >= warn_ns
        text = f"nothing is copied from {name}: {origin.error_text}"
        return Stall(text, Severity.ERROR if is_severe else Severity.WARNING, name, (silent_ns, warn_ns, "duration"))
    if not 0 <= origin.now.active_ns < HEARTBEAT_LIMIT_NS and deployment.has_no(stream, name):
        text = f"nothing is copied from {name}: " + (
            "it was deleted or never there, as its account lists all its streams"
            if deployment.lists_all(stream)
            else "no server that responded has a stream of that name"
        )
        return Stall(text, Severity.ERROR, name, (silent_ns, warn_ns, "duration"))
    if silent_ns >= warn_ns:
        late = silent_ns >= fail_ns
        text = f"{name} was {copied}, not even its heartbeat: it is down, leaderless or cut off, and no message comes"
        limit = fail_ns if late else warn_ns
        return Stall(text, Severity.ERROR if late else Severity.WARNING, name, (silent_ns, limit, "duration"))
    lags = [reading.lag for reading in (*origin.before, origin.now)]
    if history and len(lags) > 1 and min(lags) >= lag and lags[-1] >= lags[0]:
        nothing_copied = history.first.state.last_seq == stream.state.last_seq
        how = "and nothing was copied" if nothing_copied else "and not catching up"
        text = f"it is {lags[-1]:,} messages behind {name} {how} within {span(int(history.elapsed_s * 1e9))}"
        return Stall(text, Severity.ERROR if nothing_copied else Severity.WARNING, name, (lags[-1], lag, "count"))
    if silent_ns >= HEARTBEAT_LIMIT_NS:
        text = (
            f"{name} was {copied}, and origins send a heartbeat each second:"
            f" normal after a restart or an election, a warning from {span(warn_ns)} on"
        )
        return Stall(text, Severity.INFO, name, (silent_ns, warn_ns, "duration"))
    return None


def _cause(history: StreamHistory, deployment: Deployment) -> str:
    """Why a copy stopped for good, and the fix, as half a sentence: measured on 2.10.26.

    A mirror has no duplicate window that could be edited.
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
    stalled_origins = {stall.origin for stall in stalls if stall.origin} & local
    restarts = deployment.restarts_silence(stream)
    doubtful = worst.severity is Severity.INFO and worst.measured[0] is not None
    seen = {o.now.name for o in origins_of(stream, None) if o.now.active_ns >= 0 and not o.failing} - gone
    measured, _, unit = worst.measured
    # Where attempts to reach the origin fail, the time since the last contact starts again with each.
    silent_ns = measured if unit == "duration" and worst.origin in seen and not restarts else None
    return failed(
        stream.subject,
        "; ".join(dict.fromkeys(stall.text for stall in stalls)),
        stream.observed("state.last_seq", stream.state.last_seq),
        *(stream.observed(f"{info.name}.lag", info.lag) for info in infos),
        *(stream.observed(f"{info.name}.active", info.active_ns) for info in infos),
        severity=None if worst.severity is Severity.ERROR else worst.severity,
        confidence=Confidence.LOW if doubtful else Confidence.HIGH,
        measured=worst.measured,
        between=(None if silent_ns is None else stream.at - timedelta(microseconds=silent_ns // 1000), None),
        remedy={
            "origins": sorted(stalled_origins - gone) if stalled_origins else sorted(local - gone)[:_SHOWN],
            **({"some_are_missing": True} if stalled_origins & gone else {}),
        },
        how_to_get="" if not doubtful else _MORE_SAMPLES if restarts else "run again in a minute",
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
_WHILE_COPYING = ("mirror-message-refused", "source-message-refused", "source-recreated")
_SETTING_UP = tuple(name for name in _WHAT if name not in _WHILE_COPYING)
"""While a server starts, origins cannot be reached yet."""

_REPEATED_ID = "msgid is duplicate"


@check("stream_limits.origin_stalled_logged", lines_of="servers")
def origin_stalled_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A stream that cannot store one message of its origin stops there (stream.go processInboundMirrorMsg)."""
    for burst in [*bursts(logs, *_WHILE_COPYING, calm=False), *bursts(logs, *_SETTING_UP)]:
        recreated = {item.signature for item in burst.found} == {"source-recreated"}
        severity = Severity.INFO if recreated else None if is_recent(logs, burst) else Severity.WARNING
        yield finding_of(burst, _message_logged(burst), severity)


def _message_logged(burst: Burst) -> str:
    what = "; ".join(dict.fromkeys(_WHAT[occurrence.signature] for occurrence in burst.found))
    reasons = burst.values("reason")
    stuck = (
        ". A message with an id that it has already seen stops the copying before 2.12.8, and its lag reads 0 meanwhile"
    )
    why = f" ({reasons})" if reasons else ""
    return f"{what}{why}: {burst.story}{stuck if _REPEATED_ID in reasons else ''}"


HEARTBEAT_LIMIT_NS = 5_000_000_000
"""With a heartbeat within this time an origin is in contact: it sends one each second (server: stream.go)."""
_MISSED_NS = 3_000_000_000
"""Three heartbeats. Servers before 2.11 show more than this for half of the time in which an origin is silent."""
_NEVER = -1


def is_heard(origin: Origin) -> bool:
    """Whether every reading shows a heartbeat, and no error."""
    readings = (*origin.before, origin.now)
    return all(0 <= reading.active_ns < HEARTBEAT_LIMIT_NS and not reading.error for reading in readings)


def quiet_ns(stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment) -> int:
    """For how long nothing was received from an origin. If nothing ever was: since its leader began to copy, else over
    the samples; 0 where neither shows it.
    """
    if origin.now.active_ns >= 0:
        return max(origin.now.active_ns, _over_attempts_ns(stream, origin, history, deployment))
    since = deployment.copying_since(stream)
    if since:
        return int((stream.at - since).total_seconds() * 1e9)
    if not history or len(origin.before) < len(history.readings) - 1:
        return 0
    return int(history.elapsed_s * 1e9) if all(reading.active_ns < 0 for reading in origin.before) else 0


def unheard(origin: Origin, stream: Stream, deployment: Deployment) -> bool:
    """Whether nothing was received yet, and nothing shows since when it could have been."""
    return origin.now.active_ns == _NEVER and deployment.copying_since(stream) is None


def is_unclear(stream: Stream, origin: Origin, deployment: Deployment) -> bool:
    """Whether heartbeats were missed on a server whose `active` restarts with each attempt to reach the origin."""
    readings = (*origin.before, origin.now)
    return deployment.restarts_silence(stream) and any(reading.active_ns >= _MISSED_NS for reading in readings)


def _over_attempts_ns(stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment) -> int:
    """The time from the first reading with missed heartbeats to the last, where `active` restarts with each attempt.

    0 if anything was copied, or if two readings in a row have recent heartbeats: the origin sends again.
    """
    if not history or not deployment.restarts_silence(stream) or len(origin.before) != len(history.readings) - 1:
        return 0
    actives = [reading.active_ns for reading in (*origin.before, origin.now)]
    silent = [number for number, active in enumerate(actives) if active >= _MISSED_NS]
    copied = history.first.state.last_seq != stream.state.last_seq
    if len(silent) < 2 or copied or any(max(pair) < _MISSED_NS for pair in itertools.pairwise(actives[silent[0] :])):
        return 0
    between = history.readings[silent[-1]].at - history.readings[silent[0]].at
    return actives[silent[0]] + int(between.total_seconds() * 1e9)


_SHOWN = 3


def filters_without_subjects(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin and a text for each filter that no subject of its origin can match.

    A copy of one origin that has messages is left out, as the origin may have had other subjects, and so are origins
    that copy others, as they store messages under the subjects of those.
    """
    for source in _without_messages(stream):
        wanted = _wanted(source)
        origin = deployment.present_origin(stream, source) if wanted else None
        if origin is None or origin.config.mirror or origin.config.sources or not origin.config.subjects:
            continue
        subjects = stored_subjects(origin.config.subjects, origin.config.subject_transform)
        if not any(overlaps_any(text, subjects) for text in wanted):
            named, stored = ", ".join(map(repr, wanted[:_SHOWN])), ", ".join(subjects[:_SHOWN])
            yield (
                source.name,
                f"it takes {named} of {source.name}, which stores {stored}: no message is ever copied",
            )


def starts_past_origin(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str, Severity]]:
    """The origin, a text and its severity for each start at a sequence or time beyond the end of the origin.

    A future time may be intended; a sequence is one of an earlier origin. The start acts once, so it counts only while
    nothing was copied (server: stream.go setupMirrorConsumer).
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
    """The origins from which nothing may have been copied: none if the copy has messages and a single origin."""
    sources = stream.config.origins
    return () if stream.state.messages and len(sources) == 1 else sources


def sizes_below_origin(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin and a text for each origin that accepts larger messages than the copy.

    A server refuses to create such a copy only where its origin has a limit, too, and does not check it when that one
    is raised or removed (server: stream.go). No message is larger than `max_payload`.
    """
    config, limit = stream.config, stream.config.max_msg_size
    for source in config.origins:
        origin = deployment.present_origin(stream, source) if limit > 0 else None
        if origin is None:
            continue
        largest = min((size for size in (origin.config.max_msg_size, deployment.max_payload) if size > 0), default=0)
        if not 0 < largest <= limit:
            theirs = f"{largest:,} bytes" if largest else "any size"
            text = f"it takes messages of up to {limit:,} bytes, and {source.name} those of {theirs}"
            yield source.name, f"{text}: larger ones are not copied, and no lag is reported"


def _wanted(source: SourceConfig) -> tuple[str, ...]:
    """The subjects that a source takes: of its transforms, else its filter; empty: all."""
    if source.subject_transforms:
        return tuple(transform.src or ">" for transform in source.subject_transforms)
    return (source.filter_subject,) if source.filter_subject else ()


NO_SUCH_STREAM = 10059
_NO_RESTART_SINCE = (2, 11)
"""From this release on `active` of a source does not restart with each attempt to reach the origin, every ten to twenty
seconds; before, no error is reported either: measured on 2.10.26 for a site that is down."""
_DROPS_REPEATED_IDS = (2, 12, 8)
"""From this release on a repeated id is dropped, or stored by a mirror; before, it stops a copy of one replica."""


class Origin(msgspec.Struct, frozen=True):
    """A mirror or source as its stream reports it: in the newest reading, and in earlier ones, oldest first."""

    now: SourceInfo
    before: tuple[SourceInfo, ...] = ()

    @property
    def failing(self) -> bool:
        """Whether every reading shows an error."""
        return all(reading.error for reading in (*self.before, self.now))

    @property
    def error_code(self) -> int:
        """The API error code of the newest error."""
        error = self.now.error
        code = error.get("err_code", 0) if isinstance(error, dict) else 0
        return code if isinstance(code, int) else 0

    @property
    def error_text(self) -> str:
        """The newest error."""
        error = self.now.error
        text = error.get("description", "") if isinstance(error, dict) else error
        return f"{text or 'an error without a text'}" + (f" (error {self.error_code})" if self.error_code else "")


def origins_of(stream: Stream, history: StreamHistory | None) -> Iterator[Origin]:
    """The mirror or all sources of a stream. Sources of one name (several filters of a stream) differ by position."""
    earlier = [_sources(reading) for reading in history.readings[:-1]] if history else []
    if not stream.mirror and not stream.sources:
        return
    for key, info in _sources(stream).items():
        yield Origin(info, tuple(sample[key] for sample in earlier if key in sample))


def _sources(stream: Stream) -> Mapping[tuple[str, int], SourceInfo]:
    sources: dict[tuple[str, int], SourceInfo] = {}
    infos = (stream.mirror,) if stream.mirror else stream.sources
    for info in infos:
        sources[info.name, sum(1 for name, _ in sources if name == info.name)] = info
    return sources


class Deployment:
    """The other streams and the servers: the origins in the first and last sample, and the servers' versions.

    `max_payload`: the largest message that any server accepts, in bytes; 0 if none reported it.
    """

    def __init__(self, snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None) -> None:
        self._servers = {server.name: server for server in servers.servers} if servers else {}
        self._connected = connected
        self._first, self._last = snapshots.snapshots[0], snapshots.last
        self.max_payload = largest_payload(servers, connected) or 0
        self._index: dict[int, dict[StreamKey, Stream]] = {}

    def copying_since(self, stream: Stream) -> datetime | None:
        """When the present leader of a stream began to copy at the latest; None if unknown (2.10; plain accounts)."""
        server = self._servers.get(stream.answered_by)
        started = server.varz.start if server and server.varz else None
        led = stream.cluster.leader_since if stream.cluster else None
        alone = not (stream.cluster and stream.cluster.replicas)
        if led is None and not (alone and started):
            return None
        return max(moment for moment in (led, started, stream.created) if moment)

    def stops_at_repeated_ids(self, stream: Stream) -> bool:
        """Whether a repeated id stops its copying: with one replica, on a server known to be older than the fix."""
        if stream.config.num_replicas > 1:
            return False
        version = self._release(stream)
        return bool(version) and version < _DROPS_REPEATED_IDS

    def restarts_silence(self, stream: Stream) -> bool:
        """Whether it has sources, on a server whose `active` is known to restart with each attempt."""
        version = self._release(stream)
        return bool(stream.config.sources and version) and version < _NO_RESTART_SINCE

    def _release(self, stream: Stream) -> tuple[int, ...]:
        server = self._servers.get(stream.answered_by)
        return release(server.version if server else (self._connected.version if self._connected else ""))

    def has_no(self, stream: Stream, name: str) -> bool:
        """Whether an origin of the same account is unknown to all servers that responded, even without a leader."""
        config = stream.config
        if any(c.name == name and c.external is not None for c in config.origins):
            return False
        return (stream.account, name) not in self._names

    def lists_all(self, stream: Stream) -> bool:
        """Whether all streams of its account were listed: others were deleted or never existed."""
        return stream.account in self._last.listed

    @cached_property
    def _names(self) -> set[tuple[str, str]]:
        names = {(asset.subject.account, asset.subject.name) for asset in self._last.silent}
        return names | {(stream.account, stream.name) for stream in self._last.streams}

    def earlier_origin(self, stream: Stream, config: SourceConfig) -> Stream | None:
        """An origin of the same account, of any domain, in the oldest sample, seen from its leader."""
        return self._find(self._first, stream.key_of_origin(config))

    def present_origin(self, stream: Stream, config: SourceConfig) -> Stream | None:
        """The same in the newest sample."""
        return self._find(self._last, stream.key_of_origin(config))

    def _find(self, snapshot: ClusterSnapshot, key: StreamKey | None) -> Stream | None:
        if id(snapshot) not in self._index:
            self._index[id(snapshot)] = {s.key_in_domain: s for s in snapshot.led_streams()}
        return self._index[id(snapshot)].get(key) if key else None


class Missing(msgspec.Struct, frozen=True):
    """Lower bound of the messages of its origins that a stalled copy did not get, and for how long, in nanoseconds."""

    count: int
    for_ns: float


def missing(history: StreamHistory, deployment: Deployment) -> Missing | None:
    """The messages that the origins had at the first reading and a stalled copy did not get by the last.

    None if none are missing or this is not known: the copy moves, takes only a part, or an origin was not listed. An
    overloaded server copies late with lag 0 too, so the time for which they are missing decides.
    """
    stream, config = history.last, history.last.config
    if history.first.state.last_seq != stream.state.last_seq:
        return None
    if remade := remade_origin(history, deployment):
        oldest = remade.state.first_ts
        before_s = (remade.at - oldest).total_seconds() if oldest else 0.0
        return Missing(remade.state.messages, (max(before_s, 0.0) + history.elapsed_s) * 1e9)
    if config.mirror is None and not deployment.stops_at_repeated_ids(stream):
        return None
    sources = config.origins
    if not all(source.takes_all for source in sources):
        return None
    samples = [(deployment.earlier_origin(stream, s), deployment.present_origin(stream, s)) for s in sources]
    seen = [(earlier, present) for earlier, present in samples if earlier and present]
    if config.mirror:
        # Messages past that sequence, whatever of the others was deleted.
        states, end = [earlier.state for earlier, _ in seen], stream.state.last_seq
        count = sum(max(state.messages - max(end - state.first_seq + 1, 0), 0) for state in states)
    else:
        count = max(sum(earlier.state.messages for earlier, _ in seen) - stream.state.last_seq, 0)
    return Missing(count, _waiting_ns(count, seen, history.elapsed_s)) if count else None


def remade_origin(history: StreamHistory, deployment: Deployment) -> Stream | None:
    """The only source of a copy, if it was recreated after the last copied message and has fewer messages; else None.

    Before 2.14 a server then goes on after the sequence that it had copied (issue 6206). Count or time alone prove
    nothing: the copy may have had another source, or a clock may be wrong.
    """
    stream, config = history.last, history.last.config
    if config.mirror or config.subjects or len(config.sources) != 1:
        return None
    (source,) = config.sources
    if not source.takes_all:
        return None
    earlier, present = deployment.earlier_origin(stream, source), deployment.present_origin(stream, source)
    copied_at = stream.state.last_ts
    if not (earlier and present and present.created and copied_at and earlier.state.messages):
        return None
    restarts = earlier.created == present.created and present.created > copied_at
    return earlier if restarts and present.state.last_seq < stream.state.last_seq else None


def _waiting_ns(count: int, seen: Sequence[tuple[Stream, Stream]], elapsed_s: float) -> float:
    """For how long `count` messages have been missing: by the rate of their origins, or since the last was stored."""
    grown = sum(present.state.last_seq - earlier.state.last_seq for earlier, present in seen)
    if grown > 0:
        return elapsed_s * (1 + count / grown) * 1e9
    rest = [(present.at - present.state.last_ts).total_seconds() for _, present in seen if present.state.last_ts]
    return max(min(rest, default=0.0), elapsed_s) * 1e9


def ahead(history: StreamHistory, deployment: Deployment) -> int:
    """By how many sequences a mirror was past the present end of its origin, which was then recreated; or 0."""
    mirror = history.last.config.mirror
    origin = deployment.present_origin(history.last, mirror) if mirror else None
    return max(history.first.state.last_seq - origin.state.last_seq, 0) if origin else 0


def surplus(stream: Stream) -> int:
    """By how much the messages of a mirror exceed its sequences: it went on after its origin was recreated; or 0."""
    state = stream.state
    return max(state.messages - (state.last_seq - state.first_seq + 1), 0) if stream.config.mirror else 0
