"""What Terraform's provider does not take of a resource in a `.tf` file, beyond single values. A plan has passed it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jsdoctor.model.manifest import FilePosition, Mistake
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.parse.manifests.terraform_fields import BLOCKS, BUCKET_ONLY, REQUIRED, STARTS
from jsdoctor.parse.manifests.tree import Tree


def refused(
    kind: str, body: Tree, unknown: Collection[str], table: Collection[str], place: FilePosition
) -> Iterator[Mistake]:
    """Arguments that are missing, that exclude each other, or that the resource does not have.

    `unknown`: arguments whose values are expressions. An argument set to null counts as left out.
    """
    stated = {key for key, node in body.entries() if node.value is not None} | set(unknown)
    known = {*table, *BLOCKS, *(BUCKET_ONLY if kind.endswith("_bucket") else ())}
    for key, node in body.entries():
        if key not in known:
            near = did_you_mean(key, known)
            later = "" if near else "; a newer provider may know it"
            yield Mistake(node.place, f"{kind} has no argument {key!r}{near}{later}", unsure=not near)
    for key in REQUIRED[kind]:
        if key not in stated or any(name == key and node.value == "" for name, node in body.entries()):
            yield Mistake(place, f"{key} is required and must not be empty")
    if kind == "jetstream_consumer":
        yield from _start(sorted(stated & set(STARTS), key=STARTS.index), place)
    elif kind == "jetstream_stream" and not stated & {"subjects", "mirror", "source", "dynamic"}:
        yield Mistake(place, "subjects are required for a stream without mirror and sources")


def _start(stated: list[str], place: FilePosition) -> Iterator[Mistake]:
    if not stated:
        yield Mistake(place, f"one of {', '.join(STARTS)} is required")
    elif len(stated) > 1:
        yield Mistake(place, f"only one of {', '.join(stated)} may be set")
