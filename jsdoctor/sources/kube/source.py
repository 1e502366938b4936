"""Kubernetes: the pods of servers in a namespace, the way to their monitoring ports, and their logs as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.kubernetes import ServerPod
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.problems import ConnectProblem, UsageProblem
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.wording import counted
from jsdoctor.sources.base import Collection, LogFiles, Need, Reading, Role, Run, Source
from jsdoctor.sources.kube.proxy import KubeApi, RefusedError, default_namespace, kube_api
from jsdoctor.sources.kube.reading import KubeSample, log_path, read_cluster
from jsdoctor.sources.request import KubeRequest

_DEFAULT_SINCE = timedelta(hours=1)
_MAX_LOG_BYTES = 512 << 20
_TIMEOUT_S = 30.0
_LOKI_HAS_THEM = Gap(
    "log",
    CLUSTER,
    "the logs of the pods were not read, as --loki has those of the same servers for longer",
    "leave --loki away to read them from the pods",
    requested=False,
)
_NOT_KEPT = 400
"""The HTTP status if a node no longer has the log of the previous run."""


@dataclass(frozen=True, slots=True)
class KubernetesPods(Source):
    """The pods of nats-server in a namespace: their state, their logs, and a way to their monitoring ports.

    `logs_elsewhere`: another service has the logs of the same servers.
    """

    request: KubeRequest
    logs_elsewhere: bool = False
    role = Role.ACCESS
    has_times = True
    connects = True

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names them."""
        return ("--kube",)

    @contextmanager
    def read(self, need: Need, run: Run, collection: Collection) -> Iterator[Reading]:
        """Objects of Kubernetes as an exchange of the last sample, and log lines as files.

        Raises UsageProblem if there is no pod of nats-server or no kubectl, and ConnectProblem if no pod can be listed.
        """
        del collection
        with (
            _open_namespace(self.request, run.show) as (api, sample),
            TemporaryDirectory(prefix="jsdoctor-kube-logs-") as directory,
        ):
            if self.logs_elsewhere:
                logs: LogFiles | None = LogFiles(paths=(), gaps=(_LOKI_HAS_THEM,))
            else:
                logs = _fetch_logs(api, sample, Path(directory), run) if need.has(LogEvidence) else None
            yield Reading(
                exchanges=(sample.exchange,),
                gaps=tuple(sample.gaps),
                origin=(EvidenceOrigin("kubernetes", f"namespace {sample.facts.namespace}", sample.facts.at),),
                monitor=tuple(sample.monitoring(api.socket)),
                logs=logs,
            )


@contextmanager
def _open_namespace(request: KubeRequest, show: Callable[[str], None]) -> Iterator[tuple[KubeApi, KubeSample]]:
    """The API, and the pods of the requested namespace. Raises UsageProblem if none of them runs nats-server."""
    namespace = request.namespace or default_namespace(request.context)
    show(f"listing the pods of namespace {namespace}")
    with kube_api(request.context, _TIMEOUT_S) as api:
        sample = read_cluster(api, namespace)
        if not sample.facts.pods:
            raise UsageProblem(
                f"--kube: no pod in namespace {namespace} runs an image of nats-server",
                "name the namespace: -n NAMESPACE; find it: kubectl get pods -A -l app.kubernetes.io/name=nats",
            )
        yield api, sample


def _fetch_logs(api: KubeApi, sample: KubeSample, directory: Path, run: Run) -> LogFiles:
    """Write the logs of the pods to files in the directory."""
    now = datetime.now(UTC)
    until = run.window.until if run.window else None
    since = (run.window.since if run.window else None) or (until or now) - _DEFAULT_SINCE
    since_s = max(1, int((now - since).total_seconds()) + 1)
    gaps: list[Gap] = []
    names: dict[str, str] = {}
    series: dict[str, str] = {}
    for pod in sample.facts.pods:
        for previous in (True, False) if pod.container.restarts else (False,):
            run.show(f"reading the log of {pod.name}{' before its restart' if previous else ''}")
            path = directory / f"{pod.name}{'.previous' if previous else ''}.log"
            gap = _write_log(api, sample, pod, path, since_s, previous)
            if gap is not None:
                gaps.append(gap)
            if path.exists() and path.stat().st_size:
                names[str(path)] = f"kube/{path.name}"
                series[str(path)] = pod.name
    if not names and not gaps:
        subject = Subject(kind="cluster", name=f"namespace {sample.facts.namespace}")
        reason = f"no pod of namespace {sample.facts.namespace} has logged a line since {since:%Y-%m-%d %H:%M:%S}Z"
        gaps.append(Gap("log", subject, reason, "give an earlier --since"))
    return LogFiles(
        paths=tuple(names),
        service=EvidenceOrigin("logs", f"pods of namespace {sample.facts.namespace}", now),
        names=names,
        series=series,
        windowed=until is None,  # the API knows no end
        words=f"logs of {counted(len(set(series.values())), 'pod')} of namespace {sample.facts.namespace}",
        gaps=tuple(gaps),
        incomplete=bool(gaps),
    )


def _write_log(
    api: KubeApi, sample: KubeSample, pod: ServerPod, path: Path, since_s: int, previous: bool
) -> Gap | None:
    """Write one log. Returns a gap where the API refuses it, or where it is longer than what is read."""
    try:
        with path.open("wb") as file:
            size = sum(
                map(file.write, api.lines(log_path(sample.facts, pod, since_s, _MAX_LOG_BYTES, previous=previous)))
            )
    except RefusedError as error:
        if previous and error.status == _NOT_KEPT:
            return None
        return _log_gap(
            pod, f"Kubernetes refuses the log: {error}", "allow `get` on pods/log in the namespace of the pods"
        )
    except ConnectProblem as problem:
        return _log_gap(pod, problem.message, problem.hint)
    if size >= _MAX_LOG_BYTES:
        return _log_gap(pod, f"only the first {size >> 20} MiB of its log were read", "give a later --since")
    return None


def _log_gap(pod: ServerPod, reason: str, how_to_get: str) -> Gap:
    return Gap("log", Subject(kind="server", name=pod.name), f"{pod.name}: {reason}", how_to_get)
