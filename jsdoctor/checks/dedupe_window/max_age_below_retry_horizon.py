"""JSD303: a `max_age` that keeps the duplicate window below the time after which publishers try again.

From manifests: a `max_age` that will keep the duplicate window below the retries of the publishers.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.dedupe_window.repeats import deduplicating, retry_horizon_ns
from jsdoctor.checks.dedupe_window.window_too_short import deduplicates
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.manifest import Manifests
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
        yield failed(
            stream.subject,
            f"max_age is {span(max_age)} and no duplicate window can be longer, but publishers may try again "
            f"{span(horizon)} after the first attempt: such a retry is stored as a second message",
            stream.observed("config.max_age", max_age),
            stream.observed("config.duplicate_window", window),
            measured=(max_age, horizon, "duration"),
        )


@check("dedupe_window.max_age_below_retry_horizon_declared")
def max_age_below_retry_horizon_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """A window may not be longer than `max_age` (server: stream.go checkStreamCfg), so raising it alone is refused."""
    horizon = retry_horizon_ns(params)
    for stream in manifests.kept_streams():
        max_age = stream.stored.max_age_ns
        if unsure := indeterminate(stream, "subjects", "duplicate_window", "max_age"):
            yield unsure
        elif not deduplicates(stream.stored) or max_age <= 0:
            continue
        elif max_age >= horizon:
            yield passed(stream.subject)
        else:
            yield failed(
                stream.subject,
                f"max_age will be {span(max_age)} and no duplicate window can be longer, but publishers may try"
                f" again {span(horizon)} after the first attempt: such a retry is stored as a second message",
                stream.shows("max_age", span(max_age)),
                measured=(max_age, horizon, "duration"),
            )
