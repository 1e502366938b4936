"""JSD837: a volume that is nearly full and that its storage class does not let grow."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts, ServerPod, VolumeClaim
from jsdoctor.model.params import Params
from jsdoctor.model.server import JetStreamStats, Server, Servers


@check("server_health.volume_can_grow")
def volume_can_grow(kubernetes: KubernetesFacts, servers: Servers, params: Params) -> Iterator[Finding]:
    """Judge volumes that are nearly full; until then a storage class that cannot expand is a choice."""
    fraction = params.number("warn_fraction")
    shown = {server.name: server for server in servers.servers}
    for pod in kubernetes.pods:
        if pod.deleting or not pod.claims:
            continue
        server = shown.get(pod.name)
        if server is None or server.jetstream is None:
            yield unknown(pod.subject, "what it stores is not known", "allow `get` on pods/proxy, or give a NATS login")
        elif not server.jetstream.disabled:
            yield _judged(kubernetes, pod, server, server.jetstream, fraction)


def _judged(facts: KubernetesFacts, pod: ServerPod, server: Server, stats: JetStreamStats, fraction: float) -> Finding:
    if facts.claims is None:
        return unknown(pod.subject, "the login may not list claims", "allow `list` on persistentvolumeclaims")
    claim = _store_claim(facts, pod, stats)
    if claim is None or not claim.bytes:
        return unknown(pod.subject, "which volume has its store, or how large it is, is not known", "kubectl get pvc")
    if stats.storage < fraction * claim.bytes:
        return passed(pod.subject)
    if facts.expandable is None:
        how = "allow `list` on storageclasses"
        return unknown(pod.subject, "the login may not list storage classes, and the volume is nearly full", how)
    if facts.expandable.get(claim.storage_class):
        return passed(pod.subject)
    name = claim.storage_class
    why = f"storage class {name} does not allow it" if name in facts.expandable else "it has no storage class"
    return failed(
        pod.subject,
        f"it stores {stats.storage:,} bytes on PersistentVolumeClaim {claim.name} of {claim.bytes:,}, and the"
        f" volume cannot be made larger: {why}",
        facts.observed(f"expandable.{name}", facts.expandable.get(name)),
        facts.observed(f"claims.{claim.name}.bytes", claim.bytes),
        server.observed("storage", stats.storage),
        measured=(stats.storage / claim.bytes, fraction, "ratio"),
        remedy={"namespace": facts.namespace},
    )


def _store_claim(facts: KubernetesFacts, pod: ServerPod, stats: JetStreamStats) -> VolumeClaim | None:
    """The claim that is mounted at the store directory; if mounts or directory are not shown, the only claim."""
    claims = {claim.name: claim for claim in facts.claims or () if claim.name in pod.claims}
    directory = stats.config.store_dir if stats.config else None
    if not directory or not pod.mounts:
        return next(iter(claims.values())) if len(claims) == 1 else None
    exceeding = [
        (path, name) for name, path in pod.mounts.items() if f"{directory}/".startswith(f"{path.removesuffix('/')}/")
    ]
    return claims.get(max(exceeding)[1]) if exceeding else None
