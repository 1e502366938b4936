"""JSD852: servers that share one store directory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Subject, failed, passed
from jsdoctor.model.host import HostFacts, ServerProcess
from jsdoctor.model.manifest import DeclaredServers, Manifests
from jsdoctor.model.wording import joined


@check("server_health.store_shared")
def store_shared(host: HostFacts) -> Iterator[Finding]:
    """Compare store directories by device and inode: containers may have one under several paths."""
    servers: dict[str, list[tuple[str, ServerProcess]]] = defaultdict(list)
    for number, process in enumerate(host.last.processes):
        if process.volume and process.volume.directory:
            servers[process.volume.directory].append((f"processes[{number}].volume.directory", process))
    for directory, inside in servers.items():
        sharing = [
            _Holder(process.subject, process.store_dir, host.last.observed(path, directory)) for path, process in inside
        ]
        advice = "Stop all of these servers but one, then give each a directory or a volume of its own."
        yield from _judged(sharing, advice)


@check("server_health.store_shared_declared")
def store_shared_declared(manifests: Manifests) -> Iterator[Finding]:
    """Find services of one compose file whose store is in the same place of the same volume."""
    for places in _by_file(manifests.servers).values():
        for place, sharing in places.items():
            holders = [
                _Holder(servers.subject, place, servers.shows("store_dir", servers.get("store_dir")))
                for servers in sharing
            ]
            yield from _judged(holders, "Give each service a volume of its own.")


class _Holder(NamedTuple):
    """A server, its store directory as it names it, and what shows that."""

    subject: Subject
    directory: str
    seen: Observation


def _judged(sharing: Sequence[_Holder], advice: str) -> Iterator[Finding]:
    """A finding for each server of one directory; a pass if there is one server."""
    for holder in sharing:
        others = joined([other.subject.name for other in sharing if other.subject != holder.subject])
        if not others:
            yield passed(holder.subject)
            continue
        yield failed(
            holder.subject,
            f"it has one store directory with {others} ({holder.directory}): nats-server does not lock it, so each"
            " overwrites the streams, consumers and Raft state of the other",
            holder.seen,
            measured=(len(sharing), 1, "count"),
            advice=advice,
        )


def _by_file(declared: Iterable[DeclaredServers]) -> Mapping[str, Mapping[str, Sequence[DeclaredServers]]]:
    result: dict[str, dict[str, list[DeclaredServers]]] = defaultdict(lambda: defaultdict(list))
    for servers in declared:
        if place := servers.get("store_volume"):
            result[servers.place.file][place].append(servers)
    return result
