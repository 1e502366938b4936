"""Where to connect: the command line and the environment, else the configuration file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from jsdoctor.configuration.file import Configuration
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.contexts import config_home
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import ConnectionSettings, resolve

_LOGIN_FIELDS = ("server", "user", "password", "token", "creds", "nkey")


def resolve_connection(options: ConnectionOptions, config: Configuration) -> ConnectionSettings:
    """The settings to connect with. Raises UsageProblem as `resolve` does."""
    return resolve(_with_configured(options, config), os.environ, config_home(os.environ))


def resolve_logins(options: ConnectionOptions, config: Configuration) -> tuple[ConnectionSettings, ...]:
    """The settings of every login to collect with, the first as `resolve_connection` has it. Raises UsageProblem."""
    options = _with_configured(options, config)
    if options.more_contexts:
        given = [f"--{name}" for name in _LOGIN_FIELDS if getattr(options, name)]
        if given:
            raise UsageProblem(f"{' and '.join(given)} cannot be given with several contexts", "put it into a context")
    every = (options, *(replace(options, context=name) for name in dict.fromkeys(options.more_contexts or ())))
    return tuple(resolve(options, os.environ, config_home(os.environ)) for options in every)


def flags_of(logins: Sequence[ConnectionSettings]) -> str:
    """The flags by which a further command of jsdoctor uses these logins, each after a space."""
    return "".join(f" {flag}" for flag in dict.fromkeys(flag for login in logins for flag in login.flags))


def _with_configured(options: ConnectionOptions, config: Configuration) -> ConnectionOptions:
    """The options with values of the configuration file; its servers and contexts only if no other source names one."""
    named = options.server or options.context or os.environ.get("NATS_URL") or os.environ.get("NATS_CONTEXT")
    timeout = options.timeout
    if timeout is None and config.timeout_ns is not None and not os.environ.get("NATS_TIMEOUT"):
        timeout = config.timeout_ns / 1e9
    budget = options.budget or config.budget
    if named:
        return replace(options, timeout=timeout, budget=budget)
    contexts = config.contexts or ()
    more, first = contexts[1:] or None, next(iter(contexts), None)
    return replace(options, server=config.server, context=first, more_contexts=more, timeout=timeout, budget=budget)
