"""Values of the official Helm chart (nats-io/k8s, helm/charts/nats, 1.x): what the servers and their volumes will be.

Beside the settings of `server_config`: `servers` (pods), `volume_bytes`, `persistent`, `storage_class`, `exporter`,
`pod_monitor`, `max_unavailable`. What `merge` and `patch` add to the server's configuration is read where it is a plain
value; anything else in them makes settings unclear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from jsdoctor.manifests.conf_tree import scan_unquoted
from jsdoctor.manifests.kubernetes_containers import quantity_bytes
from jsdoctor.manifests.server_config import server_config
from jsdoctor.manifests.tree import Tree, Variable
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Mistake

_CONFIG_KEYS = ("cluster", "jetstream", "nats", "monitor", "leafnodes", "websocket", "mqtt", "gateway", "resolver")
_BESIDE_CONFIG = ("natsBox", "promExporter", "reloader", "podTemplate", "podDisruptionBudget")
_TOP_KEYS = frozenset(
    {
        *("global", "nameOverride", "fullnameOverride", "namespaceOverride", "tlsCA", "config", "container"),
        *("reloader", "promExporter", "service", "statefulSet", "podTemplate", "headlessService", "configMap"),
        *("podDisruptionBudget", "serviceAccount", "natsBox", "extraResources"),
    }
)
"""Values of the chart from 1.0 on (k8s: helm/charts/nats/values.yaml)."""
_OLD_KEYS = ("nats", "auth", "cluster", "natsbox", "exporter", "leafnodes", "gateway", "websocket", "mqtt", "jetstream")
_MIN_LIKENESS = 0.8
"""Likeness of two keys (0 to 1) from which one may be meant for the other."""
_DECIDED = frozenset({"jetstream", "servers", "store_dir", "max_file_store", "persistent", "monitoring", "auth", "tls"})
_DEFAULT_VOLUME, _DEFAULT_REPLICAS = 10 << 30, 3
_MISTAKEN_VALUES = {
    ("podDisruptionBudget", "minAvailable"): "its budget is maxUnavailable: 1, right for every size",
    ("monitor",): "write config.monitor, which is on unless switched off",
    ("exporter",): "write promExporter",
}


def is_values(tree: Tree) -> bool:
    """Whether these are values of the chart: it alone keeps the server's configuration under `config` like this."""
    config = tree.get("config")
    if config is None or tree.get("apiVersion") is not None:
        return False
    if isinstance(config.text("servers"), str) and config.text("servers"):
        return False  # what connects to servers, such as the chart of surveyor
    entries = [key for key, child in config.entries() if key in _CONFIG_KEYS and isinstance(child.value, dict)]
    others = [key for key, _ in tree.entries() if key in _BESIDE_CONFIG]
    return bool({"jetstream", "nats"} & set(entries)) or len(entries) > 1 or bool(entries and others)


def inner_values(tree: Tree) -> Tree | None:
    """The chart's values, also where it is a dependency of another chart."""
    if is_values(tree):
        return tree
    nested = [child for key, child in tree.entries() if is_values(child)]
    return nested[0] if nested else None


def is_of_an_old_chart(tree: Tree) -> bool:
    """Whether these are values of the chart before 1.0, also where it is a dependency."""
    kept = (child.get(*path) for _, child in tree.entries() for path in (("jetstream",), ("nats", "jetstream")))
    return any(node is not None and (node.get("fileStorage") or node.get("memStorage")) for node in kept)


def helm_values(tree: Tree, file: str, *, whole: bool = False, partial: bool = False) -> DeclaredServers:
    """What the chart makes of these values. `whole`: they are known to be the official chart's, so that a key that it
    does not have is a mistake. `partial`: other values are merged with them that are not here.
    """
    reader = _ValuesReader(FilePosition(file), tree)
    reader.read()
    if whole:
        reader.note_unknown_keys()
    if partial:
        reader.leave_defaults_open()
    return DeclaredServers(
        what="Helm values",
        place=tree.place,
        name=tree.text("fullnameOverride") or tree.text("nameOverride"),
        settings=reader.settings,
        places=reader.places,
        mistakes=tuple(reader.mistakes),
        unclear=frozenset(reader.unclear),
    )


def quantity(node: Tree) -> int:
    """Bytes of a quantity as Kubernetes writes it. Raises `ValueError`."""
    if node.integer is not None:
        return node.integer
    size = quantity_bytes(node.value) if isinstance(node.value, str) else None
    if size is None:
        raise ValueError("a quantity such as 10Gi is expected")
    return size


def unquoted_size(node: Tree) -> int:
    """Bytes as a server reads what the chart writes without quotes. Raises `ValueError`."""
    if not isinstance(node.value, str):
        return quantity(node)
    text = node.value.strip()
    scanned = scan_unquoted(text, 0) if text else None
    if scanned is None or not isinstance(scanned.value, int) or scanned.end < len(text):
        raise ValueError(f"the server does not start with {text!r}; write a whole number, such as 1536Gi")
    return scanned.value


@dataclass(slots=True)
class _ValuesReader:
    whole: FilePosition
    tree: Tree
    settings: dict[str, Any] = field(default_factory=dict)
    places: dict[str, FilePosition] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)

    def read(self) -> None:
        self._read_merged()
        self._read_cluster()
        self._read_jetstream()
        monitor = ("config", "monitor", "enabled")
        self._set("monitoring", self._is_enabled(monitor, True), self._node(*monitor))
        exporter = ("promExporter", "enabled")
        self._set("exporter", self._is_enabled(exporter, False), self._node(*exporter))
        for name, path in (("tls", ("config", "nats", "tls", "enabled")), ("auth", ("config", "resolver", "enabled"))):
            if self._is_enabled(path, False):
                self._set(name, True, self._node(*path))
        self._note_mistaken_values()
        budget = self.tree.get("podDisruptionBudget", "enabled")
        if budget is not None and budget.value is False:
            self._set("max_unavailable", 0, budget)
        elif (merged := self.tree.get("podDisruptionBudget", "merge", "spec")) is not None:
            self._read_budget(merged)

    def note_unknown_keys(self) -> None:
        """Note the top-level keys that the chart does not have, such as those before 1.0, as mistakes."""
        paths = {path[0] for path in _MISTAKEN_VALUES if len(path) == 1}
        for key, node in self.tree.entries():
            if key not in _TOP_KEYS and key not in paths:
                near = get_close_matches(key, _TOP_KEYS, 1, _MIN_LIKENESS)
                before = "; before 1.0 it had it" if key in _OLD_KEYS else ""
                meant = f"; did you mean {near[0]!r}?" if near else ""
                text = f"the chart has no value {key} and ignores it{before or meant}"
                self.mistakes.append(Mistake(node.place, text, ignored=True))

    def leave_defaults_open(self) -> None:
        """Make unclear what only a default of the chart decides: other values, not seen here, may set it."""
        defaults = {name for name, place in self.places.items() if place == self.tree.place}
        self.unclear |= defaults | (_DECIDED - set(self.settings))
        for name in defaults:
            del self.settings[name], self.places[name]

    def _note_mistaken_values(self) -> None:
        """Note values that runbooks recommend but the chart ignores silently, as mistakes."""
        for path, text in _MISTAKEN_VALUES.items():
            if (node := self.tree.get(*path)) is not None:
                says_so = f"the chart has no value {'.'.join(path)} and ignores it: {text}"
                self.mistakes.append(Mistake(node.place, says_so, ignored=True))

    def _read_budget(self, spec: Tree) -> None:
        """Read what is merged into the disruption budget. It has `maxUnavailable: 1`, which excludes `minAvailable`."""
        if (node := spec.get("maxUnavailable")) is not None and isinstance(node.value, int):
            self._set("max_unavailable", node.value, node)
        if (node := spec.get("minAvailable")) is not None:
            dropped = "maxUnavailable" in dict(spec.entries()) and spec.get("maxUnavailable") is None
            if not dropped:
                text = "minAvailable beside the chart's own maxUnavailable: 1, which Kubernetes refuses"
                self.mistakes.append(Mistake(node.place, f"{text}; set maxUnavailable: null beside it"))
            elif isinstance(node.value, int) and isinstance(self.settings.get("servers"), int):
                self._set("max_unavailable", self.settings["servers"] - node.value, node)

    def _node(self, *path: str) -> Tree:
        return self.tree.get(*path) or self.tree

    def _is_enabled(self, path: tuple[str, ...], default: bool) -> bool:
        node = self.tree.get(*path)
        return default if node is None else node.value is True

    def _set(self, name: str, value: object, node: Tree) -> None:
        self.settings[name], self.places[name] = value, node.place

    def _read_merged(self) -> None:
        """Read the server's configuration in `config.merge` and `config.jetstream.merge`. Patches are not read."""
        merge = self.tree.get("config", "merge")
        entries = {key: _unquoted_values(child) for key, child in merge.entries()} if merge else {}
        includes = {key: child.place for key, child in entries.items() if key.endswith("$include")}
        jetstream = self.tree.get("config", "jetstream", "merge")
        if jetstream is not None and isinstance(jetstream.value, dict) and jetstream.value:
            entries["jetstream"] = _unquoted_values(jetstream)
        declared = server_config(Tree(entries, self.whole), includes)
        self.settings |= {key: value for key, value in declared.settings.items() if key != "jetstream"}
        self.places |= declared.places
        self.mistakes += declared.mistakes
        self.unclear |= declared.unclear - {"server_name", "cluster_name", "host"}
        self.settings.pop("server_name", None)
        for path in (("config", "patch"), ("config", "jetstream", "patch")):
            patch = self.tree.get(*path)
            if patch is not None and list(patch.items()):
                self.unclear |= {"auth", "max_file_store", "store_dir", "sync_interval"}

    def _read_cluster(self) -> None:
        on = self._is_enabled(("config", "cluster", "enabled"), False)
        replicas = self.tree.get("config", "cluster", "replicas")
        if not on:
            self._set("servers", 1, self._node("config", "cluster", "enabled"))
            if replicas is not None and replicas.value != 1:
                text = "config.cluster.replicas has no effect: config.cluster.enabled is not true, so one server runs"
                self.mistakes.append(Mistake(replicas.place, text, ignored=True))
            return
        self._set("clustered", True, self._node("config", "cluster"))
        if replicas is None or replicas.integer is not None:
            self._set(
                "servers",
                replicas.value if replicas else _DEFAULT_REPLICAS,
                replicas or self._node("config", "cluster"),
            )
        else:
            self.mistakes.append(Mistake(replicas.place, "config.cluster.replicas: a whole number is expected"))

    def _read_jetstream(self) -> None:
        on = self._is_enabled(("config", "jetstream", "enabled"), False)
        self._set("jetstream", on, self._node("config", "jetstream", "enabled"))
        memory, files = ("config", "jetstream", "memoryStore"), ("config", "jetstream", "fileStore")
        in_memory = self.tree.get(*memory, "maxSize")
        if on and in_memory is not None and self._is_enabled((*memory, "enabled"), False):
            self._set_limit("max_memory_store", in_memory)
        if not on or not self._is_enabled((*files, "enabled"), True):
            return
        directory = self.tree.get(*files, "dir")
        if "store_dir" not in self.settings:
            self._set("store_dir", directory.value if directory else "/data", directory or self._node(*files))
        persistent = self._is_enabled((*files, "pvc", "enabled"), True)
        self._set("persistent", persistent, self._node(*files, "pvc", "enabled"))
        size = self.tree.get(*files, "pvc", "size")
        if persistent:
            self._set_quantity("volume_bytes", size, _DEFAULT_VOLUME, self._node(*files))
        storage_class = self.tree.get(*files, "pvc", "storageClassName")
        if storage_class is not None:
            self._set("storage_class", str(storage_class.value), storage_class)
        largest = self.tree.get(*files, "maxSize")
        if largest is not None:
            self._set_limit("max_file_store", largest)

    def _set_limit(self, name: str, node: Tree) -> None:
        if isinstance(node.value, str) and node.value.startswith("$"):  # of the container's environment
            self.unclear.add(name)
        elif name not in self.settings:
            self._set_quantity(name, node, None, node, unquoted_size)

    def _set_quantity(
        self, name: str, node: Tree | None, default: int | None, near: Tree, read: Callable[[Tree], int] = quantity
    ) -> None:
        if node is None:
            self._set(name, default, near)
            return
        try:
            self._set(name, read(node), node)
        except ValueError as error:
            self.mistakes.append(Mistake(node.place, f"{name}: {error}"))
            self.unclear.add(name)


def _unquoted_values(node: Tree) -> Tree:
    """The same tree, with each `<< … >>` as the number or variable that the chart writes without quotes."""
    if isinstance(node.value, dict):
        return Tree({key: _unquoted_values(child) for key, child in node.value.items()}, node.place)
    if isinstance(node.value, list):
        return Tree([_unquoted_values(child) for child in node.value], node.place)
    text = node.value.strip() if isinstance(node.value, str) else ""
    if text.startswith("<<") and text.removeprefix("<<").endswith(">>"):
        raw = text[2:-2].strip()
        try:
            value = scan_unquoted(raw, 0).value if raw else ""
        except ValueError:
            return Tree(Variable("?"), node.place)
        return Tree(value, node.place)
    return node
