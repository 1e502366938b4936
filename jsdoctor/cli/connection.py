"""Where to connect: the command line and the environment, else what the configuration file says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from jsdoctor.collect.connect.settings import ConnectionOptions, ConnectionSettings, resolve
from jsdoctor.parse.configuration import Configuration


def resolve_connection(options: ConnectionOptions, config: Configuration) -> ConnectionSettings:
    """The settings to connect with. Raises UsageProblem as `resolve` does."""
    return resolve(_with_configured(options, config), os.environ, _config_home())


def _with_configured(options: ConnectionOptions, config: Configuration) -> ConnectionOptions:
    """The configuration file stands in where neither the command line nor the environment names a server."""
    named = options.server or options.context or os.environ.get("NATS_URL") or os.environ.get("NATS_CONTEXT")
    timeout = options.timeout
    if timeout is None and config.timeout_ns is not None and not os.environ.get("NATS_TIMEOUT"):
        timeout = config.timeout_ns / 1e9
    if named:
        return replace(options, timeout=timeout)
    return replace(options, server=config.server, context=config.context, timeout=timeout)


def _config_home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
