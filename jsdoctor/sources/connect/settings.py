"""Connection settings, merged from command line, `NATS_*` variables, context and defaults, in this order of precedence.

The files, names and precedence are those of the `nats` CLI (v0.5.0 `loadContext`), with one intended difference: `nats`
merges each value alone, so that a user in the selected context silently overrides `--creds` on the command line. Here,
the source of highest precedence that contains a login decides (see `identity`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from jsdoctor.model.duration import parse_duration
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.contexts import Context, find_context, selection_file
from jsdoctor.sources.connect.credentials import Login, LoginKind, creds_login, jwt_login, nkey_login
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.secret_refs import (
    expand_path,
    nsc_profile,
    read_path,
    resolve_literal,
    resolve_material,
    scheme_of,
)
from jsdoctor.sources.connect.server_urls import DEFAULT_URL, ServerUrl, parse_servers

FLAGS, ENVIRONMENT, CONTEXT, DEFAULT = range(4)

_VARIABLES = {
    "server": "NATS_URL",
    "user": "NATS_USER",
    "password": "NATS_PASSWORD",
    "token": "NATS_TOKEN",
    "creds": "NATS_CREDS",
    "nkey": "NATS_NKEY",
    "user_jwt": "NATS_JWT",
    "user_seed": "NATS_SEED",
    "tlscert": "NATS_CERT",
    "tlskey": "NATS_KEY",
    "tlsca": "NATS_CA",
    "timeout": "NATS_TIMEOUT",
    "socks_proxy": "NATS_SOCKS_PROXY",
}
# Names of settings whose JSON key is another; all others are the same.
_JSON_KEYS = {
    "server": "url",
    "tlscert": "cert",
    "tlskey": "key",
    "tlsca": "ca",
    "js_domain": "jetstream_domain",
    "js_api_prefix": "jetstream_api_prefix",
}
_LOGINS = ("user", "creds", "nkey", "user_jwt", "token")
"""Settings that are a login. Within one source, the first counts, as in natscontext `NATSOptions`."""


class ResolvedSetting(NamedTuple):
    """A value, the label of its source (`--creds`, `NATS_CREDS`, `key 'creds' of context 'x'`), and its rank."""

    value: str | None
    origin: str
    rank: int


NOT_FOUND = ResolvedSetting(None, "default", DEFAULT)


@dataclass(frozen=True, slots=True)
class Layer:
    """The non-empty values of one source, by setting, and the label of each."""

    values: Mapping[str, str] = field(repr=False)
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Layers:
    """All sources, in the order FLAGS, ENVIRONMENT, CONTEXT."""

    layers: tuple[Layer, ...]

    def at(self, rank: int, name: str) -> ResolvedSetting:
        """The value in one source."""
        layer = self.layers[rank]
        value = layer.values.get(name)
        return ResolvedSetting(value, layer.labels[name], rank) if value else NOT_FOUND

    def pick(self, name: str) -> ResolvedSetting:
        """The value in the source of highest precedence that has one."""
        return next((result for rank in range(len(self.layers)) if (result := self.at(rank, name)).value), NOT_FOUND)


def gather(flags: Mapping[str, str], environ: Mapping[str, str], context: Context | None) -> Layers:
    """All sources of one run. `flags` are the values of the command line, by setting.

    The old `nsc` key of a context stands for a URL and a creds file: `nsc` is run if one of them is needed. Raises
    UsageProblem if it gives no usable output.
    """
    variables = {name: value for name, variable in _VARIABLES.items() if (value := environ.get(variable))}
    stored: dict[str, str] = {}
    labels: dict[str, str] = {}
    if context:
        names = {key: name for name, key in _JSON_KEYS.items()}
        stored = {names.get(key, key): value for key, value in context.values.items()}
        labels = {name: key_label(_JSON_KEYS.get(name, name), context) for name in stored}
    if "nsc" in stored and not (_has_login(flags, variables) and ("server" in flags or "server" in variables)):
        profile = nsc_profile(stored["nsc"], environ, labels["nsc"])
        stored = {"creds": profile.creds, "server": profile.servers} | stored
        labels = {"creds": labels["nsc"], "server": labels["nsc"]} | labels
    return Layers(
        (
            Layer(flags, {name: f"--{name.replace('_', '-')}" for name in flags}),
            Layer(variables, _VARIABLES),
            Layer(stored, labels),
        )
    )


def key_label(key: str, context: Context) -> str:
    """The label of a value of a context: key, context and file."""
    return f"key {key!r} of context {context.name!r} ({context.path})"


def _has_login(*places: Mapping[str, str]) -> bool:
    return any(name in place for place in places for name in _LOGINS)


DEFAULT_TIMEOUT_S = 5.0
DEFAULT_API_PREFIX = "$JS.API"
DEFAULT_INBOX_PREFIX = "_INBOX"
_NO_PROXY = ("none", "NONE", "-")  # natscontext `WithSocksProxy`

_FLAGS = (
    *("server", "user", "password", "token", "creds", "nkey", "tlscert", "tlskey", "tlsca"),
    *("js_domain", "js_api_prefix", "inbox_prefix"),
)


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Everything `connect` needs, ready to use. Its repr shows no secret.

    `servers` carry no userinfo: safe to show. `server_logins` are the logins of the URLs that contain one, in the same
    order (empty: no URL does); `login` is for all others. With `tls_required`, a server without TLS is refused.
    `budget` limits the requests per second; None: no limit. `flags` lead other commands to this login.
    `origins` maps the name of each other field to the source of its value (`--server`, `NATS_URL`, `default`, ...).
    """

    servers: tuple[str, ...] = (DEFAULT_URL,)
    login: Login = Login()  # noqa: RUF009 - frozen, so one shared instance is safe
    server_logins: tuple[Login, ...] = ()
    tls_required: bool = False
    tls_first: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    js_api_prefix: str = DEFAULT_API_PREFIX
    inbox_prefix: str = DEFAULT_INBOX_PREFIX
    timeout_s: float = DEFAULT_TIMEOUT_S
    budget: int | None = None
    context_name: str | None = None
    flags: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def resolve(options: ConnectionOptions, environ: Mapping[str, str], config_home: Path) -> ConnectionSettings:
    """Merge options, environment and context. Reads the files that these name; connects to nothing.

    Raises UsageProblem for whatever cannot be used: an unknown context, a damaged file, a bad URL, half a key pair.
    """
    context, context_origin = _context(options, environ, config_home)
    flags = {name: value for name in _FLAGS if (value := getattr(options, name))}
    layers = gather(flags, environ, context)
    _refuse_unsupported(layers)
    server = layers.pick("server")
    servers = parse_servers(server.value or DEFAULT_URL, server.origin)
    login, login_rank = choose_login(layers, environ)
    server_logins = url_logins(servers, server.origin) if server.rank <= login_rank else ()
    if server_logins and server.rank == login_rank == FLAGS:
        raise UsageProblem(f"{login.origin} and the login inside --server contradict each other", "give one of them")
    cert, key, ca = (_tls_file(layers.pick(name), environ) for name in ("tlscert", "tlskey", "tlsca"))
    _require_pair(layers)
    in_url = next(filter(None, server_logins), None) if server.rank == FLAGS else None
    given = in_url or (login if login_rank == FLAGS else None)
    tls_first, tls_first_origin = _tls_first(options, context)
    api_prefix, api_origin = _api_prefix(layers)
    inbox = layers.pick("inbox_prefix")
    timeout_s, timeout_origin = _timeout(options, layers)
    return ConnectionSettings(
        servers=tuple(server.url for server in servers),
        login=login,
        server_logins=server_logins,
        tls_required=tls_first or bool(cert or ca) or any(server.scheme in ("tls", "wss") for server in servers),
        tls_first=tls_first,
        tls_cert=cert,
        tls_key=key,
        tls_ca=ca,
        js_api_prefix=api_prefix,
        inbox_prefix=_subject(inbox, "an inbox prefix") if inbox.value else DEFAULT_INBOX_PREFIX,
        timeout_s=timeout_s,
        budget=options.budget,
        context_name=context.name if context else None,
        flags=command_flags(options, layers, context, tuple(server.url for server in servers), given),
        origins=MappingProxyType(
            {
                "servers": server.origin,
                "login": login.origin or "default",
                "tls_first": tls_first_origin,
                "tls_cert": layers.pick("tlscert").origin,
                "tls_key": layers.pick("tlskey").origin,
                "tls_ca": layers.pick("tlsca").origin,
                "js_api_prefix": api_origin,
                "inbox_prefix": inbox.origin,
                "timeout_s": timeout_origin,
                "budget": "--budget" if options.budget else "default",
                "context_name": context_origin,
            }
        ),
    )


def _context(options: ConnectionOptions, environ: Mapping[str, str], config_home: Path) -> tuple[Context | None, str]:
    """The context to use, and the source of its name."""
    if options.no_context:
        return None, "--no-context"
    if options.context:
        return find_context(options.context, "--context", config_home), "--context"
    if variable := environ.get("NATS_CONTEXT"):
        return find_context(variable, "NATS_CONTEXT", config_home), "NATS_CONTEXT"
    selected = find_context(None, "", config_home)
    return selected, str(selection_file(config_home)) if selected else "default"


def _refuse_unsupported(layers: Layers) -> None:
    proxy = layers.pick("socks_proxy")
    if proxy.value and proxy.value not in _NO_PROXY:
        raise UsageProblem(
            f"{proxy.origin} requests a SOCKS proxy, which jsdoctor cannot use",
            "tunnel the port instead (ssh -L 4222:NATS_HOST:4222 GATEWAY), set NATS_SOCKS_PROXY=none and add"
            " --server nats://127.0.0.1:4222",
        )
    store = layers.at(CONTEXT, "windows_cert_store")
    if store.value and not layers.pick("tlscert").value and not layers.pick("tlsca").value:
        raise UsageProblem(
            f"{store.origin} takes its certificates from the Windows store, which jsdoctor cannot read",
            "export them and give --tlscert, --tlskey and --tlsca",
        )


def _tls_file(setting: ResolvedSetting, environ: Mapping[str, str]) -> Path | None:
    if not setting.value:
        return None
    if scheme_of(setting.value) not in ("", "file"):
        raise UsageProblem(f"{setting.origin}: a TLS file must be given as a path", "save it to a file first")
    path = expand_path(setting.value, environ, setting.origin)
    read_path(path, setting.origin)
    return path


def _require_pair(layers: Layers) -> None:
    cert, key = layers.pick("tlscert"), layers.pick("tlskey")
    if bool(cert.value) != bool(key.value):
        there, missing = (cert, "--tlskey") if cert.value else (key, "--tlscert")
        what = "a client certificate without its key" if cert.value else "a client key without its certificate"
        raise UsageProblem(f"{there.origin} gives {what}", f"add {missing} FILE")


def _tls_first(options: ConnectionOptions, context: Context | None) -> tuple[bool, str]:
    if options.tlsfirst is not None:
        return options.tlsfirst, "--tlsfirst" if options.tlsfirst else "--no-tlsfirst"
    if context and context.tls_first:
        return True, key_label("tls_first", context)
    return False, "default"


def _timeout(options: ConnectionOptions, layers: Layers) -> tuple[float, str]:
    """The timeout in seconds, and its source."""
    variable = layers.pick("timeout")
    if options.timeout is not None:
        seconds, origin = options.timeout, "--timeout"
    elif variable.value:
        origin = variable.origin
        try:
            seconds = parse_duration(variable.value) / 1_000_000_000
        except ValueError as error:
            raise UsageProblem(f"{origin}: {error}", "for example: export NATS_TIMEOUT=5s") from None
    else:
        return DEFAULT_TIMEOUT_S, "default"
    if not 0 < seconds < float("inf"):
        raise UsageProblem(f"{origin}: a timeout must be longer than nothing", "for example: --timeout 5s")
    return seconds, origin


def _api_prefix(layers: Layers) -> tuple[str, str]:
    """The prefix of JetStream API subjects: `$JS.API`, that of a domain (`$JS.hub.API`), or one given as it is."""
    domain, prefix = layers.pick("js_domain"), layers.pick("js_api_prefix")
    if domain.value and prefix.value and domain.rank == prefix.rank:
        raise UsageProblem(f"{domain.origin} and {prefix.origin} exclude each other", "give one of them")
    if domain.value and domain.rank < prefix.rank:
        name = _subject(domain, "a JetStream domain")
        if "." in name:
            raise UsageProblem(f"{domain.origin}: {name!r} is not a JetStream domain", "give its name, without dots")
        return f"$JS.{name}.API", domain.origin
    if prefix.value:
        return _subject(prefix, "an API prefix"), prefix.origin
    return DEFAULT_API_PREFIX, "default"


def _subject(setting: ResolvedSetting, what: str) -> str:
    """A literal subject. A trailing dot, which older tools want, is dropped."""
    subject = (setting.value or "").removesuffix(".")
    wrong = any(token in ("", "*", ">") for token in subject.split("."))
    if wrong or any(character.isspace() or not character.isprintable() for character in subject):
        raise UsageProblem(
            f"{setting.origin}: {setting.value!r} is not {what}", "give words joined by dots: no spaces, * or >"
        )
    return subject


# The flags by which another command, `nats` or `jsdoctor`, gets the settings that this command line has set.
#
# What both read from the environment or from the selected context needs none. Secrets are named, never shown.

_VALUE_FLAGS = ("tlscert", "tlskey", "tlsca", "js_domain", "js_api_prefix", "inbox_prefix")


def command_flags(
    options: ConnectionOptions, layers: Layers, context: Context | None, servers: Sequence[str], login: Login | None
) -> tuple[str, ...]:
    """Each flag with its value. `login` is that of the command line; None: it came from another source.

    `nats` prefers a user in a context to `--creds` on the command line: the values of such a context become flags.
    """
    context_as_flags = bool(context and login and any(layers.at(CONTEXT, name).value for name in _LOGINS))
    ranks = (FLAGS, CONTEXT) if context_as_flags else (FLAGS,)

    def flags() -> Iterator[str]:
        if context_as_flags or options.no_context:
            yield "--no-context"
        elif options.context:
            yield f"--context {shlex.quote(options.context)}"
        if layers.pick("server").rank in ranks:
            yield f"-s {shlex.quote(','.join(servers))}"
        yield from _login_flags(login, options) if login else ()
        for name in _VALUE_FLAGS:
            if (setting := layers.pick(name)).value and setting.rank in ranks:
                yield f"--{name.replace('_', '-')} {shlex.quote(setting.value or '')}"
        if options.tlsfirst or (context_as_flags and context and context.tls_first):
            yield "--tlsfirst"

    return tuple(flags())


def _login_flags(login: Login, options: ConnectionOptions) -> Iterator[str]:
    match login.kind:
        case LoginKind.USER:
            yield f"--user {shlex.quote(login.user or '')}"
            if options.password or not options.user:
                yield '--password "$NATS_PASSWORD"'
        case LoginKind.TOKEN:
            yield '--token "$NATS_TOKEN"'
        case LoginKind.CREDS:
            yield f"--creds {_file_argument(options.creds, 'NATS_CREDS')}"
        case LoginKind.NKEY:
            yield f"--nkey {_file_argument(options.nkey, 'NATS_NKEY')}"
        case LoginKind.NONE:
            pass


def _file_argument(reference: str | None, variable: str) -> str:
    """A file as it was named; a variable instead of a reference that is the secret itself."""
    path = reference or ""
    return f'"${variable}"' if scheme_of(path) == "data" else shlex.quote(path)


def choose_login(layers: Layers, environ: Mapping[str, str]) -> tuple[Login, int]:
    """The login of the source with the highest precedence that has one, and its rank; else no login and DEFAULT.

    Raises UsageProblem when the command line contradicts itself or when a credential cannot be read.
    """
    given = [result.origin for name in _LOGINS if (result := layers.at(FLAGS, name)).value]
    if len(given) > 1:
        raise UsageProblem(f"{' and '.join(given)} are different ways to log in", "give one of them")
    for rank in range(len(layers.layers)):
        for kind in _LOGINS:
            result = layers.at(rank, kind)
            if result.value:
                _refuse_stray_password(layers, kind)
                return _read_login(kind, result, layers, environ), rank
    _refuse_stray_password(layers, "")
    return Login(), DEFAULT


def url_logins(servers: tuple[ServerUrl, ...], origin: str) -> tuple[Login, ...]:
    """The login in the URL of each server, in the order of the servers; empty if no URL has one."""
    if not any(server.has_login for server in servers):
        return ()
    return tuple(_url_login(server, f"the URL in {origin}") for server in servers)


def _url_login(server: ServerUrl, origin: str) -> Login:
    if server.token is not None:
        return Login(LoginKind.TOKEN, origin, token=server.token)
    if server.user is not None:
        return Login(LoginKind.USER, origin, user=server.user, password=server.password)
    return Login()


def _read_login(kind: str, setting: ResolvedSetting, layers: Layers, environ: Mapping[str, str]) -> Login:
    value, origin, _ = setting
    value = value or ""
    if kind == "user":
        return _user_login(value, setting, layers, environ)
    if kind == "token":
        return Login(LoginKind.TOKEN, origin, token=resolve_literal(value, environ, origin))
    if kind == "user_jwt":
        seed = layers.pick("user_seed")
        return jwt_login(
            resolve_literal(value, environ, origin),
            resolve_literal(seed.value, environ, seed.origin) if seed.value else None,
            origin,
        )
    material = resolve_material(value, environ, origin)
    # The reference is named in errors; the content of a data: reference is the secret itself.
    where = origin if scheme_of(value) == "data" else f"{origin} {value}"
    return creds_login(material, where) if kind == "creds" else nkey_login(material, where)


def _user_login(user: str, setting: ResolvedSetting, layers: Layers, environ: Mapping[str, str]) -> Login:
    password = layers.pick("password")
    if password.rank == CONTEXT and layers.at(CONTEXT, "user").value != user:
        password = ResolvedSetting(None, "", DEFAULT)  # that is another user's password
    if password.value:
        secret = resolve_literal(password.value, environ, password.origin)
        return Login(LoginKind.USER, setting.origin, user=user, password=secret)
    if setting.rank == CONTEXT:
        return Login(LoginKind.USER, setting.origin, user=user, password="")
    return Login(LoginKind.TOKEN, f"{setting.origin} without a password", token=user)


def _refuse_stray_password(layers: Layers, kind: str) -> None:
    if layers.at(FLAGS, "password").value and kind != "user":
        raise UsageProblem("--password is given, but no user it could belong to", "add --user NAME")
