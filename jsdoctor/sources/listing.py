"""The sources of a request. A new source is a module and a line here; its module is imported where it is requested."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.option import given_options
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.base import Role, Source
from jsdoctor.sources.request import EvidenceRequest

_PACE = ("--samples", "--interval")


def sources_of(request: EvidenceRequest, *, live: bool = False) -> tuple[Source, ...]:
    """Every source that is requested. `live`: the deployment is queried whatever else there is, as a capture does.

    Where nothing is named, it is the deployment of the selected context and the environment. Beside files, these name
    none. Raises `UsageProblem` for options of a connection where none is named.
    """
    sources = list(_named(request))
    described = any(source.role is Role.DEPLOYMENT for source in sources)
    beside = any(source.role is Role.BESIDE for source in sources) or request.files
    judged = bool(described or beside or request.prometheus.url)
    connection, measured = given_options(request.connection), given_options(request.live)
    asked = (request.connection.server, request.connection.context, request.live.monitor, request.kube.wanted)
    named = live or any(asked) or (request.captured.history is not None and not described)
    if judged and not (named or described):
        needing = [name for name in measured if request.prometheus.url or name not in _PACE]
        if needing:
            verb = "needs" if len(needing) == 1 else "need"
            raise UsageProblem(
                f"{' and '.join(needing)} {verb} a connection, and none is named", "add -s URL or --context NAME"
            )
    if named or not judged or (described and (connection or measured)):
        from jsdoctor.sources.live import LiveDeployment

        options = (*connection, *measured, *(["--kube"] if request.kube.wanted else []))
        sources.insert(0, LiveDeployment(request.live, request.connection, options))
        described = True
    if request.prometheus.url:
        from jsdoctor.sources.prometheus.source import PrometheusMetrics

        sources.append(
            PrometheusMetrics(request.prometheus, request.connection, request.queries.shown, is_past=described)
        )
    return tuple(sources)


def _named(request: EvidenceRequest) -> Iterator[Source]:
    if request.kube.wanted:
        from jsdoctor.sources.kube.source import KubernetesPods

        yield KubernetesPods(request.kube, logs_elsewhere=bool(request.loki.url))
    if request.captured.bundle:
        from jsdoctor.sources.bundle.source import BundleFile

        yield BundleFile(request.captured.bundle)
    if request.pasted:
        from jsdoctor.sources.pasted import PastedReplies

        yield PastedReplies(request.pasted)
    if request.captured.history:
        from jsdoctor.sources.history import EarlierBundles

        yield EarlierBundles(request.captured.history)
    if request.unrecognised:
        from jsdoctor.sources.unrecognised import UnrecognisedFiles

        yield UnrecognisedFiles(request.unrecognised)
    if request.logs.paths:
        from jsdoctor.sources.logs import LogPaths

        yield LogPaths(request.logs.paths)
    if request.loki.url:
        from jsdoctor.sources.loki.source import LokiLines

        yield LokiLines(request.loki, request.connection, request.queries.shown)
    if request.manifests.paths:
        from jsdoctor.sources.manifests.source import ManifestFiles

        yield ManifestFiles(request.manifests.paths)
    if request.packets.captures:
        from jsdoctor.sources.packets.source import PacketCaptures

        yield PacketCaptures(request.packets.captures)
