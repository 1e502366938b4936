"""One file's text to everything that it declares, whatever its format."""

from __future__ import annotations

import base64
import binascii
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from jsdoctor.manifests import (
    compose,
    containers,
    helm,
    helm_sources,
    nack,
    nack_buckets,
    server_json,
    terraform,
    terraform_helm,
)
from jsdoctor.manifests.conf_tree import Include, configuration
from jsdoctor.manifests.containers import ConfigMount, GeneratedMap
from jsdoctor.manifests.server_config import is_server_config, may_be_server_config, server_config
from jsdoctor.manifests.tree import ManifestError, Tree, json_document
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredLogin, DeclaredServers, DeclaredStream, FilePosition

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
    mounts: list[ConfigMount] = field(default_factory=list)
    generated: list[GeneratedMap] = field(default_factory=list)
    objects: list[Tree] = field(default_factory=list)
    """Services, and workloads that run nats-server."""

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
    declared.servers.append(server_config(read.tree, dict(read.missing), used=read.used))


def _terraform(declared: FileDeclarations, file: str, text: str, readers: Readers) -> None:
    """Most files of a configuration have nothing of NATS, and are not parsed."""
    charts = f'"{terraform_helm.RESOURCE}"' in text and "nats" in text
    if not charts and not any(f'"{kind}"' in text for kind in terraform.KINDS):
        return
    tree = readers.hcl(file, text)
    if charts:
        _charts(declared, terraform_helm.releases(tree, readers.yaml, readers.hcl))
    streams, consumers, problems = terraform.declared_in_configuration(tree)
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
    elif compose.is_compose(tree):
        _compose(declared, tree)
    elif PurePath(file).name in KUSTOMIZATIONS:
        _kustomization(declared, tree, readers)
    elif charts := helm_sources.releases(tree, readers.yaml):
        _charts(declared, charts)
    elif (values := helm.inner_values(tree)) is not None:
        declared.servers.append(helm.helm_values(values, file))
    elif helm.is_of_an_old_chart(tree):
        declared.problems.append(("values of the NATS chart before 1.0, of which nothing is read", tree.place))
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
    """A Kubernetes object: one of NACK's, a list of objects, a workload, a release of the chart, or a ConfigMap or
    Secret with the configuration of a server.
    """
    version, kind = tree.text("apiVersion"), tree.text("kind")
    if version.startswith(GROUP):
        _nack(declared, tree, version.removeprefix(GROUP), kind)
    elif kind.endswith("List") and (items := tree.get("items")) is not None:
        for item in items.items():
            _document(declared, item, item.place.file, readers)
    elif kind in ("Kustomization", "Component"):
        _kustomization(declared, tree, readers)
    elif kind in ("ConfigMap", "Secret"):
        for node in held_configurations(tree):
            try:
                _embedded(declared, node, tree.text("metadata", "name"), tree.text("metadata", "namespace"))
            except ManifestError as error:
                if may_be_server_config(str(node.value)):
                    declared.problems.append((error.says, error.place or node.place))
    elif charts := helm_sources.releases(tree, readers.yaml):
        _charts(declared, charts)
    else:
        _workload(declared, tree)


def _workload(declared: FileDeclarations, tree: Tree) -> None:
    servers = list(containers.of_workload(tree))
    declared.servers += servers
    declared.mounts += containers.mounts_of(tree)
    if servers or tree.text("kind") == "Service":
        declared.objects.append(tree)


def _charts(declared: FileDeclarations, charts: Iterable[helm_sources.ChartRelease]) -> None:
    for chart in charts:
        if chart.problem:
            declared.problems.append((chart.problem, chart.values.place))
        else:
            declared.servers.append(
                helm.helm_values(chart.values, chart.values.place.file, whole=chart.is_nats, partial=chart.partial)
            )


def _kustomization(declared: FileDeclarations, tree: Tree, readers: Readers) -> None:
    _charts(declared, helm_sources.releases(tree, readers.yaml))
    declared.generated += generated_maps(tree)


def _compose(declared: FileDeclarations, tree: Tree) -> None:
    declared.servers += compose.of_compose(tree)
    declared.mounts += compose.mounts_of(tree)
    for name, content in compose.inline_configurations(tree):
        _embedded(declared, content, f"configs.{name}", "")


def _embedded(declared: FileDeclarations, node: Tree, config_map: str, namespace: str) -> None:
    """A configuration within a document. Its lines follow its key, as they do in a block of text; what it includes
    lies in the container.
    """
    read = configuration(node.place.file, "\n" * node.place.line + str(node.value), lambda _file, _name: None)
    if is_server_config(read.tree):
        servers = server_config(read.tree, dict(read.missing), node.place, read.used)
        declared.servers.append(msgspec.structs.replace(servers, config_map=config_map, namespace=namespace))


def _nack(declared: FileDeclarations, tree: Tree, version: str, kind: str) -> None:
    spec = tree.get("spec")
    if version != VERSION:
        text = f"{GROUP}{version} is no longer served; NACK knows {kind} as {GROUP}{VERSION}"
        declared.problems.append((text, tree.place))
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


KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CONF = (".conf", ".cfg", ".config")


def held_configurations(tree: Tree) -> Iterator[Tree]:
    """Texts of a ConfigMap or Secret whose keys name configuration files. `data` of a Secret is in base64."""
    secret = tree.text("kind") == "Secret"
    for key, node in (tree.get("stringData" if secret else "data") or tree).entries():
        if PurePath(key).suffix in _CONF and isinstance(node.value, str):
            yield node
    for key, node in (tree.get("data") or tree).entries() if secret else ():
        if PurePath(key).suffix in _CONF and isinstance(node.value, str):
            try:
                text = base64.b64decode(node.value, validate=False).decode("utf-8")
            except (binascii.Error, ValueError):
                continue
            yield Tree(text, node.place)


def generated_maps(tree: Tree) -> Iterator[GeneratedMap]:
    """`configMapGenerator` and `secretGenerator` of a kustomization, with the paths of their files."""
    directory = posixpath.dirname(tree.place.file)
    for key in ("configMapGenerator", "secretGenerator"):
        for candidate in (tree.get(key) or tree).items():
            files = [str(file.value).rpartition("=")[2] for file in (candidate.get("files") or candidate).items()]
            if files and (name := candidate.text("name")):
                paths = tuple(posixpath.normpath(posixpath.join(directory, file)) for file in files)
                yield GeneratedMap(name, paths)
