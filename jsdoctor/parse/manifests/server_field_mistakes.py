"""Fields of a server's configuration that no server knows, or whose values it refuses: it does not start."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jsdoctor.model.manifest import Mistake
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.parse.manifests.server_blocks import BLOCKS, SINCE, STRICTER, Block
from jsdoctor.parse.manifests.server_field_types import without_unit, wrong_value
from jsdoctor.parse.manifests.tree import Tree, Variable

_OLDEST, _NEWEST = (2, 10), "2.15"


def field_mistakes(tree: Tree, used: Collection[str] | None) -> Iterator[Mistake]:
    """What is wrong with the fields of a whole configuration.

    `used` are names that the configuration refers to as variables: servers take such fields, whatever they are called.
    None: parts of it are not here and may refer to any, so that unknown fields are no mistake.
    """
    yield from _block(tree, "", "", used)


def _block(tree: Tree, kind: str, path: str, used: Collection[str] | None) -> Iterator[Mistake]:
    """Of one block. `kind` is its name in `BLOCKS`, `path` where it stands."""
    block = BLOCKS[kind]
    if block.named:
        yield from _named(tree, block, path, used)
        return
    for key, node in tree.entries():
        name = key.lower()
        if name in block.fields:
            yield from _value(node, key, _kind(tree, block, name), f"{kind}.{name}".lstrip("."))
            if inner := block.inner.get(name):
                yield from _inner(node, inner, f"{path}.{name}".lstrip("."), used)
        elif used is not None and (block.strict or key not in used):
            where = f" in {path}" if path else ""
            near = did_you_mean(name, block.fields)
            yield Mistake(node.place, f"no server up to {_NEWEST} knows the field {key[:60]!r}{where}{near}")
    if used is not None:
        yield from _together(tree, block, path)


def _kind(tree: Tree, block: Block, name: str) -> str:
    """The kind of a field; a switch that a variable gives may be on."""
    switch, relaxed = block.relaxed.get(name, ("", ""))
    node = tree.get(switch) if switch else None
    on = node is not None and (node.value is True or isinstance(node.value, Variable))
    return relaxed if on else block.fields[name]


def _named(tree: Tree, block: Block, path: str, used: Collection[str] | None) -> Iterator[Mistake]:
    """Of a block whose keys are names that the user chose."""
    for key, node in tree.entries():
        if key in (used or ()):
            continue
        where = f"{path}.{key[:60]}"
        if expected := wrong_value(block.values, node):
            yield Mistake(node.place, f"{where}: {expected}")
        yield from _inner(node, block.named, where, used)


def _value(node: Tree, key: str, kind: str, canonical: str) -> Iterator[Mistake]:
    """Of the value of one known field. `canonical` is its block and its name."""
    if (since := SINCE.get(canonical, _OLDEST)) > _OLDEST:
        text = f"servers before {_release(since)} refuse the field {key!r}, which they do not know"
        yield Mistake(node.place, text, ignored=True, unsure=True)
    if expected := wrong_value(kind, node):
        stricter = STRICTER.get(canonical)
        if stricter and not wrong_value(stricter.before, node):
            text = f"{key}: {expected}; servers before {_release(stricter.since)} start with it nevertheless"
            yield Mistake(node.place, text, ignored=True)
        else:
            yield Mistake(node.place, f"{key}: {expected}")
    elif without_unit(kind, node):
        text = f"{key}: servers take a number without a unit for seconds and warn, and nats-server -t refuses the file"
        yield Mistake(node.place, f"{text}; write {node.value}s", ignored=True)


def _release(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _inner(node: Tree, kind: str, path: str, used: Collection[str] | None) -> Iterator[Mistake]:
    """Of a block, or of each block of a list."""
    for tree in node.items() if isinstance(node.value, list) else (node,):
        if isinstance(tree.value, dict):
            yield from _block(tree, kind, path, used)


def _together(tree: Tree, block: Block, path: str) -> Iterator[Mistake]:
    """Fields that must be there, or cannot be there together. A variable may be empty, which is like absent."""
    set_here = {key.lower() for key, node in tree.entries() if node.value not in ("", [])}
    unknown = {key.lower() for key, node in tree.entries() if isinstance(node.value, Variable)}
    for group in block.required:
        if set_here.isdisjoint(group):
            yield Mistake(tree.place, f"{path}: {' or '.join(group)} is missing")
    for entry, other in block.exclusive:
        first, second = sorted(set_here.intersection(entry) - unknown), sorted(set_here.intersection(other) - unknown)
        if first and second:
            yield Mistake(tree.place, f"{path}: {first[0]} and {second[0]} cannot be set together")
    if block.paired and len(set_here.intersection(block.paired)) == 1:
        missing = next(name for name in block.paired if name not in set_here)
        yield Mistake(tree.place, f"{path}: {missing} is missing")
