"""Takes the samples of a live deployment: with every login at once, through monitoring ports, and on this host."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import msgspec

from jsdoctor.engine.planner import CollectionPlan, plan_of_login
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.problems import ConnectProblem, Problem
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.logins import logins_of, of_several_logins
from jsdoctor.sources.base import Reading
from jsdoctor.sources.clock.ntp_host import parse_ntp_host
from jsdoctor.sources.connect.connection import connect
from jsdoctor.sources.connect.settings import ConnectionSettings
from jsdoctor.sources.connect.tls import plan_tls
from jsdoctor.sources.host import read_host, require_linux
from jsdoctor.sources.sampling import gather
from jsdoctor.sources.servers.monitor_url import parse_monitor_url


def gathered(
    logins: Sequence[ConnectionSettings],
    monitor: Sequence[str],
    plan: CollectionPlan,
    progress: Callable[[str], None],
    *,
    only_monitor: bool,
) -> Reading:
    """All samples of the plan with each login at the same time. `only_monitor`: nothing but the monitoring ports.

    Raises UsageProblem for an invalid NTP host or monitoring URL.
    """
    if plan.host:
        require_linux()
    started = datetime.now(UTC)
    named = dict.fromkeys(server for login in logins for server in login.servers)
    live = (EvidenceOrigin("live", name, started) for name in (*(() if only_monitor else named), *_monitors(monitor)))
    origin = (*live, *(EvidenceOrigin("ntp", parse_ntp_host(host).text, started) for host in plan.ntp))
    tls = plan_tls(logins[0]).context if monitor else None
    problems: list[Problem] = []

    async def samples_of(number: int, login: ConnectionSettings) -> tuple[Sample, ...]:
        """All samples of a login; those of the first login include the monitoring endpoints."""
        take = partial(gather, plan=plan_of_login(plan, number), progress=progress, monitor_tls=tls)
        monitor_urls = () if number else monitor
        if only_monitor:
            return await take(None, monitor_urls)

        async def connected_samples(settings: ConnectionSettings) -> tuple[Sample, ...]:
            progress(f"connecting to {', '.join(settings.servers)}")
            async with connect(settings) as connection:
                return await take(connection, monitor_urls, js_api_prefix=settings.js_api_prefix)

        try:
            return await seen_together(await connected_samples(login), login, connected_samples)
        except ConnectProblem as problem:
            problems.append(problem)
            gap = Gap("connection", CLUSTER, problem.message, problem.hint)
            unconnected = Sample(taken_at=started, exchanges=(), gaps=(gap,))
            return (*(await take(None, monitor_urls) if monitor_urls else ()), unconnected)

    async def samples_of_all_logins() -> list[tuple[Sample, ...]]:
        return await asyncio.gather(*(samples_of(number, login) for number, login in enumerate(logins)))

    before = _host_exchange() if plan.host else ()
    by_login = asyncio.run(samples_of_all_logins())
    samples = of_several_logins(by_login) if len(by_login) > 1 else by_login[0]
    samples = _with_exchanges(samples, before, _host_exchange() if plan.host else ())
    known = logins_of(samples, [login.flags for login in logins])
    problem = problems[0] if problems else None
    return Reading(samples=samples, origin=origin, problem=problem, logins=known, settings=logins[0])


def _host_exchange() -> tuple[Exchange, ...]:
    return (read_host(),)


def _with_exchanges(
    samples: tuple[Sample, ...], first: Sequence[Exchange], last: Sequence[Exchange]
) -> tuple[Sample, ...]:
    """The samples with the exchanges `first` added to the first, and `last` to the last of them."""
    added = list(samples)
    for position, more in ((0, first), (-1, last)):
        added[position] = msgspec.structs.replace(added[position], exchanges=(*added[position].exchanges, *more))
    return tuple(added)


def _monitors(monitor: Sequence[str]) -> list[str]:
    """Monitoring addresses without their logins; those behind Kubernetes are one source, its namespace."""
    return [url.base for url in map(parse_monitor_url, monitor) if not url.socket]


TakeSamples = Callable[[ConnectionSettings], Awaitable[tuple[Sample, ...]]]
"""Connects with these settings and takes all samples. Raises ConnectProblem."""

_OWN_STATE = frozenset({Endpoint.VARZ, Endpoint.JSZ, Endpoint.HEALTHZ, Endpoint.ROUTEZ, Endpoint.CONNECT_INFO})
"""Endpoints whose replies describe the odd server itself. Its replies on streams contradict all other servers."""


async def seen_together(
    samples: tuple[Sample, ...], login: ConnectionSettings, take_samples: TakeSamples
) -> tuple[Sample, ...]:
    """The samples; if their server knows no leader, those of another address, with what the first reports of itself.

    Requests are repeated only where several addresses are given and the connected server shows no leader at all.
    """
    if len(login.servers) < 2 or not _is_odd(samples):
        return samples
    for position, address in enumerate(login.servers):
        server_logins = login.server_logins[position : position + 1]
        try:
            others = await take_samples(replace(login, servers=(address,), server_logins=server_logins))
        except ConnectProblem:
            continue
        if not _is_odd(others):
            return tuple(_with_odd_server(*pair) for pair in zip(others, _padded(samples, len(others)), strict=True))
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


def _padded(samples: tuple[Sample, ...], number: int) -> Iterator[Sample]:
    """`number` samples: the first ones, and the last one repeated as often as needed."""
    return (samples[min(position, len(samples) - 1)] for position in range(number))


def _with_odd_server(sample: Sample, odd: Sample) -> Sample:
    """A sample of the majority, with what the odd server reports of itself where its system account was used."""
    own = tuple(e for e in odd.exchanges if e.access is Access.SYSTEM and e.endpoint in _OWN_STATE)
    return msgspec.structs.replace(sample, exchanges=(*sample.exchanges, *own))
