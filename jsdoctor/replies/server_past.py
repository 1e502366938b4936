"""Servers and links over time, from evidence of several times."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.links import Links
from jsdoctor.model.server import Servers
from jsdoctor.model.server_past import PastSample, ServerPast

_MIN_SAMPLES = 3
"""Minimum number of samples: the last two are the present, earlier ones the past."""


def past_sample(evidence: EvidenceSet) -> PastSample | None:
    """The servers and links that it shows, as checks may read them; None without any server."""
    shown = evidence.for_checks()
    servers, links = shown.get(Servers), shown.get(Links)
    if servers is None or not servers.servers:
        return None
    at = max(server.at for server in servers.servers)
    return PastSample(at, servers.servers, links.servers if links is not None else ())


def server_past(samples: Iterable[PastSample | None]) -> ServerPast | None:
    """These samples, oldest first. None for fewer than three."""
    past = tuple(sample for sample in samples if sample is not None)
    return ServerPast(past) if len(past) >= _MIN_SAMPLES else None
