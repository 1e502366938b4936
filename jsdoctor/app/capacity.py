"""`jsdoctor capacity`: collects evidence and computes what space there is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from jsdoctor import __version__
from jsdoctor.app.collecting import collected, need_of
from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.request import CapacityOptions
from jsdoctor.engine.capacity import capacity
from jsdoctor.model.capacity import CapacityReport, StreamRoom
from jsdoctor.model.host import HostFacts
from jsdoctor.model.option import given_options
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import History, ServerTrend, Trend
from jsdoctor.sources.request import EvidenceRequest

_NEED = need_of(
    (SnapshotSeries, Servers, Accounts, RaftGroups), (Trend, ServerTrend, History, HostFacts, ConnectedServer)
)
_STREAM_OPTIONS = ("--replicas", "--streams", "--storage", "--tag")
_MAX_STREAMS = 10_000


@dataclass(frozen=True, kw_only=True)
class CapacityRequest(CapacityOptions):
    """What the command line asked `jsdoctor capacity` for."""

    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe


def run_capacity(request: CapacityRequest, messages: Messages = LOGGED) -> CapacityReport:
    """Collect, and compute space and growth. Raises `UsageProblem`, and the problem of an unreachable deployment."""
    if not request.size and (given := [name for name in given_options(request) if name in _STREAM_OPTIONS]):
        raise UsageProblem(f"{' and '.join(given)}: room is looked for only with --size", "add --size 10GiB")
    if request.streams > _MAX_STREAMS:
        raise UsageProblem(f"--streams: room is looked for one by one, up to {_MAX_STREAMS:,}", "give fewer")
    _ = request.outputs  # those that cannot be written end the run before it begins
    config, started, wanted = load_configuration(request), datetime.now(UTC), request.wanted
    collection = collected(wanted, _NEED, config, messages, quiet=request.quiet)
    if collection.problem is not None and collection.saw_nothing:
        raise collection.problem
    room = StreamRoom(
        size=request.size,
        replicas=request.replicas,
        streams=request.streams,
        storage=request.storage,
        tags=request.tags,
        fit=None,
    )
    return CapacityReport(
        version=__version__,
        started=started,
        headline=collection.headline,
        sources=collection.origin,
        result=capacity(collection.evidence, room if request.size else None),
    )
