"""The options about evidence as the request that `jsdoctor.app` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.app.comma_lists import split
from jsdoctor.app.evidence_request import EvidenceRequest
from jsdoctor.app.kube.options import kube_options
from jsdoctor.app.logs.options import log_options, required_log_options
from jsdoctor.app.loki.options import loki_options
from jsdoctor.app.prometheus.options import prometheus_options
from jsdoctor.app.window import window_of
from jsdoctor.collect.connect.options import connection_options
from jsdoctor.collect.problems import UsageProblem


def evidence_options(given: Mapping[str, Any]) -> EvidenceRequest:
    """From what was given for the groups of options about evidence. Raises `UsageProblem` where options contradict."""
    prometheus = prometheus_options(given)
    if prometheus is not None and given.get("history"):
        raise UsageProblem("--history and --prometheus both describe the past", "give one of them")
    return EvidenceRequest(
        connection=connection_options(given),
        prometheus=prometheus,
        logs=log_options(given),
        loki=loki_options(given),
        manifests=tuple(given.get("manifest") or ()),
        packets=tuple(given.get("pcap") or ()),
        bundle=given.get("bundle"),
        history=given.get("history"),
        window=window_of(given.get("since"), given.get("until")),
        monitor=tuple(given["monitor"] or ()),
        kube=kube_options(given),
        ntp=split(given["ntp"]),
        scan=tuple(given["scan"] or ()),
        digests=_with_a_scan(given),
        host=bool(given.get("host")),
        samples=given["samples"],
        interval_s=given["interval"],
    )


def audit_options(given: Mapping[str, Any]) -> EvidenceRequest:
    """The same for an audit, which reads logs alone. Raises `UsageProblem` where no logs are named."""
    loki = loki_options(given)
    if not (given["logs"] or loki):
        raise UsageProblem("there are no logs to audit", "name them: jsdoctor audit PATH, or --loki URL --loki-query")
    logs = required_log_options(given)
    return EvidenceRequest(logs=logs, loki=loki, window=logs.window)


def _with_a_scan(given: Mapping[str, Any]) -> bool:
    if given.get("digests") and not given["scan"]:
        raise UsageProblem(
            "--digests compares messages of streams that are read, and none is named", "add --scan STREAM"
        )
    return bool(given.get("digests"))
