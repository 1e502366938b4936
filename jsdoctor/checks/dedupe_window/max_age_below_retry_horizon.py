"""JSD303: a `max_age` that keeps the duplicate window below the time after which publishers try again."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.windows import deduplicating, retry_horizon_ns
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span


@check("dedupe_window.max_age_below_retry_horizon")
def max_age_below_retry_horizon(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """A window may not be longer than `max_age` (server: stream.go checkStreamCfg), so raising it alone is refused."""
    horizon = retry_horizon_ns(params)
    for stream in deduplicating(snapshots):
        window, max_age = stream.config.duplicate_window_ns, stream.config.max_age_ns
        if max_age <= 0:
            continue
        if max_age >= horizon:
            yield passed(stream.subject)
            continue
        yield Finding(
            subject=stream.subject,
            message=(
                f"max_age is {span(max_age)} and no duplicate window can be longer, but publishers may try again "
                f"{span(horizon)} after the first attempt: such a retry is stored as a second message"
            ),
            measured=max_age,
            threshold=horizon,
            unit="duration",
            evidence=(
                stream.observed("config.max_age", max_age),
                stream.observed("config.duplicate_window", window),
            ),
        )
