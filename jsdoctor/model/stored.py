"""What a scan of stored messages showed: where their dates go back, which lie in the future, which have no id."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from jsdoctor.model.advisories import AdvisoryKind, RecordedAdvisories
from jsdoctor.model.evidence import CollectionFacts, Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.stored_ids import RepeatedIds

MAX_INVERSIONS = 1_000
"""Maximum number of inversions kept of a stream, the largest; all are counted."""
MAX_MESSAGES = 10_000_000
"""Maximum number of messages read of a stream."""
MAX_SUBJECTS = 1_000
"""Number of subjects of a stream that are counted one by one, the first that occur; the others are counted together."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ns: int) -> datetime:
    """Nanoseconds since 1970 as a time, to the microsecond."""
    return _EPOCH + timedelta(microseconds=ns // 1000)


class ScanTarget(msgspec.Struct, frozen=True):
    """A stream whose stored messages are to be read: the `newest` so many, None for as many as is usual."""

    stream: str
    newest: int | None = None


class Inversion(msgspec.Struct, frozen=True):
    """Message `stream_seq` is dated `size_ns` before the one stored ahead of it, `before_seq`.

    Times are nanoseconds since 1970.
    """

    before_seq: int
    before_ns: int
    stream_seq: int
    at_ns: int

    @property
    def size_ns(self) -> int:
        """By how much the date goes back."""
        return self.before_ns - self.at_ns


class TimeInversions(msgspec.Struct, frozen=True):
    """All places where dates go back while sequences go on. `kept` has the largest, in order of sequence."""

    count: int = 0
    kept: tuple[Inversion, ...] = ()

    @property
    def largest(self) -> Inversion | None:
        """The one that goes back farthest."""
        return max(self.kept, key=lambda inversion: inversion.size_ns, default=None)


class FutureDated(msgspec.Struct, frozen=True):
    """Messages dated after the clock that their leader showed when it had stored them all."""

    count: int = 0
    first_seq: int = 0
    last_seq: int = 0
    farthest_ns: int = 0


class SubjectIds(msgspec.Struct, frozen=True):
    """How many messages of one subject have a `Nats-Msg-Id` and how many have none. Subject "": all others together.

    `misnamed`, also among those without: the header's name is written with other capitals, so servers ignore it.
    """

    subject: str
    with_id: int = 0
    without_id: int = 0
    misnamed: int = 0


class OlderThanStream(msgspec.Struct, frozen=True):
    """Messages dated before their stream was made: they were brought in from a backup. `last_ns` is the youngest."""

    count: int = 0
    last_seq: int = 0
    last_ns: int = 0


class StoredStream(msgspec.Struct, frozen=True, kw_only=True):
    """One stream, read from `first_seq` to `last_seq`: the messages that are still there.

    `whole`: nothing that it held was left out at its head. `at`: its leader's clock before the first message was read.
    `first_ns`, `last_ns`: dates of the first and the last message, since 1970. `window_ns`: its duplicate window then,
    0 for none or where an older version of jsdoctor read it; `ids_in_window`: messages younger than that with an id.
    `ids_read`, `contents_read`: whether ids, and contents of messages with equal ids, were compared.
    `markers`: messages that mark a key of a bucket as deleted, without a time to live; None where an older version of
    jsdoctor read it. `advisories`: what it recorded of them; None where it records none, or an older version read it.
    """

    account: str = ""
    stream: str
    first_seq: int = 0
    last_seq: int = 0
    messages: int = 0
    whole: bool = True
    at: datetime
    answered_by: str = ""
    inversions: TimeInversions = TimeInversions()
    future: FutureDated = FutureDated()
    subjects: tuple[SubjectIds, ...] = ()
    first_ns: int = 0
    last_ns: int = 0
    window_ns: int = 0
    ids_in_window: int = 0
    ids_read: bool = False
    contents_read: bool = False
    markers: int | None = None
    repeats: RepeatedIds = RepeatedIds()
    older: OlderThanStream = OlderThanStream()
    advisories: tuple[RecordedAdvisories, ...] | None = None

    @property
    def subject(self) -> Subject:
        """This stream as the subject of a finding."""
        return Subject(kind="stream", name=self.stream, account=self.account)

    @property
    def with_id(self) -> int:
        """Messages with a `Nats-Msg-Id`."""
        return sum(row.with_id for row in self.subjects)

    @property
    def misnamed(self) -> int:
        """Messages with a header that only looks like `Nats-Msg-Id`."""
        return sum(row.misnamed for row in self.subjects)

    def recorded(self, kind: AdvisoryKind) -> tuple[RecordedAdvisories, ...]:
        """The advisories of a kind that this stream recorded."""
        return tuple(advisory for advisory in self.advisories or () if advisory.kind is kind)

    def observed(self, path: str, value: object) -> Observation:
        """Something that the scan showed, as evidence."""
        return Observation(source=self.answered_by, path=path, value=value, at=self.at)


_SCAN_FAILED = not_offered(
    "the stored messages of no stream that was named could be read", "see the message about each of them", kind="scan"
)


class StoredMessages(Evidence, frozen=True):
    """Every stream whose stored messages were read."""

    source = EvidenceSource.SCAN
    parts = ("scan",)
    unavailable = not_offered(
        "no stream was named whose stored messages should be read",
        "name streams of the account of this login: --scan STREAM",
        kind="scan",
    )
    left_out_by = frozenset({"scan"})

    streams: tuple[StoredStream, ...]

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """No stream was named, or none that was named could be read."""
        return _SCAN_FAILED if facts.scanned else cls.unavailable


_NO_RECORDER = not_offered(
    "no stream of advisories was read",
    "name one of the account of this login that captures $JS.EVENT.ADVISORY.>: --scan STREAM",
    kind="scan",
)


class AdvisoryStreams(Evidence, frozen=True):
    """Those streams whose stored messages were read that record advisories."""

    source = EvidenceSource.SCAN
    parts = ("scan",)
    unavailable = StoredMessages.unavailable
    left_out_by = frozenset({"scan"})

    streams: tuple[StoredStream, ...]

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """No stream was named, or none of them records advisories."""
        return _NO_RECORDER if facts.scanned else cls.unavailable


def advisory_streams(stored: StoredMessages | None) -> AdvisoryStreams | None:
    """Of what was read, the streams of advisories; None where there is none."""
    recorders = tuple(read for read in stored.streams if read.advisories is not None) if stored else ()
    return AdvisoryStreams(recorders) if recorders else None
