"""Probes, limits, shutdown and configurations in the specification of pods."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jsdoctor.manifests.kubernetes_containers import container_of, shutdown_of
from jsdoctor.model.kubernetes import ContainerProbe, ProbeScope
from jsdoctor.model.manifest import DeclaredServers
from jsdoctor.replies.kubernetes_configurations import configuration_name, read_configurations

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/healthz", ProbeScope.ASSETS),
        ("/healthz?stream=ORDERS", ProbeScope.ASSETS),
        ("/healthz?js-server-only=true", ProbeScope.SERVER),
        ("/healthz?js-server-only=false", ProbeScope.ASSETS),
        ("/healthz?js-meta-only=1", ProbeScope.META_GROUP),
        ("/healthz?js-enabled-only=true&js-server-only=true", ProbeScope.JETSTREAM),
        ("/healthz?js-enabled=true", ProbeScope.JETSTREAM),
        ("/base/healthz", ProbeScope.ASSETS),
        ("/", ProbeScope.PROCESS),
        ("/varz", ProbeScope.PROCESS),
        ("", ProbeScope.PROCESS),
    ],
)
def test_what_a_probe_judges(path: str, scope: ProbeScope) -> None:
    assert ContainerProbe(path=path).scope is scope


@pytest.mark.parametrize(
    ("version", "scope"),
    [((2, 10, 26), ProbeScope.META_GROUP), ((2, 11, 0), ProbeScope.JETSTREAM), ((), ProbeScope.SERVER)],
)
def test_what_a_probe_of_the_server_alone_judges(version: tuple[int, ...], scope: ProbeScope) -> None:
    assert ContainerProbe(path="/healthz?js-server-only=true").scope_at(version) is scope


@pytest.mark.parametrize(
    ("lifecycle", "lame_duck", "before", "after"),
    [
        ({"preStop": {"exec": {"command": ["nats-server", "-sl=ldm=/var/run/nats/nats.pid"]}}}, True, 0, 0),
        ({"preStop": {"exec": {"command": ["nats-server", "--signal", "ldm=/pid"]}}}, True, 0, 0),
        ({"preStop": {"exec": {"command": ["sh", "-c", "sleep 30; kill -s USR2 1; sleep 5"]}}}, True, 30, 5),
        ({"preStop": {"exec": {"command": ["sh", "-c", "sleep 15"]}}}, False, 15, 0),
        ({"preStop": {"sleep": {"seconds": 10}}}, False, 10, 0),
        ({"stopSignal": "SIGUSR2"}, True, 0, 0),
        ({"preStop": {"exec": {"command": "not a list"}}}, False, 0, 0),
        ({}, False, 0, 0),
    ],
)
def test_how_a_pod_is_stopped(lifecycle: Json, lame_duck: bool, before: int, after: int) -> None:
    shutdown = shutdown_of({"terminationGracePeriodSeconds": 60}, {"lifecycle": lifecycle})
    assert (shutdown.grace_s, shutdown.lame_duck, shutdown.before_s, shutdown.after_s) == (60, lame_duck, before, after)


@pytest.mark.parametrize(
    ("env", "bytes_"),
    [
        ([{"name": "GOMEMLIMIT", "value": "7GiB"}], 7 << 30),
        ([{"name": "GOMEMLIMIT", "value": "1000"}], 1000),
        ([{"name": "GOMEMLIMIT", "value": "7Gi"}], None),
        ([{"name": "GOMEMLIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}}], 1 << 30),
        ([{"name": "GOMEMLIMIT", "valueFrom": {"secretKeyRef": {"name": "x"}}}], None),
        ([{"name": "OTHER", "value": "1"}], 0),
        ("no list", 0),
    ],
)
def test_the_memory_limit_of_go(env: object, bytes_: int | None) -> None:
    container = {"name": "nats", "env": env, "resources": {"limits": {"memory": "1Gi"}}}
    limits = container_of(container, {})
    assert (limits.memory_limit, limits.go_memory_limit) == (1 << 30, bytes_)


def test_the_path_of_a_probe_that_runs_a_command() -> None:
    command = ["/bin/sh", "-c", "wget -qO- 'http://localhost:8222/healthz?js-enabled-only=true'"]
    probe = container_of({"name": "nats", "livenessProbe": {"exec": {"command": command}}}, {}).liveness
    assert probe is not None
    assert probe.scope is ProbeScope.JETSTREAM
    assert probe.patience_s == 30


CONF = "include 'accounts.conf'\njetstream { store_dir: /data, max_file_store: 10Gi }\nlame_duck_duration: 45s\n"
ACCOUNTS = "accounts { A: { users: [{ user: a, password: hunter2 }] } }\n"


def pod(**volume: Any) -> Json:
    container = {
        "name": "nats",
        "image": "nats:2.15.1",
        "command": ["nats-server", "-c", "/etc/nats/nats.conf"],
        "volumeMounts": [{"name": "conf", "mountPath": "/etc/nats"}, {"name": "js", "mountPath": "/data"}],
    }
    volumes = [{"name": "conf", **volume}, {"name": "js", "persistentVolumeClaim": {"claimName": "js-0"}}]
    owner = [{"kind": "StatefulSet", "name": "nats"}]
    return {
        "metadata": {"name": "nats-0", "ownerReferences": owner},
        "spec": {"containers": [container], "volumes": volumes},
    }


HELD = {
    "nats-config": {
        "metadata": {
            "managedFields": [
                {"time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {"f:nats.conf": {}}}},
                {"time": "2026-03-01T00:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {}}}},
            ]
        },
        "data": {"nats.conf": CONF, "accounts.conf": ACCOUNTS, "other": "jetstream: {"},
    }
}


def read(pod_object: Json) -> DeclaredServers | None:
    configurations = read_configurations([pod_object, pod_object], {"nats": 3}, HELD.get)
    return configurations[0].servers if configurations else None


def test_a_configuration_with_what_it_includes() -> None:
    pod_object = pod(configMap={"name": "nats-config"})
    (declared,) = read_configurations([pod_object, pod_object], {"nats": 3}, HELD.get)
    assert declared.name == configuration_name(pod_object["spec"]) == "configmap/nats-config/nats.conf"
    assert declared.changed == datetime(2026, 1, 1, tzinfo=UTC), "labels are no change of the file"
    servers = declared.servers
    assert servers.get("auth") is True, "logins are in the included file"
    assert (servers.get("persistent"), servers.get("servers")) == (True, 3)
    assert servers.get("lame_duck_duration") == 45_000_000_000
    assert servers.at("store_dir").line == 2
    assert "hunter2" not in str(declared)


@pytest.mark.parametrize(
    ("volume", "name"),
    [
        ({"secret": {"secretName": "nats-secret"}}, "secret/nats-secret/nats.conf"),
        ({"projected": {"sources": [{"configMap": {"name": "nats-config"}}]}}, "configmap/nats-config/nats.conf"),
        ({"configMap": {"name": "c", "items": [{"key": "k", "path": "nats.conf"}]}}, "configmap/c/k"),
        ({"configMap": {"name": "c", "items": [{"key": "k", "path": "other.conf"}]}}, ""),
        ({"emptyDir": {}}, ""),
    ],
)
def test_where_a_configuration_comes_from(volume: Json, name: str) -> None:
    assert configuration_name(pod(**volume)["spec"]) == name


def test_a_single_file_is_mounted() -> None:
    pod_object = pod(configMap={"name": "nats-config"})
    pod_object["spec"]["containers"][0]["volumeMounts"][0] |= {
        "mountPath": "/etc/nats/nats.conf",
        "subPath": "nats.conf",
    }
    assert configuration_name(pod_object["spec"]) == "configmap/nats-config/nats.conf"
    servers = read(pod_object)
    assert servers is not None
    assert "auth" in servers.unclear, "the included file is not mounted"


def test_a_configuration_that_no_server_can_read() -> None:
    pod_object = pod(configMap={"name": "nats-config", "items": [{"key": "other", "path": "nats.conf"}]})
    servers = read(pod_object)
    assert servers is not None
    assert servers.mistakes


def test_a_configuration_that_may_not_be_read() -> None:
    assert read(pod(configMap={"name": "unknown"})) is None
    assert read(pod(configMap={"name": "nats-config", "items": [{"key": "gone", "path": "nats.conf"}]})) is None
