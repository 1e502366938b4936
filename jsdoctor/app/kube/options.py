"""The options about Kubernetes, from what typer has read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from jsdoctor.collect.problems import UsageProblem


class KubeRequest(msgspec.Struct, frozen=True):
    """The Kubernetes options of the command line. Empty: as in the kubeconfig."""

    namespace: str = ""
    context: str = ""


def kube_options(given: Mapping[str, Any]) -> KubeRequest | None:
    """None where Kubernetes is not queried. Raises `UsageProblem` for its other options without it."""
    if given.get("kube"):
        return KubeRequest(given.get("namespace") or "", given.get("kube_context") or "")
    for name in ("namespace", "kube_context"):
        if given.get(name):
            raise UsageProblem(f"--{name.replace('_', '-')}: Kubernetes is not queried", "add --kube")
    return None
