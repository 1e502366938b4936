"""Which streams of Loki are one server's log, and one file for each, oldest line first. One page is in memory."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

import msgspec

from jsdoctor.logs.aggregate.series import is_generic
from jsdoctor.logs.loki import LEVELS, Entry, Labels, Lifted, LokiPage, as_text, has_own_times, in_order
from jsdoctor.sources.archives.discover import series_of

MAX_LOGS = 500
"""If a label gives more logs than this, its values do not distinguish servers."""

_POD = (
    *("pod", "pod_name", "podname", "kubernetes_pod_name", "k8s_pod_name", "statefulset_kubernetes_io_pod_name"),
    *("server_name", "service_instance_id"),
)
"""Labels whose value is one server's, within a scope."""

_SCOPE = (
    "__tenant_id__",
    *("cluster", "k8s_cluster_name", "cluster_name", "env", "environment", "region", "datacenter", "dc"),
    *("namespace", "k8s_namespace_name", "kubernetes_namespace_name", "kubernetes_namespace", "ns"),
)
_CONTAINER = ("container_name", "container", "k8s_container_name", "kubernetes_container_name", "compose_service")
_HOST = ("instance", "host", "hostname", "host_name", "nodename", "node", "node_name", "machine", "unit")
_FILE = ("filename", "file", "log_file_path", "path")
_ORDER = (*_SCOPE, *_POD, *_HOST, *_CONTAINER, *_FILE)
_NOT_OF_SERVERS = frozenset({*LEVELS, "stream", "logstream", "logtag", "flags"})
"""Labels of which one server has several values, as of those with which Loki cuts a stream (`__…`)."""

_NOT_OF_PODS = frozenset({*_HOST, *_FILE, *_NOT_OF_SERVERS, *_POD, "job", "app", "component", "service_name"})
"""Labels that do not distinguish pods: a pod may be moved and restarted."""

_LINE_METADATA = frozenset({*_SCOPE, *_POD, *_HOST, *_CONTAINER})
"""Names of the metadata of lines that may name servers, for shippers that send no such labels."""

Span = tuple[int, int]
"""Times of the first and the last line of a stream, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class NamedStreams:
    """The name of the log of each stream, and the labels that gave it. Streams with one name are one log."""

    names: Mapping[Labels, str]
    labels: tuple[str, ...]

    @property
    def logs(self) -> tuple[str, ...]:
        """The names of all logs, each once."""
        return tuple(sorted(set(self.names.values())))


def lifted_labels(chosen: Sequence[str]) -> Lifted:
    """The metadata of lines that is treated as labels of their stream. `chosen`: by the user."""
    return Lifted(_LINE_METADATA | {*chosen}, frozenset(chosen))


def named_streams(streams: Mapping[Labels, Span], chosen: Sequence[str] = ()) -> NamedStreams:
    """Distinguish the servers. `chosen` are the labels that the user named."""
    labels_by_stream = {labels: dict(labels) for labels in streams}
    distinguishing = tuple(chosen) or _distinguishing_labels(list(labels_by_stream.values()), list(streams.values()))
    groups = {
        labels: tuple(_value(name, values) or "-" for name in distinguishing)
        for labels, values in labels_by_stream.items()
    }
    short = {group: _name(distinguishing, group) for group in groups.values()}
    unique = len(set(short.values())) == len(short)
    names = {labels: short[group] if unique else ":".join(group) for labels, group in groups.items()}
    return NamedStreams(names, distinguishing)


def _name(labels: Sequence[str], group: Sequence[str]) -> str:
    """The values, without that of a container which only shows that it is NATS."""
    parts = [
        value
        for label, value in zip(labels, group, strict=True)
        if len(group) == 1 or not (label in _CONTAINER and (value == "-" or is_generic(value)))
    ]
    name = ":".join(parts) or ":".join(group) or "unnamed"
    return f"{labels[0]}={name}" if labels and is_generic(name) else name


def _distinguishing_labels(streams: Sequence[Mapping[str, str]], spans: Sequence[Span]) -> tuple[str, ...]:
    """The fewest labels that distinguish servers; where there is one log only, any label that names it."""
    varying = [name for name in _in_label_order({name for own in streams for name in own}) if _varies(name, streams)]
    pod = next((name for name in _POD if all(name in own for own in streams)), None)
    if pod is not None:
        containers = [name for name in varying if name in _CONTAINER][:1]
        known = (*(name for name in varying if name in _SCOPE), pod, *containers)
        unknown = (name for name in varying if name not in _NOT_OF_PODS and name not in (*_SCOPE, *_CONTAINER))
        return (*(name for name in unknown if _logs_at_once(name, known, streams, spans)), *known)
    apart = [name for name in varying if name not in _FILE] or varying
    if not apart:
        shared = (
            [name for name in _in_label_order(set(streams[0])) if all(name in own for own in streams)]
            if streams
            else []
        )
        return tuple([name for name in shared if name not in (*_SCOPE, *_NOT_OF_SERVERS)][:1])
    groups = len({tuple(_value(name, own) for name in apart) for own in streams})
    alone = next((name for name in apart if len({_value(name, own) for own in streams}) == groups), None)
    return (alone,) if alone else tuple(apart)


def _logs_at_once(name: str, known: Sequence[str], streams: Sequence[Mapping[str, str]], spans: Sequence[Span]) -> bool:
    """Whether streams with the same known labels have lines under several values of `name` at the same time.

    Such streams are of several servers.
    """
    logs: dict[tuple[str, ...], dict[str, Span]] = defaultdict(dict)
    for own, (first, last) in zip(streams, spans, strict=True):
        log = logs[tuple(_value(label, own) for label in known)]
        before = log.get(_value(name, own), (first, last))
        log[_value(name, own)] = (min(before[0], first), max(before[1], last))
    return any(later[0] < earlier[1] for log in logs.values() for earlier, later in pairwise(sorted(log.values())))


def _varies(name: str, streams: Sequence[Mapping[str, str]]) -> bool:
    internal = name.startswith("__") and name not in _SCOPE
    return name not in _NOT_OF_SERVERS and not internal and len({_value(name, own) for own in streams}) > 1


def _value(name: str, labels: Mapping[str, str]) -> str:
    """The value of a label; of a file without what rotation adds, as a rotated log is the same server's."""
    value = labels.get(name, "")
    return series_of(value).strip("/") if name in _FILE else value.strip("/")


def _in_label_order(names: set[str]) -> list[str]:
    """Those that name servers first, in their order; then the others by name."""
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))


@dataclass(frozen=True, slots=True)
class SpooledLog:
    """The log of one server. `first_ns` and `last_ns` are Loki's times; `dated_by_loki`: its lines had no time."""

    name: str
    path: Path
    lines: int
    first_ns: int
    last_ns: int
    dated_by_loki: bool


class Spool:
    """Keeps pages in a file until all streams are known."""

    def __init__(self, directory: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="pages-", dir=directory)  # noqa: SIM115  # closed by close()
        self._pages: list[tuple[int, int]] = []
        self._numbers: dict[Labels, int] = {}
        self._spans: dict[int, Span] = {}
        self.lines = 0

    @property
    def streams(self) -> dict[Labels, Span]:
        """All streams so far, with the times of their first and last lines."""
        return {labels: self._spans[number] for labels, number in self._numbers.items() if number in self._spans}

    def add(self, page: LokiPage) -> None:
        """Keep a page that is older than all before."""
        numbers = [self._numbers.setdefault(labels, len(self._numbers)) for labels in page.streams]
        # Loki sends the newest first, and lines of one time in the reverse of the order in which it got them.
        entries = [(entry.at_ns, numbers[entry.stream], entry.line) for entry in reversed(page.entries)]
        for at_ns, number, _ in entries:
            first, last = self._spans.get(number, (at_ns, at_ns))
            self._spans[number] = (min(first, at_ns), max(last, at_ns))
        self.lines += len(entries)
        content = msgspec.msgpack.encode(entries)
        self._pages.append((self._file.tell(), len(content)))
        self._file.write(content)

    def close(self) -> None:
        """Delete the file with the pages."""
        self._file.close()

    def written(self, directory: Path, names: Mapping[Labels, str]) -> tuple[SpooledLog, ...]:
        """Write the logs, each with the lines of all its streams."""
        logs: dict[str, _Log] = {}
        by_number = [names.get(labels, "") for labels in self._numbers]  # a stream may be without lines
        for page in self._oldest_first():
            of_log: dict[str, list[Entry]] = defaultdict(list)
            for entry in page:
                of_log[by_number[entry.stream]].append(entry)
            for name, entries in of_log.items():
                if name not in logs:
                    logs[name] = _Log(name, directory / f"{len(logs) + 1:05}.log", entries)
                logs[name].add(entries)
        return tuple(log.done() for _, log in sorted(logs.items()))

    def _oldest_first(self) -> Iterator[Sequence[Entry]]:
        decoder = msgspec.msgpack.Decoder(list[Entry])
        for place, size in reversed(self._pages):
            self._file.seek(place)
            yield decoder.decode(self._file.read(size))


class _Log:
    """A log that is being written. If its first lines have no times, Loki's are added to all."""

    def __init__(self, name: str, path: Path, first: Iterable[Entry]) -> None:
        self._name, self._path = name, path
        self._undated = not has_own_times(entry.line for entry in first)
        self._lines = 0
        self._span = (0, 0)

    def add(self, entries: Iterable[Entry]) -> None:
        """Append the lines of a page. The file is closed again: there may be more logs than files can be open."""
        ordered = list(in_order(entries))
        with self._path.open("ab") as file:
            file.writelines(as_text(entry, with_time=self._undated) for entry in ordered)
        first = self._span[0] if self._lines else ordered[0].at_ns
        self._lines += len(ordered)
        self._span = (first, ordered[-1].at_ns)

    def done(self) -> SpooledLog:
        """What was written. Times without a year are of the year of the last line."""
        os.utime(self._path, ns=(self._span[1], self._span[1]))
        return SpooledLog(self._name, self._path, self._lines, *self._span, dated_by_loki=self._undated)
