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
_MAX_SHOWN = 60
"""How many characters of a name are shown."""
_GLOBAL_ACCOUNT, _SYSTEM_ACCOUNT = "$G", "$SYS"


def reference_mistakes(tree: Tree) -> Iterator[Mistake]:
    """The mistakes of a whole configuration. Values of variables are not judged."""
    top = _lower_keys(tree)
    accounts = _accounts(top)
    yield from _login_mistakes(top, accounts or {})
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
    yield from _gateway_mistakes(top)
    if accounts is not None and not any(name in top for name in _BY_JWT):
        yield from _account_mistakes(top, accounts)
        yield from _import_mistakes(accounts)


def _lower_keys(tree: Tree | None) -> dict[str, Tree]:
    return {key.lower(): node for key, node in tree.entries()} if tree is not None else {}


def _is_set(fields: Mapping[str, Tree], *names: str) -> bool:
    """Whether one of them has a value that is in the file and not empty."""
    return any(
        name in fields and fields[name].value not in ("", None) and not isinstance(fields[name].value, Variable)
        for name in names
    )


def _accounts(top: Mapping[str, Tree]) -> dict[str, Tree] | None:
    """The accounts by name; None if a variable may define some."""
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


def _users_of(block: Tree | None) -> Iterator[_Login]:
    users = _lower_keys(block).get("users")
    for user in users.items() if users is not None else ():
        given = _lower_keys(user)
        for field in ("nkey", "user", "username"):
            if field in given and isinstance(name := given[field].value, str):
                yield _Login(name, user)


def _login_mistakes(top: Mapping[str, Tree], accounts: Mapping[str, Tree]) -> Iterator[Mistake]:
    """Users that are given twice, and kinds of logins that exclude each other."""
    authorization = top.get("authorization")
    given = _lower_keys(authorization)
    single, token = _is_set(given, "user", "username"), _is_set(given, "token")
    own = list(_users_of(authorization))
    shared = [login for account in accounts.values() for login in _users_of(account)]
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
            yield Mistake(login.node.place, f"the user {login.name[:_MAX_SHOWN]!r} is given twice")
        known.add(login.name)
    yield from _no_auth_user_mistakes(top, known, any(isinstance(node.value, Variable) for node in given.values()))


def _no_auth_user_mistakes(top: Mapping[str, Tree], known: set[str], unclear: bool) -> Iterator[Mistake]:
    if unclear or any(name in top for name in _BY_JWT):
        return
    for block in (top, _lower_keys(top.get("websocket") or top.get("ws")), _lower_keys(top.get("mqtt"))):
        node = block.get("no_auth_user")
        if node is not None and isinstance(node.value, str) and node.value and node.value not in known:
            yield Mistake(
                node.place, f"no_auth_user: there is no user {node.value[:_MAX_SHOWN]!r} in this configuration"
            )


def _integer(node: Tree | None) -> int:
    return (node.integer or 0) if node is not None else 0


def _duration(node: Tree | None) -> int | None:
    """Nanoseconds; None if it is no duration, which is reported for the field."""
    if node is None or not isinstance(node.value, str) or not node.value:
        return None
    try:
        return go_duration(node)
    except ValueError:
        return None


def _gateway_mistakes(top: Mapping[str, Tree]) -> Iterator[Mistake]:
    gateway = top.get("gateway")
    given = _lower_keys(gateway)
    if gateway is None or not given:
        return
    if "name" not in given and any(name in given for name in ("port", "listen")):
        yield Mistake(gateway.place, "gateway: name is missing")
    cluster = _lower_keys(top.get("cluster")).get("name")
    own = given.get("name")
    names = {node.value for node in (own, cluster) if node is not None and isinstance(node.value, str) and node.value}
    if cluster is not None and len(names) > 1:
        yield Mistake(cluster.place, "the name of the cluster must be that of its gateway")
    gateways = given.get("gateways")
    for remote in gateways.items() if gateways is not None else ():
        fields = _lower_keys(remote)
        missing = "name" if "name" not in fields else "urls" if not {"url", "urls"} & fields.keys() else ""
        if missing and isinstance(remote.value, dict):
            yield Mistake(remote.place, f"gateway.gateways: {missing} is missing")


def _account_mistakes(top: Mapping[str, Tree], accounts: Mapping[str, Tree]) -> Iterator[Mistake]:
    """Accounts that are named somewhere and defined nowhere."""
    if _GLOBAL_ACCOUNT in accounts:
        yield Mistake(accounts[_GLOBAL_ACCOUNT].place, f"the account {_GLOBAL_ACCOUNT} is reserved")
    known = {*accounts, _GLOBAL_ACCOUNT, _SYSTEM_ACCOUNT}
    named = [(field, top[field]) for field in ("system_account", "system") if field in top]
    leafnodes = _lower_keys(top.get("leafnodes") or top.get("leaf"))
    authorization = leafnodes.get("authorization")
    users = _lower_keys(authorization).get("users")
    remotes = leafnodes.get("remotes")
    for block in (authorization, *(users.items() if users else ()), *(remotes.items() if remotes else ())):
        named += [("account", node) for key, node in _lower_keys(block).items() if key in ("account", "local")]
    for field, node in named:
        if isinstance(node.value, str) and node.value and node.value not in known:
            yield Mistake(node.place, f"{field}: there is no account {node.value[:_MAX_SHOWN]!r} in this configuration")
    system = next((node.value for field, node in named if field.startswith("system")), None)
    if isinstance(system, str) and system in accounts:
        jetstream = _lower_keys(accounts[system]).get("jetstream")
        if jetstream is not None and (isinstance(jetstream.value, dict) or jetstream.value in (True, "enabled")):
            yield Mistake(jetstream.place, "JetStream cannot be enabled for the system account")


def _import_mistakes(accounts: Mapping[str, Tree]) -> Iterator[Mistake]:
    """Exports to accounts that are not there, and imports that no export allows."""
    for account in accounts.values():
        for export in _blocks(account, "exports"):
            for item in _elements(export.get("accounts")):
                if isinstance(item.value, str) and item.value not in accounts:
                    yield Mistake(item.place, f"exports: there is no account {item.value[:_MAX_SHOWN]!r}")
    for name, account in accounts.items():
        for fields in _blocks(account, "imports"):
            for kind in ("stream", "service"):
                if kind in fields and (refusal := _import_refusal(name, kind, _lower_keys(fields[kind]), accounts)):
                    yield Mistake(fields[kind].place, f"imports of {name[:_MAX_SHOWN]}: {refusal}")


def _blocks(account: Tree, field: str) -> Iterator[dict[str, Tree]]:
    for item in _elements(_lower_keys(account).get(field)):
        yield _lower_keys(item)


def _elements(node: Tree | None) -> Iterator[Tree]:
    return node.items() if node is not None else iter(())


_HASH = "{{account-hash"
"""What 2.14.10 and 2.15.3 replace by a hash (server: subject_transform.go)."""


def _import_refusal(name: str, kind: str, imported: Mapping[str, Tree], accounts: Mapping[str, Tree]) -> str:
    """Why servers refuse an import; empty if they do not, or if a variable or the hash of an account decides."""
    values = [imported[field].value for field in ("account", "subject") if field in imported]
    if len(values) < 2 or not all(isinstance(value, str) and value for value in values):
        return ""
    exporter, subject = str(values[0]), str(values[1])
    if exporter not in accounts:
        return f"there is no account {exporter[:_MAX_SHOWN]!r}"
    if not isinstance(accounts[exporter].value, dict):
        return f"the account {exporter[:_MAX_SHOWN]!r} exports nothing"
    if _HASH in subject:
        return ""
    for export in _blocks(accounts[exporter], "exports"):
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
    return f"the account {exporter[:_MAX_SHOWN]!r} has no export of the {kind} {subject[:_MAX_SHOWN]!r} for it"
