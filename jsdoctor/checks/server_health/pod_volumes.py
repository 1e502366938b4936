"""JSD834: volumes that a server pod waits for or has lost."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts


@check("server_health.volume_claims_bound")
def volume_claims_bound(kubernetes: KubernetesFacts) -> Iterator[Finding]:
    """Judge the phase of each PersistentVolumeClaim of a server pod."""
    claims = {claim.name: claim for claim in kubernetes.claims or ()}
    for pod in kubernetes.pods:
        for name in pod.claims:
            claim = claims.get(name)
            if kubernetes.claims is None:
                how = "allow `list` on persistentvolumeclaims"
                yield unknown(pod.subject, f"the login may not list claims: {name}", how)
            elif claim is None or claim.phase != "Bound":
                phase = "Missing" if claim is None else claim.phase or "Pending"
                of_class = f" of storage class {claim.storage_class}" if claim and claim.storage_class else ""
                what = "does not exist" if claim is None else f"is {phase}"
                yield failed(
                    pod.subject,
                    f"its PersistentVolumeClaim {name}{of_class} {what}: the server has no store"
                    f"{kubernetes.warning_of(name)}",
                    kubernetes.observed(f"claims.{name}.phase", phase),
                    severity=None if phase != "Pending" or pod.unscheduled else Severity.WARNING,
                    remedy={**kubernetes.remedy},
                )
            else:
                yield passed(pod.subject)
