"""Server URLs as `nats` takes them: a comma list of `nats://`, `tls://`, `ws://`, `wss://` or bare `host:port`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.problems import UsageProblem

DEFAULT_URL = "nats://127.0.0.1:4222"
SCHEMES = ("nats", "tls", "ws", "wss")
_DEFAULT_PORTS = {"nats": 4222, "tls": 4222, "ws": 80, "wss": 443}
_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE)
# What follows a colon and is no port may be a password: the comma in nats://user:pass,word@host cuts the URL there.
_NO_PORT = re.compile(r"^((?:[a-z][a-z0-9+.-]*://)?[^:/@\[]*:)(?!/)(?!\d+(?:/|$)).+", re.IGNORECASE)
_EXAMPLES = "write it as nats://HOST:4222, tls://HOST:4222, wss://HOST:443 or HOST:4222, several separated by commas"


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """One server: its address, and the login if the URL contains one (percent-decoded).

    A userinfo without a password is a token (nats.go `Conn.connectProto`), kept in `token`.
    """

    scheme: str
    host: str
    port: int
    path: str = ""
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The URL without userinfo: safe to show and to pass on."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    @property
    def has_login(self) -> bool:
        """Whether the URL carries a user or a token."""
        return self.user is not None or self.token is not None

    @property
    def websocket(self) -> bool:
        """Whether NATS travels inside a WebSocket here."""
        return self.scheme in ("ws", "wss")


def parse_servers(text: str, origin: str) -> tuple[ServerUrl, ...]:
    """The servers of a comma list, in order, each once. `origin` (`--server`, `NATS_URL`, ...) is named in errors.

    Raises UsageProblem for anything that is not such a list.
    """
    parts = [part.strip() for part in text.split(",")]
    servers = tuple(dict.fromkeys(_parse_one(part, origin) for part in parts if part))
    if not servers:
        raise UsageProblem(f"{origin}: no server URL in {text!r}", _EXAMPLES)
    return servers


def redact(url: str) -> str:
    """The URL, good or bad, without the secret part of its userinfo: `nats://user:***@host:4222`."""
    match = _USERINFO.match(url)
    if not match:
        return _NO_PORT.sub(r"\1***", url)
    scheme = match[1] or ""
    user, colon, _ = match[0][len(scheme) :].partition(":")
    return f"{scheme}{f'{user}:' if colon else ''}***@{url[match.end() :]}"


def _parse_one(text: str, origin: str) -> ServerUrl:
    shown = f"{origin}: {redact(text)!r}"
    # A slash at the end means nothing, except after the scheme.
    text = text if text.endswith("://") else text.removesuffix("/")
    try:
        parts = urlsplit(text if "://" in text else f"nats://{text}")
    except ValueError:
        raise UsageProblem(f"{shown} is not a server URL: it cannot be read", _EXAMPLES) from None
    scheme = parts.scheme
    if scheme in ("http", "https"):
        raise UsageProblem(
            f"{shown} is an HTTP address, not a NATS server URL",
            f"give monitoring endpoints with --monitor; for the NATS port, {_EXAMPLES}",
        )
    if scheme not in SCHEMES:
        near = did_you_mean(scheme, SCHEMES)
        raise UsageProblem(f"{shown} has the unknown scheme {scheme!r}{near}", _EXAMPLES)
    if reason := _why_invalid(parts):
        raise UsageProblem(f"{shown} is not a server URL: {reason}", _EXAMPLES)
    user, password, token = _login(parts)
    return ServerUrl(
        scheme=scheme,
        host=parts.hostname or "",
        port=parts.port or _DEFAULT_PORTS[scheme],
        path=parts.path if scheme in ("ws", "wss") else "",
        user=user,
        password=password,
        token=token,
    )


def _why_invalid(parts: SplitResult) -> str:
    """Why this cannot be a server, or nothing. Quotes nothing: what stands in a wrong place may be a password."""
    place = parts.netloc.rpartition("@")[2]
    if place.count(":") > 1 and not place.startswith("["):
        return "an IPv6 address goes into brackets, as in nats://[::1]:4222"
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        return "the port is not a number from 1 to 65535"
    if parts.hostname in (None, "", "none"):  # nats-py takes "none" for no host
        return "it names no host"
    if any(character.isspace() or not character.isprintable() for character in place):
        return "the host has a space or a control character in it"
    if parts.query or parts.fragment or (parts.path and parts.scheme in ("nats", "tls")):
        return "nothing may follow the port (percent-encode /, ? and # in a user name or password)"
    return ""


def _login(parts: SplitResult) -> tuple[str | None, str | None, str | None]:
    """User, password and token of the userinfo."""
    if not parts.username and not parts.password:
        return None, None, None
    name = unquote(parts.username or "")
    if parts.password is None:
        return None, None, name
    return name, unquote(parts.password), None
