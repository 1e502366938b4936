"""What was given on the command line as the requests that `jsdoctor.app` takes, where options must fit together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.request import ConfigurationRequest, JudgeRequest
from jsdoctor.model.option import request_from
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.request import EvidenceRequest, evidence_request


def judge_request(given: Mapping[str, Any]) -> JudgeRequest:
    """How to judge. Raises `UsageProblem` for what does not fit."""
    if given.get("drift") and not given.get("manifest"):
        raise UsageProblem("--drift compares a deployment with manifests", "name them with --manifest PATH")
    return request_from(JudgeRequest, given)


def wanted_evidence(given: Mapping[str, Any], *, files: bool = False) -> EvidenceRequest:
    """What to read, with what the configuration file says of the sources that were given. Raises `Problem`.

    `files`: files are named beside the options.
    """
    config = load_configuration(request_from(ConfigurationRequest, given))
    return evidence_request(given, config.options, files=files)


def audit_request(given: Mapping[str, Any]) -> EvidenceRequest:
    """What an audit reads, which is logs alone. Raises `UsageProblem` where none are named."""
    wanted = wanted_evidence(given)
    if not (wanted.logs.paths or wanted.loki.url):
        raise UsageProblem("there are no logs to audit", "name them: jsdoctor audit PATH, or --loki URL --loki-query")
    return wanted
