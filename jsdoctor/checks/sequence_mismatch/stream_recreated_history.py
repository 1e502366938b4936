"""JSD203, over hours: a stream that is not the one of an earlier bundle."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.sequence_mismatch.stream_recreated import Incarnations, recreated
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.history import History


@check("sequence_mismatch.stream_recreated_history")
def stream_recreated_history(history: History) -> Iterator[Finding]:
    """The comparison of `stream_recreated`, with the earlier bundles for samples."""
    before = Incarnations(history.snapshots[:-1])
    for stream in history.now.led_streams():
        other = before.other_than(stream)
        when = f"after {other.at:%Y-%m-%d %H:%M}Z" if other else ""
        yield recreated(other, stream, when) if other else passed(stream.subject)
