"""Which workload mounts which configuration of nats-server, over all manifests of a run. The configuration itself does
not show whether its `store_dir` is on a volume, and how many servers run with it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

import msgspec

from jsdoctor.model.manifest import DeclaredServers, FilePosition

_DEFAULT_STORE = "/tmp/nats"  # noqa: S108 - where a server in a container keeps its streams without store_dir


@dataclass(frozen=True, slots=True)
class ConfigMount:
    """A container of nats-server, and where its configuration comes from.

    `config_map` is the name of a ConfigMap or Secret, else `path` is a file beside the manifest. `lasting` are the
    directories of the container that outlive it; `servers` how many containers like it will run (None: not known).
    `container` is its place.
    """

    file: str
    lasting: tuple[str, ...]
    config_map: str = ""
    namespace: str = ""
    path: str = ""
    servers: int | None = None
    container: FilePosition | None = None


@dataclass(frozen=True, slots=True)
class GeneratedMap:
    """A ConfigMap or Secret that kustomize makes of files."""

    name: str
    paths: tuple[str, ...]


def is_kept(directory: str, mounts: Sequence[str]) -> bool:
    """Whether a server with this `store_dir` keeps its streams on one of these volumes: it stores below `jetstream`."""
    stored = (directory.rstrip("/") or "") + "/jetstream"
    return any(stored == mount or stored.startswith(mount.rstrip("/") + "/") for mount in mounts)


def joined(
    servers: Sequence[DeclaredServers], mounts: Sequence[ConfigMount], generated: Sequence[GeneratedMap]
) -> list[DeclaredServers]:
    """Configurations with what the workloads that mount them tell; `persistent` is unclear where none is known. The
    only container that runs with a configuration is part of it, and no server of its own.
    """
    containers = {server.place: server for server in servers if server.what == "container"}
    result: list[DeclaredServers] = []
    parts: set[FilePosition] = set()
    for server in servers:
        near = _mounting(server, mounts, generated) if server.what == "server configuration" else None
        if near is None:
            result.append(server)
            continue
        places = {mount.container for mount in near}
        running = {place: container for place, container in containers.items() if place in places}
        result.append(_joined(server, near, list(running.values())))
        if len(running) == 1:
            parts.update(running)
    return [server for server in result if server.what != "container" or server.place not in parts]


def _mounting(
    servers: DeclaredServers, mounts: Sequence[ConfigMount], generated: Sequence[GeneratedMap]
) -> Sequence[ConfigMount] | None:
    """The mounts of a configuration; None for a file of a host."""
    path = posixpath.normpath(servers.place.file)
    names = {servers.config_map} if servers.config_map else {item.name for item in generated if path in item.paths}
    if names:
        config_mounts = [
            mount for mount in mounts if mount.config_map in names and _same(mount.namespace, servers.namespace)
        ]
    else:
        config_mounts = [mount for mount in mounts if mount.path == path]
    return _nearest(servers.place.file, config_mounts) if names or config_mounts else None


def _joined(
    servers: DeclaredServers, near: Sequence[ConfigMount], running: Sequence[DeclaredServers]
) -> DeclaredServers:
    settings, places, unclear = dict(servers.settings), dict(servers.places), set(servers.unclear)
    if len(running) == 1:
        settings |= running[0].settings
        places |= running[0].places
    unclear |= {"server_name" for container in running if "server_name" in container.places} - set(settings)
    settings["started"] = bool(running)
    directory = str(settings.get("store_dir", _DEFAULT_STORE))
    kept = {is_kept(directory, mount.lasting) for mount in near} if directory.startswith("/") else set()
    if len(kept) == 1:
        settings["persistent"] = kept.pop()
        places["persistent"] = servers.at("store_dir", "jetstream")
    else:
        unclear.add("persistent")
    sizes = {item.servers for item in near}
    if len(sizes) == 1 and (size := sizes.pop()) is not None:
        settings["servers"] = size
        places["servers"] = servers.at("clustered", "jetstream")
    mistakes = (*servers.mistakes, *(running[0].mistakes if len(running) == 1 else ()))
    return msgspec.structs.replace(
        servers,
        name=servers.name or (running[0].name if len(running) == 1 else ""),
        settings=settings,
        places=places,
        mistakes=mistakes,
        unclear=frozenset(unclear),
    )


def _same(first: str, second: str) -> bool:
    """Kustomize and `kubectl -n` fill in the namespace of what names none."""
    return not first or not second or first == second


def _nearest(file: str, mounts: Sequence[ConfigMount]) -> Sequence[ConfigMount]:
    """The mounts closest to a file, as one run may have several environments: same file, same directory, then any."""
    same_file = [mount for mount in mounts if mount.file == file]
    same_directory = [mount for mount in mounts if PurePath(mount.file).parent == PurePath(file).parent]
    return same_file or same_directory or mounts
