"""Readings of the host that jsdoctor ran on, out of the exchanges of a run."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.host import HostFacts, HostReading
from jsdoctor.parse.replies import ReplyError, decode


def host_facts(exchanges: Iterable[Exchange]) -> tuple[HostFacts | None, list[Gap]]:
    """The readings, oldest first, and a gap where the host showed no server."""
    readings: list[HostReading] = []
    gaps: list[Gap] = []
    for exchange in exchanges:
        if exchange.endpoint is Endpoint.HOST:
            try:
                readings.append(decode(exchange.body, HostReading))
            except ReplyError as error:
                gaps.append(_gap(exchange.target, f"the reading of host {exchange.target} cannot be read: {error}"))
    if not readings:
        return None, gaps
    facts = HostFacts(tuple(sorted(readings, key=lambda reading: reading.at)))
    if not facts.last.processes:
        gaps.append(_gap(facts.last.host, f"no nats-server process is visible on host {facts.last.host}"))
    return facts, gaps


def _gap(host: str, reason: str) -> Gap:
    return Gap(
        kind="host",
        subject=Subject(kind="cluster", name=f"host {host}"),
        reason=reason,
        how_to_get="run --host on the host of a server, as root; in a pod, in the server's process namespace",
    )
