"""How rules word what the kernel of a host does not show."""

from __future__ import annotations

from jsdoctor.model.finding import Finding, unknown
from jsdoctor.model.host import ServerProcess

HOW_TO_READ = "run jsdoctor with --this-host on that host as root"


def unread(server: ServerProcess, what: str) -> Finding:
    """The rule cannot judge a process of which the kernel does not show that to this user."""
    return unknown(server.subject, f"this user cannot read {what} (pid {server.pid})", HOW_TO_READ)
