"""Monitoring URLs as users write them: `http://HOST:8222`, with a login or a path where there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import httpx

from jsdoctor.collect.connect.server_urls import redact
from jsdoctor.collect.problems import UsageProblem

_EXAMPLES = "write it as http://HOST:8222 or https://HOST:8222, with http_base_path where the server has one"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class MonitorUrl:
    """One server's monitoring port. `base` has no trailing slash and no login: it is safe to show and to keep."""

    base: str
    login: tuple[str, str] | None = field(default=None, repr=False)


def parse_monitor_url(text: str, option: str = "--monitor") -> MonitorUrl:
    """Read one URL; without a scheme it is http. Raises UsageProblem, which repeats no password."""
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
        httpx.URL(base)
    except httpx.InvalidURL:
        raise UsageProblem(f"{shown} is not a URL", _EXAMPLES) from None
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username is not None else None
    return MonitorUrl(base, login)
