"""The service account of the Helm chart, by its token: `check --kube` needs each of its rights, and it has no other."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit.chart import NAMESPACE as RELEASED_IN
from tests.kit.chart import objects, pods
from tests.kube.cluster import KubeCluster
from tests.kube.lab import check, lab, outcomes
from tests.kube.pods import CONFIG_MAP, NAMESPACE
from tests.servers import Cluster

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("kube")]

Json = dict[str, Any]
ACCOUNT = "look-jsdoctor"
SETTINGS = ("kube.enabled=true", "kube.createClusterRole=true", f"kube.namespace={NAMESPACE}", "nats.servers=")
RIGHTS = {
    ("list", "pods"),
    ("list", "services"),
    ("list", "persistentvolumeclaims"),
    ("list", "events"),
    ("get", "pods/log"),
    ("get", "pods/proxy"),
    ("list", "poddisruptionbudgets"),
    ("list", "statefulsets"),
    ("get", f"configmaps {CONFIG_MAP}"),
    ("list", "nodes"),
    ("list", "storageclasses"),
}
"""All that the account may do with objects."""

OF_PODS = {*(f"JSD{number}" for number in range(831, 845)), "JSD853"} - {"JSD835"}
"""Rules on what Kubernetes knows. JSD835 is for streams that are not on all servers, and here are three."""

WITHOUT: dict[str, set[str]] = {
    "services": {"JSD853"},
    "persistentvolumeclaims": {"JSD834", "JSD837"},
    "events": set(),
    "pods/log": set(),
    # All rules that look at replies of servers as well, if only to say more.
    "pods/proxy": {f"JSD{number}" for number in (833, 836, 837, 838, 839, 840, 841, 843, 844)},
    "poddisruptionbudgets": {"JSD833"},
    "statefulsets": {"JSD843"},
    "configmaps": {"JSD841", "JSD844"},
    "nodes": set(),
    "storageclasses": set(),
}
"""The rules on pods that are not evaluated without this resource. A healthy deployment passes all of them."""

OPTIONAL = {"configmaps", "nodes", "storageclasses"}


@pytest.fixture(scope="module")
def kube(nats: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeCluster]:
    """Servers that have read their configuration, and the chart's account with its roles beside them."""
    sized, meshed = dict.fromkeys(nats.names, _SIZED), dict.fromkeys(nats.names, _MESHED)
    with lab(nats, tmp_path_factory.mktemp("kube"), containers=sized, specs=meshed) as (cluster, _):
        for name in nats.names:
            os.kill(nats.node(name).pid, signal.SIGHUP)
        cluster.create("/api/v1/namespaces", {"metadata": {"name": RELEASED_IN}})
        made = [
            document
            for document in objects(*SETTINGS)
            if document["kind"] == "ServiceAccount" or "Role" in document["kind"]
        ]
        (cluster.directory / "roles.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
        cluster.kubectl("apply", "-f", str(cluster.directory / "roles.json"))
        yield cluster


_MESHED = {"initContainers": [{"name": "istio-proxy", "image": "istio/proxyv2:1.27.0"}]}
_SIZED = {"resources": {"limits": {"memory": "1Gi"}}, "env": [{"name": "GOMEMLIMIT", "value": "900MiB"}]}


@pytest.fixture(scope="module")
def kubeconfig(kube: KubeCluster) -> Path:
    """One user: the token that the API server issues to the account, as it does to its pods."""
    token = kube.kubectl("create", "token", ACCOUNT, "-n", RELEASED_IN).strip()
    config = json.loads(kube.kubeconfig.read_text("utf-8"))
    config["users"] = [{"name": "account", "user": {"token": token}}]
    config["contexts"] = [{"name": "account", "context": {"cluster": "lab", "user": "account"}}]
    path = kube.directory / "account"
    path.write_text(json.dumps({**config, "current-context": "account"}), "utf-8")
    path.chmod(0o600)
    return path


def as_account(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Kubectl with the account's token."""
    command = ["kubectl", "--kubeconfig", str(kubeconfig), "-n", NAMESPACE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def pod_arguments() -> list[str]:
    """What the chart's job runs, after `check --kube`."""
    _, *arguments = pods(objects(*SETTINGS))["check"]["spec"]["containers"][0]["args"]
    return [argument for argument in arguments if argument != "--kube"]


def test_it_reads_all_that_the_check_needs(kube: KubeCluster, kubeconfig: Path, tmp_path: Path) -> None:
    """With the arguments of the chart's job, which are for a deployment without a NATS login."""
    code, report = check(kube, tmp_path, *pod_arguments(), kubeconfig=kubeconfig)
    assert [gap for gap in report["gaps"] if "Kubernetes" in gap["reason"]] == []
    assert [gap for gap in report["gaps"] if gap["requested"]] == []
    assert code == 0, report["results"]
    assert {
        rule_code: outcome
        for rule_code, outcome in outcomes(report).items()
        if rule_code in OF_PODS and outcome != "pass"
    } == {}


@pytest.mark.parametrize("resource", WITHOUT)
def test_without_one_right_its_rules_are_not_evaluated(
    resource: str, kube: KubeCluster, kubeconfig: Path, tmp_path: Path
) -> None:
    """The gap names the right, and no rule passes for what could not be read."""
    with without(kube, resource):
        code, report = check(kube, tmp_path, *pod_arguments(), kubeconfig=kubeconfig)
    verb = "get" if resource in ("configmaps", "pods/log", "pods/proxy") else "list"
    named = [gap for gap in report["gaps"] if f"`{verb}` on {resource}" in gap["reason"] + gap["how_to_get"]]
    assert named, report["gaps"]
    assert any(gap["requested"] for gap in named) == (resource not in OPTIONAL)
    assert code == (0 if resource in OPTIONAL else 3)
    not_passed = {
        rule_code: outcome
        for rule_code, outcome in outcomes(report).items()
        if rule_code in OF_PODS and outcome != "pass"
    }
    assert not_passed == dict.fromkeys(WITHOUT[resource], "not_evaluated")


@contextmanager
def without(kube: KubeCluster, resource: str) -> Iterator[None]:
    """The account's role, and its role for the whole cluster, without a resource while the context lasts."""
    base = "/apis/rbac.authorization.k8s.io/v1"
    paths = (f"{base}/namespaces/{NAMESPACE}/roles/{ACCOUNT}", f"{base}/clusterroles/{RELEASED_IN}-{ACCOUNT}")
    given = {path: kube.call("GET", path)["rules"] for path in paths}
    try:
        for path, rules in given.items():
            left = [{**rule, "resources": [name for name in rule["resources"] if name != resource]} for rule in rules]
            put(kube, path, [rule for rule in left if rule["resources"]])
        yield
    finally:
        for path, rules in given.items():
            put(kube, path, rules)


def put(kube: KubeCluster, path: str, rules: list[Json]) -> None:
    """Give a role these rules."""
    kube.call("PUT", path, {**kube.call("GET", path), "rules": rules})


def test_it_has_these_rights_and_no_others(kube: KubeCluster, kubeconfig: Path) -> None:
    """As the API server lists them to the account itself. Any account may also review its own rights."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": NAMESPACE},
    }
    path = kube.directory / "review.json"
    path.write_text(json.dumps(review), "utf-8")
    done = as_account(kubeconfig, "create", "--validate=false", "-f", str(path), "-o", "json")
    assert done.returncode == 0, done.stderr
    assert set(rights(json.loads(done.stdout))) == RIGHTS


def rights(review: Json) -> Iterator[tuple[str, str]]:
    """Verb and resource, with the name of an object where the rule has one."""
    for rule in review["status"]["resourceRules"]:
        for resource in (
            rule["resources"] if not {"authorization.k8s.io", "authentication.k8s.io"} & {*rule["apiGroups"]} else ()
        ):
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    yield verb, f"{resource} {name}".strip()


@pytest.mark.parametrize(
    "arguments",
    [
        ("get", "secrets"),
        ("get", "secret", "nats-login"),
        ("get", "configmap", "other"),
        ("get", "pods", "-n", "default"),
        ("exec", "n1", "-c", "nats", "--", "true"),
        ("attach", "n1", "-c", "nats"),
        ("port-forward", "n1", "18222:8222"),
        ("delete", "pod", "n1"),
        ("label", "pod", "n1", "a=b"),
        ("scale", "statefulset", "nats", "--replicas=0"),
        ("create", "configmap", "made", "--from-literal=a=b"),
        ("patch", "configmap", CONFIG_MAP, "-p", '{"data":{"nats.conf":""}}'),
        ("create", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/n1:8222/proxy/", "-f", "/dev/null"),
        ("create", "token", ACCOUNT, "-n", RELEASED_IN),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_it_is_refused_everything_else(arguments: tuple[str, ...], kubeconfig: Path) -> None:
    """Requests to the real API server. Kubectl first reads what it changes, and it may not do that either."""
    done = as_account(kubeconfig, *arguments)
    assert done.returncode != 0, done.stdout
    assert "Forbidden" in done.stderr or "forbidden" in done.stderr, done.stderr
