"""Times from delivery to acknowledgement, as servers measure them for consumers with `sample_freq`."""

from __future__ import annotations

from bisect import bisect_left
from math import ceil

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Subject

MAX_ACKS = 100_000
"""Maximum number of measurements that one run keeps."""


class ConsumerAcks(msgspec.Struct, frozen=True):
    """The measurements of one consumer, in ascending order, in nanoseconds since the last delivery of the message.

    `redelivered` counts acknowledgements of messages that had been delivered more than once.
    """

    account: str
    stream: str
    consumer: str
    ack_times_ns: tuple[int, ...]
    redelivered: int = 0

    @property
    def subject(self) -> Subject:
        """This consumer as the subject of a finding."""
        return Subject(kind="consumer", name=self.consumer, account=self.account, stream=self.stream)

    def quantile_ns(self, share: float) -> int:
        """The time within which this share of the acknowledgements arrived; the longest if there are too few."""
        return self.ack_times_ns[max(ceil(share * len(self.ack_times_ns)) - 1, 0)]

    def longer_than(self, length_ns: int) -> int:
        """How many acknowledgements took longer than `length_ns`."""
        return len(self.ack_times_ns) - bisect_left(self.ack_times_ns, length_ns + 1)


class AckTimes(Evidence, frozen=True):
    """Every consumer with `sample_freq` for which metrics arrived while samples were taken."""

    source = EvidenceSource.ACKS
    parts = ("assets", "consumers", "ack_metrics")
    repeated = True
    unavailable = not_offered(
        "no consumer that was seen with a login of its account has its acknowledgements measured, or one sample was"
        " taken",
        "switch it on for a consumer (nats consumer edit STREAM CONSUMER --sample 100 -f) and look with --interval 30s",
        kind="metrics",
    )
    left_out_by = frozenset({"metrics"})

    consumers: tuple[ConsumerAcks, ...]
