"""The Helm chart: valid, refuses wrong values, least rights, and its command lines work on a real server."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from jsdoctor import __version__
from jsdoctor.demo.server import free_ports
from tests.cli.invoke import jsdoctor
from tests.kit.chart import CHART, NAMESPACE, VARIANTS, Json, helm, objects, pods, rendered, values
from tests.kit.schemas import write_schemas
from tests.prometheus.stack import program
from tests.servers import ROOT, ClusterFactory, wait_until

built = pytest.mark.nightly
"""helm takes minutes to build: `make test` does without it."""
every_variant = pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)


def test_the_values_fit_their_schema_and_the_version_is_that_of_jsdoctor() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    given = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema).validate(given)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["appVersion"] == chart["version"] == __version__
    assert _names(given) == _names_of_schema(schema), "values.yaml describes every value"


def _names(given: Json, before: str = "") -> set[str]:
    names = set()
    for name, value in given.items():
        nested = isinstance(value, dict) and value and name != "resources"
        names |= _names(value, f"{before}{name}.") if nested else {before + name}
    return names


def _names_of_schema(schema: Json, before: str = "") -> set[str]:
    names: set[str] = set()
    for name, value in schema["properties"].items():
        names |= _names_of_schema(value, f"{before}{name}.") if "properties" in value else {before + name}
    return names - {"global"}  # helm puts it there


@built
@every_variant
def test_helm_accepts_the_chart(settings: tuple[str, ...]) -> None:
    done = helm("lint", "--strict", str(CHART), *values(settings))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_schemas(tmp_path_factory.mktemp("schemas"))


def kubeconform(schemas: str, manifests: str) -> subprocess.CompletedProcess[str]:
    command = [str(program("kubeconform")), "-strict", "-summary", "-schema-location", schemas, "-"]
    return subprocess.run(command, input=manifests, capture_output=True, text=True, check=False, timeout=120)


@built
@every_variant
def test_the_manifests_fit_the_schemas_of_kubernetes(settings: tuple[str, ...], schemas: str) -> None:
    done = kubeconform(schemas, rendered(*settings))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: 0", done.stdout)


@built
@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("exporter.prot=9855", "additional properties 'prot' not allowed"),
        ("exporter.port=80", "minimum"),
        ("exporter.every=often", "does not match pattern"),
        ("check.failOn=fatal", "value must be one of"),
        ("image.digest=latest", "does not match pattern"),
        ("nats.login.kind=password", "value must be one of"),
        ("nats.servers=nats://app:secret@nats:4222", "does not match pattern"),
        ("nats.tls.cert=tls.crt", "minLength"),
        ("nats.servers=", "nothing to look at"),
        ("serviceMonitor.enabled=true,exporter.enabled=false", "serviceMonitor.enabled needs exporter.enabled"),
    ],
)
def test_helm_refuses_wrong_values(setting: str, complaint: str) -> None:
    done = helm("template", "look", str(CHART), "--set", setting)
    assert done.returncode != 0
    assert complaint in done.stderr


@built
@every_variant
def test_pods_may_as_little_as_they_can(settings: tuple[str, ...]) -> None:
    listed = pods(objects(*settings))
    assert listed
    for template in listed.values():
        spec = template["spec"]
        [container] = spec["containers"]
        assert spec["automountServiceAccountToken"] == ("kube.enabled=true" in settings)
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in spec["volumes"]}
        assert container["resources"]["limits"]["memory"]


@built
def test_roles_are_those_of_the_manifest_that_is_documented() -> None:
    documented = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes-reader.yaml").read_text("utf-8")))
    listed = objects(*VARIANTS["everything"])
    for kind in ("Role", "ClusterRole"):
        [made] = [role["rules"] for role in listed if role["kind"] == kind]
        assert made == next(role["rules"] for role in documented if role["kind"] == kind)
    accounts = {account["metadata"]["name"] for account in listed if account["kind"] == "ServiceAccount"}
    for binding in listed:
        if binding["kind"].endswith("RoleBinding") or binding["kind"] == "RoleBinding":
            assert [(who["name"], who["namespace"]) for who in binding["subjects"]] == [(*accounts, NAMESPACE)]
    unread = objects("kube.enabled=true", "kube.configMap=")
    assert not [rule for role in unread for rule in role.get("rules", ()) if "configmaps" in rule["resources"]]
    assert not [document for document in objects() if "Role" in document["kind"]], (
        "without kube.enabled, no rights are needed"
    )


@built
@every_variant
def test_selectors_select(settings: tuple[str, ...]) -> None:
    listed = objects(*settings)
    labels = {name: template["metadata"]["labels"] for name, template in pods(listed).items()}
    for document in listed:
        spec = document.get("spec", {})
        if document["kind"] == "Service":
            assert _chosen(spec["selector"], labels) == {"exporter"}
        elif document["kind"] == "Deployment":
            assert _chosen(spec["selector"]["matchLabels"], labels) == {"exporter"}
        elif document["kind"] == "ServiceMonitor":
            services = {
                each["metadata"]["name"]: each["metadata"]["labels"] for each in listed if each["kind"] == "Service"
            }
            assert _chosen(spec["selector"]["matchLabels"], services) == {"look-jsdoctor-exporter"}
        elif document["kind"] == "NetworkPolicy":
            everything = "Egress" in spec["policyTypes"]
            assert _chosen(spec["podSelector"]["matchLabels"], labels) == (set(labels) if everything else {"exporter"})


def _chosen(selector: Json, labels: dict[str, Json]) -> set[str]:
    return {name for name, own in labels.items() if selector.items() <= own.items()}


@built
def test_only_what_is_needed_gets_in_and_out() -> None:
    policies = {policy["metadata"]["name"]: policy["spec"] for policy in objects() if policy["kind"] == "NetworkPolicy"}
    everything, exporter = policies["look-jsdoctor"], policies["look-jsdoctor-exporter"]
    assert (everything["policyTypes"], everything.get("ingress")) == (["Ingress", "Egress"], None)
    assert [rule["port"] for egress in everything["egress"] for rule in egress["ports"]] == [53, 53, 4222, 8222]
    assert [rule["port"] for ingress in exporter["ingress"] for rule in ingress["ports"]] == ["metrics"]
    [everything] = [
        policy["spec"]
        for policy in objects("kube.enabled=true", "exporter.enabled=false")
        if policy["kind"] == "NetworkPolicy"
    ]
    assert [rule["port"] for rule in everything["egress"][-1]["ports"]] == [443, 6443]


@built
@pytest.mark.parametrize("release", ["look", "jsdoctor", "a" * 53])
def test_names_leave_room_for_those_of_jobs(release: str) -> None:
    for document in objects(*VARIANTS["everything"], release=release):
        limit = 52 if document["kind"] == "CronJob" else 63
        assert len(document["metadata"]["name"]) <= limit or document["kind"].startswith("Cluster")


SECRET = {"user": "sys", "password": "sys"}


def start(template: Json) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of the pod's container, with the values of its Secret."""
    [container] = template["spec"]["containers"]
    environment = {}
    for variable in container["env"]:
        wanted = variable.get("valueFrom", {}).get("secretKeyRef", {})
        environment[variable["name"]] = SECRET[wanted["key"]] if wanted else variable["value"]
    return container["args"], environment


@built
@pytest.mark.real
def test_the_pods_check_a_real_server(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    cluster = shared_cluster()
    [port] = free_ports(1)
    login = ("nats.login.secret=login", "nats.login.kind=user")
    listed = pods(objects(f"nats.servers={cluster.urls[0]}", *login, f"exporter.port={port}", "exporter.every=1s"))
    arguments, environment = start(listed["check"])
    done = jsdoctor(*arguments, "--format=json", cwd=tmp_path, env=environment)
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [source["kind"] for source in report["sources"]], "it connected"
    arguments, environment = start(listed["exporter"])
    probe = listed["exporter"]["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"]
    command = [sys.executable, "-m", "jsdoctor", *arguments]
    environment = os.environ | environment
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as running:
        try:
            wait_until(lambda: "jsdoctor_run_exit_code 0.0" in _fetched(port, probe), "a report", timeout=60)
        finally:
            running.terminate()
            assert running.wait(timeout=30) == 0, "a pod is ended with SIGTERM"


def _fetched(port: int, path: str) -> Any:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as reply:
            return reply.read().decode()
    except OSError:
        return ""


@built
@pytest.mark.parametrize(("kind", "variable"), [("creds", "NATS_CREDS"), ("nkey", "NATS_NKEY")])
def test_a_login_file_is_where_its_variable_names_it(kind: str, variable: str) -> None:
    [template] = pods(objects("nats.login.secret=login", f"nats.login.kind={kind}", "exporter.enabled=false")).values()
    _, environment = start(template)
    [mount] = [
        candidate for candidate in template["spec"]["containers"][0]["volumeMounts"] if candidate["name"] == "login"
    ]
    [volume] = [candidate for candidate in template["spec"]["volumes"] if candidate["name"] == "login"]
    [item] = volume["secret"]["items"]
    assert environment[variable] == f"{mount['mountPath']}/{item['path']}"
