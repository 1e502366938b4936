"""The values of a remedy as the deployment accepts them in the state that was seen, or why it accepts none now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.server import UNLIMITED, Accounts, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

Values = Mapping[str, Any]
UNLED = "its stream has no leader and responds to nothing: bring a server that holds it back first"


def is_refused(command: str, refusal: str) -> bool:
    """Whether the deployment refuses a command for that reason. Without a leader, only lists show an asset."""
    words = command.split()
    if not refusal or words[0] != "nats" or words[1] == "server":
        return False
    return words[2] not in ("ls", "report") and (words[2] != "info" or refusal is UNLED)


class SeenState:
    """The state of the deployment according to the evidence."""

    def __init__(self, evidence: EvidenceSet) -> None:
        self._evidence = evidence

    @cached_property
    def _streams(self) -> dict[tuple[str, str], Stream]:
        series = self._evidence.get(SnapshotSeries)
        return {s.key: s for s in series.last.streams} if series is not None else {}

    def possible(self, subject: Subject, values: Values) -> tuple[Values, str]:
        """The values, limits of bytes no larger than there is storage for; and the reason if no change is accepted."""
        name = {"stream": subject.name, "consumer": subject.stream}.get(subject.kind, "")
        stream = self._streams.get((subject.account, name)) if name else None
        return _possible(stream, values, self._evidence) if stream else (values, "")


def _possible(stream: Stream, values: Values, evidence: EvidenceSet) -> tuple[Values, str]:
    if not stream.has_leader:
        return values, UNLED
    if (replicas := values.get("replicas", 1)) > 1 and (there := _running(stream, evidence)) and replicas > there:
        return values, f"{replicas} replicas need as many running servers, and {there} respond: bring one back first"
    if "max_bytes" not in values or (room := min(_rooms(stream, evidence), default=UNLIMITED)) >= values["max_bytes"]:
        return values, ""
    if room <= max(stream.config.max_bytes, stream.state.bytes):
        return values, "there is no storage left that its limit could take: raise that of the account or server first"
    # A new limit leaves half of the storage to other streams, if half is enough.
    half = room // 2 if stream.config.max_bytes <= 0 and room // 2 > stream.state.bytes else room
    return {**values, "max_bytes": half}, ""


def _rooms(stream: Stream, evidence: EvidenceSet) -> Iterator[int]:
    """The highest `max_bytes` for which the account has room, and each server that holds the stream."""
    kind, own = "memory" if stream.config.storage == "memory" else "storage", max(stream.config.max_bytes, 0)
    accounts, servers = evidence.get(Accounts), evidence.get(Servers)
    rows = accounts.accounts if accounts is not None else ()
    for tier in (tier for account in rows if account.name == stream.account for tier in account.tiers):
        limit, reserved = getattr(tier.limits, f"max_{kind}"), getattr(tier, f"reserved_{kind}")
        if tier.name in ("", f"R{stream.config.num_replicas}"):
            if 0 < limit < UNLIMITED:
                yield max(limit - reserved, 0) // (1 if tier.name else max(stream.config.num_replicas, 1)) + own
            if (largest := getattr(tier.limits, f"{kind}_max_stream_bytes")) > 0:
                yield largest
    holders = {stream.answered_by, *(replica.name for replica in (stream.cluster.replicas if stream.cluster else ()))}
    for server in servers.servers if servers is not None else ():
        if server.name in holders and server.jetstream and (config := server.jetstream.config):
            limit, reserved = getattr(config, f"max_{kind}"), getattr(server.jetstream, f"reserved_{kind}")
            if 0 < limit < UNLIMITED and reserved < UNLIMITED:
                yield max(limit - reserved, 0) + own


def _running(stream: Stream, evidence: EvidenceSet) -> int:
    """How many servers of the stream's cluster responded; 0 where that was not seen."""
    servers = evidence.get(Servers)
    cluster = stream.cluster.name if stream.cluster else ""
    known = servers.servers if servers is not None and servers.complete else ()
    return sum(server.cluster == cluster and server.jetstream is not None for server in known if server.meta)
