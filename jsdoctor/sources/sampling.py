"""Takes samples of a live deployment: determines what the login may read, then samples as often as the plan requires.

Longest time, with T the plan's timeout: one T to find out who responds, then for each sample that of its slowest source
(the module of each source documents it), and the interval between. A server that does not respond costs its T once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime

import msgspec

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.sources.clock.servers import all_clocks, clocks_of_account
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.servers.account import AccountSource
from jsdoctor.sources.servers.ack_metrics import AckListener, are_sampled
from jsdoctor.sources.servers.addresses import try_addresses
from jsdoctor.sources.servers.ask import Asker, NoReplyError, Why
from jsdoctor.sources.servers.collection_result import CollectionResult, LiveSource, Progress, no_progress
from jsdoctor.sources.servers.leader_interest import ask_leader_interest
from jsdoctor.sources.servers.near_subjects import ask_near_subjects
from jsdoctor.sources.servers.system import SystemSource, find_servers
from jsdoctor.sources.servers.unanswered import unanswered

DEFAULT_API_PREFIX = "$JS.API"

ReadClocks = Callable[[Iterable[Exchange], CollectionResult], Awaitable[None]]
"""Reads the clocks that one access shows into a collection result, given the first sample's exchanges."""


async def gather(
    connection: Connection | None,
    monitor_urls: Iterable[str],
    plan: CollectionPlan,
    progress: Progress = no_progress,
    *,
    js_api_prefix: str = DEFAULT_API_PREFIX,
    monitor_tls: ssl.SSLContext | None = None,
) -> tuple[Sample, ...]:
    """Take the samples of the plan, oldest first. Nothing is written to the deployment.

    Every reading of a sample is later than all of the sample before, except for consumers of idle streams, which keep
    their earlier reading (`rest`); within a sample, only the readings' own times show their order. Evidence that could
    not be collected is a gap of the sample without it. The result has fewer samples than planned if no source responds
    any more. Raises UsageProblem for an invalid monitoring URL or NTP host.
    Stored messages are read after the last sample, so that the load of reading them affects no rate. Clocks are read in
    the wait after the first sample, when no other requests delay the replies.
    """
    sources: list[LiveSource] = []
    clocks: list[ReadClocks] = []
    first = CollectionResult()
    true_time = _ask_ntp(plan)
    if urls := tuple(monitor_urls):
        sources.append(_monitor_source(urls, plan, monitor_tls))
        clocks.append(_monitored_clocks(urls, plan, monitor_tls))
    if connection:
        first.exchanges.append(_greeting(connection))
        progress("finding out what this login may see")
        source, clocks_of_connection = await _source_of(connection, plan, js_api_prefix, first)
        sources.append(source)
        clocks.append(clocks_of_connection)
    samples: list[Sample] = []
    sampled = sources
    listener: AckListener | None = None
    due_at = 0.0
    while sources and len(samples) < plan.samples:
        await _wait_until(due_at, progress)
        sampled = sources
        sample, begun_at = await _collect(sources, first, _numbered(progress, len(samples) + 1, plan.samples))
        due_at, first = begun_at + plan.interval_s, CollectionResult()
        samples.append(sample if samples else await _with_clocks(sample, clocks if plan.clocks else (), true_time))
        if connection and plan.ack_metrics and len(samples) == 1 and are_sampled(sample.exchanges):
            listener = AckListener(connection)
            await listener.begin()
        sources = [source for source in sources if not source.exhausted]
    if samples:
        samples[-1] = _extended(samples[-1], *await asyncio.gather(*(source.repeat(progress) for source in sampled)))
    if listener:
        await listener.into(received := CollectionResult())
        samples[-1] = _extended(samples[-1], received)
    if connection and samples:
        samples[-1] = _extended(samples[-1], await _follow_up(connection, samples, plan, js_api_prefix, progress))
    if plan.scan and samples:
        seen = {exchange.access for sample in samples for exchange in sample.exchanges}
        reader = None if Access.SYSTEM in seen else connection
        samples[-1] = _extended(samples[-1], await _scan(reader, js_api_prefix, plan, progress))
    return tuple(samples)


async def _follow_up(
    connection: Connection, samples: list[Sample], plan: CollectionPlan, js_api_prefix: str, progress: Progress
) -> CollectionResult:
    """Requests that are sent once after the last sample, if the samples show that they are needed."""
    asker, collection = Asker(connection, plan.timeout_s), CollectionResult()
    if plan.near_subjects:
        await ask_near_subjects(asker, js_api_prefix, samples, collection)
    if plan.interest:
        collection.exchanges += await ask_leader_interest(asker, samples)
    if plan.addresses:
        progress("trying the addresses that servers give to clients")
        collection.exchanges.append(await try_addresses(connection))
    return collection


def _ask_ntp(plan: CollectionPlan) -> asyncio.Task[CollectionResult] | None:
    """Start the NTP queries: their servers may be distant and slow, so they run in parallel to everything else."""
    if not plan.ntp:
        return None
    from jsdoctor.sources.clock.ntp import ask_ntp
    from jsdoctor.sources.clock.ntp_host import parse_ntp_host

    return asyncio.create_task(ask_ntp([parse_ntp_host(host) for host in plan.ntp], plan.timeout_s))


async def _with_clocks(
    sample: Sample, clocks: Iterable[ReadClocks], true_time: asyncio.Task[CollectionResult] | None
) -> Sample:
    """The sample with the clocks of all servers, and the replies of NTP servers."""
    collection = CollectionResult()
    await asyncio.gather(*(read(sample.exchanges, collection) for read in clocks))
    return _extended(sample, collection, await true_time if true_time else CollectionResult())


async def _scan(
    reader: Connection | None, js_api_prefix: str, plan: CollectionPlan, progress: Progress
) -> CollectionResult:
    """Read stored messages with `reader`, a connection to an account that can have streams of its own."""
    from jsdoctor.sources.scan.scan import not_scanned, scan_streams

    collection = CollectionResult()
    if reader is None:
        collection.gaps += not_scanned(plan)
    else:
        await scan_streams(reader, js_api_prefix, plan, collection, progress)
    return collection


def _extended(sample: Sample, *collections: CollectionResult) -> Sample:
    exchanges = (exchange for collection in collections for exchange in collection.exchanges)
    gaps = (gap for collection in collections for gap in collection.gaps)
    return msgspec.structs.replace(sample, exchanges=(*sample.exchanges, *exchanges), gaps=(*sample.gaps, *gaps))


def _monitored_clocks(urls: Iterable[str], plan: CollectionPlan, tls: ssl.SSLContext | None) -> ReadClocks:
    from jsdoctor.sources.clock.monitoring import monitored_clocks
    from jsdoctor.sources.servers.monitor_url import parse_monitor_url

    parsed = [parse_monitor_url(url) for url in urls]
    return lambda _, collection: monitored_clocks(parsed, tls, plan.timeout_s, collection)


def _monitor_source(urls: Iterable[str], plan: CollectionPlan, tls: ssl.SSLContext | None) -> LiveSource:
    # The import of an HTTP client takes as long as all others together, and most runs need none.
    from jsdoctor.sources.servers.monitor import MonitorSource
    from jsdoctor.sources.servers.monitor_url import parse_monitor_url

    return MonitorSource([parse_monitor_url(url) for url in urls], plan, tls)


async def _source_of(
    connection: Connection, plan: CollectionPlan, js_api_prefix: str, first: CollectionResult
) -> tuple[LiveSource, ReadClocks]:
    """The source for the login: the system account queries all servers; it has no JetStream of its own to query."""
    asker = Asker(connection, plan.timeout_s)
    try:
        roster = await find_servers(asker)
        return SystemSource(asker, roster, plan), lambda _, collection: all_clocks(
            asker, len(roster.present), collection
        )
    except NoReplyError as error:
        if error.why in (Why.LATE, Why.FLOODED) or connection.server_info.get("acc_is_sys"):
            first.gaps.append(unanswered(error, "endpoint", CLUSTER, plan.timeout_s))
        source = AccountSource(asker, js_api_prefix, plan)
        return source, lambda sample, collection: clocks_of_account(asker, js_api_prefix, sample, collection)


async def _collect(sources: Iterable[LiveSource], first: CollectionResult, progress: Progress) -> tuple[Sample, float]:
    """One sample of all sources at once, and when its last round of readings was begun."""
    taken_at = datetime.now(UTC)
    collections = [first, *await asyncio.gather(*(source.sample(progress) for source in sources))]
    sample = Sample(
        taken_at=taken_at,
        exchanges=tuple(exchange for collection in collections for exchange in collection.exchanges),
        gaps=tuple(gap for collection in collections for gap in collection.gaps),
    )
    return sample, max(collection.begun_at for collection in collections)


def _numbered(progress: Progress, number: int, total: int) -> Progress:
    return (lambda text: progress(f"sample {number} of {total}: {text}")) if total > 1 else progress


async def _wait_until(due_at: float, progress: Progress) -> None:
    """Wait until `due_at`: rates need time between readings, counted from the begin of their last round."""
    left_s = due_at - asyncio.get_running_loop().time()
    if left_s > 0:
        progress(f"waiting {left_s:.1f} s for the next sample")
        await asyncio.sleep(left_s)


def _greeting(connection: Connection) -> Exchange:
    """The INFO of the connected server, which every client receives."""
    body = msgspec.json.encode(dict(connection.server_info))
    return Exchange(Access.CLIENT, Endpoint.CONNECT_INFO, connection.url, datetime.now(UTC), 0, body)
