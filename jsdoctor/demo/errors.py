"""Why there is no server for a demonstration."""

from __future__ import annotations


class BinaryNotFoundError(Exception):
    """No nats-server on this machine; the message names the command that installs one."""


class ServerStartError(Exception):
    """The server did not come up; the message ends with the last lines of its log."""
