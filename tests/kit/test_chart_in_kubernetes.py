"""The Helm chart in a real kube-apiserver, which has no nodes: objects are made, and no pod is started."""

import json
import re
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.kit.chart import CHART, NAMESPACE, VARIANTS, helm, objects, pods, rendered, values
from tests.kit.schemas import source
from tests.kube.cluster import KubeCluster, kube_cluster

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("kube")]
every_variant = pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeCluster]:
    """Namespaces that admit only pods of the standard `restricted`, and the definition of ServiceMonitors."""
    with kube_cluster(tmp_path_factory.mktemp("kube")) as running:
        for name in (NAMESPACE, "nats"):
            labels = {"pod-security.kubernetes.io/enforce": "restricted"}
            running.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        running.kubectl("apply", "--server-side", "-f", str(source("servicemonitor.yaml")))
        running.kubectl("wait", "--for=condition=Established", "crd/servicemonitors.monitoring.coreos.com")
        yield running


def apply(cluster: KubeCluster, manifests: str) -> subprocess.CompletedProcess[str]:
    """What the API server says of them. Nothing is kept; an unknown field is an error."""
    command = ["kubectl", "--kubeconfig", str(cluster.kubeconfig), "--context", "admin", "apply"]
    command += ["--server-side", "--dry-run=server", "--validate=strict", "-f", "-"]
    return subprocess.run(command, input=manifests, capture_output=True, text=True, check=False, timeout=60)


@every_variant
def test_the_api_server_accepts_the_manifests(settings: tuple[str, ...], cluster: KubeCluster) -> None:
    manifests = rendered(*settings)
    done = apply(cluster, manifests)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(objects(*settings))
    assert "would violate PodSecurity" not in done.stderr


@every_variant
def test_pods_meet_the_standard_restricted(settings: tuple[str, ...], cluster: KubeCluster) -> None:
    for component, template in pods(objects(*settings)).items():
        template["spec"].pop("priorityClassName", None)  # a class that is not there is refused for that
        pod = {"apiVersion": "v1", "kind": "Pod", **template}
        pod["metadata"] |= {"name": component, "namespace": NAMESPACE}
        assert apply(cluster, json.dumps(pod)).returncode == 0
        pod["spec"]["containers"][0]["securityContext"]["capabilities"] = {}
        refused = apply(cluster, json.dumps(pod))
        assert "unrestricted capabilities" in refused.stderr


@pytest.fixture
def release(cluster: KubeCluster) -> Iterator[str]:
    """Options of helm for this cluster. The release `look` is gone afterwards."""
    options = ["--namespace", NAMESPACE, "--kubeconfig", str(cluster.kubeconfig), "--kube-context", "admin"]
    yield " ".join(options)
    helm("uninstall", "look", *options)


def test_a_release_is_installed_upgraded_and_removed(cluster: KubeCluster, release: str) -> None:
    options = release.split()
    done = helm("install", "look", str(CHART), *options)
    assert done.returncode == 0, done.stderr
    notes = done.stdout.partition("NOTES:")[2]
    assert "No login is set" in notes
    for kind, name in set(re.findall(r"(cronjob|service)/(\S+)", notes)):
        cluster.kubectl("get", kind, name, "--namespace", NAMESPACE)
    [command] = [line.strip() for line in notes.splitlines() if "create job" in line]
    cluster.kubectl(*command.split()[1:])
    job = yaml.safe_load(cluster.kubectl("get", "job", "look-jsdoctor-now", "--namespace", NAMESPACE, "-o", "yaml"))
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][0] == "check"
    cluster.kubectl("delete", "job", "look-jsdoctor-now", "--namespace", NAMESPACE, "--cascade=background")
    done = helm("upgrade", "look", str(CHART), *options, *values(VARIANTS["everything"]))
    assert done.returncode == 0, done.stderr
    cluster.kubectl("get", "servicemonitor", "look-jsdoctor-exporter", "--namespace", NAMESPACE)
    done = helm("uninstall", "look", *options)
    assert done.returncode == 0, done.stderr
    left = cluster.kubectl("get", "cronjobs,deployments,services,roles,servicemonitors", "-A", "-o", "name")
    assert "look-" not in left
