"""Wording of findings from logs: when and how often lines were logged, and the subject of a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from jsdoctor.model import wording
from jsdoctor.model.finding import CLUSTER, Finding, Subject, unknown
from jsdoctor.model.log import LogTime


def client_of(fields: Mapping[str, str], logged_by: str) -> Subject:
    """As `subject_of`, but a line that names nothing is about the client that logged it."""
    subject = subject_of(fields, logged_by)
    return Subject(kind="client", name=subject.name) if subject.kind == "server" else subject


META_GROUP = "_meta_"


def cluster_of(_fields: Mapping[str, str], _logged_by: str) -> Subject:
    """For lines about the meta group or the cluster as a whole."""
    return CLUSTER


def by_server(_fields: Mapping[str, str], logged_by: str) -> Subject:
    """The server that logged the line, whatever else it names: lines about Raft groups do not name the asset."""
    return Subject(kind="server", name=logged_by)


_SHOWN = 4


def subject_of(fields: Mapping[str, str], logged_by: str) -> Subject:
    """Subject of a line: the consumer, stream, account or server that it names, else the server that logged it."""
    account, stream, consumer = (fields.get(name, "") for name in ("account", "stream", "consumer"))
    if consumer:
        return Subject(kind="consumer", name=consumer, account=account, stream=stream)
    if stream:
        return Subject(kind="stream", name=stream, account=account)
    if account:
        return Subject(kind="account", name=account)
    return Subject(kind="server", name=fields.get("server", "") or logged_by)


def listed(names: Iterable[str]) -> str:
    """Names in order, the first few of them: `n1, n2`, `a, b, c, d and 12 more`."""
    return wording.listed(sorted(set(names)), _SHOWN)


def when(first: LogTime | None, last: LogTime | None) -> str:
    """`at ...`, or `from ... to ...`; empty where the lines have no time."""
    if first is None or last is None or not first.timed:
        return ""
    if not first.dated or not last.dated:
        return f" at {last}" if first == last else f" from {first} to {last}"
    if first == last or str(first) == str(last):
        return f" at {last}"
    same_day = first.at.date() == last.at.date() and first.zoned == last.zoned
    return f" from {first.at:%Y-%m-%d %H:%M:%S} to {f'{last}'[11:] if same_day else last}"


def zoned(time: LogTime | None) -> datetime | None:
    """A time for `first_seen` and `last_seen`: only where its zone is known."""
    return time.at if time is not None and time.zoned else None


def times(count: int) -> str:
    """Such as `once`, `twice`, `1,200 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def no_server_lines(subject: Subject = CLUSTER) -> Finding:
    """Not evaluated: no server wrote the logs that were read."""
    return unknown(
        subject,
        "no line of a nats-server was read, only other programs' logs",
        "name the log files of the servers, or the directory that holds them",
    )


def no_client_lines(subject: Subject = CLUSTER) -> Finding:
    """Not evaluated: no client wrote the logs that were read."""
    return unknown(
        subject,
        "no line of an application was read, only servers' logs",
        "name the log files of the applications that use these streams",
    )


def earliest(times_: Collection[LogTime | None]) -> LogTime | None:
    """The first of some times."""
    return min((time for time in times_ if time is not None), key=lambda time: time.us, default=None)


def latest(times_: Collection[LogTime | None]) -> LogTime | None:
    """The last of some times."""
    return max((time for time in times_ if time is not None), key=lambda time: time.us, default=None)
