"""Loki: the lines of logs that it keeps, as files that are read as any other log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from jsdoctor.logs.loki import LogQuery
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.problems import Problem
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.wording import counted
from jsdoctor.sources.api_access import api_access, print_query
from jsdoctor.sources.base import Collection, LogFiles, Need, Reading, Run, Source
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connection import resolve_connection
from jsdoctor.sources.loki.paging import LokiClient, LokiProblem, Pager, PagingLimits, UnreadLines, shown_time
from jsdoctor.sources.loki.servers import MAX_LOGS, NamedStreams, Spool, SpooledLog, lifted_labels, named_streams
from jsdoctor.sources.request import LokiRequest

_DEFAULT_SINCE = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PREFIX = "loki"
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class LokiLines(Source):
    """A Loki with lines of logs."""

    request: LokiRequest
    connection: ConnectionOptions
    shows_queries: bool = False
    provides = frozenset({LogEvidence})
    has_times = True
    connects = True

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names it."""
        return ("--loki",)

    @contextmanager
    def read(self, need: Need, run: Run, collection: Collection) -> Iterator[Reading]:
        """The lines as files. What was not read is a gap.

        Raises `UsageProblem` for an address or TLS files that cannot be used.
        """
        del need, collection
        query = self.request.query
        if query is None:
            raise TypeError("a request for lines of Loki without a query")
        access = api_access("--loki", self.request, resolve_connection(self.connection, run.config))
        on_query = print_query if self.shows_queries else lambda _: None
        with (
            TemporaryDirectory(prefix="jsdoctor-loki-") as directory,
            LokiClient(access, on_query, lifted_labels(self.request.labels)) as client,
        ):
            yield _fetch(query, self.request.labels, client, Path(directory), run)


def _fetch(query: LogQuery, labels: Sequence[str], client: LokiClient, directory: Path, run: Run) -> Reading:
    """Write what Loki has to files in the directory, one for each server."""
    now = datetime.now(UTC)
    until = run.window.until if run.window and run.window.until else now
    since = run.window.since if run.window and run.window.since else until - _DEFAULT_SINCE
    pager = Pager(client, query, PagingLimits(), run.show)
    service = EvidenceOrigin(_PREFIX, client.base, now)
    span = f"from {since:%Y-%m-%d %H:%M:%S}Z to {until:%Y-%m-%d %H:%M:%S}Z"
    spool = Spool(directory)

    def no_lines(problem: Problem | None = None) -> Reading:
        if problem is not None:
            pager.missing.add(problem.message, problem.hint)
        return Reading(logs=LogFiles(paths=(), service=service, gaps=_gaps(client, pager.missing)), problem=problem)

    try:
        run.show(f"requesting log lines from Loki {span}")
        for page in pager.pages(_ns(since), _ns(until) + 1):
            spool.add(page)
        if not spool.lines:
            if not pager.missing.reasons:
                none = f"Loki has no line of {query.text} {span}"
                pager.missing.add(none, "check the labels with `logcli labels`, or give an earlier --since")
            return no_lines()
        named = named_streams(spool.streams, labels)
        if len(named.logs) > MAX_LOGS:
            many = f"the lines are of {len(named.logs):,} logs by the labels {', '.join(named.labels)}, too many"
            pager.missing.add(many, "name the label that distinguishes servers with --loki-label")
            return no_lines()
        run.show(f"writing {counted(spool.lines, 'line')} in their order")
        written = spool.written(directory, named.names)
    except LokiProblem as problem:
        return no_lines(problem)
    except OSError as error:
        unwritten = f"the lines of Loki cannot be written to {directory.parent}: {error.strerror or error}"
        return no_lines(Problem(unwritten, "set TMPDIR to a directory with more room, or give a shorter --since"))
    finally:
        spool.close()
    return Reading(
        logs=LogFiles(
            paths=tuple(str(log.path) for log in written),
            service=service,
            names={str(log.path): f"{_PREFIX}/{log.name}" for log in written},
            series={str(log.path): log.name for log in written},
            windowed=True,
            words=_words(query, written, named),
            gaps=_gaps(client, pager.missing),
            incomplete=bool(pager.missing.reasons) or query.filters,
        )
    )


def _gaps(client: LokiClient, missing: UnreadLines) -> tuple[Gap, ...]:
    subject = Subject(kind="file", name=client.base)
    return tuple(Gap("log", subject, reason, how_to_get) for reason, how_to_get in missing.reasons)


def _words(query: LogQuery, logs: Sequence[SpooledLog], named: NamedStreams) -> str:
    """What was read, and which labels gave the names of servers."""
    lines = sum(log.lines for log in logs)
    first, last = min(log.first_ns for log in logs), max(log.last_ns for log in logs)
    labels = f", distinguished by {' and '.join(named.labels)}" if named.labels else ""
    span = f"{shown_time(first - first % _NS)} to {shown_time(last - last % _NS)}"
    parts = [f"{counted(lines, 'line')} of {counted(len(logs), 'log')} from Loki{labels}, {span}"]
    if any(log.dated_by_loki for log in logs):
        parts.append("lines without a time have that of Loki")
    if query.filters:
        parts.append("the query leaves lines out, so a rule that finds nothing in them is not evaluated")
    return "; ".join(parts)


def _ns(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000
