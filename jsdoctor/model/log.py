"""What logs show: occurrences of signatures, process runs, clocks, elections and losses, as one bounded value."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.histogram import Histogram

MINUTE_US = 60_000_000
_MAX_EXEMPLARS = 3

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ORDER_US = (datetime(1000, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""Lines without any time are ordered from here on: one microsecond for each byte of the text before them."""

CLOCK_US = (datetime(1100, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""Times of day without a date are counted from this midnight on."""

DATED_US = (datetime(1200, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""No line with a date is older than this."""


class LogTime(msgspec.Struct, frozen=True, order=True, gc=False):
    """A time in a log, in microseconds since 1970.

    `zoned` True: UTC. `zoned` False: local wall-clock time of an unknown zone, counted as if it were UTC; such times of
    one server may be compared with each other, those of two servers only where `LogEvidence.offset` measured both.

    Lines without a date have a place in the order of their file instead: see `ORDER_US` and `CLOCK_US`.
    """

    us: int
    zoned: bool = False

    @property
    def dated(self) -> bool:
        """Whether the line has a date and a time."""
        return self.us >= DATED_US

    @property
    def timed(self) -> bool:
        """Whether durations mean anything: the line has at least a time of day."""
        return self.us >= CLOCK_US

    @property
    def at(self) -> datetime:
        """As a datetime: aware (UTC) when the zone is known, else naive."""
        known = _EPOCH + timedelta(microseconds=self.us)
        return known if self.zoned else known.replace(tzinfo=None)

    def __str__(self) -> str:
        if not self.timed:
            return "a line without a time"
        if not self.dated:
            return self.at.strftime("%H:%M:%S") + " (no date)"
        return self.at.strftime("%Y-%m-%d %H:%M:%S") + ("Z" if self.zoned else " (local time)")


class Exemplar(msgspec.Struct, frozen=True, gc=False):
    """One line as evidence: file as the report names it, line from 1, byte offset of the line in its text, excerpt."""

    file: str
    line: int
    offset: int
    text: str
    at: LogTime | None = None
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def observed(self) -> Observation:
        """This line as evidence of a finding."""
        known = self.at.at if self.at is not None and self.at.zoned else None
        return Observation(source=self.file, path=f"line {self.line}, byte {self.offset}", value=self.text, at=known)


class ProcessRun(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a server, from its first to its last line.

    `started` is None if the process began before the log does. `end` is `clean` (the process logged that it exits),
    `unclean` (the next start follows without that line), `lame duck` (lame duck mode), `failed` (a fatal line ended it)
    or `open` (the log ends). `reloaded` is the time of the last completed reload of its configuration. `same_file`: the
    next start is in the same file, so that no missing file can explain an unclean end.
    """

    server: str
    started: LogTime | None = None
    ready: LogTime | None = None
    last: LogTime | None = None
    end: str = "open"
    signal: str = ""
    version: str = ""
    server_id: str = ""
    pid: int | None = None
    bootstrapped: bool = False
    recovered: bool = False
    jetstream_stopped: LogTime | None = None
    reloaded: LogTime | None = None
    panic: str = ""
    fatal: str = ""
    same_file: bool = True
    exemplar: Exemplar | None = None


class CrashLoop(msgspec.Struct, frozen=True, kw_only=True):
    """Three or more starts of one server within ten minutes, each less than ten minutes after the last."""

    server: str
    starts: int
    unclean: int
    began: LogTime
    ended: LogTime


class LogGap(msgspec.Struct, frozen=True, kw_only=True):
    """A process that logged nothing between two of its lines; `line` is the one after. The longest of each server."""

    server: str
    began: LogTime
    ended: LogTime
    exemplar: Exemplar

    @property
    def duration_ns(self) -> int:
        """Length of the silence, nanoseconds."""
        return (self.ended.us - self.began.us) * 1000


class LogClockStep(msgspec.Struct, frozen=True, kw_only=True):
    """Time went back between two neighbouring lines of one process, by its own stamps; `exemplar` is the later line.

    Not for restarts, other processes, sections of a concatenation, or files whose servers interleave. `only` is False
    where the file steps back more than once.
    """

    server: str
    before: LogTime
    after: LogTime
    exemplar: Exemplar
    only: bool = True

    @property
    def step_ns(self) -> int:
        """The step in nanoseconds, always negative."""
        return (self.after.us - self.before.us) * 1000


class RestoredFall(msgspec.Struct, frozen=True, kw_only=True):
    """A stream came back with fewer messages than at the start before: limits and purges explain it, or loss."""

    server: str
    account: str
    stream: str
    before: int
    after: int
    before_line: Exemplar
    after_line: Exemplar

    @property
    def subject(self) -> Subject:
        """The stream."""
        return Subject(kind="stream", name=self.stream, account=self.account)


class Leadership(msgspec.Struct, frozen=True, kw_only=True):
    """Elections of one raft group over all servers. `kind` is `meta`, `stream` or `consumer`.

    The meta group's elections are counted once each, though every server logs them. `times` are the newest ones
    (microseconds, clock of the server that logged them), `leaders` how often each server won, most often first.
    """

    kind: str
    account: str = ""
    stream: str = ""
    consumer: str = ""
    changes: int
    leaders: tuple[tuple[str, int], ...]
    busiest_changes: int
    busiest_at: LogTime | None
    first: LogTime | None
    last: LogTime | None
    exemplars: tuple[Exemplar, ...] = ()

    @property
    def subject(self) -> Subject:
        """The stream or consumer, else the cluster."""
        if self.kind == "meta":
            return Subject(kind="cluster")
        return Subject(kind=self.kind, name=self.consumer or self.stream, account=self.account, stream=self.parent)

    @property
    def parent(self) -> str:
        """The stream of a consumer's group, else an empty text."""
        return self.stream if self.kind == "consumer" else ""


class ServerOffset(msgspec.Struct, frozen=True, kw_only=True):
    """How far the stamps of `other` are ahead of those of `server`, from `events` that both logged (elections).

    `offset_us` is the difference of the stamps; its whole quarter-hours are `zone_us`, the rest `skew_us`, to within
    `uncertainty_us` (the spread of the servers' times for the same events, and at least the time that the information
    takes to travel).
    """

    server: str
    other: str
    offset_us: int
    zone_us: int
    skew_us: int
    uncertainty_us: int
    events: int
    exemplars: tuple[Exemplar, ...] = ()


class OutageInterval(msgspec.Struct, frozen=True, kw_only=True):
    """An incident from its first to its last line, with no pause over five minutes; and what ended it, if anything did.

    Only for signatures with `resolved_by`. `resolved` None: unresolved when the log ends (`log_end`).
    """

    signature: str
    logged_by: str
    fields: tuple[tuple[str, str], ...]
    began: LogTime
    last: LogTime
    count: int
    resolved: LogTime | None = None
    resolved_by: str = ""
    log_end: LogTime | None = None

    @property
    def duration_ns(self) -> int:
        """From the first line to the resolving one, or to the last line of the incident when nothing resolved it.

        0 where the lines have no time.
        """
        if not self.began.timed:
            return 0
        return ((self.resolved or self.last).us - self.began.us) * 1000


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
        """Time of the first line whose place is known; undated lines come first."""
        return LogTime(self.histogram[0].first_us, self.zoned) if self.histogram else None

    @property
    def last(self) -> LogTime | None:
        """Time of the last line whose place is known."""
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
            return Subject(kind="account", name=account)
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
    are those of server lines at the beginning and the end of the file, and INF wherever it is. `interleaved`: lines of
    several servers that cannot be distinguished; its clock is not judged.
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
    leaderships: tuple[Leadership, ...] = ()
    offsets: tuple[ServerOffset, ...] = ()
    intervals: tuple[OutageInterval, ...] = ()
    omitted: tuple[tuple[str, int], ...] = ()
    unsearched: tuple[str, ...] = ()

    def occurrences(self, *signatures: str) -> tuple[Occurrence, ...]:
        """Occurrences of any of these signatures, in their order here, most lines first."""
        places = _places_by_signature(self)
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


_places_of_last: list[tuple[LogEvidence, dict[str, list[int]]]] = []


def _places_by_signature(logs: LogEvidence) -> dict[str, list[int]]:
    """The places in `found` of each signature's occurrences; kept for the last evidence, as every rule needs them."""
    if not _places_of_last or _places_of_last[0][0] is not logs:
        places: dict[str, list[int]] = {}
        for place, occurrence in enumerate(logs.found):
            places.setdefault(occurrence.signature, []).append(place)
        _places_of_last[:] = [(logs, places)]
    return _places_of_last[0][1]


def canonical(evidence: LogEvidence) -> bytes:
    """The one JSON text of this evidence: engines agree when these bytes are equal."""
    return msgspec.json.encode(evidence, order="deterministic")


def exemplars_of(occurrences: Iterable[Occurrence]) -> tuple[Observation, ...]:
    """The oldest lines of several occurrences as evidence of one finding, at most `_MAX_EXEMPLARS`."""
    lines = [exemplar for occurrence in occurrences for exemplar in occurrence.exemplars]
    lines.sort(key=lambda line: (line.at is None, line.at.us if line.at else 0, line.file, line.offset))
    return tuple(line.observed for line in lines[:_MAX_EXEMPLARS])
