"""JSD818: a store directory that does not outlive the host or the container, by the server's configuration.

From logs: a store directory that does not outlive the host or the container, by what servers log when they start.
From manifests: what is stored where it will not outlive the server, the host or the container.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from jsdoctor.checks.declared.doubts import jetstream_unclear, refused_by_tool, unclear
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import times, when, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.log import LogEvidence, ProcessRun
from jsdoctor.model.manifest import DeclaredServers, Manifests, Tool
from jsdoctor.model.server import Servers


@check("server_health.temporary_store")
def temporary_store(servers: Servers) -> Iterator[Finding]:
    """Judge store directories; without `store_dir` a server uses that for temporary files (EnableJetStream)."""
    for server in servers.servers:
        jetstream = server.jetstream
        if jetstream is None or jetstream.disabled or not jetstream.config:
            continue
        path = jetstream.config.store_dir
        if not (is_temporary(path) or is_in_memory(path)):
            yield passed(server.subject)
            continue
        chosen = not (is_default_directory(path) or is_in_memory(path))
        yield failed(
            server.subject,
            f"its streams are stored in {path}, "
            + ("which is in memory" if is_in_memory(path) else "a directory for temporary files")
            + ("" if chosen or is_in_memory(path) else ", because no store_dir is set")
            + ": they are gone after the next restart of the host or container",
            server.observed("config.store_dir", path),
            severity=Severity.INFO if chosen else None,
            measured=(path, None, None),
        )


@check("server_health.temporary_store_logged", lines_of="servers")
def temporary_store_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report temporary store directories by the server's warning or the directory that it logs, and empty stores."""
    for burst in bursts(logs, "temporary-store-used", "temporary-store-named", calm=False):
        paths = [dict(line.fields).get("directory", "") for occurrence in burst.found for line in occurrence.exemplars]
        known = list(dict.fromkeys(path for path in paths if path))
        fallback = any(occurrence.signature == "temporary-store-used" for occurrence in burst.found)
        is_severe = fallback or any(is_in_memory(path) for path in known)
        yield finding_of(
            burst,
            f"its streams are stored in {known[-1] if known else 'a directory for temporary files'}"
            + (", because no store_dir is set" if fallback else "")
            + ": they are gone after the next restart of the host or container",
            None if is_severe else Severity.INFO,
        )
    yield from _empty_starts(logs)


def _empty_starts(logs: LogEvidence) -> Iterator[Finding]:
    """Find servers that bootstrap a second time, which means an empty store (server: raft.go bootstrap)."""
    by_server: dict[str, list[ProcessRun]] = defaultdict(list)
    with_store = [run for run in logs.runs if run.started and (run.bootstrapped or run.recovered)]
    for run in sorted(with_store, key=lambda run: run.started.us if run.started else 0):
        by_server[run.server].append(run)
    for server, runs in by_server.items():
        began = [later for earlier, later in pairwise(runs) if _lost_its_store(earlier, later)]
        if not began:
            continue
        starts = [run.started for run in began]
        again = len(began) > 1
        yield failed(
            Subject(kind="server", name=server),
            f"it started {times(len(began))} with an empty store{when(starts[0], starts[-1])}, though it had been a"
            " member of its cluster: streams with one replica on it lost their messages, and the others are copied"
            " to it again"
            + (": its store does not outlive its container" if again else ", unless its store was removed on purpose"),
            *(_observed(run) for run in began),
            severity=None if again else Severity.INFO,
            measured=(len(began), 1, "count"),
            between=(zoned(starts[0]), zoned(starts[-1])),
        )


def _observed(run: ProcessRun) -> Observation:
    line = run.exemplar
    return Observation(line.file if line else run.server, "start", str(run.started), zoned(run.started))


def _lost_its_store(earlier: ProcessRun, later: ProcessRun) -> bool:
    """Whether the later process bootstraps after an earlier one had a store. Overlapping logs are of two servers."""
    if not later.bootstrapped:
        return False
    return earlier.last is None or later.started is None or earlier.last.us <= later.started.us


@check("server_health.temporary_store_declared", also_mounted=True)
def temporary_store_declared(manifests: Manifests) -> Iterator[Finding]:
    """Judge declared store directories, and streams of NACK that will be in memory by default."""
    for stream in manifests.kept_streams():
        if stream.tool is Tool.NACK and stream.stored.storage == "memory" and not refused_by_tool(stream):
            if stream.states("storage"):
                yield passed(stream.subject)
                continue
            yield failed(
                stream.subject,
                "storage is not set, and the resource definition's default is memory, not the server's file: messages"
                " are gone when its servers restart; write storage: file, or storage: memory if that is intended",
                stream.shows("storage", "memory"),
            )
    for servers in manifests.servers:
        yield from _declared_findings(servers)


def _declared_findings(servers: DeclaredServers) -> Iterator[Finding]:
    if unsure := jetstream_unclear(servers):
        yield unsure
    if servers.get("jetstream") is not True or servers.get("max_file_store") == 0:
        return
    path, persistent = servers.get("store_dir"), servers.get("persistent")
    if servers.is_chart and path is None and "store_dir" not in servers.unclear:
        return  # its file store is off
    if unsure := unclear(servers, "store_dir", *(("persistent",) if servers.is_chart else ())):
        yield unsure
    elif persistent:
        yield passed(servers.subject)
    elif persistent is not None:
        why = "pvc.enabled is false" if servers.is_chart else "no volume that lasts holds its store_dir"
        text = f"{why}: streams are kept in the container and are gone when it is replaced"
        yield _finding(servers, "persistent", text, None)
    elif path is None:
        text = "no store_dir is set: streams are kept in the directory for temporary files, and are gone with it"
        yield _finding(servers, "jetstream", text, None)
    elif is_in_memory(str(path)) or is_temporary(str(path)):
        kind = "is in memory" if is_in_memory(str(path)) else "is for temporary files"
        text = f"store_dir {path} {kind}: streams are gone after the next restart of the host or container"
        yield _finding(servers, "store_dir", text, None if is_in_memory(str(path)) else Severity.INFO)
    elif "persistent" in servers.unclear:  # a ConfigMap, without a single workload that would show its volumes
        yield unknown(
            servers.subject,
            "no single workload of these manifests mounts this configuration, so it is not known whether a volume holds"
            f" store_dir {path}",
            "give the manifest of its StatefulSet or service in the same run, too",
        )
    else:
        yield passed(servers.subject)


def _finding(servers: DeclaredServers, setting: str, text: str, severity: Severity | None) -> Finding:
    shown = servers.at(setting).shows(f"store_dir: {servers.get('store_dir', 'not set')}")
    return failed(servers.subject, text, shown, severity=severity)


_IN_MEMORY = ("/dev/shm", "/run")  # noqa: S108 - looked for, not used
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108
_FALLBACKS = ("/tmp/nats/jetstream", "/tmp/jetstream")  # noqa: S108


def is_in_memory(path: str) -> bool:
    """Whether a path is usually on a file system in memory on Linux."""
    return _below(path, _IN_MEMORY)


def is_temporary(path: str) -> bool:
    """Whether a path is in a directory for temporary files."""
    return _below(path, _TEMPORARY)


def is_default_directory(path: str) -> bool:
    """Whether it is the directory of a server that configures none (server: jetstream.go dynJetStreamConfig)."""
    return path.removesuffix("/") in _FALLBACKS


def _below(path: str, parents: tuple[str, ...]) -> bool:
    return any(path == parent or path.startswith(parent + "/") for parent in parents)
