"""Collects what a request names, and finds where things are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from jsdoctor import __version__
from jsdoctor.app.collecting import collected, need_of
from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.request import WhereOptions
from jsdoctor.engine.where import where
from jsdoctor.model.account_mappings import AccountMappings
from jsdoctor.model.connections import Subscriptions
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.whereabouts import WhereReport
from jsdoctor.sources.request import EvidenceRequest


@dataclass(frozen=True, kw_only=True)
class WhereRequest(WhereOptions):
    """What the command line asked `jsdoctor where` for."""

    asked: tuple[str, ...] = ()
    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe


def run_where(request: WhereRequest, messages: Messages = LOGGED) -> WhereReport:
    """Collect once and look for each name. Raises the problem of a deployment that cannot be reached."""
    _ = request.outputs  # those that cannot be written end the run before it begins
    config, started, wanted = load_configuration(request), datetime.now(UTC), request.wanted
    further = (AccountMappings, Subscriptions) if any("#" not in name for name in request.asked) else ()
    need = need_of((SnapshotSeries,), (Servers, ConnectedServer, *further))
    collection = collected(wanted, need, config, messages, quiet=request.quiet)
    if collection.problem is not None and collection.saw_nothing:
        raise collection.problem
    return WhereReport(
        version=__version__,
        started=started,
        headline=collection.headline,
        sources=collection.origin,
        results=where(collection.evidence, *request.asked, logins=collection.logins),
    )
