"""The options about Loki, from what typer has read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsdoctor.app.api_access import ApiRequest, header
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.parse.loki.query import LogQuery, parse_log_query

TOKEN_VARIABLE = "LOKI_BEARER_TOKEN"
"""The name that logcli uses."""

_EXAMPLE = "write it as --loki-query '{app=\"nats\"}'"
_ONLY_WITH_LOKI = ("loki_query", "loki_token", "loki_header", "loki_label")


@dataclass(frozen=True, slots=True, kw_only=True)
class LokiRequest(ApiRequest):
    """The Loki options of the command line. `labels` name servers, if the user chose them."""

    query: LogQuery
    labels: tuple[str, ...] = ()


def loki_options(given: Mapping[str, Any]) -> LokiRequest | None:
    """None where Loki is not queried. Raises `UsageProblem` for its other options without it, and what contradicts."""
    url = given.get("loki")
    if not url:
        if others := [f"--{name.replace('_', '-')}" for name in _ONLY_WITH_LOKI if given.get(name)]:
            raise UsageProblem(f"{others[0]}: no Loki is named", "add --loki URL")
        return None
    if not given.get("loki_query"):
        raise UsageProblem("--loki: the log lines of NATS are not selected", _EXAMPLE)
    for name in ("master", "remote", "state"):
        if given.get(name):
            why = "lines of Loki are in files of this machine for one run only"
            raise UsageProblem(f"--{name} cannot be given with --loki", why)
    try:
        query = parse_log_query(given["loki_query"])
    except ValueError as error:
        raise UsageProblem(f"--loki-query: {error}", _EXAMPLE) from None
    return LokiRequest(
        url=url,
        query=query,
        token=given.get("loki_token") or os.environ.get(TOKEN_VARIABLE, ""),
        headers=tuple(header("--loki-header", text) for text in given.get("loki_header") or ()),
        labels=tuple(given.get("loki_label") or ()),
        show_queries=bool(given.get("show_queries")),
    )
