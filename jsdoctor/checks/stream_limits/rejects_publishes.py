"""JSD603: a full stream with discard policy `new` refuses what is published."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.limits import larger_limits, refuses_when_full, storage_fills
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.snapshot import SnapshotSeries, Stream


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
        return "new messages are thrown away and no publisher is told, because no_ack is set"
    return "publishes fail now (error 10077), and publishers that do not wait for an answer lose messages unnoticed"
