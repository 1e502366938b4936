"""Gathering the evidence of one run: connect, collect, parse. What cannot be had becomes a gap, never an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from jsdoctor.collect.connection import connect
from jsdoctor.collect.gather import gather
from jsdoctor.collect.problems import ConnectProblem
from jsdoctor.collect.settings import ConnectionSettings
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Source


@dataclass(frozen=True, slots=True)
class Gathered:
    """Raw samples, where they came from, and the problem that kept us from connecting, if there was one."""

    samples: tuple[Sample, ...]
    sources: tuple[Source, ...]
    problem: ConnectProblem | None = None


def gather_live(
    settings: ConnectionSettings, monitor: Sequence[str], plan: CollectionPlan, progress: Callable[[str], None]
) -> Gathered:
    """Collect from a live deployment. With monitoring endpoints and no server named anywhere, only those are asked."""
    only_monitor = bool(monitor) and settings.origins["servers"] == "default"
    started = datetime.now(UTC)
    sources = tuple(Source("live", name, started) for name in (() if only_monitor else settings.servers))
    sources += tuple(Source("live", url, started) for url in monitor)
    problem: ConnectProblem | None = None

    async def collect() -> tuple[Sample, ...]:
        nonlocal problem
        if only_monitor:
            return await gather(None, monitor, plan, progress=progress)
        try:
            progress(f"connecting to {', '.join(settings.servers)}")
            async with connect(settings) as connection:
                prefix = settings.js_api_prefix
                return await gather(connection, monitor, plan, js_api_prefix=prefix, progress=progress)
        except ConnectProblem as error:
            problem = error
        seen = await gather(None, monitor, plan, progress=progress) if monitor else ()
        return (*seen, Sample(taken_at=started, exchanges=(), gaps=(_no_connection(problem),)))

    return Gathered(asyncio.run(collect()), sources, problem)


def _no_connection(problem: ConnectProblem) -> Gap:
    return Gap(kind="connection", subject=CLUSTER, reason=problem.message, how_to_get=problem.hint)
