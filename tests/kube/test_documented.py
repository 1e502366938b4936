"""The commands of docs/kubernetes.md that give a service account its permissions, as an administrator types them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.invoke import jsdoctor
from tests.kube.lab import lab
from tests.servers import ROOT, ClusterFactory

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("kube")]


def documented() -> tuple[list[str], list[str]]:
    """The commands of kubectl, and the arguments of the check with the login that they make."""
    text = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
    _, _, permissions = text.partition("## Permissions")
    *commands, last = permissions.split("```sh\n")[1].split("```")[0].strip().splitlines()
    assert all(command.startswith("kubectl ") for command in commands)
    return commands, last.removeprefix("jsdoctor ").split()


def rules_of_kubernetes() -> set[str]:
    """Codes of the rules that read Kubernetes, by their pages."""
    return {page.stem for page in (ROOT / "rules").rglob("JSD*.md") if "`--kube`" in page.read_text("utf-8")}


@pytest.mark.parametrize("server_version", ["2.10.26", "2.12.8", "2.15.1"])
def test_an_account_with_the_documented_permissions(
    cluster_factory: ClusterFactory, server_version: str, tmp_path: Path
) -> None:
    """Pods of the chart on servers of this version: everything is read, and nothing is found."""
    nats = cluster_factory(server_version, 3)
    commands, arguments = documented()
    with lab(nats, tmp_path, roles=False) as (kube, _):
        for name in nats.names:
            os.kill(nats.node(name).pid, signal.SIGHUP)
        shutil.copy(kube.kubeconfig, tmp_path / "config")
        environment = os.environ | {"KUBECONFIG": str(tmp_path / "config")}
        for command in ("kubectl config use-context admin", *commands):
            done = subprocess.run(
                ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (command, done.stderr)
        done = jsdoctor(*arguments, "--format", "json", cwd=tmp_path, env={"KUBECONFIG": environment["KUBECONFIG"]})
    report = json.loads(done.stdout)
    assert done.returncode == 0, report["results"]
    assert [gap for gap in report["gaps"] if "Kubernetes" in gap["reason"]] == []
    codes = rules_of_kubernetes()
    assert {"JSD831", "JSD844"} <= codes
    assert [result for result in report["results"] if result["code"] in codes] == []
