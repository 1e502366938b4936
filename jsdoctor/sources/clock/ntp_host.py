"""NTP servers as users name them: `HOST`, `HOST:PORT`, an IPv6 address."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from jsdoctor.model.problems import UsageProblem

PORT = 123


@dataclass(frozen=True, slots=True)
class NtpHost:
    """Where to ask. `text` is as the user wrote it."""

    text: str
    name: str
    port: int = PORT


def parse_ntp_host(text: str) -> NtpHost:
    """Read `HOST` or `HOST:PORT`; an IPv6 address with a port is in brackets. Raises UsageProblem."""
    shown = text.strip()
    bare_ipv6 = shown.count(":") > 1 and not shown.startswith("[")
    try:
        parts = urlsplit(f"//[{shown}]" if bare_ipv6 else f"//{shown}")
        name, port = parts.hostname, parts.port
        odd = port == 0 or bool(parts.path or parts.query or parts.fragment) or "@" in shown
    except ValueError:
        name, port, odd = None, None, True
    if not name or odd or not shown.isprintable() or " " in shown:
        raise UsageProblem(f"--ntp: {shown!r} is not a host", "write it as HOST or HOST:PORT, once for each server")
    return NtpHost(shown, name, port or PORT)
