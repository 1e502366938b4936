"""JSD840: a memory limit of a container that neither Go nor JetStream keeps to."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts, ServerPod
from jsdoctor.model.params import Params
from jsdoctor.model.server import UNLIMITED, Server, Servers

_HOW = "allow `get` on pods/proxy, or give a NATS login"


@check("server_health.pod_memory")
def pod_memory(kubernetes: KubernetesFacts, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """A container without a limit has nothing to keep to."""
    shown = {server.name: server for server in servers.servers} if servers else {}
    for pod in kubernetes.pods:
        if pod.container.memory_limit and not pod.deleting:
            yield _judged(kubernetes, pod, shown.get(pod.name), params.number("max_share"))


def _judged(facts: KubernetesFacts, pod: ServerPod, server: Server | None, share: float) -> Finding:
    limit = pod.container.memory_limit
    seen = facts.observed(f"pods.{pod.name}.container.memory_limit", limit)
    if (memory := _memory_store(facts, pod, server, seen)) is not None:
        return memory
    own = server.varz.gomemlimit if server and server.varz else pod.container.go_memory_limit
    if own is None:
        return unknown(pod.subject, "GOMEMLIMIT comes from a Secret or ConfigMap, and no reply of the server", _HOW)
    if not own:
        return Finding(
            subject=pod.subject,
            severity=Severity.INFO,
            message=f"its container may use {limit:,} bytes and GOMEMLIMIT is not set: Go frees memory as if it had all"
            " of the node's, and Kubernetes ends the server at the limit (OOMKilled)",
            measured=0,
            threshold=int(limit * share),
            unit="bytes",
            evidence=(seen,),
            remedy={**facts.remedy},
        )
    if own > limit * share:
        return Finding(
            subject=pod.subject,
            message=f"GOMEMLIMIT is {own:,} bytes, {own / limit:.0%} of the {limit:,} that its container may use: Go"
            " does not free memory in time, and Kubernetes ends the server (OOMKilled)",
            measured=own,
            threshold=int(limit * share),
            unit="bytes",
            evidence=(seen, _go(facts, pod, server, own)),
            remedy={**facts.remedy},
        )
    return passed(pod.subject)


def _go(facts: KubernetesFacts, pod: ServerPod, server: Server | None, own: int) -> Observation:
    if server and server.varz:
        return server.observed("gomemlimit", own)
    return facts.observed(f"pods.{pod.name}.container.go_memory_limit", own)


def _memory_store(facts: KubernetesFacts, pod: ServerPod, server: Server | None, seen: Observation) -> Finding | None:
    """JetStream may store more in memory than there is. Without streams in memory this is a matter of the future."""
    stats = server.jetstream if server else None
    if server is None or stats is None or stats.config is None or stats.disabled:
        return None
    allowed, limit = stats.config.max_memory, pod.container.memory_limit
    if not limit <= allowed < UNLIMITED:
        return None
    used = max(stats.memory, stats.reserved_memory)
    configuration = facts.configuration_of(pod)
    chosen = configuration is not None and configuration.servers.get("max_memory_store") is not None
    whence = "" if chosen or configuration is None else ", three quarters of the node's as max_memory_store is not set"
    return Finding(
        subject=pod.subject,
        severity=None if used or chosen else Severity.INFO,
        message=f"JetStream may store {allowed:,} bytes in memory{whence}, and its container may use {limit:,}:"
        f" Kubernetes ends the server before JetStream refuses a message; {used:,} are in use or reserved by streams",
        measured=allowed,
        threshold=limit,
        unit="bytes",
        evidence=(seen, server.observed("config.max_memory", allowed)),
        remedy={**facts.remedy},
    )
