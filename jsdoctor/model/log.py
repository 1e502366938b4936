"""What logs show: occurrences of signatures, process runs, clocks, elections and losses, as one bounded value."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log_line import CLOCK_US, DATED_US, MINUTE_US, ORDER_US, Exemplar, LogTime
from jsdoctor.model.log_story import (
    CrashLoop,
    Leadership,
    LogClockStep,
    LogGap,
    OutageInterval,
    ProcessRun,
    RestoredFall,
    ServerOffset,
)

__all__ = [
    "CLOCK_US",
    "DATED_US",
    "MINUTE_US",
    "ORDER_US",
    "SUBJECT_FIELDS",
    "CrashLoop",
    "Exemplar",
    "Histogram",
    "Leadership",
    "LogClockStep",
    "LogEvidence",
    "LogFile",
    "LogGap",
    "LogServer",
    "LogTime",
    "Measure",
    "Occurrence",
    "OutageInterval",
    "ProcessRun",
    "RestoredFall",
    "ServerOffset",
    "SignatureTotal",
    "canonical",
    "exemplars_of",
]

SUBJECT_FIELDS = (
    "account",
    "stream",
    "consumer",
    "server",
    "peer",
    "group",
    "store",
    "client",
    "user",
    "address",
    "remote",
    "reason",
    "kind",
)
"""Captured fields that distinguish occurrences. Numbers in `reason` become `N`, so that texts count together.

Every other field of a signature stays with the exemplars. If it is a whole number or a duration, its smallest and
largest value are kept as a `Measure`.
"""


class Measure(msgspec.Struct, frozen=True, gc=False):
    """Extremes of a numeric field: whole numbers as they are, durations in nanoseconds, sizes in bytes."""

    field: str
    count: int
    smallest: int
    largest: int


class Occurrence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All lines of one signature with the same subject fields that one server or application logged.

    `logged_by` is the server's name; for client logs the host, pod or file. `dated` lines of `count` have a date and a
    time. `histogram` has all lines whose place is known: oldest first, no empty buckets, undated lines first.
    """

    signature: str
    logged_by: str
    fields: tuple[tuple[str, str], ...] = ()
    count: int
    dated: int
    zoned: bool
    bucket_us: int = MINUTE_US
    histogram: Histogram = Histogram()
    measures: tuple[Measure, ...] = ()
    exemplars: tuple[Exemplar, ...] = ()

    def value(self, field: str) -> str:
        """The captured field of that name, or an empty text."""
        return dict(self.fields).get(field, "")

    def measure(self, field: str) -> Measure | None:
        """The extremes of a numeric field, or None."""
        return next((measure for measure in self.measures if measure.field == field), None)

    @property
    def first(self) -> LogTime | None:
        """Time of the first dated line."""
        return LogTime(self.histogram[0].first_us, self.zoned) if self.histogram else None

    @property
    def last(self) -> LogTime | None:
        """Time of the last dated line."""
        return LogTime(max(self.histogram.lasts()), self.zoned) if self.histogram else None

    @property
    def subject(self) -> Subject:
        """The consumer, stream, account or server that the lines name, else the server that logged them."""
        account, stream, consumer = self.value("account"), self.value("stream"), self.value("consumer")
        if consumer:
            return Subject(kind="consumer", name=consumer, account=account, stream=stream)
        if stream:
            return Subject(kind="stream", name=stream, account=account)
        if account:
            return Subject(kind="account", account=account)
        return Subject(kind="server", name=self.value("server") or self.logged_by)

    def between(self, start_us: int, end_us: int) -> int:
        """Lines in buckets that touch `start_us <= time < end_us`: an upper bound, exact when buckets fit."""
        return sum(count for first, last, count in self.histogram.spans() if last >= start_us and first < end_us)


class SignatureTotal(msgspec.Struct, frozen=True, kw_only=True):
    """One signature over all logs.

    `subjects` is the number of distinct subjects, `omitted_subjects` the number of those whose `omitted_count` lines
    were not kept.
    """

    signature: str
    count: int
    subjects: int
    omitted_subjects: int = 0
    omitted_count: int = 0


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file (or member of an archive) that was to be read, and the result.

    `size` is the stored size in bytes, `read` the bytes of text scanned, `skipped` the stored bytes that could not be
    read, for the reason in `problem` (empty: all was read). `stamped` counts lines with a server's own time;
    `server_lines` and `client_lines` are lower bounds of the number of either. `named` is True for a file that the user
    named, False for one found in a directory or archive. Only the first 16 KiB of `long_lines` were searched. `levels`
    are those of server lines at the beginning and the end of the file. `interleaved`: lines of several servers that
    cannot be distinguished; its clock is not judged.
    """

    path: str
    size: int
    read: int = 0
    lines: int = 0
    stamped: int = 0
    server_lines: int = 0
    client_lines: int = 0
    first: LogTime | None = None
    last: LogTime | None = None
    codec: str = ""
    wrapping: str = ""
    zone: str = ""
    servers: tuple[str, ...] = ()
    torn: bool = False
    interleaved: bool = False
    long_lines: int = 0
    named: bool = False
    levels: tuple[str, ...] = ()
    problem: str = ""
    skipped: int = 0


class LogServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server whose log was read. `known_from` is `given`, `banner`, `prefix` (pod, host, section) or `file name`."""

    name: str
    known_from: str
    cluster: str = ""
    versions: tuple[str, ...] = ()
    files: int = 0
    first: LogTime | None = None
    last: LogTime | None = None


class LogEvidence(Evidence, frozen=True, kw_only=True):
    """Everything that was read from logs: bounded, ordered, equal whatever engine read it.

    `unsearched` names signatures of which lines may be missing, because the lines were selected into a bundle by a
    release that did not know them, a query filtered them, or there were too many: their absence shows nothing.
    """

    source = EvidenceSource.LOGS
    unavailable = not_offered(
        "no logs were given", "give the logs of all servers: --logs PATH, or jsdoctor audit PATH", kind="logs"
    )

    files: tuple[LogFile, ...]
    servers: tuple[LogServer, ...] = ()
    totals: tuple[SignatureTotal, ...] = ()
    found: tuple[Occurrence, ...] = ()
    runs: tuple[ProcessRun, ...] = ()
    crash_loops: tuple[CrashLoop, ...] = ()
    gaps: tuple[LogGap, ...] = ()
    clock_steps: tuple[LogClockStep, ...] = ()
    restored_falls: tuple[RestoredFall, ...] = ()
    restored_streams: int = 0
    leaderships: tuple[Leadership, ...] = ()
    offsets: tuple[ServerOffset, ...] = ()
    intervals: tuple[OutageInterval, ...] = ()
    omitted: tuple[tuple[str, int], ...] = ()
    unsearched: tuple[str, ...] = ()

    def occurrences(self, *signatures: str) -> tuple[Occurrence, ...]:
        """Occurrences of any of these signatures, in their order here, most lines first."""
        places = _places_in(self)
        return tuple(
            [self.found[place] for place in sorted({at for name in signatures for at in places.get(name, ())})]
        )

    def total(self, *signatures: str) -> int:
        """How many lines these signatures have, subjects that were not kept included."""
        return sum(total.count for total in self.totals if total.signature in signatures)

    def intervals_of(self, *signatures: str) -> tuple[OutageInterval, ...]:
        """Outage intervals of any of these signatures, oldest first."""
        return tuple(interval for interval in self.intervals if interval.signature in signatures)

    def runs_of(self, server: str) -> tuple[ProcessRun, ...]:
        """The processes of a server, oldest first."""
        return tuple(run for run in self.runs if run.server == server)

    def offset(self, server: str, other: str) -> ServerOffset | None:
        """How the two servers' stamps compare, as seen from `server`; None when they logged no event together."""
        return next((pair for pair in self.offsets if (pair.server, pair.other) == (server, other)), None)

    @property
    def has_server_logs(self) -> bool:
        """Whether any line of a nats-server was read: without one, the absence of server lines means nothing."""
        return any(file.server_lines for file in self.files)

    @property
    def has_client_logs(self) -> bool:
        """Whether any dated line was read that is not a nats-server's."""
        return any(file.client_lines for file in self.files)


_latest: list[tuple[LogEvidence, dict[str, list[int]]]] = []


def _places_in(logs: LogEvidence) -> dict[str, list[int]]:
    """Where in `found` the occurrences of each signature are. All rules ask, each for a few of many."""
    if not _latest or _latest[0][0] is not logs:
        places: dict[str, list[int]] = {}
        for place, occurrence in enumerate(logs.found):
            places.setdefault(occurrence.signature, []).append(place)
        _latest[:] = [(logs, places)]
    return _latest[0][1]


def canonical(evidence: LogEvidence) -> bytes:
    """The one JSON text of this evidence: engines agree when these bytes are equal."""
    return msgspec.json.encode(evidence, order="deterministic")


def exemplars_of(occurrences: Iterable[Occurrence], most: int = 3) -> tuple[Observation, ...]:
    """Lines of several occurrences as evidence of one finding, oldest first."""
    lines = [exemplar for occurrence in occurrences for exemplar in occurrence.exemplars]
    lines.sort(key=lambda line: (line.at is None, line.at.us if line.at else 0, line.file, line.offset))
    return tuple(line.observed for line in lines[:most])
