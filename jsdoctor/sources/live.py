"""A live deployment: what is requested of it, and with which logins."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import msgspec

from jsdoctor.configuration.file import Configuration
from jsdoctor.engine.planner import CollectionPlan, plan_collection, plan_scan
from jsdoctor.sources.base import Collection, Need, Reading, Role, Run, Source
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connection import resolve_logins
from jsdoctor.sources.request import LiveRequest

_DEFAULT_SAMPLES = 2
_DEFAULT_INTERVAL_S = 2.0


@dataclass(frozen=True, slots=True)
class LiveDeployment(Source):
    """A deployment that is queried now, with each login and through monitoring ports."""

    request: LiveRequest
    connection: ConnectionOptions
    options: tuple[str, ...] = ()
    role = Role.DEPLOYMENT
    connects = True

    def plan(self, need: Need, config: Configuration, timeout_s: float) -> CollectionPlan:
        """What is requested: by the command line, else the configuration file, else the default."""
        request, ntp = self.request, self.request.ntp or config.ntp or ()
        samples, interval_s = pace(request, config)
        if need.checks is None:
            return CollectionPlan(
                samples=samples,
                interval_s=interval_s,
                timeout_s=timeout_s,
                ntp=ntp,
                scan=request.scan,
                scan_ids=bool(request.scan),
                scan_contents=request.digests,
                host=request.host,
                addresses=request.addresses,
            )
        plan = plan_collection(
            need.checks,
            samples,
            interval_s,
            timeout_s,
            ntp,
            host=request.host,
            addresses=request.addresses,
        )
        return plan_scan(plan, need.checks, request.scan, request.digests)

    def monitored(self, config: Configuration) -> tuple[str, ...]:
        """The monitoring addresses that the command line names, else the configuration file."""
        return self.request.monitor or config.monitor or ()

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """Collect with each login at the same time.

        With monitoring endpoints and no server named anywhere, only the endpoints are queried; nothing is
        queried if another source was to give the endpoints and has none. Raises UsageProblem for an invalid NTP host or
        monitoring URL.
        """
        logins = resolve_logins(self.connection, run.config)
        monitor = (*self.monitored(run.config), *collection.monitor)
        plan = self.plan(need, run.config, logins[0].timeout_s)
        unnamed = logins[0].origins["servers"] == "default"
        if unnamed and not monitor and collection.readings:
            return nullcontext(Reading())
        if need.checks is not None:
            plan = msgspec.structs.replace(plan, keep_bodies=False)
        from jsdoctor.sources.gathering import gathered  # asyncio and nats-py take a fifth of a second to load

        return nullcontext(gathered(logins, monitor, plan, run.show, only_monitor=bool(monitor) and unnamed))


def pace(request: LiveRequest, config: Configuration) -> tuple[int, float]:
    """The number of samples, and seconds from the start of one to the start of the next."""
    configured_s = config.interval_ns / 1e9 if config.interval_ns is not None else _DEFAULT_INTERVAL_S
    interval_s = configured_s if request.interval_s is None else request.interval_s
    return request.samples or config.samples or _DEFAULT_SAMPLES, interval_s
