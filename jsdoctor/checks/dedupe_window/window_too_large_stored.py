"""JSD307, from stored messages: how many ids the window really holds, their memory and the time a restart takes."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import ScannedStream, scanned
from jsdoctor.checks.dedupe_window.window_too_large import BYTES_PER_ID, affordable_s
from jsdoctor.checks.dedupe_window.windows import NS_PER_S, is_published_to
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages, StoredStream
from jsdoctor.model.wording import span

_RESTART_S_PER_ID = 1.5e-6
"""Measured: 1.4 to 1.7 s for a million, before clients are let in."""


@check("dedupe_window.window_too_large_stored")
def window_too_large_stored(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Ids of messages that are gone are in memory as well, so this is a lower bound (server: storeMsgIdLocked)."""
    info_at, warn_at = params.integer("info_ids"), params.integer("max_ids")
    for one in scanned(stored, snapshots):
        if one.stream.config.duplicate_window_ns <= 0 or not is_published_to(one.stream):
            continue
        ids = _ids_held(one.stored)
        if ids < info_at:
            yield passed(one.stored.subject)
        else:
            yield _finding(one, ids, ids >= warn_at, warn_at if ids >= warn_at else info_at)


def _ids_held(stored: StoredStream) -> int:
    """Those that were counted; where the window began before the first message that was read, at its rate."""
    now_ns = stored.first_ns if not stored.messages else max(stored.last_ns, stored.first_ns)
    covered_ns = now_ns - stored.first_ns
    if stored.whole or covered_ns <= 0 or covered_ns >= stored.window_ns:
        return stored.ids_in_window
    return round(stored.with_id * stored.window_ns / covered_ns)


def _finding(one: ScannedStream, ids: int, many: bool, threshold: int) -> Finding:
    window_ns = one.stream.config.duplicate_window_ns
    rate = ids / (window_ns / NS_PER_S)
    counted_all = ids == one.stored.ids_in_window
    return Finding(
        subject=one.stored.subject,
        severity=None if many else Severity.INFO,
        message=(
            f"a window of {span(window_ns)} holds {'' if counted_all else 'about '}{ids:,} ids, at {rate:,.0f} "
            f"messages with an id a second: about {ids * BYTES_PER_ID >> 20:,} MiB of memory on each replica, and "
            f"{ids * _RESTART_S_PER_ID:,.1f} s before clients are let in after a restart"
        ),
        measured=ids,
        threshold=threshold,
        unit="count",
        evidence=(
            one.stream.observed("config.duplicate_window", window_ns),
            one.stored.observed("messages with an id in the window", one.stored.ids_in_window),
            one.stored.observed("messages with an id", one.stored.with_id),
        ),
        remedy={"duplicate_window_s": affordable_s(rate, threshold), "no_ack": one.stream.config.no_ack},
    )
