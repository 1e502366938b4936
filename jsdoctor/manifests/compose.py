"""Docker compose files: the services that run nats-server, their volumes, and the configurations that they mount."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from jsdoctor.manifests.containers import ConfigMount, declared, elements, runs_server, with_size
from jsdoctor.manifests.server_arguments import Arguments, Word, words_of
from jsdoctor.manifests.tree import Tree
from jsdoctor.model.manifest import DeclaredServers

_IMAGE_CONFIGS = ("/nats-server.conf", "/etc/nats/nats-server.conf", "nats-server.conf")
"""What the official images start with when no command is given; it opens the monitoring port 8222."""
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::?-(?P<default>[^}]*)|:?[?+][^}]*)?\}", re.ASCII)


class _Service(NamedTuple):
    name: str
    node: Tree
    words: list[Word]


class _Volume(NamedTuple):
    source: str
    target: str
    lasting: bool


def is_compose(tree: Tree) -> bool:
    """Whether this is a docker compose file."""
    services = tree.get("services")
    return services is not None and any(
        child.get("image") is not None or child.get("build") is not None for _, child in services.entries()
    )


def of_compose(tree: Tree) -> Iterator[DeclaredServers]:
    """The services that run nats-server."""
    services = list(_services(tree))
    clusters: dict[str, list[int | None]] = defaultdict(list)
    for service in services:
        clusters[_cluster_name(service)].append(_containers(service))
    counted: set[str] = set()
    for service in services:
        lasting = [volume.target for volume in _volumes(tree, service.node) if volume.lasting]
        servers = declared(service.name, service.node, service.words, lasting)
        if shared := _store_volume(servers, list(_volumes(tree, service.node))):
            servers = msgspec.structs.replace(servers, settings={**servers.settings, "store_volume": shared})
        if not service.words and "monitoring" not in servers.settings:
            servers = msgspec.structs.replace(servers, settings={**servers.settings, "monitoring": True})
        if (cluster := _cluster_name(service)) and cluster not in counted:
            counted.add(cluster)
            if None not in clusters[cluster]:
                servers = with_size(servers, sum(filter(None, clusters[cluster])), servers.at("clustered"))
        yield servers


def mounts_of(tree: Tree) -> Iterator[ConfigMount]:
    """Which files the services that run nats-server mount as their configuration."""
    for service in _services(tree):
        volumes = [*_volumes(tree, service.node), *_mounted_configs(tree, service.node)]
        arguments = Arguments()
        arguments.read(service.words)
        lasting = tuple(volume.target for volume in volumes if volume.lasting)
        for node in elements(service.node.get("configs")):
            name = str(node.value) if isinstance(node.value, str) else node.text("source")
            yield ConfigMount(
                tree.place.file,
                lasting,
                config_map=f"configs.{name}",
                servers=_containers(service),
                container=service.node.place,
            )
        config_paths = (arguments.config,) if arguments.config else () if service.words else _IMAGE_CONFIGS
        for path in config_paths:
            if (source := _host_path(path, volumes)) is not None:
                yield ConfigMount(
                    file=tree.place.file,
                    lasting=lasting,
                    path=posixpath.normpath(posixpath.join(posixpath.dirname(tree.place.file), source)),
                    servers=_containers(service),
                    container=service.node.place,
                )


def inline_configurations(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Configurations that stand in the file itself, with their names."""
    for name, config in (tree.get("configs") or tree).entries():
        content = config.get("content")
        if content is not None and isinstance(content.value, str) and name != "services":
            yield name, content


def _services(tree: Tree) -> Iterator[_Service]:
    for name, node in (tree.get("services") or tree).entries():
        words = words_of(node.get("entrypoint"), node.get("command"))
        if runs_server(node.text("image"), words, name):
            yield _Service(name, node, words)


def _containers(service: _Service) -> int | None:
    """How many containers of a service run; None where that is not known, as with one on each node."""
    number = service.node.get("deploy", "replicas") or service.node.get("scale")
    if service.node.text("deploy", "mode") == "global":
        return None
    return 1 if number is None else number.integer


def _cluster_name(service: _Service) -> str:
    """The name of the cluster that a service joins by its arguments; empty where they name none."""
    arguments = Arguments()
    arguments.read(service.words)
    if not arguments.settings.get("clustered") or not arguments.settings.get("jetstream"):
        return ""
    return str(arguments.settings.get("cluster_name", "cluster"))


def _volumes(tree: Tree, service: Tree) -> Iterator[_Volume]:
    in_memory = {
        name
        for name, volume in (tree.get("volumes") or tree).entries()
        if volume.text("driver_opts", "type") == "tmpfs"
    }
    for node in elements(service.get("volumes")):
        if isinstance(node.value, str):
            parts = _with_defaults(node.value).split(":")
            source, target = (parts[0], parts[1]) if len(parts) > 1 else ("", parts[0])
            yield _Volume(source, target, source not in in_memory)
        else:
            source = _with_defaults(node.text("source"))
            yield _Volume(source, node.text("target"), node.text("type") != "tmpfs" and source not in in_memory)


def _store_volume(servers: DeclaredServers, volumes: list[_Volume]) -> str:
    """The volume or directory of the host with the store directory; empty where arguments or volumes do not say.

    If one volume is mounted within another, the store is in the deeper one.
    """
    store = posixpath.normpath(str(servers.get("store_dir") or ""))
    below = [volume for volume in volumes if volume.source and f"{store}/".startswith(f"{volume.target.rstrip('/')}/")]
    if not store.startswith("/") or not below:
        return ""
    deepest = max(below, key=lambda volume: len(volume.target.rstrip("/")))
    return posixpath.normpath(f"{deepest.source}/{store.removeprefix(deepest.target.rstrip('/'))}")


def _mounted_configs(tree: Tree, service: Tree) -> Iterator[_Volume]:
    """Entries of `configs`: each is mounted at its target, or at the root under its name."""
    for node in elements(service.get("configs")):
        name = node.value if isinstance(node.value, str) else node.text("source")
        file = tree.text("configs", str(name), "file")
        if file:
            yield _Volume(_with_defaults(file), node.text("target") or f"/{name}", lasting=False)


def _host_path(path: str, volumes: list[_Volume]) -> str | None:
    """The file of the host that is mounted at a path of the container; None if there is none."""
    for volume in volumes:
        target = volume.target.rstrip("/")
        if not volume.source.startswith((".", "/")) and "/" not in volume.source and "." not in volume.source:
            continue  # a volume with a name
        if path == target:
            return volume.source
        if target and path.startswith(target + "/"):
            return f"{volume.source.rstrip('/')}/{path.removeprefix(target + '/')}"
    return None


def _with_defaults(text: str) -> str:
    """Replace each `${NAME:-default}` by its default, else by its name: its colon would split a volume."""
    return _VARIABLE.sub(lambda match: match["default"] or match["name"], text)
