"""Where to connect: the command line and the environment, else what the configuration file says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from jsdoctor.collect.connect.contexts import config_home
from jsdoctor.collect.connect.settings import ConnectionOptions, ConnectionSettings, resolve
from jsdoctor.parse.configuration import Configuration


def connection_options(given: Mapping[str, Any]) -> ConnectionOptions:
    """The connection's share of a command's parameters, which have the names of its fields. A flag not set is None."""
    names = (field.name for field in fields(ConnectionOptions) if field.name in given)
    options = ConnectionOptions(**{name: given[name] for name in names})
    return replace(options, tlsfirst=options.tlsfirst or None)


def resolve_connection(options: ConnectionOptions, config: Configuration) -> ConnectionSettings:
    """The settings to connect with. Raises UsageProblem as `resolve` does."""
    return resolve(_with_configured(options, config), os.environ, config_home(os.environ))


def _with_configured(options: ConnectionOptions, config: Configuration) -> ConnectionOptions:
    """The configuration file stands in where neither the command line nor the environment names a server."""
    named = options.server or options.context or os.environ.get("NATS_URL") or os.environ.get("NATS_CONTEXT")
    timeout = options.timeout
    if timeout is None and config.timeout_ns is not None and not os.environ.get("NATS_TIMEOUT"):
        timeout = config.timeout_ns / 1e9
    if named:
        return replace(options, timeout=timeout)
    return replace(options, server=config.server, context=config.context, timeout=timeout)
