"""JSD304, from stored messages: one id, two messages that are not the same."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import ScannedStream, examples, observed, scanned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, passed, unknown
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.wording import counted, span


@check("dedupe_window.message_id_reused_stored")
def message_id_reused_stored(stored: StoredMessages, snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Both are stored because they came farther apart than the window; those that came closer are lost."""
    for one in scanned(stored, snapshots):
        repeats = one.stored.repeats
        if repeats.differing_count:
            yield _finding(one)
        elif repeats.count and not one.stored.contents_read:
            reason = (
                f"{counted(repeats.count, 'message')} with an id that came before, whose contents were not compared"
            )
            yield unknown(one.stored.subject, reason, f"run with --scan {one.stored.stream} --digests")
        else:
            yield passed(one.stored.subject)


def _finding(one: ScannedStream) -> Finding:
    repeats, window_ns = one.stored.repeats, one.stream.config.duplicate_window_ns
    lost = f"; what came within {span(window_ns)} of the first was thrown away" if window_ns > 0 else ""
    return Finding(
        subject=one.stored.subject,
        confidence=Confidence.MEDIUM,
        message=(
            f"{counted(repeats.differing_count, 'message')} have the id of an earlier message and another subject or "
            f"content: {examples(repeats.differing)}; ids do not stand for one message{lost}"
        ),
        measured=repeats.differing_count,
        threshold=0,
        unit="count",
        evidence=(
            one.stored.observed("messages compared", repeats.compared),
            one.stream.observed("config.duplicate_window", window_ns),
            *observed(one.stored, repeats.differing),
        ),
    )
