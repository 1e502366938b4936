"""ConfigMaps and Secrets of Kubernetes that hold configurations of nats-server, and those that kustomize generates."""

from __future__ import annotations

import base64
import binascii
import posixpath
from collections.abc import Iterator
from pathlib import PurePath

from jsdoctor.parse.manifests.config_mounts import GeneratedMap
from jsdoctor.parse.manifests.tree import Tree

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
