"""Links that were there and are gone, while the servers that had them still run with the same configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from jsdoctor.checks.servers.health import started_at
from jsdoctor.model.links import ServerLinks
from jsdoctor.model.partial import shown_or
from jsdoctor.model.server import Server
from jsdoctor.model.server_past import PastSample, ServerPast


class LinksOverTime(msgspec.Struct, frozen=True):
    """The links of a server since it has had its present configuration, oldest first: what it had and lacks is gone.

    `present` are the last two samples.
    """

    server: Server
    earlier: tuple[ServerLinks, ...]
    present: tuple[ServerLinks, ServerLinks]


def links_over_time(past: ServerPast) -> Iterator[LinksOverTime]:
    """Every server that runs now and showed links before, by name. One without links now has links without any."""
    for server in past.samples[-1].servers:
        since = _configured_at(server)
        before, now = (_links_of(server, sample) for sample in past.present)
        earlier = tuple(
            links
            for sample in past.earlier
            if (links := _links_of(server, sample)) and _is_same(since, _configured_then(server.name, sample))
        )
        if earlier:
            yield LinksOverTime(server, earlier, (before or _none(server), now or _none(server)))


def before_fall(counts: Sequence[int], now: int) -> list[int]:
    """The counts of earlier samples before they fell to what they are now; none where they did not, or not for good.

    One sample with more may be the moment of a change, so a fall takes two of them.
    """
    before = list(counts)
    while before and before[-1] <= now:
        before.pop()
    return before if len(before) > 1 and min(before) > now else []


def _configured_at(server: Server) -> datetime | None:
    """When a server took its configuration: at its start, or at its last reload. None: not shown."""
    return shown_or(lambda: server.varz.config_load_time if server.varz else None, None) or started_at(server)


def _is_same(time: datetime | None, other: datetime | None) -> bool:
    """Exporters cut fractions of a second off."""
    return time is not None and other is not None and abs((time - other).total_seconds()) < 1


def _configured_then(name: str, sample: PastSample) -> datetime | None:
    return next((_configured_at(server) for server in sample.servers if server.name == name), None)


def _links_of(server: Server, sample: PastSample) -> ServerLinks | None:
    return next((links for links in sample.links if links.server == server.name), None)


def _none(server: Server) -> ServerLinks:
    return ServerLinks(server=server.name, cluster=server.cluster, at=server.at)
