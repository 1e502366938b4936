"""Fields of a server's configuration that no server knows, or whose values have the wrong type: it does not start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from jsdoctor.model.manifest import Mistake
from jsdoctor.parse.manifests.fields import go_duration
from jsdoctor.parse.manifests.server_fields import (
    ACCOUNT,
    ADDRESS,
    BLOCKS,
    BOOLEAN,
    COUNT,
    DURATION,
    INTEGER,
    LIMITED,
    LISTED,
    MAPPING,
    PARTS,
    PERIOD,
    SINCE,
    SIZE,
    SMALL,
    SWITCH,
    TEXT,
    TEXTS,
    TOP,
)
from jsdoctor.parse.manifests.tree import Tree, Variable
from jsdoctor.parse.nearest import did_you_mean

_OLDEST, _NEWEST = (2, 10), "2.15"
_PORT = 65535
_SIZES = "KMGT"


def field_mistakes(tree: Tree, used: Collection[str] | None) -> Iterator[Mistake]:
    """What is wrong with the fields of a whole configuration.

    `used` are names that the configuration refers to as variables: servers take such fields, whatever they are called.
    None: parts of it are not here and may refer to any, so that unknown fields are no mistake.
    """
    yield from _block(tree, "", TOP, used)
    for key, child in tree.entries():
        if key.lower() == "accounts":
            for _, account in child.entries():
                limits = account.get("jetstream")
                if limits is not None and isinstance(limits.value, dict):
                    yield from _block(limits, "accounts.jetstream", ACCOUNT, used)


def _block(tree: Tree, path: str, fields: dict[str, str], used: Collection[str] | None) -> Iterator[Mistake]:
    for key, node in tree.entries():
        name = key.lower()
        kind = fields.get(name)
        inner = f"{path}.{name}" if path else name
        if kind is None:
            if used is not None and key not in used:
                where = f" in {path}" if path else ""
                says = f"no server up to {_NEWEST} knows the field {key[:60]!r}{where}{did_you_mean(name, fields)}"
                yield Mistake(node.place, says)
            continue
        if (since := SINCE.get(_canonical(inner), _OLDEST)) > _OLDEST:
            says = f"servers before {since[0]}.{since[1]} refuse the field {key!r}, which they do not know"
            yield Mistake(node.place, says, ignored=True, unsure=True)
        if not isinstance(node.value, Variable) and (expected := _wrong(kind, node)):
            yield Mistake(node.place, f"{key}: {expected}")
        elif inner in BLOCKS and isinstance(node.value, dict):
            yield from _block(node, inner, BLOCKS[inner], used)


def _canonical(path: str) -> str:
    for alias, name in (("leaf.", "leafnodes."), ("ws.", "websocket.")):
        if path.startswith(alias):
            return name + path.removeprefix(alias)
    return path


def _wrong(kind: str, node: Tree) -> str:
    """What is expected instead; empty where the value is right, or of a kind that is not judged."""
    expects = _EXPECTED.get(kind)
    return "" if expects is None or expects[0](node) else expects[1]


def _integer(node: Tree) -> bool:
    return isinstance(node.value, int) and not isinstance(node.value, bool)


def _text(node: Tree) -> bool:
    return isinstance(node.value, str)


def _within(least: int, most: int) -> Callable[[Tree], bool]:
    return lambda node: _integer(node) and isinstance(node.value, int) and least <= node.value <= most


def _duration(node: Tree) -> bool:
    """A number counts as seconds, and the server warns."""
    if _integer(node):
        return True
    try:
        go_duration(node)
    except ValueError:
        return False
    return node.value != ""


def _size(node: Tree) -> bool:
    value = node.value
    if isinstance(value, str):
        return value == "" or (value[-1] in _SIZES and value[:-1].isascii() and value[:-1].lstrip("-").isdigit())
    return _integer(node)


def _address(node: Tree) -> bool:
    """A port, or host and port."""
    if isinstance(node.value, str):
        port = node.value.rpartition(":")[2]
        return ":" in node.value and port.lstrip("-+").isdigit() and port.isascii()
    return _integer(node)


def _texts(node: Tree) -> bool:
    return _text(node) or (isinstance(node.value, list) and all(_text(item) for item in node.items()))


def _switch(node: Tree) -> bool:
    if isinstance(node.value, str):
        return node.value.lower() in ("enabled", "enable", "disabled", "disable")
    return isinstance(node.value, bool | dict)


_EXPECTED: dict[str, tuple[Callable[[Tree], bool], str]] = {
    INTEGER: (_integer, "a whole number without quotes is expected"),
    SMALL: (_within(-(1 << 63), (1 << 31) - 1), "a number of bytes below 2 GiB without quotes is expected"),
    COUNT: (_within(0, 255), "a whole number from 0 to 255 is expected"),
    LIMITED: (_within(0, _PORT), f"a whole number from 0 to {_PORT} is expected"),
    TEXT: (_text, "a text is expected"),
    BOOLEAN: (lambda node: isinstance(node.value, bool), "true or false without quotes is expected"),
    MAPPING: (lambda node: isinstance(node.value, dict), "a block in braces is expected"),
    LISTED: (lambda node: isinstance(node.value, list), "a list in brackets is expected"),
    DURATION: (_duration, "a duration such as 10s or 2m is expected"),
    PERIOD: (lambda node: _text(node) and _duration(node), "a duration such as 10s or 2m is expected"),
    SIZE: (_size, "a number such as 10GB without quotes, or a text ending in K, M, G or T, is expected"),
    ADDRESS: (_address, "a port, or a host and a port, is expected"),
    TEXTS: (_texts, "a text or a list of texts is expected"),
    SWITCH: (_switch, "true, false, enabled, disabled or a block is expected"),
    PARTS: (lambda node: isinstance(node.value, bool | dict), "true, false or a block is expected"),
}
