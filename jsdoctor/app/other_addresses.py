"""A run that happens to connect to the one server that is cut off looks through the other given addresses, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import msgspec

from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.problems import ConnectProblem
from jsdoctor.model.exchange import Access, Endpoint, Sample
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.parse.assemble import assemble

Look = Callable[[ConnectionSettings], Awaitable[tuple[Sample, ...]]]
"""Connects with these settings and takes all samples. Raises ConnectProblem."""

_OF_ONE_SERVER = frozenset({Endpoint.VARZ, Endpoint.JSZ, Endpoint.HEALTHZ, Endpoint.ROUTEZ, Endpoint.CONNECT_INFO})
"""What the odd server reports of itself. Its view of streams is that of nobody else."""


async def seen_together(samples: tuple[Sample, ...], login: ConnectionSettings, look: Look) -> tuple[Sample, ...]:
    """The samples as they are, or those of an address that sees more of the cluster, with what the odd server reports.

    Requests are repeated only where several addresses are given and the connected server shows no leader at all.
    """
    if len(login.servers) < 2 or not _is_odd(samples):
        return samples
    for place, address in enumerate(login.servers):
        server_logins = login.server_logins[place : place + 1]
        try:
            others = await look(replace(login, servers=(address,), server_logins=server_logins))
        except ConnectProblem:
            continue
        if not _is_odd(others):
            return tuple(_with_odd_server(*pair) for pair in zip(others, _repeated(samples, len(others)), strict=True))
    return samples


def _is_odd(samples: tuple[Sample, ...]) -> bool:
    """Whether no server that responded knows a meta leader, or JetStream did not respond to a login of an account."""
    evidence = assemble(samples)
    servers = evidence.get(Servers)
    metas = [server.meta for server in servers.servers if server.meta] if servers is not None else []
    if metas:
        return not any(meta.leader for meta in metas)
    accesses = {exchange.access for sample in samples for exchange in sample.exchanges}
    return Access.ACCOUNT in accesses and evidence.get(SnapshotSeries) is None


def _repeated(samples: tuple[Sample, ...], number: int) -> Iterator[Sample]:
    """As many samples as the other look has, the last one as often as needed."""
    return (samples[min(place, len(samples) - 1)] for place in range(number))


def _with_odd_server(sample: Sample, odd: Sample) -> Sample:
    """A sample of the majority, with what the odd server reports of itself where its system account was used."""
    own = tuple(e for e in odd.exchanges if e.access is Access.SYSTEM and e.endpoint in _OF_ONE_SERVER)
    return msgspec.structs.replace(sample, exchanges=(*sample.exchanges, *own))
