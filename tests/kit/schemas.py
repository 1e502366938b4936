"""Schemas for kubeconform, which reads one file for each kind: from the API of a Kubernetes release, and a CRD.

`make kit-tools` lays the sources down. Unknown fields are errors, as they are for `kubectl apply`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.servers.binaries import ROOT

Json = dict[str, Any]
_SOURCES = ROOT / ".cache" / "schemas"
_LOOSE: dict[str, Json] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": ["string", "integer"]},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": ["string", "number"]},
}
"""What is a string in the API's description, and may be a number in a manifest."""


def source(name: str) -> Path:
    """A file that `make kit-tools` lays down. Without it, the test is skipped."""
    path = _SOURCES / name
    if not path.exists():
        pytest.skip(f"no {path.relative_to(ROOT)}: make kit-tools (needs Go)")
    return path


def write_schemas(directory: Path) -> str:
    """A file for each kind. What kubeconform takes as its location."""
    definitions = json.loads(source("swagger.json").read_bytes())["definitions"] | _LOOSE
    for name, definition in definitions.items():
        for meant in definition.get("x-kubernetes-group-version-kind", ()):
            needed = {needed_name: _strict(definitions[needed_name]) for needed_name in _reached(definitions, name)}
            schema = {"$ref": f"#/definitions/{name}", "definitions": needed}
            _write(directory, meant["kind"], meant["group"], meant["version"], schema)
    crd = yaml.safe_load(source("servicemonitor.yaml").read_text("utf-8"))["spec"]
    for version in crd["versions"]:
        schema = _strict(version["schema"]["openAPIV3Schema"])
        _write(directory, crd["names"]["kind"], crd["group"], version["name"], schema)
    return str(directory / "{{.ResourceKind}}{{.KindSuffix}}.json")


def _write(directory: Path, kind: str, group: str, version: str, schema: Json) -> None:
    parts = [kind, *([group.partition(".")[0]] if group else []), version]
    (directory / f"{'-'.join(parts).lower()}.json").write_text(json.dumps(schema), "utf-8")


def _reached(definitions: dict[str, Json], name: str) -> set[str]:
    reached: set[str] = set()
    left = [name]
    while left:
        definition_name = left.pop()
        if definition_name not in reached:
            reached.add(definition_name)
            left.extend(_references(definitions[definition_name]))
    return reached


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            yield reference.rpartition("/")[2]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {key: _strict(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and "additionalProperties" not in node:
        made["additionalProperties"] = False
    # Metadata of a custom resource is any object in its definition: Kubernetes itself knows what it holds.
    return {"type": "object"} if node == {"type": "object", "properties": {}} else made
