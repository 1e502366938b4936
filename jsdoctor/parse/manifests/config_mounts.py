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
    return [_joined(one, mounts, generated) if one.what == "server configuration" else one for one in servers]


def _joined(
    servers: DeclaredServers, mounts: Sequence[ConfigMount], generated: Sequence[GeneratedMap]
) -> DeclaredServers:
    path = posixpath.normpath(servers.place.file)
    names = {servers.config_map} if servers.config_map else {one.name for one in generated if path in one.paths}
    if names:
        found = [one for one in mounts if one.config_map in names and _same(one.namespace, servers.namespace)]
    else:
        found = [one for one in mounts if one.path == path]
    if not names and not found:
        return servers  # a file of a host
    near = _nearest(servers.place.file, found)
    settings, places, unclear = dict(servers.settings), dict(servers.places), set(servers.unclear)
    directory = str(settings.get("store_dir", _DEFAULT_STORE))
    kept = {is_kept(directory, one.lasting) for one in near} if directory.startswith("/") else set()
    if len(kept) == 1:
        settings["persistent"] = kept.pop()
        places["persistent"] = servers.at("store_dir", "jetstream")
    else:
        unclear.add("persistent")
    sizes = {one.servers for one in near}
    if len(sizes) == 1 and (size := sizes.pop()) is not None:
        settings["servers"] = size
        places["servers"] = servers.at("clustered", "jetstream")
    return msgspec.structs.replace(servers, settings=settings, places=places, unclear=frozenset(unclear))


def _same(one: str, other: str) -> bool:
    """Kustomize and `kubectl -n` fill in the namespace of what names none."""
    return not one or not other or one == other


def _nearest(file: str, found: Sequence[ConfigMount]) -> Sequence[ConfigMount]:
    """The mounts closest to a file, as one run may have several environments: same file, same directory, then any."""
    same_file = [one for one in found if one.file == file]
    same_directory = [one for one in found if PurePath(one.file).parent == PurePath(file).parent]
    return same_file or same_directory or found
