"""Which streams are one server's log, and the name of the server: from the labels of the streams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jsdoctor.collect.logs.discover import series_of
from jsdoctor.parse.logs.aggregate.series import is_generic
from jsdoctor.parse.loki.query import LEVELS
from jsdoctor.parse.loki.replies import Labels, Lifted

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
_NEVER = frozenset({*LEVELS, "stream", "logstream", "logtag", "flags"})
"""Labels under several values of which one server logs. So are those with which Loki cuts a stream (`__…`)."""

_OF_PODS = frozenset({*_HOST, *_FILE, *_NEVER, *_POD, "job", "app", "component", "service_name"})
"""Labels that do not distinguish pods: a pod may be moved and restarted."""

_OF_LINES = frozenset({*_SCOPE, *_POD, *_HOST, *_CONTAINER})
"""Metadata of lines that name servers: some shippers send no such label, as each value would be a stream."""

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
    """What lines have beside the labels of their stream that may distinguish servers. `chosen`: by the user."""
    return Lifted(_OF_LINES | {*chosen}, frozenset(chosen))


def named_streams(streams: Mapping[Labels, Span], chosen: Sequence[str] = ()) -> NamedStreams:
    """Distinguish the servers. `chosen` are the labels that the user named."""
    every = {labels: dict(labels) for labels in streams}
    telling = tuple(chosen) or _telling(list(every.values()), list(streams.values()))
    groups = {labels: tuple(_value(name, values) or "-" for name in telling) for labels, values in every.items()}
    short = {group: _name(telling, group) for group in groups.values()}
    unique = len(set(short.values())) == len(short)
    names = {labels: short[group] if unique else ":".join(group) for labels, group in groups.items()}
    return NamedStreams(names, telling)


def _name(labels: Sequence[str], group: Sequence[str]) -> str:
    """The values, without that of a container which only shows that it is NATS."""
    parts = [
        value
        for label, value in zip(labels, group, strict=True)
        if len(group) == 1 or not (label in _CONTAINER and (value == "-" or is_generic(value)))
    ]
    name = ":".join(parts) or ":".join(group) or "unnamed"
    return f"{labels[0]}={name}" if labels and is_generic(name) else name


def _telling(streams: Sequence[Mapping[str, str]], spans: Sequence[Span]) -> tuple[str, ...]:
    """The labels that distinguish servers: as few as do. Some label where there is one log only."""
    varying = [name for name in _sorted({name for own in streams for name in own}) if _varies(name, streams)]
    pod = next((name for name in _POD if all(name in own for own in streams)), None)
    if pod is not None:
        containers = [name for name in varying if name in _CONTAINER][:1]
        known = (*(name for name in varying if name in _SCOPE), pod, *containers)
        unknown = (name for name in varying if name not in _OF_PODS and name not in (*_SCOPE, *_CONTAINER))
        return (*(name for name in unknown if _at_once(name, known, streams, spans)), *known)
    apart = [name for name in varying if name not in _FILE] or varying
    if not apart:
        shared = [name for name in _sorted(set(streams[0])) if all(name in own for own in streams)] if streams else []
        return tuple([name for name in shared if name not in (*_SCOPE, *_NEVER)][:1])
    groups = len({tuple(_value(name, own) for name in apart) for own in streams})
    alone = next((name for name in apart if len({_value(name, own) for own in streams}) == groups), None)
    return (alone,) if alone else tuple(apart)


def _at_once(name: str, known: Sequence[str], streams: Sequence[Mapping[str, str]], spans: Sequence[Span]) -> bool:
    """Whether what the known labels take for one server logs under several values of a label at the same time."""
    logs: dict[tuple[str, ...], dict[str, Span]] = defaultdict(dict)
    for own, (first, last) in zip(streams, spans, strict=True):
        log = logs[tuple(_value(label, own) for label in known)]
        before = log.get(_value(name, own), (first, last))
        log[_value(name, own)] = (min(before[0], first), max(before[1], last))
    return any(later[0] < earlier[1] for log in logs.values() for earlier, later in pairwise(sorted(log.values())))


def _varies(name: str, streams: Sequence[Mapping[str, str]]) -> bool:
    internal = name.startswith("__") and name not in _SCOPE
    return name not in _NEVER and not internal and len({_value(name, own) for own in streams}) > 1


def _value(name: str, labels: Mapping[str, str]) -> str:
    """The value of a label; of a file without what rotation adds, as a rotated log is the same server's."""
    value = labels.get(name, "")
    return series_of(value).strip("/") if name in _FILE else value.strip("/")


def _sorted(names: set[str]) -> list[str]:
    """Those that name servers first, in their order; then the others by name."""
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
