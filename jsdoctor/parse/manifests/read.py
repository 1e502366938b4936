"""One file's text to everything that it declares, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from jsdoctor.model.manifest import (
    DeclaredConsumer,
    DeclaredLogin,
    DeclaredServers,
    DeclaredStream,
    FilePosition,
)
from jsdoctor.parse.manifests import containers, helm, nack, nack_buckets, server_json, terraform
from jsdoctor.parse.manifests.conf_tree import Include, configuration
from jsdoctor.parse.manifests.json_tree import json_document
from jsdoctor.parse.manifests.server_config import is_server_config, server_config
from jsdoctor.parse.manifests.tree import ManifestError, Tree

GROUP = "jetstream.nats.io/"
VERSION = "v1beta2"
CONF = (".conf", ".cfg")
YAML = (".yaml", ".yml")
_MARKS = ("jetstream.nats.io", "nats.conf")

TERRAFORM = ".tf"

YamlReader = Callable[[str, str], Iterable[Tree]]
HclReader = Callable[[str, str], Tree]


class Readers(NamedTuple):
    """What finds the files that a server's configuration includes, and what reads YAML and Terraform's language."""

    include: Include
    yaml: YamlReader
    hcl: HclReader


@dataclass(slots=True)
class FileDeclarations:
    """What one file declares. `problems` are parts of it that nothing could be made of, with their places."""

    streams: list[DeclaredStream] = field(default_factory=list)
    consumers: list[DeclaredConsumer] = field(default_factory=list)
    servers: list[DeclaredServers] = field(default_factory=list)
    logins: list[DeclaredLogin] = field(default_factory=list)
    problems: list[tuple[str, FilePosition]] = field(default_factory=list)
    config_maps: list[tuple[str, int]] = field(default_factory=list)
    """Names of ConfigMaps, each with the index in `servers` of a configuration that it holds."""
    lasting: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By ConfigMap, the directories on volumes that last in the container that mounts it."""

    @property
    def found(self) -> tuple[str, ...]:
        """What was found, by kind."""
        assets = (*(s.what for s in self.streams), *(c.what for c in self.consumers), *(s.what for s in self.servers))
        return (*assets, *("Account" for _ in self.logins))


def read_manifest(file: str, text: str, readers: Readers) -> FileDeclarations:
    """Everything that a file declares; nothing where it is of no known kind. Raises `ManifestError` for its syntax."""
    declared, suffix = FileDeclarations(), PurePath(file).suffix.lower()
    if suffix in CONF:
        _configuration(declared, file, text, readers)
    elif suffix == ".json":
        _document(declared, json_document(file, text), file, readers)
    elif suffix in YAML:
        _yaml(declared, file, text, readers)
    elif suffix == TERRAFORM:
        _terraform(declared, file, text, readers)
    else:
        _by_content(declared, file, text, readers)
    _place_stores(declared)
    return declared


def may_declare(text: str) -> bool:
    """Whether a file that cannot be read names what would have been looked for."""
    return any(mark in text for mark in _MARKS)


def _by_content(declared: FileDeclarations, file: str, text: str, readers: Readers) -> None:
    """Standard input and files with other names: JSON when it is, then YAML when something is found in it."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            tree = json_document(file, text)
        except ManifestError:
            pass
        else:
            _document(declared, tree, file, readers)
            return
    problem: ManifestError | None = None
    try:
        _yaml(declared, file, text, readers)
    except ManifestError as error:
        problem = error
    if declared.found or declared.problems:
        return
    try:
        _configuration(declared, file, text, readers)
    except ManifestError as error:
        raise problem or error from error


def _yaml(declared: FileDeclarations, file: str, text: str, readers: Readers) -> None:
    for document in readers.yaml(file, text):
        _document(declared, document, file, readers)


def _configuration(declared: FileDeclarations, file: str, text: str, readers: Readers) -> None:
    read = configuration(file, text, readers.include)
    if not is_server_config(read.tree, bool(read.missing)):
        return
    for name, place in read.missing:
        declared.problems.append((f"the included file {name!r} is not there", place))
    declared.servers.append(server_config(read.tree, dict(read.missing)))


def _terraform(declared: FileDeclarations, file: str, text: str, readers: Readers) -> None:
    """Most files of a configuration have nothing of NATS, and are not parsed."""
    if not any(f'"{kind}"' in text for kind in terraform.KINDS):
        return
    streams, consumers, problems = terraform.declared_in_configuration(readers.hcl(file, text))
    declared.streams += streams
    declared.consumers += consumers
    declared.problems += problems


def _document(declared: FileDeclarations, tree: Tree, file: str, readers: Readers) -> None:
    if isinstance(tree.value, list):
        for item in tree.items():
            _document(declared, item, file, readers)
    elif tree.get("apiVersion") is not None and tree.get("kind") is not None:
        _resource(declared, tree, readers)
    elif terraform.is_plan(tree):
        _plan(declared, tree)
    elif containers.is_compose(tree):
        declared.servers += containers.of_compose(tree)
    elif tree.get("helmCharts") is not None:
        declared.servers += [helm.helm_values(one, file) for one in _chart_values(tree, "", "", readers)]
    elif (values := helm.inner_values(tree)) is not None:
        declared.servers.append(helm.helm_values(values, file))
    else:
        _server_json(declared, tree)


def _plan(declared: FileDeclarations, tree: Tree) -> None:
    try:
        streams, consumers = terraform.declared(tree)
    except ValueError as error:
        declared.problems.append((f"a plan that cannot be read: {error}", tree.place))
        return
    declared.streams += streams
    declared.consumers += consumers


def _server_json(declared: FileDeclarations, tree: Tree) -> None:
    """Bare, or as `nats stream|consumer info --json` prints it, with the stream's name beside."""
    config = tree.get("config")
    inner = config if config is not None and isinstance(config.value, dict) else tree
    if server_json.is_consumer(inner):
        stream = tree.text("stream_name") or inner.text("stream_name")
        declared.consumers.append(server_json.declared_consumer(inner, stream))
    elif server_json.is_stream(inner):
        declared.streams.append(server_json.declared_stream(inner))


def _resource(declared: FileDeclarations, tree: Tree, readers: Readers) -> None:
    """A Kubernetes object: one of NACK's, a list of objects, or a ConfigMap with the configuration of a server."""
    version, kind = tree.text("apiVersion"), tree.text("kind")
    if version.startswith(GROUP):
        _nack(declared, tree, version.removeprefix(GROUP), kind)
    elif kind.endswith("List") and (items := tree.get("items")) is not None:
        for item in items.items():
            _document(declared, item, item.place.file, readers)
    elif values := _chart_values(tree, version, kind, readers):
        declared.servers += [helm.helm_values(one, one.place.file) for one in values]
    elif kind == "ConfigMap":
        for key, node in (tree.get("data") or tree).entries():
            if PurePath(key).suffix in CONF and isinstance(node.value, str):
                _embedded(declared, node, tree.text("metadata", "name"))
    else:
        declared.servers += containers.of_workload(tree)
        declared.lasting |= containers.lasting_directories(tree)


def _chart_values(tree: Tree, version: str, kind: str, readers: Readers) -> list[Tree]:
    """Values of the chart in a release of Flux, an application of Argo CD or a kustomization."""
    found: list[Tree | None] = []
    if kind == "HelmRelease":
        found = [tree.get("spec", "values")]
    elif kind == "Application" and version.startswith("argoproj.io/"):
        for source in (tree.get("spec", "source"), *(tree.get("spec", "sources") or tree).items()):
            found += _argo_values(source, readers) if source else []
    elif kind == "Kustomization" or tree.get("helmCharts"):
        found = [chart.get("valuesInline") for chart in (tree.get("helmCharts") or tree).items()]
    return [values for node in found if node and (values := helm.inner_values(node)) is not None]


def _argo_values(source: Tree, readers: Readers) -> list[Tree]:
    """As an object, else as text."""
    if node := source.get("helm", "valuesObject"):
        return [node]
    text = source.get("helm", "values")
    if text is None or not isinstance(text.value, str):
        return []
    return list(readers.yaml(text.place.file, "\n" * text.place.line + text.value))


def _place_stores(declared: FileDeclarations) -> None:
    """Whether a ConfigMap's `store_dir` lies on a volume that lasts, where the workload that mounts it is known."""
    for name, index in declared.config_maps:
        servers = declared.servers[index]
        directory = servers.get("store_dir")
        known = name in declared.lasting and isinstance(directory, str)
        if known and not containers.is_kept(str(directory), declared.lasting[name]):
            settings = {**servers.settings, "persistent": False}
            places = {**servers.places, "persistent": servers.at("store_dir")}
            declared.servers[index] = msgspec.structs.replace(servers, settings=settings, places=places)


def _embedded(declared: FileDeclarations, node: Tree, config_map: str) -> None:
    """A configuration within a document. Its lines follow its key, as they do in a block of text; what it includes
    lies in the container.
    """
    read = configuration(node.place.file, "\n" * node.place.line + str(node.value), lambda _file, _name: None)
    if is_server_config(read.tree):
        declared.config_maps.append((config_map, len(declared.servers)))
        declared.servers.append(server_config(read.tree, dict(read.missing), node.place))


def _nack(declared: FileDeclarations, tree: Tree, version: str, kind: str) -> None:
    spec = tree.get("spec")
    if version != VERSION:
        says = f"{GROUP}{version} is no longer served; NACK knows {kind} as {GROUP}{VERSION}"
        declared.problems.append((says, tree.place))
    elif spec is None or not isinstance(spec.value, dict):
        declared.problems.append((f"this {kind} has no spec", tree.place))
    elif kind == "Stream":
        declared.streams.append(nack.stream(tree, spec))
    elif kind == "Consumer":
        declared.consumers.append(nack.consumer(tree, spec))
    elif kind == "KeyValue":
        declared.streams.append(nack_buckets.key_value(tree, spec))
    elif kind == "ObjectStore":
        declared.streams.append(nack_buckets.object_store(tree, spec))
    elif kind == "Account":
        declared.logins.append(nack_buckets.login(tree, spec))
    else:
        declared.problems.append((f"{kind} is no resource of {GROUP}{VERSION}", tree.place))
