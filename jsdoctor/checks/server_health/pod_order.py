"""JSD843: a StatefulSet that starts its servers one after the other, while a single one never becomes ready."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.pods import release_of
from jsdoctor.model.finding import Finding, Subject, failed, passed, unknown
from jsdoctor.model.kubernetes import ContainerProbe, KubernetesFacts, ProbeScope, ServerPod, ServerSet
from jsdoctor.model.server import Server, Servers

_NEEDS_OTHERS = (ProbeScope.META_GROUP, ProbeScope.ASSETS)
_HOW_TO_GET = "allow `get` on pods/proxy, or give a NATS login"


@check("server_health.pod_order")
def pod_order(kubernetes: KubernetesFacts, servers: Servers | None) -> Iterator[Finding]:
    """Judge StatefulSets that start pods in order: once all pods are gone at the same time, none becomes ready."""
    shown = {server.name: server for server in servers.servers} if servers else {}
    for owner, pods in kubernetes.groups().items():
        if kubernetes.sets is None:
            if len(pods) > 1:
                subject = Subject(kind="cluster", name=owner)
                yield unknown(subject, "the login may not list StatefulSets", "allow `list` on statefulsets")
            continue
        group = next((candidate for candidate in kubernetes.sets if candidate.name == owner), None)
        if group is None or group.replicas < 2:
            continue
        subject = Subject(kind="cluster", name=owner)
        seen = [server for pod in pods if (server := shown.get(pod.name)) is not None and server.jetstream is not None]
        if group.ordered and not seen:
            yield unknown(subject, "whether its servers have JetStream is not known", _HOW_TO_GET)
        elif group.ordered and any(s.cluster and s.jetstream and not s.jetstream.disabled for s in seen):
            yield _judged(kubernetes, group, pods, shown)
        else:
            yield passed(subject)


def _judged(
    facts: KubernetesFacts, group: ServerSet, pods: Sequence[ServerPod], shown: Mapping[str, Server]
) -> Finding:
    subject = Subject(kind="cluster", name=group.name)
    scopes = [scope for pod in pods for scope in _scopes(pod, shown.get(pod.name))]
    probe = next((probe for probe, scope in scopes if scope in _NEEDS_OTHERS), None)
    if probe is None and any(scope is ProbeScope.SERVER for _, scope in scopes):
        return unknown(subject, "its probes need the meta group up to 2.10, and the version is not known", _HOW_TO_GET)
    if probe is None:
        return passed(subject)
    return failed(
        subject,
        "it starts a server when the one before is ready (podManagementPolicy OrderedReady), and a single one"
        f" never is: {probe.path} needs the leader of the meta group, which needs a majority of {group.replicas}. Once"
        " all pods are gone at the same time, they do not come back",
        facts.observed("sets.ordered", group.ordered),
        facts.observed("pods.container.probe", probe.path),
        measured=("OrderedReady", "Parallel", None),
        remedy={**facts.remedy},
    )


def _scopes(pod: ServerPod, server: Server | None) -> Iterator[tuple[ContainerProbe, ProbeScope]]:
    """The probes that decide when a pod is ready, and what each judges."""
    for probe in (pod.container.startup, pod.container.readiness):
        if probe is not None:
            yield probe, probe.scope_at(release_of(pod, server))
