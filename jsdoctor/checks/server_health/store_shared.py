"""JSD852: servers that share one store directory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.host import HostFacts, ServerProcess
from jsdoctor.model.manifest import DeclaredServers, Manifests
from jsdoctor.model.wording import joined

_WHAT_COMES = "nats-server does not lock it, so each overwrites the streams, consumers and Raft state of the other"
_ADVICE = "Stop all of these servers but one, then give each a directory or a volume of its own."


@check("server_health.store_shared")
def store_shared(host: HostFacts) -> Iterator[Finding]:
    """By device and inode: containers may have one directory under several paths."""
    servers: dict[str, list[tuple[str, ServerProcess]]] = defaultdict(list)
    for number, process in enumerate(host.last.processes):
        if process.volume and process.volume.directory:
            servers[process.volume.directory].append((f"processes[{number}].volume.directory", process))
    for directory, inside in servers.items():
        for path, process in inside:
            others = _others(process.name, [other.name for _, other in inside])
            if not others:
                yield passed(process.subject)
                continue
            yield Finding(
                subject=process.subject,
                message=f"its store directory {process.store_dir} is also that of {others}: {_WHAT_COMES}",
                measured=len(inside),
                threshold=1,
                unit="count",
                evidence=(host.last.observed(path, directory),),
                advice=_ADVICE,
            )


@check("server_health.store_shared_declared")
def store_shared_declared(manifests: Manifests) -> Iterator[Finding]:
    """Services of one compose file whose arguments put their store into one place of one volume."""
    for places in _by_file(manifests.servers).values():
        for place, sharing in places.items():
            for servers in sharing:
                others = _others(servers.subject.name, [other.subject.name for other in sharing])
                if not others:
                    yield passed(servers.subject)
                    continue
                yield Finding(
                    subject=servers.subject,
                    message=f"its store directory is {place}, as that of {others}: {_WHAT_COMES}",
                    measured=len(sharing),
                    threshold=1,
                    unit="count",
                    evidence=(servers.shows("store_dir", servers.get("store_dir")),),
                    advice="Give each service a volume of its own.",
                )


def _by_file(declared: Iterable[DeclaredServers]) -> Mapping[str, Mapping[str, Sequence[DeclaredServers]]]:
    result: dict[str, dict[str, list[DeclaredServers]]] = defaultdict(lambda: defaultdict(list))
    for servers in declared:
        if place := servers.get("store_volume"):
            result[servers.place.file][place].append(servers)
    return result


def _others(name: str, names: Sequence[str]) -> str:
    return joined([other for other in names if other != name])
