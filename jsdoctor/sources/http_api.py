"""HTTP APIs beside a deployment, such as Prometheus and Loki: how one gets in, and what they reply."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx2

from jsdoctor.sources.servers.monitor_url import DIRECT, MonitorUrl


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAccess:
    """Where an API is and how to get in. Token and headers are secrets: they are never shown."""

    url: MonitorUrl
    token: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 30.0
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def client(self, headers: Mapping[str, str] | None = None) -> httpx2.Client:
        """A client for its requests. `headers` are sent besides those of the access."""
        every = {**(headers or {}), **self.headers}
        if self.token:
            every["Authorization"] = f"Bearer {self.token}"
        secure = self.url.base.startswith("https://")
        return httpx2.Client(
            verify=(self.tls or ssl.create_default_context()) if secure else False,
            timeout=self.timeout_s,
            headers=every,
            auth=self.url.login,
            mounts=dict.fromkeys(DIRECT),
        )


class TooLargeError(Exception):
    """A reply that is larger than what is read of one."""


def body_of(response: httpx2.Response, most_bytes: int, until: float | None = None) -> bytes:
    """The body. Raises TooLargeError, and TimeoutError where it is not complete at `until` (time.monotonic)."""
    body = bytearray()
    for block in response.iter_bytes():
        body += block
        if len(body) > most_bytes:
            raise TooLargeError
        if until is not None and time.monotonic() > until:
            raise TimeoutError
    return bytes(body)
