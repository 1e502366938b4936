"""The Helm chart, rendered by the real helm."""

import subprocess
from collections.abc import Sequence
from typing import Any

import yaml

from tests.prometheus.stack import program
from tests.servers.binaries import ROOT

Json = dict[str, Any]
CHART = ROOT / "deploy" / "helm" / "jsdoctor"
NAMESPACE = "monitoring"
VARIANTS: dict[str, tuple[str, ...]] = {
    "defaults": (),
    "everything": (
        *("kube.enabled=true", "kube.createClusterRole=true", "kube.namespace=nats", "serviceMonitor.enabled=true"),
        *("nats.login.secret=login", "nats.tls.secret=tls", "nats.tls.cert=tls.crt", "nats.tls.key=tls.key"),
        *("nats.tls.first=true", "check.timeZone=Europe/Berlin", "monitor={http://n1:8222,http://n2:8222}"),
        "networkPolicy.to[0].podSelector.matchLabels.app=nats",
        "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.team=b",
        *("imagePullSecrets[0].name=pull", "podLabels.team=a", "podAnnotations.note=b", "nodeSelector.disk=ssd"),
        *("tolerations[0].operator=Exists", "priorityClassName=low", "serviceAccount.annotations.role=c"),
        *("exporter.serviceAnnotations.scrape=yes", "serviceMonitor.labels.release=prometheus"),
        *(f"image.digest=sha256:{'0' * 64}", 'config=select = ["JSD403"]'),
    ),
    "kubernetes alone": ("nats.servers=", "kube.enabled=true"),
    "user": ("nats.login.secret=login", "nats.login.kind=user"),
    "token": ("nats.login.secret=login", "nats.login.kind=token"),
    "nkey": ("nats.login.secret=login", "nats.login.kind=nkey"),
    "exporter alone": ("check.enabled=false",),
    "job alone": ("exporter.enabled=false", "networkPolicy.enabled=false", "serviceAccount.create=false"),
}


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The finished command."""
    command = [str(program("helm")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def values(settings: Sequence[str]) -> list[str]:
    """Options of helm that set them."""
    return [part for setting in settings for part in ("--set", setting)]


def rendered(*settings: str, release: str = "look") -> str:
    """The manifests as YAML."""
    done = helm("template", release, str(CHART), "--namespace", NAMESPACE, *values(settings))
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(*settings: str, release: str = "look") -> list[Json]:
    """The manifests, parsed."""
    return [document for document in yaml.safe_load_all(rendered(*settings, release=release)) if document]


def pods(listed: Sequence[Json]) -> dict[str, Json]:
    """Pod templates by component."""
    templates = {}
    for document in listed:
        spec = document.get("spec", {})
        template = spec.get("template") or spec.get("jobTemplate", {}).get("spec", {}).get("template")
        if template:
            templates[template["metadata"]["labels"]["app.kubernetes.io/component"]] = template
    return templates
