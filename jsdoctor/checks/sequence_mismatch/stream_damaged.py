"""JSD204, one look: a stream that says itself that messages are lost, or whose numbers cannot all be true."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.jetstream import StreamState
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted


@check("sequence_mismatch.stream_damaged")
def stream_damaged(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """`lost` is told by replies that list what was deleted, and by no other (server: filestore.go State, FastState)."""
    for stream in snapshots.last.led_streams():
        state = stream.state
        if state.lost is not None and (state.lost.msgs or state.lost.bytes):
            yield _lost(stream)
        elif not _adds_up(state):
            yield _torn(stream)
        else:
            yield passed(stream.subject)


def _adds_up(state: StreamState) -> bool:
    """Servers compute `num_deleted` from the rest, so only a state that was loaded damaged does not add up."""
    if state.messages == 0:
        return state.last_seq == 0 or state.first_seq == state.last_seq + 1
    return state.messages + state.num_deleted == state.last_seq - state.first_seq + 1


def _lost(stream: Stream) -> Finding:
    lost = stream.state.lost
    numbers = lost.msgs if lost and lost.msgs else ()
    size = lost.bytes if lost else 0
    which = f"{counted(len(numbers), 'message')} from sequence {min(numbers):,} on" if numbers else f"{size:,} bytes"
    return Finding(
        subject=stream.subject,
        message=f"the server found the storage of {which} damaged and dropped what could not be read",
        measured=len(numbers) or size,
        threshold=0,
        unit="count" if numbers else "bytes",
        evidence=(
            stream.observed("state.lost.bytes", size),
            *((stream.observed("state.lost.msgs", f"{min(numbers)}..{max(numbers)}"),) if numbers else ()),
        ),
    )


def _torn(stream: Stream) -> Finding:
    state = stream.state
    return Finding(
        subject=stream.subject,
        message=(
            f"its numbers contradict each other: {counted(state.messages, 'message')} and {state.num_deleted:,} "
            f"deleted between sequences {state.first_seq:,} and {state.last_seq:,}: it was loaded from damaged storage"
        ),
        evidence=tuple(
            stream.observed(f"state.{name}", getattr(state, name))
            for name in ("messages", "num_deleted", "first_seq", "last_seq")
        ),
    )
