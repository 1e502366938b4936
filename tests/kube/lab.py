"""Real nats-servers as pods of a real API server, and what `check --kube` reports of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.invoke import jsdoctor
from tests.kube.cluster import KubeCluster, kube_cluster, own_address
from tests.kube.kubelet import Kubelet, running_kubelet
from tests.kube.pods import NAMESPACE, deploy, reachable
from tests.servers import Cluster

Json = dict[str, Any]
ROLES = Path(__file__).resolve().parent.parent.parent / "deploy" / "kubernetes-reader.yaml"
SPREAD = ("node-a", "node-b", "node-c")
ONE_AT_A_TIME = {"maxUnavailable": 1}


@contextmanager
def lab(cluster: Cluster, directory: Path, **deployment: Any) -> Iterator[tuple[KubeCluster, Kubelet]]:
    """The cluster as pods of a namespace, with the least permissions for the reader."""
    address = own_address()
    (directory / "kubelet").mkdir()
    monitors = [cluster.node(name).ports.monitor for name in cluster.names]
    with (
        kube_cluster(directory) as kube,
        running_kubelet(address, directory / "kubelet") as kubelet,
        reachable(address, monitors) as ports,
    ):
        kubelet.logs.update({name: cluster.node(name).log_path for name in cluster.names})
        pods = list(zip(cluster.names, ports, strict=True))
        deploy(
            kube,
            pods,
            address=address,
            kubelet_port=kubelet.port,
            **{"nodes": SPREAD, "budget": ONE_AT_A_TIME, **deployment},
        )
        kube.kubectl("apply", "-f", str(ROLES))
        for kind, role in (("rolebinding", "--role=jsdoctor"), ("clusterrolebinding", "--clusterrole=jsdoctor")):
            kube.kubectl("create", kind, "jsdoctor", role, "--user=reader", "-n", NAMESPACE)
        yield kube, kubelet


def check(kube: KubeCluster, cwd: Path, *arguments: str, kubeconfig: Path | None = None) -> tuple[int, Json]:
    """The exit code and the JSON report of a run; what it printed on stderr where there is no report.

    The login is that of the reader, or of another kubeconfig.
    """
    environment = {"KUBECONFIG": str(kubeconfig or kube.kubeconfig)}
    done = jsdoctor("check", "--kube", "--format", "json", *arguments, cwd=cwd, env=environment, timeout=90)
    assert "Traceback" not in done.stderr, done.stderr
    report: Json = json.loads(done.stdout) if done.stdout else {"stderr": done.stderr}
    return done.returncode, report


def failures(report: Json) -> dict[str, list[str]]:
    """The subjects of findings above information, by rule."""
    failed: dict[str, list[str]] = {}
    for result in report["results"]:
        if result["outcome"] == "fail" and result["severity"] != "info":
            failed.setdefault(result["code"], []).append(result["subject"].get("name", ""))
    return failed


def message(report: Json, code: str, name: str) -> str:
    """What a rule says of one subject."""
    (failed,) = (
        result
        for result in report["results"]
        if (result["code"], result["subject"]["name"]) == (code, name) and result["message"]
    )
    return str(failed["message"])


def outcomes(report: Json) -> dict[str, str]:
    """The outcome of each rule."""
    return {rule["code"]: rule["outcome"] for rule in report["rules"]}
