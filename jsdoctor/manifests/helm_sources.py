"""Releases of the official Helm chart: where Flux, Argo CD, kustomize, k3s, Fleet and helmfile keep its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from jsdoctor.manifests.helm import inner_values
from jsdoctor.manifests.tree import ManifestError, Tree

_Yaml = Callable[[str, str], Iterable[Tree]]
_OTHER_CHART = "values of another chart of nats than nats-io's are not read here: render it with helm template"
_OLD_CHART = "values of the nats chart before 1.0 are not read here: render it with helm template"


@dataclass(frozen=True, slots=True)
class ChartRelease:
    """Values of one release. `is_nats`: its chart is the official one; else only the form of the values is like that.

    `partial`: more values come from files or objects that are not here. `problem`: why they cannot be judged.
    """

    values: Tree
    is_nats: bool = False
    partial: bool = False
    problem: str = ""


@dataclass(slots=True)
class ChartReference:
    """A reference to any chart, with the values that it gets."""

    tree: Tree
    chart: str
    repository: str = ""
    version: str = ""
    values: list[Tree] = field(default_factory=list)
    partial: bool = False


def releases(tree: Tree, yaml: _Yaml) -> list[ChartRelease]:
    """Every release of the chart in a document; values in the form of the chart's count, too."""
    return [release for reference in _references(tree, yaml) if (release := release_of(reference)) is not None]


def release_of(chart_reference: ChartReference) -> ChartRelease | None:
    """The release of a reference; None if it is of another chart and its values have another form."""
    name = chart_reference.chart.rstrip("/").rpartition("/")[2]
    values = _merged(chart_reference.values, chart_reference.tree)
    if name != "nats":
        inner = inner_values(values)
        return None if inner is None else ChartRelease(inner, partial=chart_reference.partial)
    if "bitnami" in f"{chart_reference.repository} {chart_reference.chart}".lower():
        return ChartRelease(chart_reference.tree, problem=_OTHER_CHART)
    if chart_reference.version.lstrip("v~^=> ").startswith("0."):
        return ChartRelease(chart_reference.tree, problem=_OLD_CHART)
    return ChartRelease(values, is_nats=True, partial=chart_reference.partial)


def _references(tree: Tree, yaml: _Yaml) -> Iterator[ChartReference]:
    kind, version = tree.text("kind"), tree.text("apiVersion")
    spec = tree.get("spec") or tree
    if kind == "HelmRelease":
        yield _flux(spec)
    elif kind == "Application" and version.startswith("argoproj.io/"):
        yield from _argo(spec, yaml)
    elif kind == "ApplicationSet":
        yield from _argo(spec.get("template", "spec") or spec, yaml)
    elif kind in ("HelmChart", "HelmChartConfig"):
        yield _controller(spec, yaml)
    elif tree.get("helmCharts") is not None:
        yield from map(_kustomize, _items(tree, "helmCharts"))
    elif not kind and tree.get("releases") is not None:
        yield from (_helmfile(item) for item in _items(tree, "releases"))
    elif not kind and (helm := tree.get("helm")) is not None and helm.get("chart") is not None:
        files = bool(_items(helm, "valuesFiles"))
        yield ChartReference(
            helm, helm.text("chart"), helm.text("repo"), _version(helm), _optional(helm, "values"), files
        )


def _flux(spec: Tree) -> ChartReference:
    chart = spec.get("chart", "spec") or spec
    name = chart.text("chart") or spec.text("chartRef", "name")
    repository = chart.text("sourceRef", "name")
    partial = bool(_items(spec, "valuesFrom"))
    return ChartReference(spec, name, repository, _version(chart), _optional(spec, "values"), partial)


def _argo(spec: Tree, yaml: _Yaml) -> Iterator[ChartReference]:
    sources = [*_optional(spec, "source"), *_items(spec, "sources")]
    for source in sources:
        helm = source.get("helm") or source
        values = _optional(helm, "valuesObject") or _from_text(helm.get("values"), yaml)
        parameters = [(item.text("name"), item.get("value")) for item in _items(helm, "parameters")]
        values += [with_path(name, value) for name, value in parameters if value is not None]
        partial = bool(_items(helm, "valueFiles")) or bool(_items(helm, "fileParameters"))
        yield ChartReference(
            source, source.text("chart"), source.text("repoURL"), source.text("targetRevision"), values, partial
        )


def _kustomize(chart: Tree) -> ChartReference:
    partial = chart.get("valuesFile") is not None or bool(_items(chart, "additionalValuesFiles"))
    values = _optional(chart, "valuesInline")
    return ChartReference(chart, chart.text("name"), chart.text("repo"), _version(chart), values, partial)


def _controller(spec: Tree, yaml: _Yaml) -> ChartReference:
    """A HelmChart of k3s or RKE2, or of a controller with the same form."""
    values = _from_text(spec.get("valuesContent"), yaml) or _optional(spec, "values")
    values += [with_path(name, node) for name, node in (spec.get("set") or Tree({}, spec.place)).entries()]
    name = spec.text("chart") or spec.text("chartName") or spec.text("chart", "name")
    repository = spec.text("repo") or spec.text("chartRepoURL") or spec.text("chart", "url")
    return ChartReference(spec, name, repository, _version(spec), values, bool(_items(spec, "valuesSecrets")))


def _helmfile(release: Tree) -> ChartReference:
    """A release of a helmfile: each of its values is an object or the name of a file."""
    values, settings = _items(release, "values"), _items(release, "set")
    inline = [value for value in values if isinstance(value.value, dict)]
    partial = len(inline) < len(values) or bool(_items(release, "secrets"))
    partial = partial or any(item.get("value") is None for item in settings)
    inline += [with_path(item.text("name"), value) for item in settings if (value := item.get("value")) is not None]
    return ChartReference(release, release.text("chart"), "", _version(release), inline, partial)


def _version(tree: Tree) -> str:
    node = tree.get("version") or tree.get("chartVersion")
    return str(node.value) if node is not None else ""


def _optional(tree: Tree, *path: str) -> list[Tree]:
    node = tree.get(*path)
    return [node] if node is not None else []


def _items(tree: Tree, key: str) -> list[Tree]:
    node = tree.get(key)
    return list(node.items()) if node is not None else []


def _from_text(node: Tree | None, yaml: _Yaml) -> list[Tree]:
    """Values in a block of YAML text. Empty lines are put before it, so that places count from the file's begin."""
    if node is None or not isinstance(node.value, str):
        return []
    try:
        return list(yaml(node.place.file, "\n" * node.place.line + node.value))
    except ManifestError:
        return []


def with_path(path: str, node: Tree) -> Tree:
    """The nested mappings that `helm --set` makes of a path such as `config.jetstream.enabled`."""
    tree = Tree(_typed(node.value), node.place)
    for key in reversed(path.split(".")):
        tree = Tree({key: tree}, node.place)
    return tree


def _typed(value: object) -> str | int | float | bool | None:
    """The boolean or number that `helm --set` makes of a text."""
    if isinstance(value, str):
        if value in ("true", "false"):
            return value == "true"
        return int(value) if value.isascii() and value.isdigit() and len(value) < 18 else value
    return value if isinstance(value, int | float | bool) else None


def _merged(values: list[Tree], near: Tree) -> Tree:
    """All values in one tree; later ones win, mappings are merged."""
    if not values:
        return Tree({}, near.place)
    merged = values[0]
    for more in values[1:]:
        merged = _overlaid(merged, more)
    return merged


def _overlaid(below: Tree, above: Tree) -> Tree:
    if not isinstance(below.value, dict) or not isinstance(above.value, dict):
        return above
    both = dict(below.value)
    for key, node in above.value.items():
        both[key] = _overlaid(both[key], node) if key in both else node
    return Tree(both, below.place)
