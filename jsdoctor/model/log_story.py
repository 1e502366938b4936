"""The history of servers in logs: processes, silences, clocks, elections, losses, and outage intervals."""

from __future__ import annotations

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.log_line import Exemplar, LogTime


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
