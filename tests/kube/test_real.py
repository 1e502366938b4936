"""`--kube` against a real kube-apiserver and real nats-servers behind its proxy."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.kube.cluster import KubeCluster
from tests.kube.lab import check, failures, lab
from tests.kube.pods import NAMESPACE
from tests.servers import Cluster, ClusterFactory

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("kube")]

OOM = {
    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": None}},
    "ready": True,
    "restartCount": 3,
}
CRASHING = {
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
    "lastState": {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": None}},
    "ready": False,
    "restartCount": 12,
}


def unready(kube: KubeCluster, pod: str, why: str) -> None:
    """What a kubelet writes where a readiness probe has failed since long ago: a condition, and an event."""
    path = f"/api/v1/namespaces/{NAMESPACE}"
    status = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "unready: [nats]"}
    shown = {"conditions": [{**status, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    kube.call("PATCH", f"{path}/pods/{pod}/status", {"status": shown})
    about = {"kind": "Pod", "name": pod, "namespace": NAMESPACE}
    warning = {"type": "Warning", "reason": "Unhealthy", "message": why, "count": 9, "source": {"component": "kubelet"}}
    event = {
        "metadata": {"name": f"{pod}.1"},
        "involvedObject": about,
        "lastTimestamp": "2026-01-01T00:10:00Z",
        **warning,
    }
    kube.call("POST", f"{path}/events", event)


def test_a_healthy_deployment_of_the_chart(nats: Cluster, tmp_path: Path) -> None:
    with lab(nats, tmp_path) as (kube, _):
        for name in nats.names:  # as the reloader does once Kubernetes has brought the file
            os.kill(nats.node(name).pid, signal.SIGHUP)
        code, report = check(kube, tmp_path)
    assert (code, failures(report)) == (0, {}), report["results"]
    assert [gap for gap in report["gaps"] if gap["requested"]] == []
    passed = {rule["code"] for rule in report["rules"] if rule["outcome"] == "pass"}
    assert {"JSD831", "JSD832", "JSD833", "JSD834", "JSD836", "JSD837", "JSD701", "JSD706", "JSD801"} <= passed
    assert {"JSD838", "JSD839", "JSD841", "JSD842", "JSD843", "JSD844", "JSD816", "JSD823"} <= passed
    assert "hunter2" not in json.dumps(report)


def test_faults_of_pods_are_named(nats: Cluster, tmp_path: Path) -> None:
    now = subprocess.run(
        ["date", "-u", "+%Y-%m-%dT%H:%M:%SZ"], capture_output=True, text=True, check=True
    ).stdout.strip()
    states = json.loads(json.dumps({"n1": OOM, "n2": CRASHING}).replace("null", f'"{now}"'))
    two = ("node-a", "node-a", "node-b")
    with lab(nats, tmp_path, states=states, nodes=two, budget={"minAvailable": 1}, claim_phase="Pending") as (
        kube,
        kubelet,
    ):
        kubelet.logs["n1 previous"] = nats.node("n1").log_path
        unready(kube, "n3", "Readiness probe failed: HTTP probe failed with statuscode: 503")
        code, report = check(kube, tmp_path)
    failed = failures(report)
    assert code == 1
    assert failed["JSD831"] == ["n1", "n2"]
    assert failed["JSD832"] == failed["JSD833"] == ["nats"]
    assert failed["JSD834"] == ["n1", "n2", "n3"]
    (not_ready,) = (
        result for result in report["results"] if result["code"] == "JSD836" and result["outcome"] == "fail"
    )
    assert not_ready["subject"]["name"] == "n3"
    assert "Unhealthy, Readiness probe failed" in not_ready["message"]
    assert any("previous=true" in path for path in kubelet.requested_paths)


def test_wrong_names_get_a_sentence(nats: Cluster, tmp_path: Path) -> None:
    with lab(nats, tmp_path) as (kube, _):
        for arguments, word in ((("-n", "default"), "default"), (("--kube-context", "nowhere"), "nowhere")):
            code, report = check(kube, tmp_path, *arguments)
            assert code in (2, 3)
            assert word in report["stderr"], report
        kube.kubectl("create", "namespace", "empty")
        parts = "pods,persistentvolumeclaims,poddisruptionbudgets.policy"
        kube.kubectl("create", "role", "look", "--verb=list", f"--resource={parts}", "-n", "empty")
        kube.kubectl("create", "rolebinding", "look", "--role=look", "--user=reader", "-n", "empty")
        code, report = check(kube, tmp_path, "-n", "empty")
        assert (code, "kubectl get pods -A" in report["stderr"]) == (2, True)


def test_a_dead_server_is_found_through_kubernetes(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """Its pod still counts as running: Kubernetes has not looked yet."""
    cluster = cluster_factory("2.15.1", 3)
    cluster.node("n3").kill()
    with lab(cluster, tmp_path) as (kube, _):
        failed: dict[str, list[str]] = {}
        until = time.monotonic() + 60
        while "JSD703" not in failed and time.monotonic() < until:  # its leader gives it some seconds to come back
            code, report = check(kube, tmp_path)
            failed = failures(report)
            assert code in (1, 3)
            assert any("/pods/n3:" in name for name in failed["JSD901"])
    assert "n3" in failed["JSD703"], failed
