"""JSD838: probes that restart a server, or hide it from clients, for the state of a stream or of other servers."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.pods import release_of
from jsdoctor.checks.servers.health import reasons
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.kubernetes import ContainerProbe, KubernetesFacts, ProbeScope, ServerPod
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted

_BEYOND_SERVER = (ProbeScope.META_GROUP, ProbeScope.ASSETS)
"""Scopes that depend on other servers as well, so that a restart of this one does not help."""


@check("server_health.pod_probes")
def pod_probes(
    kubernetes: KubernetesFacts, servers: Servers | None, snapshots: SnapshotSeries | None
) -> Iterator[Finding]:
    """Judge liveness and readiness probes. The startup probe may judge streams: a starting server has no clients."""
    shown = {server.name: server for server in servers.servers} if servers else {}
    for pod in kubernetes.pods:
        liveness, readiness = pod.container.liveness, pod.container.readiness
        if pod.deleting or not (liveness or readiness):
            continue
        server = shown.get(pod.name)
        scope = liveness.scope_at(release_of(pod, server)) if liveness else ProbeScope.PROCESS
        if liveness is not None and scope in _BEYOND_SERVER:
            group = "the meta group has no leader"
            assets = f"any one of the streams and consumers on it is not current, or {group}"
            cause = assets if liveness.scope is ProbeScope.ASSETS else group
            yield failed(
                pod.subject,
                f"its liveness probe ({liveness.path}) fails while {cause}, and after"
                f" {liveness.period_s * liveness.failures} s Kubernetes restarts it, although a restart fixes neither"
                f"{_state_text(pod, server, snapshots)}",
                kubernetes.observed(f"pods.{pod.name}.container.liveness.path", liveness.path),
                measured=(liveness.scope.value, ProbeScope.JETSTREAM.value, None),
                remedy={**kubernetes.remedy},
            )
        elif readiness is not None and readiness.scope is ProbeScope.ASSETS:
            yield _readiness_finding(kubernetes, pod, readiness, server, snapshots)
        elif scope is ProbeScope.SERVER:
            reason = "its liveness probe judges the meta group up to 2.10, and its version is not known"
            yield unknown(pod.subject, reason, "allow `get` on pods/proxy, or give a NATS login")
        else:
            yield passed(pod.subject)


def _readiness_finding(
    facts: KubernetesFacts, pod: ServerPod, probe: ContainerProbe, server: Server | None, seen: SnapshotSeries | None
) -> Finding:
    """Judge a readiness probe that judges streams: a fault if the server has replicated streams or consumers."""
    stats = server.jetstream if server else None
    if stats is None:
        reason = f"its readiness probe ({probe.path}) judges streams, and whether it has any is not known"
        return unknown(pod.subject, reason, "allow `get` on pods/proxy, or give a NATS login")
    if not stats.ha_assets:
        return passed(pod.subject)
    return failed(
        pod.subject,
        f"its readiness probe ({probe.path}) fails while any one of the replicas on it is not current, or"
        " the meta group has no leader, and Services leave it out: clients lose a server that works"
        f"{_state_text(pod, server, seen)}",
        facts.observed(f"pods.{pod.name}.container.readiness.path", probe.path),
        measured=(probe.scope.value, ProbeScope.META_GROUP.value, None),
        remedy={**facts.remedy},
    )


def _state_text(pod: ServerPod, server: Server | None, seen: SnapshotSeries | None) -> str:
    """Half a sentence: how many streams the server leads, and whether its health check fails now."""
    streams = seen.last.led_streams() if seen else ()
    led = sum(1 for stream in streams if stream.cluster is not None and stream.cluster.leader == pod.name)
    leads = f"; it leads {counted(led, 'stream')}" if led else ""
    if server is None or server.health is None or server.health.status in ("", "ok"):
        return leads
    why = next((reason.error for reason in reasons(server)), server.health.status)
    return f"{leads}; its health check fails now ({why})"
