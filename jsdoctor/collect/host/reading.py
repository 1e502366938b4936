"""One reading of this host: its clock and its nats-server processes."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime

import msgspec

from jsdoctor.collect.host.kernel_clock import kernel_clock
from jsdoctor.collect.host.processes import server_processes
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.host import HostReading


def require_linux() -> None:
    """Raises UsageProblem where there is no /proc to read."""
    if sys.platform != "linux":
        raise UsageProblem("--host reads /proc, which only Linux has", "run it on a Linux host of a server")


def read_host() -> Exchange:
    """This host now. What the kernel does not show to this user is left out of the reading."""
    at = datetime.now(UTC)
    reading = HostReading(
        host=platform.node(),
        at=at,
        kernel=f"{platform.system()} {platform.release()}",
        clock=kernel_clock(),
        processes=tuple(server_processes()),
    )
    return Exchange(Access.HOST, Endpoint.HOST, platform.node(), at, 0, msgspec.json.encode(reading))
