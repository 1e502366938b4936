"""Releases of the chart as `helm_release` of Terraform: values in a heredoc, by yamlencode or in `set` blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from textwrap import dedent

from jsdoctor.manifests.helm_sources import ChartReference, ChartRelease, release_of, with_path
from jsdoctor.manifests.tree import ManifestError, Tree, Variable

RESOURCE = "helm_release"
_ENCODED = re.compile(r"\s*(?:yaml|json)encode\((.*)\)\s*", re.DOTALL)
_HEREDOC = re.compile(r"<<(-?)(\w+)\n(?:(.*)\n)?[ \t]*\2\s*", re.DOTALL)


def releases(
    tree: Tree, yaml: Callable[[str, str], Iterable[Tree]], hcl: Callable[[str, str], Tree]
) -> list[ChartRelease]:
    """Every release of the chart in a `.tf` file. What an expression gives is left open."""
    return [release for body in _bodies(tree) if (release := release_of(_reference(body, yaml, hcl))) is not None]


def _bodies(tree: Tree) -> Iterator[Tree]:
    for block in (tree.get("resource") or tree).items():
        for kind, named in block.entries():
            if kind == RESOURCE:
                yield from (body for _, body in named.entries())


def _reference(
    body: Tree, yaml: Callable[[str, str], Iterable[Tree]], hcl: Callable[[str, str], Tree]
) -> ChartReference:
    values: list[Tree] = []
    node = body.get("values")
    partial = node is not None and not isinstance(node.value, list)
    for item in node.items() if node is not None else ():
        read = _values(item, yaml, hcl)
        partial |= read is None
        values += [Tree(read.value, body.place)] if read is not None else []
    for tree in (body.get("set") or body).items():
        value = tree.get("value")
        partial |= value is None or isinstance(value.value, Variable)
        if value is not None and not isinstance(value.value, Variable):
            values.append(with_path(tree.text("name"), value))
    chart, version = body.text("chart"), body.text("version")
    return ChartReference(body, chart, body.text("repository"), version, values, partial)


def _values(item: Tree, yaml: Callable[[str, str], Iterable[Tree]], hcl: Callable[[str, str], Tree]) -> Tree | None:
    """One element of `values`; None where an expression gives it."""
    try:
        if isinstance(item.value, Variable):
            match = _ENCODED.fullmatch(item.value.name)
            return hcl(item.place.file, f"values = {match[1]}").get("values") if match else None
        if not isinstance(item.value, str):
            return None
        heredoc = _HEREDOC.fullmatch(item.value)
        held = (heredoc[3] or "") if heredoc else item.value
        text = dedent(held) if heredoc and heredoc[1] else held
        return next(iter(yaml(item.place.file, text)), None)
    except ManifestError:
        return None
