"""JSD301, from manifests: a duplicate window that will be shorter than the retries of the publishers."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.dedupe_window.windows import retry_horizon_ns
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("dedupe_window.window_too_short_declared")
def window_too_short_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """Where `max_age` itself is below the horizon, JSD303 speaks; a window above `max_age` is refused (JSD614)."""
    horizon = retry_horizon_ns(params)
    for stream in manifests.kept_streams():
        window, max_age = stream.stored.duplicate_window_ns, stream.stored.max_age_ns
        if not deduplicates(stream.stored) or 0 < max_age < horizon:
            continue
        if unsure := indeterminate(stream, "duplicate_window", "max_age"):
            yield unsure
        elif window >= horizon:
            yield passed(stream.subject)
        else:
            yield Finding(
                subject=stream.subject,
                message=f"ids of messages will be forgotten after {span(window)}, but publishers may try again"
                f" {span(horizon)} after the first attempt: such a retry is stored as a second message",
                measured=window,
                threshold=horizon,
                unit="duration",
                evidence=(stream.shows("duplicate_window", span(window)),),
                remedy=BY_HAND,
            )


def deduplicates(config: StreamConfig) -> bool:
    """Whether clients publish to it with ids, and it has a window."""
    bucket = config.name.startswith(("KV_", "OBJ_"))
    return bool(config.subjects) and not bucket and config.mirror is None and config.duplicate_window_ns > 0
