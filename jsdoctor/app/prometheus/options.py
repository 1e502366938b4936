"""The options about Prometheus, from what typer has read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsdoctor.app.api_access import ApiRequest, header
from jsdoctor.collect.problems import UsageProblem

TOKEN_VARIABLE = "PROMETHEUS_TOKEN"
_SINCE_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusRequest(ApiRequest):
    """The Prometheus options of the command line."""

    match: str = ""
    since_s: float = _SINCE_S


def prometheus_options(given: Mapping[str, Any]) -> PrometheusRequest | None:
    """None if Prometheus is not queried. Raises `UsageProblem` for its other options without it."""
    url = given.get("prometheus")
    names = ["prometheus_token", "prometheus_header", "prometheus_match", "prometheus_since"]
    names += [] if given.get("loki") else ["show_queries"]
    if not url:
        if others := [f"--{name.replace('_', '-')}" for name in names if given.get(name)]:
            raise UsageProblem(f"{others[0]}: no Prometheus is named", "add --prometheus URL")
        return None
    since_s = given.get("prometheus_since")
    return PrometheusRequest(
        url=url,
        token=given.get("prometheus_token") or os.environ.get(TOKEN_VARIABLE, ""),
        headers=tuple(header("--prometheus-header", text) for text in given.get("prometheus_header") or ()),
        match=_matchers(given.get("prometheus_match") or ""),
        since_s=_SINCE_S if since_s is None else since_s,
        show_queries=bool(given.get("show_queries")),
    )


def _matchers(text: str) -> str:
    """Label matchers without the braces that people copy with them."""
    return text.strip().removeprefix("{").removesuffix("}").strip().rstrip(",")
