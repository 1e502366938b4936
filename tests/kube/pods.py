"""A deployment of NATS as objects of Kubernetes: what the Helm chart makes, and the status that a kubelet writes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.kube.cluster import KubeCluster

Json = dict[str, Any]
NAMESPACE = "nats"
_LABELS = {
    "app.kubernetes.io/name": "nats",
    "app.kubernetes.io/instance": "nats",
    "app.kubernetes.io/component": "nats",
}
_INSIDE = f"/api/v1/namespaces/{NAMESPACE}"
RUNNING = {"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "ready": True, "restartCount": 0}


def deploy(
    cluster: KubeCluster,
    pods: Sequence[tuple[str, int]],
    *,
    address: str,
    nodes: Sequence[str],
    kubelet_port: int,
    states: dict[str, Json] | None = None,
    budget: Json | None = None,
    claim_phase: str = "Bound",
) -> None:
    """Nodes, and a pod with its claim for each name and monitoring port. `states`: of containers, where not running."""
    cluster.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for node in dict.fromkeys(nodes):
        told = {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        cluster.create("/api/v1/nodes", {"metadata": {"name": node}}, told)
    owner = [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "nats", "uid": "1f6c2f0e-0000-4000-8000-000000000001"}
    ]
    for (name, port), node in zip(pods, nodes, strict=True):
        claim = f"nats-js-{name}"
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "10Gi"}},
        }
        status = {"phase": claim_phase, **({"capacity": {"storage": "10Gi"}} if claim_phase == "Bound" else {})}
        cluster.create(f"{_INSIDE}/persistentvolumeclaims", {"metadata": {"name": claim}, "spec": spec}, status)
        state = {**RUNNING, **(states or {}).get(name, {})}
        container = {
            "name": "nats",
            "image": "nats:2.15.1-alpine",
            "ports": [{"name": "monitor", "containerPort": port}],
        }
        pod = {
            "metadata": {"name": name, "labels": _LABELS, "ownerReferences": owner},
            "spec": {
                "nodeName": node,
                "containers": [
                    {**container, "env": [{"name": "NATS_PASSWORD", "value": "hunter2secret"}]},
                    {"name": "prom-exporter", "image": "natsio/prometheus-nats-exporter:0.17.3"},
                ],
                "volumes": [{"name": "js", "persistentVolumeClaim": {"claimName": claim}}],
            },
        }
        shown = {"name": "nats", "image": container["image"], "imageID": "sha256:0", **state}
        told = {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "containerStatuses": [shown],
            "conditions": [{"type": "PodScheduled", "status": "True"}],
        }
        cluster.create(f"{_INSIDE}/pods", pod, told)
    box = {"containers": [{"name": "nats-box", "image": "natsio/nats-box:0.18.1"}], "nodeName": nodes[0]}
    cluster.create(f"{_INSIDE}/pods", {"metadata": {"name": "nats-box-0"}, "spec": box}, {"phase": "Running"})
    if budget is not None:
        policy = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
        cluster.create(policy, {"metadata": {"name": "nats"}, "spec": {"selector": {"matchLabels": _LABELS}, **budget}})


@contextmanager
def reachable(address: str, ports: Sequence[int]) -> Iterator[list[int]]:
    """Ports of an address that the API server may reach, passed on to ports of the loopback address."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server((address, 0))) for _ in ports]
        for listener, port in zip(listeners, ports, strict=True):
            threading.Thread(target=_accept, args=(listener, port), daemon=True).start()
        yield [int(listener.getsockname()[1]) for listener in listeners]
        for listener in listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, port: int) -> None:
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_connect, args=(caller, port), daemon=True).start()


def _connect(caller: socket.socket, port: int) -> None:
    with caller, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as target:
        back = threading.Thread(target=_pass_on, args=(target, caller), daemon=True)
        back.start()
        _pass_on(caller, target)
        back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
