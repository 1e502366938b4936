"""What a configuration file of nats-server sets (server: opts.go processConfigFileLine, parseJetStream).

Settings: `server_name`, `cluster_name`, `gateway_name`, `domain`, `host`, `max_payload` (bytes), `jetstream`,
`store_dir`, `max_file_store` (bytes), `max_memory_store`, `sync_interval` (nanoseconds, with
`sync_interval_in_seconds` where it was a number), `sync_always`, `monitoring`, `auth`, `tls`, `routes` (how many),
`clustered`, `cluster_listens`, `accounts` (how many), `unlimited_accounts` (their names), `lame_duck_duration` and
`lame_duck_grace_period` (nanoseconds). Absent: not set. No login is ever kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jsdoctor.manifests.fields import NS_PER_S, go_duration
from jsdoctor.manifests.server_blocks import BLOCKS, SINCE, STRICTER, Block
from jsdoctor.manifests.server_field_types import without_unit, wrong_value
from jsdoctor.manifests.server_references import reference_mistakes
from jsdoctor.manifests.tree import Tree, Variable
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Mistake
from jsdoctor.model.nearest import did_you_mean

_TELLING = {
    *("jetstream", "accounts", "authorization", "cluster", "gateway", "leaf", "leafnodes", "mqtt", "websocket"),
    *("http_port", "monitor_port", "max_payload", "max_pending", "max_control_line", "lame_duck_duration"),
    *(
        "system_account",
        "no_auth_user",
        "operator",
        "trusted_keys",
        "resolver_preload",
        "server_tags",
        "write_deadline",
    ),
}
"""Keys by which a file is known to be a server's. `port`, `http` and many others are found in files of others."""

_FIRST_WORDS = re.compile(r"^[ \t]*(\w+)", re.MULTILINE)
_TOGETHER = {"server_name", "listen", "port", "host", "http", "store_dir"}
"""Two of these tell as much. None is a block, as `http` is in files of nginx."""

_OPERATORS = ("operator", "operators", "roots", "root", "root_operators", "root_operator", "trusted", "trusted_keys")
_STORE = ("store", "store_dir", "storedir")
_SIZES = {"K": 10, "M": 20, "G": 30, "T": 40}


def is_server_config(tree: Tree, includes: bool = False) -> bool:
    """Whether its keys are known of servers' configurations. `includes`: it includes more, which was not read."""
    keys = {key.lower() for key, node in tree.entries() if key.lower() in _TELLING or not isinstance(node.value, dict)}
    return bool(keys & _TELLING) or len(keys & _TOGETHER) + includes > 1


def may_be_server_config(text: str) -> bool:
    """The same of a text that cannot be read as one."""
    return not _TELLING.isdisjoint(_FIRST_WORDS.findall(text.lower()))


def server_config(
    tree: Tree,
    missing: Mapping[str, FilePosition],
    place: FilePosition | None = None,
    used: Collection[str] | None = None,
) -> DeclaredServers:
    """The settings of one file. `missing` names included files that are not there: they may set anything. `place` is
    where the configuration begins, if not in a file of its own. `used` are fields that values refer to; None: this is
    no whole configuration, and its fields are not judged.
    """
    reader = _SettingsReader(tree.place)
    reader.read(tree)
    if used is not None:
        file_positions = {mistake.place for mistake in reader.mistakes}
        result = [*field_mistakes(tree, None if missing else used), *(() if missing else reference_mistakes(tree))]
        reader.mistakes += [value for value in result if value.place not in file_positions]
    if missing:
        stated = set(reader.settings)
        reader.unclear |= MAY_BE_INCLUDED - stated
    return DeclaredServers(
        what="server configuration",
        place=place or tree.place,
        name=str(reader.settings.get("server_name", "")),
        settings=reader.settings,
        places=reader.places,
        mistakes=tuple(reader.mistakes),
        unclear=frozenset(reader.unclear),
    )


MAY_BE_INCLUDED = frozenset(
    {
        *("server_name", "cluster_name", "domain", "host", "jetstream", "store_dir", "max_file_store", "monitoring"),
        *("clustered", "auth", "tls", "accounts", "sync_interval", "lame_duck_duration", "lame_duck_grace_period"),
    }
)


@dataclass(slots=True)
class _SettingsReader:
    place: FilePosition
    settings: dict[str, Any] = field(default_factory=dict)
    places: dict[str, FilePosition] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)

    def read(self, tree: Tree) -> None:
        by_key = {key.lower(): child for key, child in tree.entries()}
        self._text("server_name", by_key.get("server_name"))
        self._text("host", by_key.get("host") or by_key.get("net"))
        self._host(by_key.get("listen"))
        self._size("max_payload", by_key.get("max_payload"))
        for name in ("lame_duck_duration", "lame_duck_grace_period"):
            self._duration(name, by_key.get(name))
        for key in ("http", "https", "http_port", "https_port", "monitor_port"):
            if key in by_key and by_key[key].value not in (0, None):
                self._set("monitoring", True, by_key[key])
        self._text("store_dir", by_key.get("store_dir") or by_key.get("storedir"))
        self._jetstream(by_key.get("jetstream"))
        self._tls(by_key.get("tls"))
        self._cluster(by_key.get("cluster"))
        if (gateway := by_key.get("gateway")) is not None:
            self._text("gateway_name", gateway.get("name"))
        self._auth(by_key)

    def _set(self, name: str, value: object, node: Tree) -> None:
        self.settings[name], self.places[name] = value, node.place

    def _text(self, name: str, node: Tree | None) -> None:
        if node is None:
            return
        if isinstance(node.value, Variable):
            self.unclear.add(name)
        elif isinstance(node.value, str | int) and not isinstance(node.value, bool):
            self._set(name, str(node.value), node)

    def _host(self, listen: Tree | None) -> None:
        if listen is None:
            return
        if isinstance(listen.value, Variable):
            self.unclear.add("host")
        elif isinstance(listen.value, str):
            self._set("host", listen.value.rpartition(":")[0], listen)

    def _size(self, name: str, node: Tree | None) -> None:
        """A number of bytes, or a text such as `10G`, which is the only form with quotes that servers take."""
        if node is None:
            return
        value = node.value
        if isinstance(value, Variable):
            self.unclear.add(name)
        elif node.integer is not None:
            self._set(name, node.integer, node)
        elif isinstance(value, str) and value[-1:] in _SIZES and value[:-1].isascii() and value[:-1].isdigit():
            self._set(name, int(value[:-1][:19]) << _SIZES[value[-1]], node)
        elif value != "":
            text = f"{name}: the server takes a number such as 10GB without quotes, or a text ending in K, M, G or T"
            self.mistakes.append(Mistake(node.place, text))

    def _duration(self, name: str, node: Tree | None) -> None:
        """Nanoseconds. The reader of the field reports a value that is no duration."""
        if node is None:
            return
        if isinstance(node.value, Variable):
            self.unclear.add(name)
            return
        try:
            self._set(name, go_duration(node), node)
        except ValueError:
            self.unclear.add(name)

    def _jetstream(self, node: Tree | None) -> None:
        if node is None:
            return
        if not isinstance(node.value, dict):
            on = node.value is True or str(node.value).lower() in ("enabled", "enable")
            if isinstance(node.value, Variable):
                self.unclear.add("jetstream")
            else:
                self._set("jetstream", on, node)
            return
        inner = {key.lower(): child for key, child in node.entries()}
        switch = next((inner[key] for key in ("enable", "enabled") if key in inner), None)
        self._set("jetstream", switch is None or switch.value is not False, node)
        self._text("store_dir", next((inner[key] for key in _STORE if key in inner), None))
        self._text("domain", inner.get("domain"))
        for name, keys in (
            ("max_file_store", ("max_file_store", "max_file")),
            ("max_memory_store", ("max_memory_store", "max_mem_store", "max_mem")),
        ):
            self._size(name, next((inner[key] for key in keys if key in inner), None))
        self._sync(inner.get("sync_interval") or inner.get("sync"))

    def _sync(self, node: Tree | None) -> None:
        if node is None:
            return
        if isinstance(node.value, Variable):
            self.unclear.add("sync_interval")
        elif node.integer is not None:
            self._set("sync_interval", node.integer * NS_PER_S, node)
            self._set("sync_interval_in_seconds", node.integer, node)
        elif str(node.value).lower() == "always":
            self._set("sync_always", True, node)
        else:
            try:
                self._set("sync_interval", go_duration(node), node)
            except ValueError as error:
                self.mistakes.append(Mistake(node.place, f"sync_interval: {error}"))

    def _tls(self, node: Tree | None) -> None:
        if node is not None and isinstance(node.value, dict):
            self._set("tls", True, node)

    def _cluster(self, node: Tree | None) -> None:
        if node is None or not isinstance(node.value, dict):
            return
        self._set("clustered", True, node)
        inner = {key.lower(): child for key, child in node.entries()}
        if any(key in inner and inner[key].value not in (0, "", None) for key in ("port", "listen")):
            self._set("cluster_listens", True, node)
        self._text("cluster_name", node.get("name"))
        if (routes := node.get("routes")) is not None and isinstance(routes.value, list):
            self._set("routes", len(routes.value), routes)

    def _auth(self, by_key: Mapping[str, Tree]) -> None:
        """The clients that must authenticate: all if there is a user, token or operator and no user for the rest."""
        for key in ("authorization", *_OPERATORS, "resolver"):
            node = by_key.get(key)
            if node is not None and (key != "authorization" or _has_login(node)):
                self._set("auth", True, node)
        accounts = by_key.get("accounts")
        shared = [(name, account) for name, account in accounts.entries() if name != "$SYS"] if accounts else []
        if any(account.get("users") or account.get("nkeys") for _, account in shared) and accounts:
            self._set("auth", True, accounts)
        if (anonymous := by_key.get("no_auth_user")) is not None:
            self._set("auth", False, anonymous)
        self._accounts(shared)

    def _accounts(self, accounts: list[tuple[str, Tree]]) -> None:
        with_streams = {name: node for name, child in accounts if (node := child.get("jetstream")) is not None}
        in_use = {name: node for name, node in with_streams.items() if node.value not in (False, "disabled", "disable")}
        if not in_use:
            return
        unlimited = sorted(name for name, node in in_use.items() if not _limits_storage(node))
        self.settings["accounts"] = len(in_use)
        if unlimited:
            self._set("unlimited_accounts", unlimited, in_use[unlimited[0]])


def _has_login(node: Tree) -> bool:
    return isinstance(node.value, dict) and any(
        key.lower() in ("user", "username", "pass", "password", "token", "users", "nkeys", "auth_callout")
        for key, _ in node.entries()
    )


def _limits_storage(node: Tree) -> bool:
    """Whether the JetStream settings of an account limit its file storage; a negative limit is none."""
    return any(
        key.lower() in ("max_store", "max_file", "max_disk", "store", "disk") and not str(limit.value).startswith("-")
        for key, limit in node.entries()
    )


_OLDEST, _NEWEST, _OPTIONAL = (2, 10), "2.15", (2, 15, 3)


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
    elif kind == "verify" and isinstance(node.value, str):
        text = f"servers before {_release(_OPTIONAL)} refuse the field {key!r} with a text"
        yield Mistake(node.place, text, ignored=True, unsure=True)
    elif without_unit(kind, node):
        text = f"{key}: servers take a number without a unit for seconds and warn, and nats-server -t refuses the file"
        yield Mistake(node.place, f"{text}; write {node.value}s", ignored=True)


def _release(version: tuple[int, ...]) -> str:
    """Of releases with a patch, which the branch before has, too."""
    return ".".join(map(str, version)) + (" (2.14: before 2.14.10)" if version == _OPTIONAL else "")


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
