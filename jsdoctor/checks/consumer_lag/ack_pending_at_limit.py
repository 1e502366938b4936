"""JSD403: a consumer whose unacknowledged messages have reached `max_ack_pending` gets nothing new."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries


@check("consumer_lag.ack_pending_at_limit")
def ack_pending_at_limit(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """At the limit the server delivers nothing new and tells nobody (server: consumer.go getNextMsg, errMaxAckPending).

    Only matters while messages wait: a consumer at its limit with nothing pending holds nothing back.
    """
    warn_at, fail_at = params.number("warn_fraction"), params.number("max_fraction")
    for _, consumer in snapshots.last.led_consumers():
        limit = consumer.config.max_ack_pending
        if limit <= 0 or consumer.config.ack_policy == "none":
            continue
        used = consumer.num_ack_pending / limit
        if used < warn_at or consumer.num_pending == 0:
            yield passed(consumer.subject)
            continue
        stopped = used >= fail_at
        yield Finding(
            subject=consumer.subject,
            severity=None if stopped else Severity.WARNING,
            message=(
                f"{consumer.num_ack_pending:,} of {limit:,} allowed messages are unacknowledged"
                + (": delivery has stopped" if stopped else ": delivery stops at the limit")
                + f", {consumer.num_pending:,} messages wait"
            ),
            measured=used,
            threshold=fail_at if stopped else warn_at,
            unit="ratio",
            evidence=(
                consumer.observed("num_ack_pending", consumer.num_ack_pending),
                consumer.observed("config.max_ack_pending", limit),
                consumer.observed("num_pending", consumer.num_pending),
            ),
            remedy={"max_ack_pending": 2 * limit},
        )
