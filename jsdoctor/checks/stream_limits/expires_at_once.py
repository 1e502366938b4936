"""JSD628: streams whose messages expire before a client can read them: a duration in the wrong unit."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span

_MILLI = 1_000_000
"""Factor of a number of nanoseconds that was meant as milliseconds."""


@check("stream_limits.expires_at_once")
def expires_at_once(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge `max_age`, which servers accept from 100 ms on."""
    shortest = params.integer("min_age")
    for stream in snapshots.last.led_streams():
        age = stream.config.max_age_ns
        if age <= 0:
            continue
        if age >= shortest:
            yield passed(stream.subject)
            continue
        yield failed(
            stream.subject,
            f"its messages expire {span(age)} after they are stored, so that only a client that reads at that"
            f" moment gets them. The API takes nanoseconds; as milliseconds the same number is {span(age * _MILLI)}",
            stream.observed("config.max_age", age),
            *shown(stream, "state.messages", "state.last_seq"),
            measured=(age, shortest, "duration"),
        )
