"""JSD301: a duplicate window shorter than the time after which publishers try again.

From logs: a duplicate window that was requested and refused.
From stored messages: retries that came after the window, and are stored twice.
From manifests: a duplicate window that will be shorter than the retries of the publishers.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.dedupe_window.repeats import (
    NS_PER_S,
    ScannedStream,
    catching_window_ns,
    comfortable_window_s,
    deduplicating,
    observed,
    retry_horizon_ns,
    scanned,
)
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import BY_HAND, Finding, failed, passed
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.wording import counted, span


@check("dedupe_window.window_too_short")
def window_too_short(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """A retry that comes after the window is stored again (server: stream.go purgeMsgIds).

    Without a given horizon, only windows that miss the first retry of a client with ordinary settings are judged. If
    `max_age` itself is below the horizon, JSD303 judges the stream.
    """
    horizon = retry_horizon_ns(params)
    for stream in deduplicating(snapshots):
        window, max_age = stream.config.duplicate_window_ns, stream.config.max_age_ns
        if 0 < max_age < horizon:
            continue
        if window >= horizon:
            yield passed(stream.subject)
            continue
        yield failed(
            stream.subject,
            f"ids of messages are forgotten after {span(window)}, but publishers may try again {span(horizon)} "
            "after the first attempt: such a retry is stored as a second message",
            stream.observed("config.duplicate_window", window),
            stream.observed("config.max_age", max_age),
            measured=(window, horizon, "duration"),
            remedy={"duplicate_window_s": comfortable_window_s(horizon, stream), "no_ack": stream.config.no_ack},
        )


@check("dedupe_window.window_refused_logged", lines_of="clients")
def window_refused_logged(logs: LogEvidence) -> Iterator[Finding]:
    """By application; servers do not log it."""
    for burst in bursts(logs, "dedupe-window-refused", subjects=client_of, calm=False):
        yield finding_of(
            burst,
            f"a stream configuration was refused, {burst.story}: duplicates window {burst.values('reason')}; the"
            " stream has another window than intended, or does not exist",
            remedy=BY_HAND,
        )


@check("dedupe_window.window_too_short_stored")
def window_too_short_stored(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Find repeats that came after the window. For copied messages the window of their origin counts."""
    longest_ns = params.integer("longest_retry")
    for stream in scanned(stored, snapshots):
        window_ns, distances = stream.shortest_window_ns, stream.stored.repeats.distances
        if window_ns is None:
            continue
        late = distances.below(longest_ns + 1) - distances.below(window_ns)
        yield _finding(stream, window_ns, late, longest_ns) if late else passed(stream.stored.subject)


def _finding(stream: ScannedStream, window_ns: int, late: int, longest_ns: int) -> Finding:
    stored, distances = stream.stored, stream.stored.repeats.distances
    repeats = [r for r in stored.repeats.kept if window_ns <= r.distance_ns <= longest_ns and not r.differs]
    enough_ns, _ = catching_window_ns(stream, longest_ns)
    whose = "the window of its origin" if stream.is_copy and not stream.stream.config.subjects else "the window"
    too_old = distances.largest_below(longest_ns + 1) >= enough_ns
    return failed(
        stored.subject,
        f"{counted(late, 'message')} came again up to {span(distances.largest_below(longest_ns + 1))} later, when "
        f"{whose} of {span(window_ns)} had forgotten the id: retries were stored a second time"
        + ("; max_age allows no window that is long enough" if too_old else ""),
        stream.stream.observed("config.duplicate_window", stream.stream.config.duplicate_window_ns),
        *observed(stored, repeats),
        measured=(distances.largest_below(longest_ns + 1), window_ns, "duration"),
        remedy=_remedy(stream, enough_ns),
    )


def _remedy(stream: ScannedStream, enough_ns: int) -> dict[str, object]:
    """The remedy: a longer window, if `max_age` allows one; for a copy, at its origins, as its own had no effect."""
    if stream.is_copy:
        origins = tuple(origin.name for origin in stream.stream.config.origins)
        return {"action": "stream.look_at_origins", "origins": origins}
    if enough_ns // NS_PER_S * NS_PER_S <= stream.stream.config.duplicate_window_ns:
        return {"action": "stream.inspect"}
    return {"duplicate_window_s": enough_ns // NS_PER_S, "no_ack": stream.stream.config.no_ack}


@check("dedupe_window.window_too_short_declared")
def window_too_short_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """JSD303 judges a `max_age` below the horizon; servers refuse a window above `max_age` (JSD614)."""
    horizon = retry_horizon_ns(params)
    for stream in manifests.kept_streams():
        window, max_age = stream.stored.duplicate_window_ns, stream.stored.max_age_ns
        if unsure := indeterminate(stream, "subjects", "duplicate_window", "max_age"):
            yield unsure
        elif not deduplicates(stream.stored) or 0 < max_age < horizon:
            continue
        elif window >= horizon:
            yield passed(stream.subject)
        else:
            yield failed(
                stream.subject,
                f"ids of messages will be forgotten after {span(window)}, but publishers may try again"
                f" {span(horizon)} after the first attempt: such a retry is stored as a second message",
                stream.shows("duplicate_window", span(window)),
                measured=(window, horizon, "duration"),
            )


def deduplicates(config: StreamConfig) -> bool:
    """Whether clients publish to it with ids, and it has a window."""
    bucket = config.name.startswith(("KV_", "OBJ_"))
    return bool(config.subjects) and not bucket and config.mirror is None and config.duplicate_window_ns > 0
