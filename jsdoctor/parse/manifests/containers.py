"""Containers that run nats-server, in docker compose files and in Kubernetes workloads: what their arguments set
(server: opts.go ConfigureOptions).

Where an argument names a configuration file, everything that the arguments leave out is unclear: that file is judged
where it is found itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jsdoctor.model.manifest import DeclaredServers, FilePosition
from jsdoctor.parse.manifests.server_config import MAY_BE_INCLUDED
from jsdoctor.parse.manifests.tree import Tree

_IMAGE = re.compile(r"(?:.*/)?(?:nats|nats-server)(?::[^/]*)?(?:@.*)?", re.ASCII)
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Pod", "ReplicaSet")
_SWITCHES = {"js": "jetstream", "jetstream": "jetstream"}
_VALUES = {
    **dict.fromkeys(("sd", "store_dir"), "store_dir"),
    **dict.fromkeys(("m", "http_port", "ms", "https_port"), "monitoring"),
    **dict.fromkeys(("n", "name", "server_name"), "server_name"),
    **dict.fromkeys(("a", "addr", "net"), "host"),
    **dict.fromkeys(("user", "pass", "auth"), "auth"),
    **dict.fromkeys(("cluster", "routes"), "clustered"),
    "cluster_name": "cluster_name",
    **dict.fromkeys(("c", "config"), "config"),
}
_WITHOUT_VALUE = ("D", "V", "DV", "VV", "DVV", "T", "t", "l", "tls", "tlsverify", "help", "h", "v", "version")
_FLAGS = ("monitoring", "auth", "clustered")
"""Settings of which it only counts that they are set."""

_ENV = re.compile(r"\$\(|\$\{|\$[A-Z_]")


def is_compose(tree: Tree) -> bool:
    """Whether this is a docker compose file."""
    services = tree.get("services")
    return services is not None and any(
        child.get("image") is not None or child.get("build") is not None for _, child in services.entries()
    )


def of_compose(tree: Tree) -> Iterator[DeclaredServers]:
    """The services that run nats-server."""
    for name, service in (tree.get("services") or tree).entries():
        if not _IMAGE.fullmatch(service.text("image")):
            continue
        targets = [_target(volume) for volume in _elements(service.get("volumes"))]
        mounts = [target for target in targets if target]
        yield _servers(name, service, [*_words(service.get("entrypoint")), *_words(service.get("command"))], mounts)


def of_workload(tree: Tree) -> Iterator[DeclaredServers]:
    """The containers of a workload that run nats-server."""
    if tree.text("kind") not in _WORKLOADS:
        return
    pod = tree.get("spec") if tree.text("kind") == "Pod" else tree.get("spec", "template", "spec")
    for container in _elements(pod.get("containers") if pod else None):
        if pod is None or not _IMAGE.fullmatch(container.text("image")):
            continue
        mounts = _lasting_mounts(tree, pod, container)
        words = [*_words(container.get("command")), *_words(container.get("args"))]
        yield _servers(tree.text("metadata", "name"), container, words, mounts)


def lasting_directories(tree: Tree) -> dict[str, tuple[str, ...]]:
    """By ConfigMap, the directories on volumes that last in the container of nats-server that mounts it."""
    found: dict[str, tuple[str, ...]] = {}
    pod = (tree.get("spec") if tree.text("kind") == "Pod" else tree.get("spec", "template", "spec")) or tree
    for container in _elements(pod.get("containers")):
        mounted = {mount.text("name") for mount in _elements(container.get("volumeMounts"))}
        for volume in _elements(pod.get("volumes")):
            config_map = volume.text("configMap", "name")
            if config_map and volume.text("name") in mounted and _IMAGE.fullmatch(container.text("image")):
                found[config_map] = tuple(_lasting_mounts(tree, pod, container))
    return found


def is_kept(directory: str, mounts: Sequence[str]) -> bool:
    """Whether a directory lies on one of these volumes."""
    return any(directory == mount or directory.startswith(mount.rstrip("/") + "/") for mount in mounts)


def _lasting_mounts(tree: Tree, pod: Tree, container: Tree) -> list[str]:
    """Where a container has volumes that outlive it."""
    lasting = {claim.text("metadata", "name") for claim in _elements(tree.get("spec", "volumeClaimTemplates"))}
    lasting |= {one.text("name") for one in _elements(pod.get("volumes")) if one.get("emptyDir") is None}
    mounts = _elements(container.get("volumeMounts"))
    return [mount.text("mountPath") for mount in mounts if mount.text("name") in lasting]


@dataclass(slots=True)
class _Arguments:
    settings: dict[str, Any] = field(default_factory=dict)
    places: dict[str, FilePosition] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)

    def read(self, words: Sequence[tuple[str, FilePosition]]) -> None:
        rest = iter(words)
        for word, place in rest:
            if not word.startswith("-"):
                continue
            name, equals, value = word.lstrip("-").partition("=")
            if name in _SWITCHES:
                self._set(_SWITCHES[name], value.lower() not in ("false", "0"), place)
            elif name not in _WITHOUT_VALUE:
                given = value if equals else next(rest, ("", place))[0]
                if name in _VALUES:
                    self._value(_VALUES[name], given, place)

    def _value(self, setting: str, value: str, place: FilePosition) -> None:
        if setting == "config":
            self.unclear |= MAY_BE_INCLUDED
        elif setting in _FLAGS:
            self._set(setting, True, place)
        elif _ENV.search(value):
            self.unclear.add(setting)
        else:
            self._set(setting, value, place)

    def _set(self, setting: str, value: object, place: FilePosition) -> None:
        self.settings[setting], self.places[setting] = value, place


def _servers(
    name: str, node: Tree, words: Sequence[tuple[str, FilePosition]], mounts: Sequence[str]
) -> DeclaredServers:
    arguments = _Arguments()
    arguments.read(words)
    directory = arguments.settings.get("store_dir")
    stores = arguments.settings.get("jetstream") and isinstance(directory, str)
    if stores and not is_kept(str(directory), mounts):
        arguments.settings["persistent"] = False
        arguments.places["persistent"] = arguments.places["store_dir"]
    return DeclaredServers(
        what="container",
        place=node.place,
        name=str(arguments.settings.get("server_name", name)),
        settings=arguments.settings,
        places=arguments.places,
        unclear=frozenset(arguments.unclear - set(arguments.settings)),
    )


def _words(node: Tree | None) -> list[tuple[str, FilePosition]]:
    """Arguments as a list or as one line of a shell. Of `sh -c "nats-server …"` the line counts."""
    if node is None:
        return []
    texts = [(str(item.value), item.place) for item in node.items()] if isinstance(node.value, list) else []
    if isinstance(node.value, str):
        texts = [(node.value, node.place)]
    if isinstance(node.value, str) or (len(texts) > 1 and texts[-2][0] == "-c" and "nats-server" in texts[-1][0]):
        line, place = texts[-1]
        try:
            return [(word, place) for word in shlex.split(line.rpartition("nats-server ")[2], comments=True)]
        except ValueError:
            return []
    return texts


def _target(volume: Tree) -> str:
    """Where a volume of compose is mounted; empty for one in memory."""
    if isinstance(volume.value, str):
        parts = volume.value.split(":")
        return parts[1] if len(parts) > 1 else parts[0]
    return "" if volume.text("type") == "tmpfs" else volume.text("target")


def _elements(node: Tree | None) -> list[Tree]:
    return list(node.items()) if node is not None else []
