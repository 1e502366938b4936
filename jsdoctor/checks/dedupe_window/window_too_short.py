"""JSD301: a duplicate window shorter than the time after which publishers try again."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.windows import comfortable_window_s, deduplicating, retry_horizon_ns
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span


@check("dedupe_window.window_too_short")
def window_too_short(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """A retry that comes after the window is stored again (server: stream.go purgeMsgIds).

    Without a given horizon only windows are judged that miss the first retry of a client with ordinary settings. Where
    `max_age` itself is below the horizon, JSD303 speaks.
    """
    horizon = retry_horizon_ns(params)
    for stream in deduplicating(snapshots):
        window, max_age = stream.config.duplicate_window_ns, stream.config.max_age_ns
        if 0 < max_age < horizon:
            continue
        if window >= horizon:
            yield passed(stream.subject)
            continue
        yield Finding(
            subject=stream.subject,
            message=(
                f"ids of messages are forgotten after {span(window)}, but publishers may try again {span(horizon)} "
                "after the first attempt: such a retry is stored as a second message"
            ),
            measured=window,
            threshold=horizon,
            unit="duration",
            evidence=(
                stream.observed("config.duplicate_window", window),
                stream.observed("config.max_age", max_age),
            ),
            remedy={"duplicate_window_s": comfortable_window_s(horizon, stream), "no_ack": stream.config.no_ack},
        )
