"""GET by one client for all tests: making a client reads the certificates of all authorities, which takes 25 ms."""

from collections.abc import Mapping

import httpx2

# No connection is kept: the next server on a port is another one.
_CLIENT = httpx2.Client(verify=False, timeout=5, trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))


def get(url: str, params: Mapping[str, str] | None = None, timeout: float = 5) -> httpx2.Response:
    """The response, within so many seconds. Raises httpx2.HTTPError."""
    return _CLIENT.get(url, params=params, timeout=timeout)
