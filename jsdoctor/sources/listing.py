"""The sources of a request. A new source is a module and a line here; its module is imported where it is requested."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.option import given_options
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.base import Role, Source
from jsdoctor.sources.request import EvidenceRequest

_SAMPLING = ("--samples", "--interval")
_LOGIN = ("--user", "--password", "--token", "--creds", "--nkey", "--js-domain", "--js-api-prefix")
"""Options of a connection to NATS. Certificates and the timeout also serve Prometheus and Loki."""


def sources_of(request: EvidenceRequest, *, live: bool = False) -> tuple[Source, ...]:
    """Every source that is requested. `live`: the deployment is queried whatever else there is, as a capture does.

    If no source is named, the deployment of the selected context and the environment is queried; with files, these
    two do not count. Raises `UsageProblem` for options of a live run (`--samples` and `--interval` only beside
    Prometheus) or of a login where no deployment is named.
    """
    sources = list(_requested_sources(request))
    has_deployment = any(source.role is Role.DEPLOYMENT for source in sources)
    has_files = any(source.role is Role.BESIDE for source in sources) or request.files
    has_evidence = bool(has_deployment or has_files or request.prometheus.url)
    connection_flags, live_flags = given_options(request.connection), given_options(request.live)
    naming_options = (request.connection.server, request.connection.context, request.live.monitor, request.kube.wanted)
    is_live = live or any(naming_options) or (request.captured.history is not None and not has_deployment)
    if has_evidence and not (is_live or has_deployment):
        unusable = [name for name in live_flags if request.prometheus.url or name not in _SAMPLING]
        unusable += [name for name in connection_flags if name in _LOGIN]
        if unusable:
            verb = "needs" if len(unusable) == 1 else "need"
            raise UsageProblem(
                f"{' and '.join(unusable)} {verb} a connection, and none is named", "add -s URL or --context NAME"
            )
    if is_live or not has_evidence or (has_deployment and (connection_flags or live_flags)):
        from jsdoctor.sources.live import LiveDeployment

        options = (*connection_flags, *live_flags, *(["--kube"] if request.kube.wanted else []))
        sources.insert(0, LiveDeployment(request.live, request.connection, options))
        has_deployment = True
    if request.prometheus.url:
        from jsdoctor.sources.prometheus.source import PrometheusMetrics

        sources.append(
            PrometheusMetrics(request.prometheus, request.connection, request.queries.shown, is_past=has_deployment)
        )
    return tuple(sources)


def _requested_sources(request: EvidenceRequest) -> Iterator[Source]:
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
