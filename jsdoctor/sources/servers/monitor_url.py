"""Monitoring URLs as users write them: `http://HOST:8222`, with a login or a path where there is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import httpx2

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.server_urls import redact

_KUBECTL = "kubectl-proxy:"
_EXAMPLES = "write it as http://HOST:8222 or https://HOST:8222, with http_base_path where the server has one"
_PORTS = {"http": 80, "https": 443}

DIRECT = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
"""No proxy lies between us and this machine, whatever the environment says."""

KUBECTL_HOST = "kubectl"
"""The host in URLs that are reached through the socket of a `kubectl proxy`."""


@dataclass(frozen=True, slots=True)
class MonitorUrl:
    """One server's monitoring port. `base` has no trailing slash and no login: it is safe to show and to keep.

    `socket` is that of a `kubectl proxy`, where the port is reached through one.
    """

    base: str
    login: tuple[str, str] | None = field(default=None, repr=False)
    socket: str = ""


def through_kubectl(socket: str, path: str) -> str:
    """The text of a URL that `parse_monitor_url` reads, for a path of the API behind a `kubectl proxy`."""
    return f"{_KUBECTL}{socket}!{path}"


def mounts_for(urls: Iterable[MonitorUrl]) -> dict[str, httpx2.AsyncBaseTransport | None]:
    """How a client reaches hosts that no proxy of the environment may come between."""
    mounts: dict[str, httpx2.AsyncBaseTransport | None] = {**DIRECT}
    for socket in {url.socket for url in urls if url.socket}:
        mounts[f"all://{KUBECTL_HOST}"] = httpx2.AsyncHTTPTransport(uds=socket)
    return mounts


def parse_monitor_url(text: str, option: str = "--monitor") -> MonitorUrl:
    """Read one URL; without a scheme it is http. Raises UsageProblem, which repeats no password."""
    if text.startswith(_KUBECTL):
        socket, _, path = text.removeprefix(_KUBECTL).partition("!")
        return MonitorUrl(f"http://{KUBECTL_HOST}{path}", socket=socket)
    shown = f"{option}: {redact(text)!r}"
    full = text.strip() if "://" in text else f"http://{text.strip()}"
    try:
        parts = urlsplit(full)
        port = parts.port
    except ValueError:
        raise UsageProblem(f"{shown} is not a URL", _EXAMPLES) from None
    if parts.scheme not in _PORTS:
        raise UsageProblem(f"{shown} has the scheme {parts.scheme!r}: it must be http or https", _EXAMPLES)
    netloc = parts.netloc.rpartition("@")[2]
    if not parts.hostname or not netloc.isprintable() or " " in netloc or port == 0:
        raise UsageProblem(f"{shown} names no host and port", _EXAMPLES)
    if parts.query or parts.fragment:
        raise UsageProblem(f"{shown}: give the address alone, the endpoints are known", _EXAMPLES)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = f"{parts.scheme}://{host}:{port or _PORTS[parts.scheme]}{parts.path.rstrip('/')}"
    try:
        httpx2.URL(base)
    except httpx2.InvalidURL:
        raise UsageProblem(f"{shown} is not a URL", _EXAMPLES) from None
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username is not None else None
    return MonitorUrl(base, login)
