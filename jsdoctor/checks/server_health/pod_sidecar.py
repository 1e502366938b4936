"""JSD853: ports on which the server sends the first bytes, behind a mesh's proxy that waits for those of the client.

From manifests: the same of what will be deployed.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.sidecar import Mesh, Sidecar, SidecarPort

_MESHES = {
    Mesh.ISTIO: ("", "TCP", "connections hang until the client gives up"),
    Mesh.LINKERD: (" 10 s", "opaque", "clients with a shorter timeout (nats.go: 2 s) do not connect"),
}
"""By mesh: how long its proxy waits, what a port must be declared as, and what happens without that."""


@check("server_health.pod_sidecar")
def pod_sidecar(kubernetes: KubernetesFacts) -> Iterator[Finding]:
    """Judge pods in which the proxy runs, whatever injection their namespace requests."""
    for pod in kubernetes.pods:
        if pod.sidecar is not None and not pod.deleting:
            shown = kubernetes.observed(f"pods.{pod.name}.sidecar", pod.sidecar.mesh)
            yield _judged(pod.subject, pod.sidecar, shown, "allow `list` on services")


@check("server_health.pod_sidecar_declared")
def pod_sidecar_declared(manifests: Manifests) -> Iterator[Finding]:
    """Judge templates that contain the proxy or request it; a request by their namespace is not read."""
    for workload in manifests.sidecars:
        shown = workload.place.shows(workload.sidecar.mesh)
        yield _judged(workload.subject, workload.sidecar, shown, "give the manifests of its Services in the same run")


def _judged(subject: Subject, sidecar: Sidecar, shown: Observation, how_to_get: str) -> Finding:
    known = [port for port in sidecar.ports if port.undeclared or sidecar.services_listed]
    faulty = [port for port in known if port.undeclared or not port.declared]
    if faulty:
        wait, declared, consequence = _MESHES[sidecar.mesh]
        ports = "; ".join(_shown(port, declared) for port in faulty)
        partly = sidecar.mesh is Mesh.LINKERD or all(port.declared for port in faulty)
        return failed(
            subject,
            f"its {sidecar.mesh} proxy waits{wait} for the first bytes of the client, which waits for INFO ({ports}):"
            f" {consequence}",
            shown,
            severity=Severity.WARNING if partly else None,
            measured=(len(faulty), 0, "count"),
        )
    if len(known) < len(sidecar.ports):
        reason = f"the proxy of {sidecar.mesh} is before it, and the Services that declare its ports were not read"
        return unknown(subject, reason, how_to_get)
    return passed(subject)


def _shown(port: SidecarPort, declared: str) -> str:
    undeclared_by = " and ".join(port.undeclared) or "any Service"
    return f"port {port.number} is not declared as {declared} by {undeclared_by}"
