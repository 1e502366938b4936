"""A deployment of NATS as objects of Kubernetes: what the Helm chart makes, and the status that a kubelet writes.

Probes, arguments, environment, hook, grace period, StatefulSet and ConfigMap are those of chart 2.14 with JetStream and
a cluster of three, which a test may change.
"""

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
CONFIG_MAP = "nats-config"
CONFIGURATION = f"configmap/{CONFIG_MAP}/nats.conf"
CHART_CONFIGURATION = """{
  "cluster": {
    "authorization": { "user": "route", "password": "hunter2route" },
    "name": "nats",
    "no_advertise": true,
    "port": 6222,
    "routes": [
      "nats://route:hunter2route@nats-0.nats-headless:6222",
      "nats://route:hunter2route@nats-1.nats-headless:6222",
      "nats://route:hunter2route@nats-2.nats-headless:6222"
    ]
  },
  "accounts": {
    "SYS": { "users": [{ "user": "sys", "password": "hunter2sys" }] },
    "APP": { "jetstream": true, "users": [{ "user": "app", "password": "hunter2app" }] }
  },
  "system_account": "SYS",
  "http_port": 8222,
  "jetstream": {
    "max_file_store": 10Gi,
    "max_memory_store": 0,
    "store_dir": "/data"
  },
  "lame_duck_duration": "30s",
  "lame_duck_grace_period": "10s",
  "pid_file": "/var/run/nats/nats.pid",
  "port": 4222,
  "server_name": $SERVER_NAME
}
"""
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
    containers: dict[str, Json] | None = None,
    specs: dict[str, Json] | None = None,
    labels: dict[str, Json] | None = None,
    stateful_set: Json | None = None,
    configuration: str = CHART_CONFIGURATION,
) -> None:
    """Nodes, and a pod with its claim for each name and monitoring port. `states`: of containers, where not running;
    `containers`, `specs` and `labels`: fields of pods that differ from those of the chart, by name.
    """
    cluster.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    config_map = {"metadata": {"name": CONFIG_MAP}, "data": {"nats.conf": configuration}}
    cluster.create(f"{_INSIDE}/configmaps", config_map)
    template = {"metadata": {"labels": _LABELS}, "spec": _pod_spec("", 8222)}
    wanted = {"replicas": len(pods), "podManagementPolicy": "Parallel", "serviceName": "nats-headless"}
    wanted |= {"selector": {"matchLabels": _LABELS}, "template": template, **(stateful_set or {})}
    sets = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets"
    cluster.create(sets, {"metadata": {"name": "nats"}, "spec": wanted})
    for node in dict.fromkeys(nodes):
        object_status = {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        cluster.create("/api/v1/nodes", {"metadata": {"name": node}}, object_status)
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
        own = _pod_spec(claim, port)
        own["containers"][0] |= (containers or {}).get(name, {})
        pod = {
            "metadata": {
                "name": name,
                "labels": {**_LABELS, "controller-revision-hash": "nats-1", **(labels or {}).get(name, {})},
                "ownerReferences": owner,
            },
            "spec": {"nodeName": node, **own, **(specs or {}).get(name, {})},
        }
        container = own["containers"][0]
        shown = {"name": "nats", "image": container["image"], "imageID": "sha256:0", **state}
        object_status = {
            "phase": "Running",
            "podIP": address,
            "startTime": "2026-01-01T00:00:00Z",
            "podIPs": [{"ip": address}],
            "containerStatuses": [shown],
            "conditions": [{"type": "PodScheduled", "status": "True"}],
        }
        cluster.create(f"{_INSIDE}/pods", pod, object_status)
    ports = {"name": "nats", "port": 4222, "targetPort": 4222, "appProtocol": "tcp"}
    for name, more in (("nats", {}), ("nats-headless", {"clusterIP": "None"})):
        service = {"selector": _LABELS, "ports": [ports], **more}
        cluster.create(f"{_INSIDE}/services", {"metadata": {"name": name}, "spec": service})
    box = {"containers": [{"name": "nats-box", "image": "natsio/nats-box:0.18.1"}], "nodeName": nodes[0]}
    cluster.create(f"{_INSIDE}/pods", {"metadata": {"name": "nats-box-0"}, "spec": box}, {"phase": "Running"})
    if budget is not None:
        policy = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
        cluster.create(policy, {"metadata": {"name": "nats"}, "spec": {"selector": {"matchLabels": _LABELS}, **budget}})


def _pod_spec(claim: str, monitor_port: int) -> Json:
    """What the chart writes into its template, with an exporter and a secret in the environment beside."""

    def probe(query: str, **more: int) -> Json:
        return {
            "httpGet": {"path": f"/healthz{query}", "port": "monitor"},
            "initialDelaySeconds": 10,
            "timeoutSeconds": 5,
            "periodSeconds": 10,
            **more,
        }

    server = {
        "name": "nats",
        "image": "nats:2.15.1-alpine",
        "args": ["--config", "/etc/nats-config/nats.conf"],
        "ports": [{"name": "monitor", "containerPort": monitor_port}],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "SERVER_NAME", "value": "$(POD_NAME)"},
            {"name": "NATS_PASSWORD", "value": "hunter2secret"},
        ],
        "lifecycle": {"preStop": {"exec": {"command": ["nats-server", "-sl=ldm=/var/run/nats/nats.pid"]}}},
        "startupProbe": probe("", failureThreshold=90),
        "readinessProbe": probe("?js-server-only=true"),
        "livenessProbe": probe("?js-enabled-only=true", periodSeconds=30),
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/nats-config"},
            {"name": "pid", "mountPath": "/var/run/nats"},
            {"name": "js", "mountPath": "/data"},
            {"name": "js", "mountPath": "store"},  # where the servers of the laboratory have theirs
        ],
    }
    store = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}}
    return {
        "terminationGracePeriodSeconds": 60,
        "containers": [server, {"name": "prom-exporter", "image": "natsio/prometheus-nats-exporter:0.17.3"}],
        "volumes": [
            {"name": "config", "configMap": {"name": CONFIG_MAP}},
            {"name": "pid", "emptyDir": {}},
            {"name": "js", **store},
        ],
    }


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
