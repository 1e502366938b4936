"""Configurations of nats-server that pods mount from ConfigMaps, as the rules for configurations of manifests see them.

No text of a ConfigMap outlives this module: what is kept of a configuration holds no login (`manifests`).
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import msgspec

from jsdoctor.manifests.conf_tree import configuration
from jsdoctor.manifests.containers import ConfigMount, joined, mounts_of
from jsdoctor.manifests.kubernetes_containers import Json, elements, inner, moment, server_container, text
from jsdoctor.manifests.server_config import MAY_BE_INCLUDED, server_config
from jsdoctor.manifests.tree import ManifestError, json_document
from jsdoctor.model.kubernetes import PodConfiguration
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Mistake

MapReader = Callable[[str], Json | None]
"""Given the name of a ConfigMap: the object; None where it could not be read."""

_CONFIG_OPTIONS = ("-c", "--c", "-config", "--config")


class _Mount(NamedTuple):
    """A ConfigMap or Secret in a container. `paths` are its files there, by key; empty: one for each key."""

    kind: str
    name: str
    directory: str
    paths: Mapping[str, str]

    def key_of(self, path: str) -> str:
        """The key whose content is at this path; empty where it is not of this mount."""
        if self.paths:
            result = (key for key, file in self.paths.items() if posixpath.normpath(self.directory + file) == path)
            return next(result, "")
        directory, _, name = path.rpartition("/")
        return name if directory == self.directory.rstrip("/") else ""


def configuration_name(spec: Json) -> str:
    """Where the configuration of a pod's server comes from: `configmap/NAME/KEY`, `secret/NAME/KEY`, or nothing."""
    container = server_container(spec)
    path = _config_path(container) if container is not None else ""
    return "" if container is None or not path else _source_of(list(_mounts(spec, container)), path)


def read_configurations(
    pods: Iterable[Json], sizes: Mapping[str, int], read_map: MapReader
) -> tuple[PodConfiguration, ...]:
    """The configurations of these pods, each once. `sizes` is how many servers the owner of a pod has."""
    configurations: dict[str, PodConfiguration] = {}
    for pod in pods:
        spec = inner(pod, "spec")
        name = configuration_name(spec)
        if name in configurations or not name.startswith("configmap/"):
            continue
        owner = next(elements(inner(pod, "metadata"), "ownerReferences"), {})
        if (configuration := _read_one(pod, name, sizes.get(text(owner, "name")), read_map)) is not None:
            configurations[name] = configuration
    return tuple(configurations.values())


def _read_one(pod: Json, name: str, size: int | None, read_map: MapReader) -> PodConfiguration | None:
    spec = inner(pod, "spec")
    container = server_container(spec) or {}
    _, map_name, key = name.split("/", 2)
    config_map = read_map(map_name)
    if config_map is None or not isinstance(content := inner(config_map, "data").get(key), str):
        return None
    files = _IncludedFiles(list(_mounts(spec, container)), read_map, {name: _config_path(container)})
    servers = _declared(name, content, files.read)
    servers = msgspec.structs.replace(servers, config_map=map_name)
    (servers,) = joined([servers], list(_server_mounts(pod, size)), [])
    changed = max(filter(None, [_changed_at(config_map), *files.changed]), default=None)
    return PodConfiguration(name=name, changed=changed, servers=servers)


def _declared(name: str, content: str, include: Callable[[str, str], tuple[str, str] | None]) -> DeclaredServers:
    """The servers that a configuration declares. One that cannot be read is a mistake: no server starts with it."""
    try:
        read = configuration(name, content, include)
    except ManifestError as error:
        place = error.place or FilePosition(name)
        mistake = Mistake(place, error.says)
        return DeclaredServers(
            what="server configuration", place=place, mistakes=(mistake,), unclear=frozenset(MAY_BE_INCLUDED)
        )
    return server_config(read.tree, dict(read.missing), used=read.used)


@dataclass(slots=True)
class _IncludedFiles:
    """Files that a configuration includes, by their paths in the container. `paths` are those of the files read."""

    mounts: Sequence[_Mount]
    read_map: MapReader
    paths: dict[str, str]
    changed: list[datetime] = field(default_factory=list)

    def read(self, including: str, name: str) -> tuple[str, str] | None:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.paths[including]), name.lstrip("/")))
        source = _source_of(self.mounts, path)
        if not source.startswith("configmap/"):
            return None
        _, map_name, key = source.split("/", 2)
        config_map = self.read_map(map_name)
        content = inner(config_map, "data").get(key) if config_map is not None else None
        if config_map is None or not isinstance(content, str):
            return None
        self.paths[source] = path
        if (changed := _changed_at(config_map)) is not None:
            self.changed.append(changed)
        return source, content


def _config_path(container: Json) -> str:
    """The configuration file that the arguments of a container name; empty if they name none by an absolute path."""
    words = [
        str(word) for key in ("command", "args") for word in (container.get(key) or ()) if isinstance(word, str | int)
    ]
    for place, word in enumerate(words):
        option, _, value = word.partition("=")
        if option in _CONFIG_OPTIONS:
            path = value or next(iter(words[place + 1 :]), "")
            return posixpath.normpath(path) if path.startswith("/") else ""
    return ""


def _source_of(mounts: Sequence[_Mount], path: str) -> str:
    for mount in mounts:
        if key := mount.key_of(path):
            return f"{mount.kind}/{mount.name}/{key}"
    return ""


def _mounts(spec: Json, container: Json) -> Iterator[_Mount]:
    volumes = {text(volume, "name"): volume for volume in elements(spec, "volumes")}
    for mount in elements(container, "volumeMounts"):
        directory, sub_path = text(mount, "mountPath"), text(mount, "subPath")
        volume = volumes.get(text(mount, "name"), {})
        for source in (volume, *elements(inner(volume, "projected"), "sources")):
            for kind, name in (("configMap", "name"), ("secret", "secretName"), ("secret", "name")):
                held = inner(source, kind)
                if not text(held, name):
                    continue
                paths = {text(item, "key"): "/" + text(item, "path") for item in elements(held, "items")}
                if sub_path:
                    key = next((key for key, path in paths.items() if path == f"/{sub_path}"), sub_path)
                    paths = {key: ""}
                yield _Mount(kind.lower(), text(held, name), directory, paths)


def _server_mounts(pod: Json, size: int | None) -> Iterator[ConfigMount]:
    """The mounts of the pod's server. `size` is the number of servers with the same owner."""
    for mount in mounts_of(json_document("", json.dumps({**pod, "kind": "Pod"}))):
        yield ConfigMount(mount.file, mount.lasting, config_map=mount.config_map, servers=size)


def _changed_at(config_map: Json) -> datetime | None:
    """When somebody last wrote the data of a ConfigMap; its labels do not count."""
    metadata = inner(config_map, "metadata")
    written = (
        moment(element.get("time"))
        for element in elements(metadata, "managedFields")
        if inner(element, "fieldsV1", "f:data")
    )
    return max(filter(None, written), default=None) or moment(metadata.get("creationTimestamp"))
