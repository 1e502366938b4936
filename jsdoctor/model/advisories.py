"""Advisories that a stream records, by what they are about."""

from __future__ import annotations

from enum import StrEnum

import msgspec

MAX_KEPT = 1_000
"""Maximum number of consumers, streams and clients of whom one stream's advisories are kept."""
MAX_SEQUENCES = 100
"""Maximum number of sequences kept of each, the newest."""


class AdvisoryKind(StrEnum):
    """The kinds that are kept, as their types end."""

    MAX_DELIVER = "max_deliver"
    TERMINATED = "terminated"
    BATCH_ABANDONED = "stream_batch_abandoned"
    API_AUDIT = "api_audit"


class RecordedAdvisories(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All advisories of one kind about one consumer, stream or client. Times: when stored, nanoseconds since 1970.

    About a consumer: the newest `sequences` of the stream that they name, and the `reason` that the newest one gives.
    About a stream: batches that were abandoned for one `reason`. About a client: its requests of one `operation` that
    were refused with one `err_code`; `reason` is its text, `subject` that of the newest.
    """

    kind: AdvisoryKind
    count: int
    first_ns: int
    last_ns: int
    stream: str = ""
    consumer: str = ""
    sequences: tuple[int, ...] = ()
    reason: str = ""
    account: str = ""
    client: str = ""
    subject: str = ""
    operation: str = ""
    err_code: int = 0
