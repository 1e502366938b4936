"""The connection options of a command line, before they are resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from jsdoctor.model.duration import parse_positive_seconds
from jsdoctor.model.option import option, request_from


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """Where to connect and as whom.

    None: not given. `timeout` is in seconds, `budget` in requests per second. `more_contexts` are further logins to
    collect with. Variables are read where they are merged with contexts.
    """

    server: Annotated[
        str | None, option("--server", "-s", metavar="URL", help="Server URLs, comma-separated.", variable="NATS_URL")
    ] = field(default=None, repr=False)
    context: Annotated[
        str | None,
        option(
            "--context",
            metavar="NAME",
            help="nats context to use; repeat to add logins.",
            variable="NATS_CONTEXT",
            repeated=True,
        ),
    ] = None
    user: Annotated[
        str | None, option("--user", metavar="USER", help="User name, or a token.", variable="NATS_USER")
    ] = field(default=None, repr=False)
    password: Annotated[
        str | None, option("--password", metavar="PASS", help="Password.", variable="NATS_PASSWORD")
    ] = field(default=None, repr=False)
    token: Annotated[str | None, option("--token", metavar="TOKEN", help="Token.", variable="NATS_TOKEN")] = field(
        default=None, repr=False
    )
    creds: Annotated[str | None, option("--creds", metavar="FILE", help="Credentials file.", variable="NATS_CREDS")] = (
        field(default=None, repr=False)
    )
    nkey: Annotated[
        str | None, option("--nkey", metavar="FILE", help="File with an nkey seed.", variable="NATS_NKEY")
    ] = field(default=None, repr=False)
    tlscert: Annotated[
        str | None, option("--tlscert", metavar="FILE", help="TLS client certificate.", variable="NATS_CERT")
    ] = None
    tlskey: Annotated[str | None, option("--tlskey", metavar="FILE", help="TLS client key.", variable="NATS_KEY")] = (
        None
    )
    tlsca: Annotated[
        str | None, option("--tlsca", metavar="FILE", help="TLS certificate authorities.", variable="NATS_CA")
    ] = None
    tlsfirst: Annotated[bool | None, option("--tlsfirst", help="Start TLS before the server sends INFO.")] = None
    js_domain: Annotated[str | None, option("--js-domain", metavar="NAME", help="JetStream domain.")] = None
    js_api_prefix: Annotated[str | None, option("--js-api-prefix", metavar="SUBJECT", help="JetStream API prefix.")] = (
        None
    )
    inbox_prefix: str | None = None
    timeout: Annotated[
        float | None,
        option(
            "--timeout",
            metavar="DURATION",
            help="Maximum wait for one response, e.g. 5s.",
            parse=parse_positive_seconds,
            variable="NATS_TIMEOUT",
            default="5s",
        ),
    ] = None
    budget: Annotated[
        int | None,
        option("--budget", metavar="N", help="Requests to NATS per second at most.", least=1, default="no limit"),
    ] = None
    no_context: Annotated[bool, option("--no-context", help="Ignore the selected nats context.")] = False
    more_contexts: tuple[str, ...] | None = None


def connection_options(given: Mapping[str, Any]) -> ConnectionOptions:
    """The options of a connection among those that were given."""
    options = request_from(ConnectionOptions, {**given, "context": None})
    contexts = tuple(given.get("context") or ())
    return replace(options, context=next(iter(contexts), None), more_contexts=contexts[1:] or None)
