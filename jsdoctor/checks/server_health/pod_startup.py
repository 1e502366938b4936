"""JSD839: probes that end a server before it has read its store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed, unknown
from jsdoctor.model.kubernetes import ContainerProbe, KubernetesFacts, ProbeScope, ServerPod
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.wording import counted

_FAILED = ("Startup probe failed", "Liveness probe failed")


@check("server_health.pod_startup")
def pod_startup(kubernetes: KubernetesFacts, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Judge each pod: by a start that a probe ended lately, else by the time that its probe allows for a start."""
    recent = timedelta(seconds=params.number("recent") / 1_000_000_000)
    shown = {server.name: server for server in servers.servers} if servers else {}
    for pod in kubernetes.pods:
        probe = _deciding_probe(pod)
        if pod.deleting or probe is None:
            continue
        if (why := _probe_failure(kubernetes, pod, recent)) is not None:
            yield _ended_finding(kubernetes, pod, probe, why)
        else:
            yield _judged(kubernetes, pod, probe, shown.get(pod.name), params)


def _deciding_probe(pod: ServerPod) -> ContainerProbe | None:
    """The probe that decides how long a start may take: the liveness probe waits for a startup probe."""
    probe = pod.container.startup or pod.container.liveness
    # Until its store is read a server opens no port for clients and fails every health check; /varz and / respond.
    waits = probe is not None and (probe.scope is not ProbeScope.PROCESS or not probe.path)
    return probe if waits else None


def _probe_failure(facts: KubernetesFacts, pod: ServerPod, recent: timedelta) -> str | None:
    """The message of the probe that ended a run lately, or None."""
    server = pod.container
    if not server.restarts or server.ended_at is None or facts.at - server.ended_at > recent:
        return None
    for warning in facts.warnings or ():
        if warning.name == pod.name and warning.message.startswith(_FAILED) and server.ended != "OOMKilled":
            late = warning.last is None or abs(warning.last - server.ended_at) <= timedelta(minutes=10)
            return warning.message if late else None
    return None


def _ended_finding(facts: KubernetesFacts, pod: ServerPod, probe: ContainerProbe, why: str) -> Finding:
    server = pod.container
    return failed(
        pod.subject,
        f"Kubernetes ends it while it starts: {why}; its probe allows {probe.patience_s} s, and it was"
        f" restarted {counted(server.restarts, 'time')}. Each start reads the store from the beginning",
        facts.observed("warnings.message", why),
        facts.observed(f"pods.{pod.name}.container.restarts", server.restarts),
        severity=Severity.ERROR,
        measured=(server.restarts, 0, "count"),
        remedy={**facts.remedy},
    )


def _judged(
    facts: KubernetesFacts, pod: ServerPod, probe: ContainerProbe, server: Server | None, params: Params
) -> Finding:
    stats = server.jetstream if server else None
    if stats is None or server is None:
        how = "allow `get` on pods/proxy, or give a NATS login"
        return unknown(pod.subject, "how much it has to read when it starts is not known", how)
    needed = stats.storage / params.number("read_rate")
    if needed <= probe.patience_s:
        return passed(pod.subject)
    kind = "startup" if pod.container.startup else "liveness"
    return failed(
        pod.subject,
        f"its {kind} probe allows {probe.patience_s} s for a start, and after a run that did not end in order a"
        f" server reads all that it stores: {stats.storage:,} bytes, {needed:.0f} s at"
        f" {params.number('read_rate') / 1e6:.0f} MB/s. Kubernetes then ends it again and again",
        _patience(facts, pod, kind, probe),
        server.observed("storage", stats.storage),
        measured=(int(needed), probe.patience_s, "s"),
        remedy={**facts.remedy},
    )


def _patience(facts: KubernetesFacts, pod: ServerPod, kind: str, probe: ContainerProbe) -> Observation:
    reported = f"initialDelaySeconds {probe.delay_s}, periodSeconds {probe.period_s}, failureThreshold {probe.failures}"
    return facts.observed(f"pods.{pod.name}.container.{kind}", reported)
