"""Collects what a request names, and finds where things are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from jsdoctor import __version__
from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.request import WhereOptions
from jsdoctor.checks.registry import Check
from jsdoctor.engine.where import where
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.whereabouts import WhereReport
from jsdoctor.sources.base import Need, Run
from jsdoctor.sources.collect import collect
from jsdoctor.sources.listing import sources_of
from jsdoctor.sources.request import EvidenceRequest

_NEEDED = Check(
    name="where",
    predicate=lambda: iter(()),
    required={"series": SnapshotSeries},
    optional={"servers": Servers, "connected": ConnectedServer},
    takes_params=False,
)


@dataclass(frozen=True, kw_only=True)
class WhereRequest(WhereOptions):
    """What the command line asked `jsdoctor where` for."""

    asked: tuple[str, ...] = ()
    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe


def run_where(request: WhereRequest, messages: Messages = LOGGED) -> WhereReport:
    """Collect once and look for each name. Raises the problem of a deployment that cannot be reached."""
    _ = request.outputs  # those that cannot be written end the run before it begins
    config, started, wanted = load_configuration(request), datetime.now(UTC), request.wanted
    with messages.progress(request.quiet) as show:
        run = Run(config, show, messages.notice, wanted.window, wanted.reader, wanted.events)
        collection = collect(sources_of(wanted), Need((_NEEDED,), ()), run)
    if collection.problem is not None and collection.saw_nothing:
        raise collection.problem
    return WhereReport(
        version=__version__,
        started=started,
        headline=collection.headline,
        sources=collection.origin,
        results=where(collection.evidence, *request.asked),
    )
