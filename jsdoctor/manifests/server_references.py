"""Fields of a server's configuration that contradict or need each other, where that keeps a server from starting.

Derived from opts.go, accounts.go and the start of servers of 2.10.26, 2.12.8 and 2.15.1, which a test repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jsdoctor.manifests.fields import NS_PER_S, go_duration
from jsdoctor.manifests.tree import Tree, Variable
from jsdoctor.model.manifest import Mistake
from jsdoctor.model.subjects import subject_contains

_BY_JWT = ("operator", "operators", "roots", "root", "root_operators", "root_operator", "trusted", "trusted_keys")
_MIN_LAME_DUCK_S = 30
_GLOBAL, _SYSTEM = "$G", "$SYS"


def reference_mistakes(tree: Tree) -> Iterator[Mistake]:
    """Of a whole configuration. What a variable gives is not judged."""
    top = _lower(tree)
    accounts = _accounts(top)
    yield from _logins(top, accounts or {})
    payload, pending = _integer(top.get("max_payload")), _integer(top.get("max_pending"))
    if payload and pending and payload > pending:
        text = f"max_payload ({payload}) cannot be above max_pending ({pending})"
        yield Mistake(top["max_payload"].place, text)
    duration, grace = _duration(top.get("lame_duck_duration")), _duration(top.get("lame_duck_grace_period"))
    if duration is not None and duration < _MIN_LAME_DUCK_S * NS_PER_S:
        text = f"lame_duck_duration: servers take {_MIN_LAME_DUCK_S}s and more"
        yield Mistake(top["lame_duck_duration"].place, text)
    elif duration is not None and grace is not None and grace >= duration:
        yield Mistake(top["lame_duck_grace_period"].place, "lame_duck_grace_period must be below lame_duck_duration")
    yield from _gateways(top)
    if accounts is not None and not any(name in top for name in _BY_JWT):
        yield from _account_names(top, accounts)
        yield from _imports(accounts)


def _lower(tree: Tree | None) -> dict[str, Tree]:
    return {key.lower(): node for key, node in tree.entries()} if tree is not None else {}


def _is_set(fields: Mapping[str, Tree], *names: str) -> bool:
    """Whether one of them has a value that is in the file and not empty."""
    return any(
        name in fields and fields[name].value not in ("", None) and not isinstance(fields[name].value, Variable)
        for name in names
    )


def _accounts(top: Mapping[str, Tree]) -> dict[str, Tree] | None:
    """By name; None where some may come from a variable."""
    accounts = top.get("accounts")
    if accounts is None:
        return {}
    if isinstance(accounts.value, list):
        return {item.value: item for item in accounts.items() if isinstance(item.value, str)}
    if isinstance(accounts.value, Variable) or any(isinstance(tree.value, Variable) for _, tree in accounts.entries()):
        return None
    return dict(accounts.entries())


@dataclass(frozen=True)
class _Login:
    """A user's name or nkey, and where it is given."""

    name: str
    node: Tree


def _users(block: Tree | None) -> Iterator[_Login]:
    users = _lower(block).get("users")
    for user in users.items() if users is not None else ():
        given = _lower(user)
        for field in ("nkey", "user", "username"):
            if field in given and isinstance(name := given[field].value, str):
                yield _Login(name, user)


def _logins(top: Mapping[str, Tree], accounts: Mapping[str, Tree]) -> Iterator[Mistake]:
    """Users that are given twice, and kinds of logins that exclude each other."""
    authorization = top.get("authorization")
    given = _lower(authorization)
    single, token = _is_set(given, "user", "username"), _is_set(given, "token")
    own = list(_users(authorization))
    shared = [login for account in accounts.values() for login in _users(account)]
    if authorization is not None:
        for first, second, both in (
            ("user", "token", single and token),
            ("user", "users", single and own),
            ("token", "users", token and own),
        ):
            if both:
                yield Mistake(authorization.place, f"authorization: {first} and {second} cannot be set together")
        if (single or token) and shared:
            what = "a user" if single else "a token"
            yield Mistake(authorization.place, f"authorization: {what} cannot be set beside users of accounts")
    known: set[str] = set()
    for login in (*own, *shared):
        if login.name in known:
            yield Mistake(login.node.place, f"the user {login.name[:60]!r} is given twice")
        known.add(login.name)
    yield from _unauthenticated(top, known, any(isinstance(node.value, Variable) for node in given.values()))


def _unauthenticated(top: Mapping[str, Tree], known: set[str], unclear: bool) -> Iterator[Mistake]:
    if unclear or any(name in top for name in _BY_JWT):
        return
    for block in (top, _lower(top.get("websocket") or top.get("ws")), _lower(top.get("mqtt"))):
        node = block.get("no_auth_user")
        if node is not None and isinstance(node.value, str) and node.value and node.value not in known:
            yield Mistake(node.place, f"no_auth_user: there is no user {node.value[:60]!r} in this configuration")


def _integer(node: Tree | None) -> int:
    value = node.value if node is not None else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _duration(node: Tree | None) -> int | None:
    """Nanoseconds; None if it is no duration, which is reported for the field."""
    if node is None or not isinstance(node.value, str) or not node.value:
        return None
    try:
        return go_duration(node)
    except ValueError:
        return None


def _gateways(top: Mapping[str, Tree]) -> Iterator[Mistake]:
    gateway = top.get("gateway")
    given = _lower(gateway)
    if gateway is None or not given:
        return
    if "name" not in given and any(name in given for name in ("port", "listen")):
        yield Mistake(gateway.place, "gateway: name is missing")
    cluster = _lower(top.get("cluster")).get("name")
    own = given.get("name")
    names = {node.value for node in (own, cluster) if node is not None and isinstance(node.value, str) and node.value}
    if cluster is not None and len(names) > 1:
        yield Mistake(cluster.place, "the name of the cluster must be that of its gateway")
    gateways = given.get("gateways")
    for remote in gateways.items() if gateways is not None else ():
        fields = _lower(remote)
        missing = "name" if "name" not in fields else "urls" if not {"url", "urls"} & fields.keys() else ""
        if missing and isinstance(remote.value, dict):
            yield Mistake(remote.place, f"gateway.gateways: {missing} is missing")


def _account_names(top: Mapping[str, Tree], accounts: Mapping[str, Tree]) -> Iterator[Mistake]:
    """Accounts that are named somewhere and defined nowhere."""
    if _GLOBAL in accounts:
        yield Mistake(accounts[_GLOBAL].place, f"the account {_GLOBAL} is reserved")
    known = {*accounts, _GLOBAL, _SYSTEM}
    named = [(field, top[field]) for field in ("system_account", "system") if field in top]
    leafnodes = _lower(top.get("leafnodes") or top.get("leaf"))
    authorization = leafnodes.get("authorization")
    users = _lower(authorization).get("users")
    remotes = leafnodes.get("remotes")
    for block in (authorization, *(users.items() if users else ()), *(remotes.items() if remotes else ())):
        named += [("account", node) for key, node in _lower(block).items() if key in ("account", "local")]
    for field, node in named:
        if isinstance(node.value, str) and node.value and node.value not in known:
            yield Mistake(node.place, f"{field}: there is no account {node.value[:60]!r} in this configuration")
    system = next((node.value for field, node in named if field.startswith("system")), None)
    if isinstance(system, str) and system in accounts:
        jetstream = _lower(accounts[system]).get("jetstream")
        if jetstream is not None and (isinstance(jetstream.value, dict) or jetstream.value in (True, "enabled")):
            yield Mistake(jetstream.place, "JetStream cannot be enabled for the system account")


def _imports(accounts: Mapping[str, Tree]) -> Iterator[Mistake]:
    """Exports to accounts that are not there, and imports that no export allows."""
    for account in accounts.values():
        for export in _listed(account, "exports"):
            for item in _elements(export.get("accounts")):
                if isinstance(item.value, str) and item.value not in accounts:
                    yield Mistake(item.place, f"exports: there is no account {item.value[:60]!r}")
    for name, account in accounts.items():
        for fields in _listed(account, "imports"):
            for kind in ("stream", "service"):
                if kind in fields and (refused := _refused(name, kind, _lower(fields[kind]), accounts)):
                    yield Mistake(fields[kind].place, f"imports of {name[:60]}: {refused}")


def _listed(account: Tree, field: str) -> Iterator[dict[str, Tree]]:
    for item in _elements(_lower(account).get(field)):
        yield _lower(item)


def _elements(node: Tree | None) -> Iterator[Tree]:
    return node.items() if node is not None else iter(())


_HASH = "{{account-hash"
"""What 2.14.10 and 2.15.3 replace by a hash (server: subject_transform.go)."""


def _refused(name: str, kind: str, imported: Mapping[str, Tree], accounts: Mapping[str, Tree]) -> str:
    """Why servers refuse an import; empty where they do not, or where a variable or the hash of an account decides."""
    values = [imported[field].value for field in ("account", "subject") if field in imported]
    if len(values) < 2 or not all(isinstance(value, str) and value for value in values):
        return ""
    exporter, subject = str(values[0]), str(values[1])
    if exporter not in accounts:
        return f"there is no account {exporter[:60]!r}"
    if not isinstance(accounts[exporter].value, dict):
        return f"the account {exporter[:60]!r} exports nothing"
    if _HASH in subject:
        return ""
    for export in _listed(accounts[exporter], "exports"):
        exported = export.get(kind)
        if exported is None or not isinstance(exported.value, str) or _HASH in exported.value:
            if exported is not None:
                return ""
            continue
        private = export.get("accounts")
        if private is not None and isinstance(private.value, Variable):
            return ""
        allowed = private is None or any(item.value == name for item in _elements(private)) or not private.value
        positioned = "account_token_position" in export
        if subject_contains(exported.value, subject) and (allowed or positioned):
            return ""
    return f"the account {exporter[:60]!r} has no export of the {kind} {subject[:60]!r} for it"
