"""The connection options of a command line, before they are resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """The connection options of the command line. None: not given. `timeout` is in seconds,
    `budget` in requests per second.

    `more_contexts` are further logins to collect with.
    """

    server: str | None = field(default=None, repr=False)
    context: str | None = None
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    creds: str | None = field(default=None, repr=False)
    nkey: str | None = field(default=None, repr=False)
    tlscert: str | None = None
    tlskey: str | None = None
    tlsca: str | None = None
    tlsfirst: bool | None = None
    js_domain: str | None = None
    js_api_prefix: str | None = None
    inbox_prefix: str | None = None
    timeout: float | None = None
    budget: int | None = None
    no_context: bool = False
    more_contexts: tuple[str, ...] | None = None


def connection_options(given: Mapping[str, Any]) -> ConnectionOptions:
    """The connection's share of a command's parameters, which have the names of its fields. A flag not set is None."""
    names = (field.name for field in fields(ConnectionOptions) if field.name in given)
    values = {name: given[name] for name in names}
    contexts = values.get("context") or ()
    values |= {"context": next(iter(contexts), None), "more_contexts": tuple(contexts[1:]) or None}
    options = ConnectionOptions(**values)
    return replace(options, tlsfirst=options.tlsfirst or None)
