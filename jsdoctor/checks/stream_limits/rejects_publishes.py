"""JSD603: a full stream with discard policy `new` refuses what is published.

From logs: publishes that were refused because a stream is full, by publishers' logs and servers' debug lines.
From manifests: a stream that will refuse publishes by its own configuration.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import no_client_lines, subject_of
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.limits import larger_limits, refuses_when_full, storage_fills
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_DECIDE = ("discard", "subjects", "retention", "max_age", "max_bytes", "max_msgs", "max_msg_size")


@check("stream_limits.rejects_publishes")
def rejects_publishes(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Error 10077, and nothing in the server's log (server: filestore.go storeRawMsg, jetstream_batching.go).

    `discard_new_per_subject` alone is a write-once switch that people choose; only the stream's own limits are judged.
    """
    for stream in snapshots.last.led_streams():
        fills = storage_fills(stream)
        if not fills or not refuses_when_full(stream):
            continue
        full = [fill for fill in fills if fill.no_room]
        # A replicated mirror goes on past its limit on newer servers: then nothing is refused.
        if not full or (stream.config.mirror and any(fill.share > 1 for fill in full)):
            yield passed(stream.subject)
            continue
        reached = " and ".join(f"{fill.used:,} of {fill.limit:,} {fill.noun}" for fill in full)
        yield Finding(
            subject=stream.subject,
            message=f"the stream is full ({reached}) and its discard policy is new: {_effect(stream)}",
            measured=full[0].used,
            threshold=full[0].limit,
            unit="bytes" if full[0].noun == "bytes" else "count",
            evidence=(
                stream.observed("config.discard", stream.config.discard),
                *(seen for fill in full for seen in fill.observed(stream)),
            ),
            remedy=larger_limits(stream, *full),
        )


def _effect(stream: Stream) -> str:
    if stream.config.mirror:
        return "the mirror has stopped copying, though it reports no lag"
    if stream.config.no_ack:
        return "new messages are discarded and no publisher learns of it, because no_ack is set"
    return "publishes fail now (error 10077), and publishers that do not wait for a reply lose messages unnoticed"


_CLIENT = ("client-stream-full-messages", "client-stream-full-bytes", "client-stream-full-subject")


@check("stream_limits.rejects_publishes_logged")
def rejects_publishes_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Servers write it at level DBG only, so the logs of servers alone cannot show that nothing was refused."""
    bursts_found = [
        *bursts(logs, "stream-full", subjects=subject_of, calm=False),
        *bursts(logs, *_CLIENT, subjects=client_of),
    ]
    for burst in bursts_found:
        what = burst.values("reason") or "the stream is full"
        who = "it refuses messages" if burst.subject.kind == "stream" else "its publishes were refused"
        finding = finding_of(
            burst,
            f"{who}, {what} (10077): {burst.story}. What is not published again is lost",
            None if is_recent(logs, burst) else Severity.WARNING,
        )
        yield msgspec.structs.replace(finding, remedy={"action": "stream.inspect"})  # logs do not show its limits
    if not bursts_found:
        yield passed(CLUSTER) if logs.has_client_logs else no_client_lines()


@check("stream_limits.rejects_publishes_declared")
def rejects_publishes_declared(manifests: Manifests) -> Iterator[Finding]:
    """With discard policy new, a publish to a full stream gets error 10077 (server: filestore.go storeRawMsg).

    If nothing ever leaves the stream, it stays full after the first time. Buckets are created with this policy.
    """
    for stream in manifests.kept_streams():
        config = stream.stored
        if config.name.startswith(("KV_", "OBJ_")):
            continue
        if unsure := indeterminate(stream, *_DECIDE):
            yield unsure
        elif not config.subjects or config.discard != "new":
            continue
        elif config.sealed:
            yield _finding(stream, "sealed", "it is sealed: every publish to its subjects is refused", None)
        elif 0 < config.max_bytes < config.max_msg_size:
            text = (
                f"max_msg_size {config.max_msg_size:,} lets in what max_bytes {config.max_bytes:,} never has room for"
            )
            yield _finding(
                stream, "max_msg_size", f"{text}: such publishes are refused (error 10077)", Severity.WARNING
            )
        elif config.retention == "limits" and config.max_age_ns <= 0 and max(config.max_bytes, config.max_msgs) > 0:
            text = "once it is full every publish fails (error 10077), until somebody deletes messages: nothing expires"
            yield _finding(stream, "discard", f"{text}, and its discard policy is new", Severity.INFO)
        else:
            yield passed(stream.subject)


def _finding(stream: DeclaredStream, field: str, text: str, severity: Severity | None) -> Finding:
    return Finding(
        subject=stream.subject,
        severity=severity,
        message=text,
        evidence=(stream.at(field).shows(f"discard: {stream.stored.discard}"),),
        remedy=BY_HAND,
    )
