"""Containers of Kubernetes workloads that run nats-server: arguments, mounts, and which configuration is mounted where.

Where an argument names a configuration file, everything that the arguments leave out is unclear: that file is judged
where it is found itself (see `config_mounts`).
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import msgspec

from jsdoctor.manifests.kubernetes_containers import Json
from jsdoctor.manifests.server_arguments import Arguments, Word, names_server, words_of
from jsdoctor.manifests.sidecars import sidecar_of
from jsdoctor.manifests.tree import Tree
from jsdoctor.model.manifest import DeclaredServers, DeclaredSidecar, FilePosition

_DEFAULT_STORE = "/tmp/nats"  # noqa: S108 - where a server in a container keeps its streams without store_dir


@dataclass(frozen=True, slots=True)
class ConfigMount:
    """A container of nats-server, and where its configuration comes from.

    `config_map` is the name of a ConfigMap or Secret, else `path` is a file beside the manifest. `lasting` are the
    directories of the container that outlive it; `servers` how many containers it stands for (None: not known).
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
    """Add to configurations what is known of the workloads that mount them, such as the number of servers.

    If one container runs with a configuration, both become one entry. Configurations of one cluster beside each other
    get the number of all its servers.
    """
    containers = {server.place: server for server in servers if server.what == "container"}
    result: list[DeclaredServers] = []
    clusters: dict[tuple[str, str, object], list[int]] = defaultdict(list)
    parts: set[FilePosition] = set()
    for server in servers:
        near = _mounting(server, mounts, generated) if server.what == "server configuration" else None
        if near is None:
            result.append(server)
            continue
        places = {mount.container for mount in near}
        running = {place: container for place, container in containers.items() if place in places}
        made = _joined(server, near, list(running.values()))
        if near and made.get("clustered"):
            clusters[near[0].file, made.namespace, made.get("cluster_name")].append(len(result))
        result.append(made)
        if len(running) == 1:
            parts.update(running)
    for members in clusters.values():
        sizes = [result[place].get("servers") for place in members]
        for place in members if None not in sizes else ():
            result[place] = with_size(result[place], sum(sizes), result[place].at("clustered", "jetstream"))
    return [server for server in result if server.what != "container" or server.place not in parts]


def _mounting(
    servers: DeclaredServers, mounts: Sequence[ConfigMount], generated: Sequence[GeneratedMap]
) -> Sequence[ConfigMount] | None:
    """The mounts of a configuration; None if no container mounts it: it is a file of a host."""
    path = posixpath.normpath(servers.place.file)
    names = {servers.config_map} if servers.config_map else {item.name for item in generated if path in item.paths}
    if names:
        config_mounts = [
            mount for mount in mounts if mount.config_map in names and _same_space(mount.namespace, servers.namespace)
        ]
    else:
        config_mounts = [mount for mount in mounts if mount.path == path]
    return _nearest(servers.place.file, config_mounts) if names or config_mounts else None


def _joined(
    servers: DeclaredServers, near: Sequence[ConfigMount], running: Sequence[DeclaredServers]
) -> DeclaredServers:
    """A configuration with what its mounts and the containers that run with it say, where all of them agree."""
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
        settings["servers"] = len({item.container for item in near}) if size == 1 else size
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


def _same_space(first: str, second: str) -> bool:
    """Whether two objects may share a namespace. One without may get any, by kustomize or `kubectl -n`."""
    return not first or not second or first == second


def _nearest(file: str, mounts: Sequence[ConfigMount]) -> Sequence[ConfigMount]:
    """The mounts closest to a file, as one run may have several environments: same file, same directory, then any."""
    same_file = [mount for mount in mounts if mount.file == file]
    same_directory = [mount for mount in mounts if PurePath(mount.file).parent == PurePath(file).parent]
    return same_file or same_directory or mounts


_IMAGE = re.compile(r"(?:.*/)?(?:nats|nats-server)(?::[^/]*)?(?:@.*)?", re.ASCII)
_DEFAULT = re.compile(r"\$\{\w+:?-([^}]*)\}", re.ASCII)
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Pod", "ReplicaSet")
_SHORT_LIVED = ("emptyDir", "ephemeral", "configMap", "secret", "downwardAPI", "projected")
"""Volumes that are deleted with the pod, or that are read-only."""


def runs_server(image: str, words: Sequence[Word], name: str) -> bool:
    """Whether a container runs nats-server, by its image, its command, or by its name and the arguments."""
    if words and not words[0].text.startswith("-") and not names_server(words):
        return "$" in words[0].text and _is_server(image)
    if _is_server(image) or names_server(words):
        return True
    return "$" in image and "nats" in f"{name} {image}".lower() and bool(words)


def _is_server(image: str) -> bool:
    return bool(_IMAGE.fullmatch(_DEFAULT.sub(r"\1", image)))


def of_workload(tree: Tree) -> Iterator[DeclaredServers]:
    """The containers of a workload that run nats-server."""
    replicas, size = tree.get("spec", "replicas"), _replicas(tree)
    for _, container, words, lasting in _containers(tree):
        servers = declared(tree.text("metadata", "name"), container, words, lasting)
        yield servers if size is None else with_size(servers, size, replicas.place if replicas else tree.place)


def mounts_of(tree: Tree) -> Iterator[ConfigMount]:
    """Which ConfigMaps and Secrets the containers of nats-server mount."""
    size = _replicas(tree)
    for pod, container, _, lasting in _containers(tree):
        mounted = {mount.text("name") for mount in elements(container.get("volumeMounts"))}
        for volume in elements(pod.get("volumes")):
            for name in _sources(volume) if volume.text("name") in mounted else ():
                yield ConfigMount(
                    file=tree.place.file,
                    lasting=tuple(lasting),
                    config_map=name,
                    namespace=tree.text("metadata", "namespace"),
                    servers=size,
                    container=container.place,
                )


def sidecars(objects: Sequence[Tree]) -> Iterator[DeclaredSidecar]:
    """The proxies of a service mesh beside the containers of nats-server, with the Services of the same namespace."""
    services = [tree for tree in objects if tree.text("kind") == "Service"]
    for tree in objects:
        metadata = tree.get("metadata") if tree.text("kind") == "Pod" else tree.get("spec", "template", "metadata")
        namespace = tree.text("metadata", "namespace")
        near = [_json(service) for service in services if _same_space(namespace, service.text("metadata", "namespace"))]
        for pod, container, _, _ in _containers(tree):
            sidecar = sidecar_of(_json(metadata), _json(pod), _json(container), near, planned=True)
            if sidecar is not None:
                name = tree.text("metadata", "name") or tree.place.file
                yield DeclaredSidecar(place=container.place, name=name, sidecar=sidecar)


def _json(tree: Tree | None) -> Json:
    plain = tree.plain() if tree is not None else None
    return plain if isinstance(plain, dict) else {}


def _replicas(tree: Tree) -> int | None:
    """How many pods run; None where that depends on nodes or an expression."""
    replicas = tree.get("spec", "replicas")
    if replicas is None:
        return 1 if tree.text("kind") in ("Deployment", "StatefulSet", "ReplicaSet", "Pod") else None
    return replicas.integer


def _containers(tree: Tree) -> Iterator[tuple[Tree, Tree, list[Word], list[str]]]:
    """Pod, container, arguments and lasting directories of each container of nats-server."""
    if tree.text("kind") not in _WORKLOADS:
        return
    pod = tree.get("spec") if tree.text("kind") == "Pod" else tree.get("spec", "template", "spec")
    for container in elements(pod.get("containers")) if pod else ():
        words = words_of(container.get("command"), container.get("args"))
        if pod is not None and runs_server(container.text("image"), words, container.text("name")):
            yield pod, container, words, _lasting(tree, pod, container)


def _sources(volume: Tree) -> Iterator[str]:
    """The names of the ConfigMaps and Secrets of a volume, and empty texts."""
    yield volume.text("configMap", "name")
    yield volume.text("secret", "secretName")
    for source in elements(volume.get("projected", "sources")):
        yield source.text("configMap", "name")
        yield source.text("secret", "name")


def _lasting(tree: Tree, pod: Tree, container: Tree) -> list[str]:
    """The mount paths of the volumes that outlive a container."""
    lasting = {claim.text("metadata", "name") for claim in elements(tree.get("spec", "volumeClaimTemplates"))}
    for volume in elements(pod.get("volumes")):
        kinds = {key for key, _ in volume.entries()}
        if not kinds & set(_SHORT_LIVED):
            lasting.add(volume.text("name"))
    mounts = elements(container.get("volumeMounts"))
    return [mount.text("mountPath") for mount in mounts if mount.text("name") in lasting]


def declared(name: str, node: Tree, words: Sequence[Word], lasting: Sequence[str]) -> DeclaredServers:
    """The servers that a container with these arguments runs. `lasting`: the mounts that outlive it."""
    arguments = Arguments()
    arguments.read(words)
    directory = arguments.settings.get("store_dir")
    if arguments.settings.get("jetstream") and isinstance(directory, str):
        arguments.settings["persistent"] = is_kept(directory, lasting)
        arguments.places["persistent"] = arguments.places["store_dir"]
    elif (
        arguments.settings.get("jetstream")
        and "store_dir" not in arguments.unclear
        and is_kept(_DEFAULT_STORE, lasting)
    ):
        arguments.settings["persistent"] = True
        arguments.places["persistent"] = arguments.places["jetstream"]
    return DeclaredServers(
        what="container",
        place=node.place,
        name=str(arguments.settings.get("server_name", name)),
        settings=arguments.settings,
        places=arguments.places,
        mistakes=tuple(arguments.mistakes),
        unclear=frozenset(arguments.unclear - set(arguments.settings)),
    )


def with_size(servers: DeclaredServers, size: int, place: FilePosition) -> DeclaredServers:
    """The same servers, with their number."""
    settings, places = {**servers.settings, "servers": size}, {**servers.places, "servers": place}
    return msgspec.structs.replace(servers, settings=settings, places=places)


def elements(node: Tree | None) -> list[Tree]:
    """The elements of a list; none of anything else."""
    return list(node.items()) if node is not None else []
