"""The options about evidence as the request that `jsdoctor.app` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.collect.problems import UsageProblem
from jsdoctor.sources.request import EvidenceRequest, evidence_request


def evidence_options(given: Mapping[str, Any]) -> EvidenceRequest:
    """From what was given for the groups of options about evidence. Raises `UsageProblem` for what does not fit."""
    return evidence_request(given)


def audit_options(given: Mapping[str, Any]) -> EvidenceRequest:
    """The same for an audit, which reads logs alone. Raises `UsageProblem` where no logs are named."""
    wanted = evidence_options(given)
    if not (wanted.logs.paths or wanted.loki.url):
        raise UsageProblem("there are no logs to audit", "name them: jsdoctor audit PATH, or --loki URL --loki-query")
    return wanted
