"""Which workload mounts which configuration of nats-server, over all manifests of a run. The configuration itself does
not show whether its `store_dir` is on a volume, and how many servers run with it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import msgspec

from jsdoctor.model.manifest import DeclaredServers

_DEFAULT_STORE = "/tmp/nats"  # noqa: S108 - where a server in a container keeps its streams without store_dir


@dataclass(frozen=True, slots=True)
class ConfigMount:
    """A container of nats-server, and where its configuration comes from.

    `config_map` is the name of a ConfigMap or Secret, else `path` is a file beside the manifest. `lasting` are the
    directories of the container that outlive it; `servers` how many containers like it will run (None: not known).
    """

    file: str
    lasting: tuple[str, ...]
    config_map: str = ""
    namespace: str = ""
    path: str = ""
    servers: int | None = None


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
    servers: Iterable[DeclaredServers], mounts: Sequence[ConfigMount], generated: Sequence[GeneratedMap]
) -> list[DeclaredServers]:
    """Configurations with what the workloads that mount them tell; `persistent` is unclear where none is known."""
    return [
        _joined(server, mounts, generated) if server.what == "server configuration" else server for server in servers
    ]


def _joined(
    servers: DeclaredServers, mounts: Sequence[ConfigMount], generated: Sequence[GeneratedMap]
) -> DeclaredServers:
    path = posixpath.normpath(servers.place.file)
    names = {servers.config_map} if servers.config_map else {item.name for item in generated if path in item.paths}
    if names:
        config_mounts = [
            mount for mount in mounts if mount.config_map in names and _same(mount.namespace, servers.namespace)
        ]
    else:
        config_mounts = [mount for mount in mounts if mount.path == path]
    if not names and not config_mounts:
        return servers  # a file of a host
    near = _nearest(servers.place.file, config_mounts)
    settings, places, unclear = dict(servers.settings), dict(servers.places), set(servers.unclear)
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
    return msgspec.structs.replace(servers, settings=settings, places=places, unclear=frozenset(unclear))


def _same(first: str, second: str) -> bool:
    """Kustomize and `kubectl -n` fill in the namespace of what names none."""
    return not first or not second or first == second


def _nearest(file: str, mounts: Sequence[ConfigMount]) -> Sequence[ConfigMount]:
    """The mounts closest to a file, as one run may have several environments: same file, same directory, then any."""
    same_file = [mount for mount in mounts if mount.file == file]
    same_directory = [mount for mount in mounts if PurePath(mount.file).parent == PurePath(file).parent]
    return same_file or same_directory or mounts
