"""JSD840: a memory limit of a container that neither Go nor JetStream keeps to."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.pods import release_of
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts, ServerPod
from jsdoctor.model.params import Params
from jsdoctor.model.server import UNLIMITED, JetStreamStats, Server, Servers

_HOW_TO_GET = "allow `get` on pods/proxy, or give a NATS login"
_REPORTS_GOMEMLIMIT = (2, 11, 2)
"""From this version on all report it; 2.10.28 and 2.10.29 do, too (server: monitor.go Varz)."""


@check("server_health.pod_memory")
def pod_memory(kubernetes: KubernetesFacts, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Judge pods whose container has a memory limit."""
    shown = {server.name: server for server in servers.servers} if servers else {}
    for pod in kubernetes.pods:
        if pod.container.memory_limit and not pod.deleting:
            yield _judged(kubernetes, pod, shown.get(pod.name), params.number("max_share"))


def _judged(facts: KubernetesFacts, pod: ServerPod, server: Server | None, share: float) -> Finding:
    limit = pod.container.memory_limit
    seen = facts.observed(f"pods.{pod.name}.container.memory_limit", limit)
    if (memory := _memory_store(facts, pod, server, seen)) is not None:
        return memory
    reported = server.varz.gomemlimit if server and server.varz else 0
    go_limit = reported or _declared(pod, server)
    if go_limit is None:
        reason = "GOMEMLIMIT comes from a Secret or ConfigMap, and the server does not report it"
        return unknown(pod.subject, reason, f"kubectl exec {pod.name} -c {pod.container.name} -- printenv GOMEMLIMIT")
    if not go_limit:
        return failed(
            pod.subject,
            f"its container may use {limit:,} bytes and GOMEMLIMIT is not set: Go frees memory as if it had all"
            " of the node's, and Kubernetes ends the server at the limit (OOMKilled)",
            seen,
            severity=Severity.INFO,
            measured=(0, int(limit * share), "bytes"),
            remedy={**facts.remedy},
        )
    if go_limit > limit * share:
        return failed(
            pod.subject,
            f"GOMEMLIMIT is {go_limit:,} bytes, {go_limit / limit:.0%} of the {limit:,} that its container may use: Go"
            " does not free memory in time, and Kubernetes ends the server (OOMKilled)",
            seen,
            server.observed("gomemlimit", go_limit)
            if server and reported
            else facts.observed(f"pods.{pod.name}.container.go_memory_limit", go_limit),
            measured=(go_limit, int(limit * share), "bytes"),
            remedy={**facts.remedy},
        )
    if _stats(server) is None:
        return unknown(pod.subject, "how much JetStream may store in memory is not known", _HOW_TO_GET)
    return passed(pod.subject)


def _declared(pod: ServerPod, server: Server | None) -> int | None:
    """GOMEMLIMIT of the container, 0: not set; None if it comes from elsewhere and the server cannot report it."""
    declared = pod.container.go_memory_limit
    reports = server is not None and server.varz is not None and release_of(pod, server) >= _REPORTS_GOMEMLIMIT
    return 0 if declared is None and reports else declared


def _stats(server: Server | None) -> JetStreamStats | None:
    """The JetStream figures of a server, if they have its limits or JetStream is off; else None."""
    stats = server.jetstream if server else None
    return stats if stats is not None and (stats.disabled or stats.config is not None) else None


def _memory_store(facts: KubernetesFacts, pod: ServerPod, server: Server | None, seen: Observation) -> Finding | None:
    """A finding if JetStream may store more in memory than its container has; an info if nothing uses it yet."""
    stats = _stats(server)
    if server is None or stats is None or stats.config is None or stats.disabled:
        return None
    allowed, limit = stats.config.max_memory, pod.container.memory_limit
    if not limit <= allowed < UNLIMITED:
        return None
    used = max(stats.memory, stats.reserved_memory)
    configuration = facts.configuration_of(pod)
    chosen = configuration is not None and configuration.servers.get("max_memory_store") is not None
    default = "" if chosen or configuration is None else ", three quarters of the node's as max_memory_store is not set"
    return failed(
        pod.subject,
        f"JetStream may store {allowed:,} bytes in memory{default}, and its container may use {limit:,}:"
        f" Kubernetes ends the server before JetStream refuses a message; {used:,} are in use or reserved by streams",
        seen,
        server.observed("config.max_memory", allowed),
        severity=None if used or chosen else Severity.INFO,
        measured=(allowed, limit, "bytes"),
        remedy={**facts.remedy},
    )
