"""A namespace of Kubernetes as a deployment: its pods' monitoring ports, and their logs as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from jsdoctor.app.evidence import Gathered, gather_live
from jsdoctor.app.kube.options import KubeRequest
from jsdoctor.app.logs.options import FetchedLogs, LogRequest
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.kube.proxy import KubeApi, RefusedError, default_namespace, kube_api
from jsdoctor.collect.kube.reading import KubeSample, log_path, read_cluster
from jsdoctor.collect.problems import ConnectProblem, UsageProblem
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.kubernetes import ServerPod
from jsdoctor.model.report import Source
from jsdoctor.model.window import Window
from jsdoctor.model.wording import counted

_SINCE = timedelta(hours=1)
_MAX_LOG_BYTES = 512 << 20
_TIMEOUT_S = 30.0
_NOT_KEPT = 400
"""The HTTP status if a node no longer has the log of the previous run."""


def gather_through_kube(
    request: KubeRequest,
    logins: Sequence[ConnectionSettings],
    monitor: Sequence[str],
    plan: CollectionPlan,
    show: Callable[[str], None],
) -> Gathered:
    """Like `gather_live`, with the monitoring ports of the pods in a namespace, and their state in Kubernetes.

    Raises UsageProblem if there is no pod of nats-server or no kubectl, and ConnectProblem if no pod can be listed.
    """
    with _api(request, show) as (api, sample):
        asked = (*monitor, *sample.monitoring(api.socket))
        reachable = asked or logins[0].origins["servers"] != "default"
        gathered = gather_live(logins, asked, plan, show) if reachable else Gathered((), ())
    facts = sample.facts
    samples = gathered.samples or (Sample(taken_at=facts.at, exchanges=()),)
    last = msgspec.structs.replace(
        samples[-1], exchanges=(*samples[-1].exchanges, sample.exchange), gaps=(*samples[-1].gaps, *sample.gaps)
    )
    source = Source("kubernetes", f"namespace {facts.namespace}", facts.at)
    return replace(gathered, samples=(*samples[:-1], last), sources=(source, *gathered.sources))


@contextmanager
def with_kube_logs(
    request: KubeRequest, logs: LogRequest | None, window: Window | None, show: Callable[[str], None]
) -> Iterator[LogRequest]:
    """The request for logs with those of the pods added. They are files while the context lasts."""
    given = logs or LogRequest(paths=(), window=window)
    with TemporaryDirectory(prefix="jsdoctor-kube-logs-") as directory:
        with _api(request, show) as (api, sample):
            fetched, names = _fetched(api, sample, Path(directory), window, show)
        yield msgspec.structs.replace(
            given, paths=(*given.paths, *names), names={**given.names, **names}, fetched=fetched
        )


@contextmanager
def _api(request: KubeRequest, show: Callable[[str], None]) -> Iterator[tuple[KubeApi, KubeSample]]:
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


def _fetched(
    api: KubeApi, sample: KubeSample, directory: Path, window: Window | None, show: Callable[[str], None]
) -> tuple[FetchedLogs, dict[str, str]]:
    """The logs of the pods as files, and the name of each in reports."""
    now = datetime.now(UTC)
    since = window.since if window and window.since else now - _SINCE
    since_s = max(1, int((now - since).total_seconds()) + 1)
    gaps: list[Gap] = []
    names: dict[str, str] = {}
    series: dict[str, str] = {}
    for pod in sample.facts.pods:
        for previous in (True, False) if pod.container.restarts else (False,):
            show(f"reading the log of {pod.name}{' before its restart' if previous else ''}")
            path = directory / f"{pod.name}{'.previous' if previous else ''}.log"
            gap = _write(api, sample, pod, path, since_s, previous)
            if gap is not None:
                gaps.append(gap)
            if path.exists() and path.stat().st_size:
                names[str(path)] = f"kube/{path.name}"
                series[str(path)] = pod.name
    if not names and not gaps:
        subject = Subject(kind="cluster", name=f"namespace {sample.facts.namespace}")
        reason = f"no pod of namespace {sample.facts.namespace} has logged a line since {since:%Y-%m-%d %H:%M:%S}Z"
        gaps.append(Gap("log", subject, reason, "give an earlier --since"))
    words = f"logs of {counted(len(set(series.values())), 'pod')} of namespace {sample.facts.namespace}"
    source = Source("logs", f"pods of namespace {sample.facts.namespace}", now)
    return FetchedLogs(source=source, series=series, words=words, gaps=tuple(gaps), incomplete=bool(gaps)), names


def _write(api: KubeApi, sample: KubeSample, pod: ServerPod, path: Path, since_s: int, previous: bool) -> Gap | None:
    """Write one log. A gap where the API refuses it, or where it is longer than what is read."""
    try:
        with path.open("wb") as file:
            size = sum(
                map(file.write, api.lines(log_path(sample.facts, pod, since_s, _MAX_LOG_BYTES, previous=previous)))
            )
    except RefusedError as error:
        if previous and error.status == _NOT_KEPT:
            return None
        return _gap(pod, f"Kubernetes refuses the log: {error}", "allow `get` on pods/log in the namespace of the pods")
    except ConnectProblem as problem:
        return _gap(pod, problem.message, problem.hint)
    if size >= _MAX_LOG_BYTES:
        return _gap(pod, f"only the first {size >> 20} MiB of its log were read", "give a later --since")
    return None


def _gap(pod: ServerPod, reason: str, how_to_get: str) -> Gap:
    return Gap("log", Subject(kind="server", name=pod.name), f"{pod.name}: {reason}", how_to_get)
