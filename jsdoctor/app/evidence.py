"""Collects the evidence of one run, live or from a bundle. Missing evidence becomes a gap, never an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from jsdoctor.collect.bundle.read import BundleProblem, Captured, read_bundle
from jsdoctor.collect.clock.ntp_host import parse_ntp_host
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.problems import ConnectProblem, Problem
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.logins import NO_LOGINS, Logins
from jsdoctor.model.report import Source
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.logins import logins_of, of_several_logins


@dataclass(frozen=True, slots=True)
class Gathered:
    """Raw samples, their sources, and the problem that prevented access to them, if any.

    `captured_at` is when they were captured, None if they are live. `bundle` is the content of the bundle, if it was
    one. `logins` are those that servers accepted.
    """

    samples: tuple[Sample, ...]
    sources: tuple[Source, ...]
    problem: Problem | None = None
    captured_at: datetime | None = None
    bundle: Captured | None = None
    logins: Logins = NO_LOGINS

    @property
    def has_logs_alone(self) -> bool:
        """Whether it is a bundle of logs without samples of a deployment."""
        reported = any(sample.exchanges or sample.gaps for sample in self.samples)
        return self.bundle is not None and self.bundle.has_logs and not reported


def gather_live(
    logins: Sequence[ConnectionSettings], monitor: Sequence[str], plan: CollectionPlan, progress: Callable[[str], None]
) -> Gathered:
    """Collect from a live deployment with each login at the same time.

    With monitoring endpoints and no server named anywhere, only the endpoints are queried. Raises UsageProblem for an
    invalid NTP host or monitoring URL.
    """
    # Checks of captured evidence and of logs do without: nats-py takes a sixth of a second to load.
    from jsdoctor.collect.connect.connection import connect
    from jsdoctor.collect.connect.tls import plan_tls
    from jsdoctor.collect.gather import gather

    if plan.host:
        from jsdoctor.collect.host.reading import require_linux

        require_linux()
    settings = logins[0]
    only_monitor = bool(monitor) and settings.origins["servers"] == "default"
    started = datetime.now(UTC)
    named = dict.fromkeys(server for login in logins for server in login.servers)
    names = [*(() if only_monitor else named), *_shown(monitor)]
    live = (Source("live", name, started) for name in names)
    sources = (*live, *(Source("ntp", parse_ntp_host(host).text, started) for host in plan.ntp))
    tls = plan_tls(settings).context if monitor else None
    problems: list[Problem] = []
    # Clocks and true time are measured once.
    further = msgspec.structs.replace(plan, clocks=False, ntp=())

    async def samples_of(number: int, login: ConnectionSettings) -> tuple[Sample, ...]:
        """All samples of a login; those of the first login include the monitoring endpoints."""
        ask = partial(gather, plan=further if number else plan, progress=progress, monitor_tls=tls)
        asked = () if number else monitor
        if only_monitor:
            return await ask(None, asked)

        async def through(settings: ConnectionSettings) -> tuple[Sample, ...]:
            progress(f"connecting to {', '.join(settings.servers)}")
            async with connect(settings) as connection:
                return await ask(connection, asked, js_api_prefix=settings.js_api_prefix)

        try:
            return await seen_together(await through(login), login, through)
        except ConnectProblem as problem:
            problems.append(problem)
            unconnected = Sample(taken_at=started, exchanges=(), gaps=(_gap("connection", problem),))
            return (*(await ask(None, asked) if asked else ()), unconnected)

    async def collect() -> list[tuple[Sample, ...]]:
        return await asyncio.gather(*(samples_of(number, login) for number, login in enumerate(logins)))

    before = _host() if plan.host else ()
    by_login = asyncio.run(collect())
    samples = of_several_logins(by_login) if len(by_login) > 1 else by_login[0]
    samples = with_exchanges(samples, before, _host() if plan.host else ())
    known = logins_of(samples, [login.flags for login in logins])
    return Gathered(samples, sources, problems[0] if problems else None, logins=known)


def _host() -> tuple[Exchange, ...]:
    from jsdoctor.collect.host.reading import read_host

    return (read_host(),)


def with_exchanges(
    samples: tuple[Sample, ...], first: Sequence[Exchange] = (), last: Sequence[Exchange] = ()
) -> tuple[Sample, ...]:
    """Samples with more exchanges in the first and in the last of them."""
    added = list(samples)
    for place, more in ((0, first), (-1, last)):
        added[place] = msgspec.structs.replace(added[place], exchanges=(*added[place].exchanges, *more))
    return tuple(added)


def emptied(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples without the bodies of their replies and what was decoded of them: what was requested when."""
    return tuple(
        msgspec.structs.replace(
            sample, exchanges=tuple(msgspec.structs.replace(exchange, body=b"") for exchange in sample.exchanges)
        )
        for sample in samples
    )


def _shown(monitor: Sequence[str]) -> list[str]:
    """Monitoring addresses without their logins; those behind Kubernetes are one source, its namespace."""
    if not monitor:
        return []
    from jsdoctor.collect.live.monitor_url import parse_monitor_url

    return [url.base for url in map(parse_monitor_url, monitor) if not url.socket]


def gather_bundle(path: Path) -> Gathered:
    """Read what was captured. Raises UsageProblem where there is no such file."""
    try:
        captured = read_bundle(path)
    except BundleProblem as problem:
        now = datetime.now(UTC)
        unread = Sample(taken_at=now, exchanges=(), gaps=(_gap("bundle", problem),))
        return Gathered((unread,), (Source("bundle", str(path), now),), problem)
    samples = captured.samples
    kept = (exchange for sample in samples for exchange in sample.exchanges if exchange.endpoint is Endpoint.PACKETS)
    packets = (Source("pcap", f"{path}!{exchange.target}", exchange.asked_at) for exchange in kept)
    services = (Source(service.kind, f"{path}!{service.name}", service.asked_at) for service in captured.log_services)
    sources, at = (Source("bundle", str(path), captured.created), *packets, *services), samples[0].taken_at
    return Gathered(samples, sources, captured_at=at, bundle=captured)


def _gap(kind: str, problem: Problem) -> Gap:
    return Gap(kind=kind, subject=CLUSTER, reason=problem.message, how_to_get=problem.hint)


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
