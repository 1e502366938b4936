"""JSD816: a file store limit that does not fit the disk of its server.

From manifests: a file store limit that is not set, or leaves no room on its volume.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import jetstream_unclear, unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.manifest import DeclaredServers, Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import UNLIMITED, Servers

_USUAL_UNITS = (1_000_000, 1 << 20)
"""Configured limits are multiples of one of these; 75 % of the free space of a disk is not."""


@check("server_health.file_store_limit")
def file_store_limit(servers: Servers) -> Iterator[Finding]:
    """Find limits below what is stored, as a restart without max_file_store causes up to 2.12.

    Without it the limit is 75 % of the space that is free at the start (server: jetstream.go). Servers report neither
    whether it is set nor the size of the disk.
    """
    for server in servers.servers:
        stats = server.jetstream
        if stats is None or stats.disabled or stats.config is None or not 0 < stats.config.max_storage < UNLIMITED:
            continue
        limit = stats.config.max_storage
        if stats.storage > limit:
            yield failed(
                server.subject,
                f"it stores {stats.storage:,} bytes and its limit is {limit:,}: publishes are refused (error 10023)."
                " Either max_file_store was lowered, or it is not set and this start found less free space",
                server.observed("storage", stats.storage),
                server.observed("config.max_storage", limit),
                server.observed("version", server.version),
                measured=(stats.storage, limit, "bytes"),
            )
        elif all(limit % unit for unit in _USUAL_UNITS):
            yield unknown(
                server.subject,
                f"its limit of {limit:,} bytes may be three quarters of what was free on the disk when it started: a"
                " server does not say whether max_file_store is set, nor how large its disk is",
                "look for max_file_store in its configuration and set it below the size of the disk",
            )
        else:
            yield passed(server.subject)


_NETWORK_STORAGE = ("nfs", "efs", "azurefile", "filestore", "cephfs", "gluster", "smb", "s3")


@check("server_health.file_store_limit_declared", also_mounted=True)
def file_store_limit_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """The chart writes the size of the volume as the limit, so that Raft logs and indexes fill the rest of the disk
    first (k8s: files/config/jetstream.yaml); without a limit a server takes 75 % of what is free at each start.
    """
    largest = params.number("max_volume_fraction")
    for servers in manifests.servers:
        if unsure := jetstream_unclear(servers):
            yield unsure
        if servers.get("jetstream") is not True or servers.get("max_file_store") == 0:
            continue
        if unsure := unclear(servers, "max_file_store", "volume_bytes"):
            yield unsure
        elif servers.get("volume_bytes"):
            yield _volume_finding(servers, largest)
        elif servers.get("max_file_store") is None:
            yield failed(
                servers.subject,
                "max_file_store is not set: the limit will be 75 % of what is free on the disk at each start, and up to"
                " 2.12 a restart may put it below what is stored already, when every publish fails (error 10023)",
                servers.at("jetstream").shows("max_file_store is not set"),
                severity=Severity.WARNING,
            )
        else:
            yield passed(servers.subject)


def _volume_finding(servers: DeclaredServers, largest: float) -> Finding:
    volume, limit = servers.get("volume_bytes"), servers.get("max_file_store")
    share = (volume if limit is None else limit) / volume
    storage_class = servers.get("storage_class")
    if share > largest:
        limit_text = (
            "fileStore.maxSize is not set, so the limit is the size of the volume" if limit is None else "the limit"
        )
        more = "" if limit is None else f" is {share:.0%} of the volume"
        return failed(
            servers.subject,
            f"{limit_text}{more}: Raft logs and indexes need room beside the messages, and the disk is full before"
            f" the limit is reached; set fileStore.maxSize to {int(volume * largest) >> 20:,}Mi or less",
            servers.at("max_file_store", "volume_bytes").shows(f"volume: {volume:,} bytes"),
            severity=Severity.ERROR if share > 1 else Severity.WARNING,
            measured=(share, largest, "ratio"),
        )
    if storage_class and any(kind in storage_class.lower() for kind in _NETWORK_STORAGE):
        return failed(
            servers.subject,
            f"storage class {storage_class!r} looks like a network file system: locks and flushes are not those"
            " of a disk, and JetStream is slow on it or damages its files; use block or local volumes",
            servers.shows("storage_class", f"storageClassName: {storage_class}"),
            severity=Severity.WARNING,
        )
    return passed(servers.subject)
