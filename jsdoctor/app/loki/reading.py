"""Log lines from Loki as files, which are read as any other log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from jsdoctor.app.api_access import api_access, print_query
from jsdoctor.app.logs.options import FetchedLogs, LogRequest
from jsdoctor.app.loki.options import LokiRequest
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.loki.client import LokiClient, LokiProblem, shown_time
from jsdoctor.collect.loki.paging import Pager, PagingLimits, UnreadLines
from jsdoctor.collect.loki.servers import MAX_LOGS, NamedStreams, lifted_labels, named_streams
from jsdoctor.collect.loki.spool import Spool, SpooledLog
from jsdoctor.collect.problems import Problem
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Source
from jsdoctor.model.window import Window
from jsdoctor.model.wording import counted

_SINCE = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PREFIX = "loki"
_NS = 1_000_000_000


@contextmanager
def with_loki_logs(
    request: LokiRequest,
    settings: ConnectionSettings,
    logs: LogRequest | None,
    window: Window | None,
    show: Callable[[str], None],
) -> Iterator[LogRequest]:
    """The request for logs with those of Loki added. They are files while the context lasts.

    What was not read is a gap. Raises `UsageProblem` for an address or TLS files that cannot be used.
    """
    given = logs or LogRequest(paths=(), window=window)
    access = api_access("--loki", request, settings)
    with (
        TemporaryDirectory(prefix="jsdoctor-loki-") as directory,
        LokiClient(
            access, print_query if request.show_queries else lambda _: None, lifted_labels(request.labels)
        ) as client,
    ):
        fetched, names = _fetched(request, client, Path(directory), window, show)
        yield replace(given, paths=(*given.paths, *names), names={**given.names, **names}, fetched=fetched)


def _fetched(
    request: LokiRequest, client: LokiClient, directory: Path, window: Window | None, show: Callable[[str], None]
) -> tuple[FetchedLogs, dict[str, str]]:
    """What Loki has, as files, and what reports call each of them."""
    now = datetime.now(UTC)
    until = window.until if window and window.until else now
    since = window.since if window and window.since else until - _SINCE
    pager = Pager(client, request.query, PagingLimits(), show)
    source, span = Source(_PREFIX, client.base, now), f"from {since:%Y-%m-%d %H:%M:%S}Z to {until:%Y-%m-%d %H:%M:%S}Z"
    spool = Spool(directory)
    try:
        show(f"requesting log lines from Loki {span}")
        for page in pager.pages(_ns(since), _ns(until) + 1):
            spool.add(page)
        if not spool.lines:
            if not pager.missing.reasons:
                nothing = f"Loki has no line of {request.query.text} {span}"
                pager.missing.add(nothing, "check the labels with `logcli labels`, or give an earlier --since")
            return _nothing(source, client, pager.missing), {}
        named = named_streams(spool.streams, request.labels)
        if len(named.logs) > MAX_LOGS:
            many = f"the lines are of {len(named.logs):,} logs by the labels {', '.join(named.labels)}, too many"
            pager.missing.add(many, "name the label that distinguishes servers with --loki-label")
            return _nothing(source, client, pager.missing), {}
        show(f"writing {counted(spool.lines, 'line')} in their order")
        written = spool.written(directory, named.names)
    except LokiProblem as problem:
        pager.missing.add(problem.message, problem.hint)
        return _nothing(source, client, pager.missing, problem), {}
    except OSError as error:
        unwritten = Problem(
            f"the lines of Loki cannot be written to {directory.parent}: {error.strerror or error}",
            "set TMPDIR to a directory with more room, or give a shorter --since",
        )
        pager.missing.add(unwritten.message, unwritten.hint)
        return _nothing(source, client, pager.missing, unwritten), {}
    finally:
        spool.close()
    names = {str(log.path): f"{_PREFIX}/{log.name}" for log in written}
    fetched = FetchedLogs(
        source=source,
        series={str(log.path): log.name for log in written},
        words=_words(request, written, named),
        gaps=_gaps(client, pager.missing),
        incomplete=bool(pager.missing.reasons) or request.query.filters,
    )
    return fetched, names


def _nothing(source: Source, client: LokiClient, missing: UnreadLines, problem: Problem | None = None) -> FetchedLogs:
    return FetchedLogs(source=source, gaps=_gaps(client, missing), problem=problem)


def _gaps(client: LokiClient, missing: UnreadLines) -> tuple[Gap, ...]:
    subject = Subject(kind="file", name=client.base)
    return tuple(Gap("log", subject, reason, how_to_get) for reason, how_to_get in missing.reasons)


def _words(request: LokiRequest, logs: Sequence[SpooledLog], named: NamedStreams) -> str:
    """What was read, and from where the names of servers are."""
    lines = sum(log.lines for log in logs)
    first, last = min(log.first_ns for log in logs), max(log.last_ns for log in logs)
    labels = f", distinguished by {' and '.join(named.labels)}" if named.labels else ""
    span = f"{shown_time(first - first % _NS)} to {shown_time(last - last % _NS)}"
    parts = [f"{counted(lines, 'line')} of {counted(len(logs), 'log')} from Loki{labels}, {span}"]
    if any(log.dated_by_loki for log in logs):
        parts.append("lines without a time have that of Loki")
    if request.query.filters:
        parts.append("the query leaves lines out, so a rule that finds nothing in them is not evaluated")
    return "; ".join(parts)


def _ns(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000
