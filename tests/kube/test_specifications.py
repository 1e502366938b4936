"""What pods, their StatefulSet and their configuration say, through a real API server, beside real servers."""

import json
import os
import signal
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import jsdoctor
from tests.kube.lab import check, failures, lab, message, outcomes
from tests.kube.pods import CHART_CONFIGURATION, CONFIG_MAP, CONFIGURATION, NAMESPACE
from tests.servers import Cluster

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("kube")]

Json = dict[str, Any]
_MESHES = {"n1": "istio", "n2": "linkerd"}
_ROLE = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles/jsdoctor"
_MAP = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"


def http_probe(path: str, **more: int) -> Json:
    return {"httpGet": {"path": path, "port": "monitor"}, **more}


def test_faults_of_specifications_are_named(nats: Cluster, tmp_path: Path) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    small = {"resources": {"limits": {"memory": "200M"}}}
    containers = {
        "n1": {"livenessProbe": http_probe("/healthz"), "readinessProbe": http_probe("/healthz")},
        "n2": {**small, "startupProbe": http_probe("/healthz", periodSeconds=1, failureThreshold=5)},
        "n3": {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 60 && nats-server -sl=ldm"]}}}},
    }
    ended = {"terminated": {"reason": "Error", "exitCode": 137, "finishedAt": now}}
    states = {"n2": {"lastState": ended, "restartCount": 4}}
    with lab(
        nats,
        tmp_path,
        containers=containers,
        states=states,
        labels={"n1": {"controller-revision-hash": "nats-2"}},
        stateful_set={"podManagementPolicy": "OrderedReady", "updateStrategy": {"type": "OnDelete"}},
    ) as (kube, _):
        about = {"kind": "Pod", "name": "n2", "namespace": NAMESPACE}
        why = "Startup probe failed: HTTP probe failed with statuscode: 503"
        warning = {"type": "Warning", "reason": "Unhealthy", "message": why, "count": 20, "lastTimestamp": now}
        event = {"metadata": {"name": "n2.1"}, "involvedObject": about, **warning}
        kube.call("POST", f"/api/v1/namespaces/{NAMESPACE}/events", event)
        code, report = check(kube, tmp_path, "--set", "JSD841.margin=1s")
    failed = failures(report)
    assert code == 1
    assert failed["JSD838"] == ["n1"]
    assert "leads" in message(report, "JSD838", "n1") or "liveness probe (/healthz)" in message(report, "JSD838", "n1")
    assert failed["JSD839"] == ["n2"]
    assert "Startup probe failed" in message(report, "JSD839", "n2")
    assert failed["JSD840"] == ["n2"]
    assert "256,000,000 bytes in memory" in message(report, "JSD840", "n2")
    assert failed["JSD841"] == ["n3"]
    assert failed["JSD842"] == failed["JSD843"] == ["nats"]
    assert "leaves earlier pods as they are" in message(report, "JSD842", "nats")


def test_a_proxy_that_waits_is_named(nats: Cluster, tmp_path: Path) -> None:
    """With the Services of the chart Istio waits for no client, and Linkerd does."""
    proxies = {name: {"initContainers": [{"name": f"{mesh}-proxy", "image": mesh}]} for name, mesh in _MESHES.items()}
    only = ("--select", "JSD853")
    with lab(nats, tmp_path, specs=proxies) as (kube, _):
        _, report = check(kube, tmp_path, *only)
        assert failures(report) == {"JSD853": ["n2"]}
        assert "port 4222 is not declared as opaque by its pod" in message(report, "JSD853", "n2")
        service = f"/api/v1/namespaces/{NAMESPACE}/services/nats"
        kube.call("PATCH", service, {"spec": {"ports": [{"name": "nats", "port": 4222}]}})
        pod = f"/api/v1/namespaces/{NAMESPACE}/pods/n2"
        kube.call("PATCH", pod, {"metadata": {"annotations": {"config.linkerd.io/opaque-ports": "4222"}}})
        _, report = check(kube, tmp_path, *only)
        assert failures(report) == {"JSD853": ["n1", "n2"]}
        assert "by Service nats)" in message(report, "JSD853", "n1")
        role = kube.call("GET", _ROLE)
        for rule in role["rules"]:
            rule["resources"] = [name for name in rule["resources"] if name != "services"]
        kube.call("PUT", _ROLE, role)
        code, report = check(kube, tmp_path, *only)
    assert (code, outcomes(report)["JSD853"]) == (3, "not_evaluated")
    assert [gap["how_to_get"] for gap in report["gaps"] if gap["requested"]] == ["allow `list` on services"]


def test_missing_pods_are_counted(nats: Cluster, tmp_path: Path) -> None:
    """The controller of a StatefulSet may fail to make pods (a quota): no pod shows that."""
    with lab(nats, tmp_path, stateful_set={"replicas": 5}) as (kube, _):
        about = {"kind": "StatefulSet", "name": "nats", "namespace": NAMESPACE}
        why = "create Pod nats-3 in StatefulSet nats failed error: exceeded quota"
        event = {"metadata": {"name": "nats.1"}, "involvedObject": about, "type": "Warning", "reason": "FailedCreate"}
        kube.call("POST", f"/api/v1/namespaces/{NAMESPACE}/events", {**event, "message": why, "count": 7})
        _, report = check(kube, tmp_path, "--select", "JSD831")
    assert failures(report) == {"JSD831": ["nats"]}
    assert "3 of 5" in message(report, "JSD831", "nats")
    assert "exceeded quota" in message(report, "JSD831", "nats")


def test_the_mounted_configuration_is_judged_and_holds_no_secret(nats: Cluster, tmp_path: Path) -> None:
    """A mistake with which no server starts again, a store that is on no volume, and no monitoring."""
    text = CHART_CONFIGURATION.replace('"http_port": 8222,', "").replace('"/data"', '"/elsewhere"')
    wrong = text.replace('"pid_file"', '"max_payload": "many",\n  "pid_file"')
    with lab(nats, tmp_path, configuration=wrong) as (kube, _):
        code, report = check(kube, tmp_path)
        failed = failures(report)
        assert code == 1
        assert [name for code in ("JSD817", "JSD818", "JSD823") for name in failed[code]] == [CONFIGURATION] * 3
        assert "max_payload" in message(report, "JSD817", CONFIGURATION)
        (place,) = {
            item["path"] for result in report["results"] if result["code"] == "JSD817" for item in result["evidence"]
        }
        line = 1 + wrong.splitlines().index('  "max_payload": "many",')
        assert place.startswith(f"line {line},")
        environment = {"KUBECONFIG": str(kube.kubeconfig)}
        done = jsdoctor("capture", "--kube", "-o", "kept.zip", cwd=tmp_path, env=environment, timeout=90)
        assert done.returncode in (0, 3), done.stderr
        with zipfile.ZipFile(tmp_path / "kept.zip") as kept:
            bundle = b"".join(kept.read(name) for name in kept.namelist())
        assert b"hunter2" not in bundle
        assert "hunter2" not in json.dumps(report)
        again = jsdoctor("check", "--bundle", "kept.zip", "--format", "json", cwd=tmp_path, timeout=90)
        same = failures(json.loads(again.stdout))
        assert {code: failed[code] for code in ("JSD817", "JSD818", "JSD823")} == {
            code: same[code] for code in ("JSD817", "JSD818", "JSD823")
        }
        kube.call("PATCH", _MAP, {"data": {"nats.conf": "jetstream: {"}})
        _, report = check(kube, tmp_path, "--select", "JSD817")
        assert failures(report) == {"JSD817": [CONFIGURATION]}


def test_a_change_that_no_server_has_read_is_drift(nats: Cluster, tmp_path: Path) -> None:
    """Servers that were reloaded after the change have read it, whatever they made of it."""
    changed = CHART_CONFIGURATION.replace('"port": 4222,', '"max_payload": 2MB,\n  "port": 4222,')
    rules = ("--select", "JSD844", "--set", "JSD844.grace=1ms")
    with lab(nats, tmp_path) as (kube, _):
        kube.call("PATCH", _MAP, {"data": {"nats.conf": changed}})
        os.kill(nats.node("n3").pid, signal.SIGHUP)
        _, report = check(kube, tmp_path, *rules)
        assert failures(report) == {"JSD844": ["n1", "n2"]}
        assert "max_payload is 2,097,152 there and 1,048,576 here" in message(report, "JSD844", "n1")
        for name in ("n1", "n2"):
            os.kill(nats.node(name).pid, signal.SIGHUP)
        _, report = check(kube, tmp_path, *rules)
        assert outcomes(report)["JSD844"] == "pass"


def test_each_permission_alone_is_missed_by_name(nats: Cluster, tmp_path: Path) -> None:
    """Without it there is a gap that names it, and what it serves is not evaluated."""
    served = {
        "persistentvolumeclaims": ("`list` on persistentvolumeclaims", "JSD834"),
        "poddisruptionbudgets": ("`list` on poddisruptionbudgets", "JSD833"),
        "statefulsets": ("`list` on statefulsets", "JSD843"),
        "configmaps": ("`get` on configmaps", "JSD841"),
        "events": ("`list` on events", ""),
        "pods/log": ("`get` on pods/log", "JSD817"),
        "pods/proxy": ("`get` on pods/proxy", "JSD837"),
    }
    with lab(nats, tmp_path) as (kube, _):
        role = kube.call("GET", _ROLE)
        every = role["rules"]
        for resource, (words, code) in served.items():
            rules = [{**rule, "resources": [name for name in rule["resources"] if name != resource]} for rule in every]
            role = kube.call("GET", _ROLE)
            kube.call("PUT", _ROLE, {**role, "rules": [rule for rule in rules if rule["resources"]]})
            exit_code, report = check(kube, tmp_path)
            named_gaps = [gap for gap in report["gaps"] if words in gap["how_to_get"] + gap["reason"]]
            assert named_gaps, (resource, report["gaps"])
            assert exit_code == (3 if any(gap["requested"] for gap in named_gaps) else 0), resource
            assert any(gap["requested"] for gap in named_gaps) == (resource != "configmaps")
            assert not code or outcomes(report)[code] != "pass", resource
