"""What the host that jsdoctor runs on says of its own nats-server processes: volumes, limits, processor time, clock.

A value that the kernel does not show to this user is None.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Finding, Observation, Subject, unknown

HOW_TO_READ = "run jsdoctor with --this-host on that host as root"


class Volume(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file system that a directory is on. Sizes are bytes; `available` is what users without privileges can write.

    `inodes` is 0 for file systems that do not count them. `problem`: why its sizes are not known. `directory` is the
    device and the inode of the store directory itself, empty where it does not exist: equal for two servers in it.
    """

    mount: str = ""
    fs_type: str = ""
    read_only: bool = False
    total: int = 0
    available: int = 0
    inodes: int = 0
    free_inodes: int = 0
    problem: str = ""
    directory: str = ""


class ServerProcess(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A nats-server process. `name` is its server name where its arguments or its configuration have one.

    `cpu_periods` and `cpu_throttled` count the enforcement periods of its cgroup's processor limit since the cgroup was
    made, and those in which the limit stopped it; None without a limit.
    """

    name: str
    pid: int
    store_dir: str = ""
    volume: Volume | None = None
    open_files: int | None = None
    max_open_files: int | None = None
    cpu_periods: int | None = None
    cpu_throttled: int | None = None

    @property
    def subject(self) -> Subject:
        """The server."""
        return Subject(kind="server", name=self.name)

    def unread(self, what: str) -> Finding:
        """That the kernel does not show this user `what`, so that a rule cannot judge the process."""
        return unknown(self.subject, f"this user cannot read {what} (pid {self.pid})", HOW_TO_READ)


class KernelClock(msgspec.Struct, frozen=True, kw_only=True):
    """The clock as the kernel knows it (adjtimex)."""

    synchronised: bool


class HostReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The host at one moment of its own clock."""

    host: str
    at: datetime
    clock: KernelClock | None = None
    processes: tuple[ServerProcess, ...] = ()

    def observed(self, path: str, value: object) -> Observation:
        """A value of this reading as evidence."""
        return Observation(source=f"host {self.host}", path=path, value=value, at=self.at)


class HostFacts(Evidence, frozen=True):
    """Readings of one host, oldest first; at least one."""

    source = EvidenceSource.HOST
    parts = ("host",)
    unavailable = not_offered(
        "no host of a server was checked", "run jsdoctor on the host of a server with --this-host, as root", kind="host"
    )
    endpoints = (Endpoint.HOST,)

    readings: tuple[HostReading, ...]

    @property
    def last(self) -> HostReading:
        """The newest."""
        return self.readings[-1]
