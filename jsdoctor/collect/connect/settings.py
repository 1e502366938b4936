"""Connection settings, merged from command line, `NATS_*` variables, context and defaults, in this order of precedence.

The files, names and precedence are those of the `nats` CLI (v0.5.0 `loadContext`), with one intended difference: `nats`
merges each value alone, so that a user in the selected context silently overrides `--creds` on the command line. Here,
the source of highest precedence that contains a login decides (see `identity`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from jsdoctor.collect.connect.contexts import Context, find_context, selection_file
from jsdoctor.collect.connect.credentials import Login
from jsdoctor.collect.connect.flags import command_flags
from jsdoctor.collect.connect.identity import choose_login, url_logins
from jsdoctor.collect.connect.layers import CONTEXT, FLAGS, Layers, ResolvedSetting, gather, key_label
from jsdoctor.collect.connect.options import ConnectionOptions
from jsdoctor.collect.connect.secret_refs import expand_path, read_path, scheme_of
from jsdoctor.collect.connect.server_urls import DEFAULT_URL, parse_servers
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.parse.duration import parse_duration

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
    """Seconds, and where they came from."""
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
