"""Who takes care of messages that ran out of attempts: a consumer that reads the advisories of them from a stream."""

from __future__ import annotations

from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream
from jsdoctor.model.subjects import overlaps_any

_KIND = "MAX_DELIVERIES"
ADVISORIES = f"$JS.EVENT.ADVISORY.CONSUMER.{_KIND}.*.*"
"""Their subjects, which end in the names of stream and consumer."""


def reader_of_advisories(snapshot: ClusterSnapshot, stream: Stream, consumer: Consumer) -> Consumer | None:
    """A consumer that has got something from a stream of that account that captures the advisories; None without one.

    Whoever subscribes to them without a stream cannot be seen.
    """
    subject = f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{consumer.stream}.{consumer.name}"
    for keeper, reader in snapshot.led_consumers():
        together = (keeper.account, keeper.domain) == (stream.account, stream.domain)
        if together and reader.delivered.consumer_seq and overlaps_any(subject, keeper.config.subjects):
            filters = reader.config.filters
            if not filters or overlaps_any(subject, filters):
                return reader
    return None


def misnamed_keeper(snapshot: ClusterSnapshot, stream: Stream) -> tuple[Stream, str] | None:
    """A stream of that account that is to capture the advisories, and its subject under which none is published."""
    for keeper in snapshot.led_streams():
        if (keeper.account, keeper.domain) == (stream.account, stream.domain):
            for subject in keeper.config.subjects:
                if {"ADVISORY", _KIND} <= {*subject.split(".")} and not overlaps_any(subject, (ADVISORIES,)):
                    return keeper, subject
    return None
