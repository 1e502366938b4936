"""JSD827 and JSD828: what the store directory of a server is on, and how full that is."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.host import HOW_TO_READ, HostFacts, HostReading, ServerProcess, Volume
from jsdoctor.model.params import Params

_NETWORK_TYPES = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "glusterfs"),
        *("fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.juicefs", "fuse.blobfuse", "fuse.gcsfuse"),
    }
)
"""Network file systems. Network block devices (iSCSI, Ceph RBD, EBS) have ordinary file systems, and are not meant."""
_GB = 1_000_000_000
_TEMPORARY_TYPES = {
    "tmpfs": "it is in memory and is gone after a restart of the host",
    "ramfs": "it is in memory and is gone after a restart of the host",
    "overlay": "it is the container's own layer and is gone with the container",
}


@check("server_health.store_volume_kind")
def store_volume_kind(host: HostFacts) -> Iterator[Finding]:
    """Judge the type of the file system of each store directory."""
    for place, server, volume in _stores(host.last):
        if volume is None:
            yield server.unread("the mounts of its process")
        elif volume.fs_type in _NETWORK_TYPES or volume.fs_type in _TEMPORARY_TYPES:
            network = volume.fs_type in _NETWORK_TYPES
            text = f"is on {volume.fs_type}: {_TEMPORARY_TYPES.get(volume.fs_type)}"
            if network:
                text = f"is on a network file system ({volume.fs_type}, mounted on {volume.mount}): locks and syncs are"
                text += " not those that the server counts on"
            yield failed(
                server.subject,
                f"its store directory {server.store_dir} {text}",
                host.last.observed(f"{place}.volume.fs_type", volume.fs_type),
                severity=None if network else Severity.INFO,
                measured=(volume.fs_type, None, None),
            )
        else:
            yield passed(server.subject)


@check("server_health.store_volume_full")
def store_volume_full(host: HostFacts, params: Params) -> Iterator[Finding]:
    """Judge the free space and inodes on the volume of each store directory."""
    for place, server, volume in _stores(host.last):
        if volume is None:
            yield server.unread("the mounts of its process")
        elif volume.read_only:
            text = f"the volume of its store directory {server.store_dir} is mounted read-only"
            yield failed(server.subject, text, host.last.observed(f"{place}.volume.read_only", True))
        elif volume.problem:
            reason = f"the volume {volume.mount} of its store directory: {volume.problem}"
            yield unknown(server.subject, reason, HOW_TO_READ)
        else:
            yield _fullness(host.last, place, server, volume, params)


def _fullness(reading: HostReading, place: str, server: ServerProcess, volume: Volume, params: Params) -> Finding:
    warn, critical = params.number("warning"), params.number("error")
    shares = [("available", volume.available / volume.total)] if volume.total else []
    shares += [("free_inodes", volume.free_inodes / volume.inodes)] if volume.inodes else []
    if not shares:
        return unknown(server.subject, f"the volume {volume.mount} does not tell its size", HOW_TO_READ)
    field, share = min(shares, key=lambda share: share[1])
    if share > warn:
        return passed(server.subject)
    room = f"{volume.available / _GB:,.1f} of {volume.total / _GB:,.1f} GB"
    inodes = f"{volume.free_inodes:,} of {volume.inodes:,} inodes"
    return failed(
        server.subject,
        f"{inodes if field == 'free_inodes' else room} are free on {volume.mount}, the volume of its store"
        f" directory ({share:.1%})",
        reading.observed(f"{place}.volume.{field}", getattr(volume, field)),
        severity=Severity.WARNING if share > critical else None,
        measured=(share, warn if share > critical else critical, "ratio"),
    )


def _stores(reading: HostReading) -> Iterator[tuple[str, ServerProcess, Volume | None]]:
    """Each server with a store directory: its path in the reading, the server, and its volume."""
    for number, server in enumerate(reading.processes):
        if server.store_dir:
            yield f"processes[{number}]", server, server.volume
