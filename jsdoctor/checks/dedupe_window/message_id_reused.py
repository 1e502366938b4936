"""JSD304: ids that different messages seem to share.

From stored messages: one id, two messages that are not the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import DUPLICATE_ACKS, ScannedStream, examples, observed, scanned, sequences
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, suspected
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.wording import counted, span


@check("dedupe_window.message_id_reused_logged", lines_of="clients")
def message_id_reused_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """A batch that holds an id twice is proof; many duplicate acks for one message make it likely."""
    least = params.integer("answers")
    for burst in bursts(logs, "batch-duplicate-id", subjects=client_of, calm=False):
        what = "atomic batches were refused because they hold a message id twice"
        yield finding_of(burst, f"{what}, {burst.story}; nothing of them is stored")
    for burst in bursts(logs, *DUPLICATE_ACKS, subjects=client_of, calm=False):
        seqs = sequences(burst.found)
        if burst.count >= least and seqs is not None and seqs[0] == seqs[1] > 0:
            yield finding_of(
                burst,
                f"publishes were called duplicates of one and the same message {seqs[0]:,}, {burst.story}: either it is"
                " retried without end, or other messages use its id and were thrown away",
                Severity.WARNING,
                confidence=Confidence.LOW,
                measured=(burst.count, least, "count"),
            )


@check("dedupe_window.message_id_reused_stored")
def message_id_reused_stored(stored: StoredMessages, snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Find different messages with one id; both are stored only if they came further apart than the window."""
    for stream in scanned(stored, snapshots):
        repeats = stream.stored.repeats
        if repeats.differing_count:
            yield _finding_stored(stream)
        elif repeats.count and not stream.stored.contents_read:
            reason = (
                f"{counted(repeats.count, 'message')} with an id that came before, whose contents were not compared"
            )
            yield suspected(stream.stored.subject, reason, f"run with --scan {stream.stored.stream} --digests")
        else:
            yield passed(stream.stored.subject)


def _finding_stored(stream: ScannedStream) -> Finding:
    repeats, window_ns = stream.stored.repeats, stream.stream.config.duplicate_window_ns
    lost = f"; what came within {span(window_ns)} of the first was thrown away" if window_ns > 0 else ""
    return failed(
        stream.stored.subject,
        f"{counted(repeats.differing_count, 'message')} have the id of an earlier message and another subject or "
        f"content: {examples(repeats.differing)}; ids do not stand for one message{lost}",
        stream.stored.observed("messages compared", repeats.compared),
        stream.stream.observed("config.duplicate_window", window_ns),
        *observed(stream.stored, repeats.differing),
        confidence=Confidence.MEDIUM,
        measured=(repeats.differing_count, 0, "count"),
    )
