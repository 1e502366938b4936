"""Access to an HTTP API beside a deployment: address, token and headers, and which of these are secrets."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Protocol

from jsdoctor.model.problems import UsageProblem

if TYPE_CHECKING:
    from jsdoctor.redaction.redact import Secret
    from jsdoctor.sources.connect.settings import ConnectionSettings
    from jsdoctor.sources.http_api import ApiAccess

_MIN_TIMEOUT_S = 30.0
"""Minimum timeout in seconds: queries of days of metrics or logs take longer than replies of a server."""

_SECRET_HEADER = re.compile(r"auth|token|key|secret|cookie|pass", re.IGNORECASE)
"""Names of headers whose value is a secret."""


class ApiRequest(Protocol):
    """The options of an API. Token and headers are secrets, and the URL may have a login."""

    @property
    def url(self) -> str:
        """The address."""
        ...

    @property
    def token(self) -> str:
        """The bearer token. If it is empty, the variable in `TOKENS` is read."""
        ...

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Names and values."""
        ...


TOKENS = {"--prometheus": "PROMETHEUS_TOKEN", "--loki": "LOKI_BEARER_TOKEN"}
"""The environment variable with the bearer token of each API; that of Loki has the name that logcli uses."""


def _token(option: str, request: ApiRequest) -> str:
    return request.token or os.environ.get(TOKENS[option], "")


def api_access(option: str, request: ApiRequest, settings: ConnectionSettings) -> ApiAccess:
    """The access to the API that `option` names. Raises `UsageProblem` for a URL or TLS files that cannot be used."""
    from jsdoctor.sources.connect.tls import plan_tls
    from jsdoctor.sources.http_api import ApiAccess
    from jsdoctor.sources.servers.monitor_url import parse_monitor_url

    url = parse_monitor_url(request.url, option)
    token = _token(option, request)
    if not (token.isascii() and token.isprintable()):
        raise UsageProblem(f"{option}-token: that is no token", "give it as it was issued, without line breaks")
    tls = plan_tls(settings).context if url.base.startswith("https://") else None
    if tls is not None and settings.origins.get("tls_ca") != "--tlsca":
        tls.load_default_certs()  # the CA of a context is for NATS servers, and this is another service
    return ApiAccess(
        url=url,
        token=token,
        headers=dict(request.headers),
        timeout_s=max(settings.timeout_s, _MIN_TIMEOUT_S),
        tls=tls,
    )


def api_secrets(option: str, request: ApiRequest) -> tuple[Secret, ...]:
    """The secrets of an access, which no output may contain: token, password, and headers that log in. The name of a
    tenant is no secret: a stream may have the same name. Raises `UsageProblem` for a URL that cannot be used.
    """
    from jsdoctor.redaction.redact import Secret
    from jsdoctor.sources.servers.monitor_url import parse_monitor_url

    login = parse_monitor_url(request.url, option).login
    values = [value for name, value in request.headers if _SECRET_HEADER.search(name)]
    tokens = [_token(option, request), *values, *(value.split()[-1] for value in values if value)]
    password = login[1] if login else ""
    secrets = [Secret("token", text) for text in tokens if text] + [
        Secret("password", text) for text in [password] if text
    ]
    return tuple(dict.fromkeys(secrets))


def print_query(query: str) -> None:
    """`--show-queries`: a query on stderr, before it is sent."""
    from jsdoctor.redaction.redact import scrub_line

    sys.stderr.write(f"query: {scrub_line(query)}\n")
