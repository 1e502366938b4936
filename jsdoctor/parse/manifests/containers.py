"""Containers of Kubernetes workloads that run nats-server: what their arguments set, and what they mount.

Where an argument names a configuration file, everything that the arguments leave out is unclear: that file is judged
where it is found itself (see `config_mounts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.model.manifest import DeclaredServers, FilePosition
from jsdoctor.parse.manifests.config_mounts import ConfigMount, is_kept
from jsdoctor.parse.manifests.server_arguments import Arguments, Word, names_server, words_of
from jsdoctor.parse.manifests.tree import Tree

_IMAGE = re.compile(r"(?:.*/)?(?:nats|nats-server)(?::[^/]*)?(?:@.*)?", re.ASCII)
_DEFAULT = re.compile(r"\$\{\w+:?-([^}]*)\}", re.ASCII)
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Pod", "ReplicaSet")
_PASSING = ("emptyDir", "ephemeral", "configMap", "secret", "downwardAPI", "projected")
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


def _replicas(tree: Tree) -> int | None:
    """How many pods run; None where that depends on nodes or an expression."""
    replicas = tree.get("spec", "replicas")
    if replicas is None:
        return 1 if tree.text("kind") in ("Deployment", "StatefulSet", "ReplicaSet", "Pod") else None
    return replicas.value if isinstance(replicas.value, int) and not isinstance(replicas.value, bool) else None


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
    yield volume.text("configMap", "name")
    yield volume.text("secret", "secretName")
    for source in elements(volume.get("projected", "sources")):
        yield source.text("configMap", "name")
        yield source.text("secret", "name")


def _lasting(tree: Tree, pod: Tree, container: Tree) -> list[str]:
    """Where a container has volumes that outlive it."""
    lasting = {claim.text("metadata", "name") for claim in elements(tree.get("spec", "volumeClaimTemplates"))}
    for volume in elements(pod.get("volumes")):
        kinds = {key for key, _ in volume.entries()}
        if not kinds & set(_PASSING):
            lasting.add(volume.text("name"))
    mounts = elements(container.get("volumeMounts"))
    return [mount.text("mountPath") for mount in mounts if mount.text("name") in lasting]


def declared(name: str, node: Tree, words: Sequence[Word], lasting: Sequence[str]) -> DeclaredServers:
    """A container by its arguments."""
    arguments = Arguments()
    arguments.read(words)
    directory = arguments.settings.get("store_dir")
    if arguments.settings.get("jetstream") and isinstance(directory, str):
        arguments.settings["persistent"] = is_kept(directory, lasting)
        arguments.places["persistent"] = arguments.places["store_dir"]
    elif arguments.settings.get("jetstream") and "store_dir" not in arguments.unclear and is_kept("/tmp/nats", lasting):  # noqa: S108
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
    """With the number of servers like it."""
    settings, places = {**servers.settings, "servers": size}, {**servers.places, "servers": place}
    return msgspec.structs.replace(servers, settings=settings, places=places)


def elements(node: Tree | None) -> list[Tree]:
    """The elements of a list; none of anything else."""
    return list(node.items()) if node is not None else []
