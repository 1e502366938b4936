"""JSD307: a duplicate window so long that the ids of its messages fill the memory of every replica.

From stored messages: how many ids the window really holds, their memory and the time a restart takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import DEFAULT_WINDOW_NS, NS_PER_S, ids_counted, is_published_to, scanned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, compared, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import StoredMessages, StoredStream
from jsdoctor.model.trend import StreamHistory, Trend
from jsdoctor.model.wording import span

BYTES_PER_ID = 200
"""Measured with ids of 36 characters on 2.10, 2.12 and 2.15: 0.2 KB each, on every replica."""
_MARGIN = 0.75


@check("dedupe_window.window_too_large")
def window_too_large(
    trend: Trend, params: Params, servers: Servers | None, stored: StoredMessages | None
) -> Iterator[Finding]:
    """Estimate the number of ids in windows above the default: only time bounds the table (stream.go storeMsgIdLocked).

    Publishers to streams with the default window may send no ids. Where ids were counted, `window_too_large_stored`
    judges.
    """
    known = ids_counted(stored)
    info_at, warn_at = params.integer("info_ids"), params.integer("max_ids")
    memory = {server.name: server.varz.mem for server in servers.servers if server.varz} if servers else {}
    for history in trend.streams():
        stream = history.last
        window = stream.config.duplicate_window_ns
        if window <= 0 or not is_published_to(stream) or (stream.account, stream.name) in known:
            continue
        rate = _rate(history) if window > DEFAULT_WINDOW_NS else 0.0
        ids = round(rate * window / NS_PER_S)
        if ids < max(info_at, 1):
            yield passed(stream.subject)
            continue
        yield _finding(history, rate, ids, (info_at, warn_at), memory.get(stream.answered_by))


def _finding(
    history: StreamHistory, rate: float, ids: int, limits: tuple[int, int], memory_in_use: int | None
) -> Finding:
    info_at, warn_at = limits
    stream, many = history.last, ids >= warn_at
    window = stream.config.duplicate_window_ns
    in_use = f"; {stream.answered_by} uses {memory_in_use >> 20:,} MiB in all now" if memory_in_use else ""
    return failed(
        stream.subject,
        f"at {rate:,.0f} messages a second a duplicate window of {span(window)} comes to hold {ids:,} ids, "
        f"if every message has one: about {ids * BYTES_PER_ID >> 20:,} MiB of memory on each replica{in_use}",
        stream.observed("config.duplicate_window", window),
        *compared(history.first, stream, "state.last_seq"),
        severity=None if many else Severity.INFO,
        confidence=Confidence.MEDIUM,
        measured=(ids, warn_at if many else info_at, "count"),
        remedy=_lower_window(stream, rate, info_at),
    )


def _rate(history: StreamHistory) -> float:
    """Messages per second: between samples or over all stored messages, whichever is less, to leave out bursts."""
    state = history.last.state
    lately = (state.last_seq - history.first.state.last_seq) / history.elapsed_s
    if not state.messages or state.first_ts is None:
        return lately
    stored_s = max((history.last.at - state.first_ts).total_seconds(), history.elapsed_s)
    return max(min(lately, (state.last_seq - state.first_seq + 1) / stored_s), 0.0)


def affordable_s(rate: float, ids: int) -> int:
    """The window, in seconds, that has at most that many ids at that rate, with a margin; not below the default."""
    return max(int(_MARGIN * ids / rate), DEFAULT_WINDOW_NS // NS_PER_S)


def _lower_window(stream: Stream, rate: float, ids: int) -> dict[str, object]:
    """The remedy: a window with at most that many ids; to look at the stream where its window is as short already."""
    window_s = affordable_s(rate, ids)
    if window_s * NS_PER_S >= stream.config.duplicate_window_ns:
        return {"action": "stream.inspect"}
    return {"duplicate_window_s": window_s, "no_ack": stream.config.no_ack}


_RESTART_S_PER_ID = 1.5e-6
"""Measured: 1.4 to 1.7 s for a million ids, before the server accepts clients."""


@check("dedupe_window.window_too_large_stored")
def window_too_large_stored(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Count the ids in memory: a lower bound, as ids of removed messages are kept too (server: storeMsgIdLocked)."""
    info_at, warn_at = params.integer("info_ids"), params.integer("max_ids")
    for item in scanned(stored, snapshots):
        if item.stream.config.duplicate_window_ns <= 0 or not is_published_to(item.stream):
            continue
        ids = _ids_held(item.stored)
        if ids < max(info_at, 1):
            yield passed(item.stored.subject)
        else:
            threshold = warn_at if ids >= warn_at else info_at
            window_ns = item.stream.config.duplicate_window_ns
            rate = ids / (window_ns / NS_PER_S)
            counted_all = ids == item.stored.ids_in_window
            yield failed(
                item.stored.subject,
                f"a window of {span(window_ns)} holds {'' if counted_all else 'about '}{ids:,} ids, at {rate:,.0f} "
                f"messages with an id a second: about {ids * BYTES_PER_ID >> 20:,} MiB of memory on each replica, and "
                f"{ids * _RESTART_S_PER_ID:,.1f} s before clients are let in after a restart",
                item.stream.observed("config.duplicate_window", window_ns),
                item.stored.observed("messages with an id in the window", item.stored.ids_in_window),
                item.stored.observed("messages with an id", item.stored.with_id),
                severity=None if ids >= warn_at else Severity.INFO,
                measured=(ids, threshold, "count"),
                remedy=_lower_window(item.stream, rate, info_at),
            )


def _ids_held(stored: StoredStream) -> int:
    """The ids counted in the window; extrapolated if the window began before the first message that was read."""
    now_ns = stored.first_ns if not stored.messages else max(stored.last_ns, stored.first_ns)
    covered_ns = now_ns - stored.first_ns
    if stored.whole or covered_ns <= 0 or covered_ns >= stored.window_ns:
        return stored.ids_in_window
    return round(stored.with_id * stored.window_ns / covered_ns)
