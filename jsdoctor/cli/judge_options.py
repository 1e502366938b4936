"""The options about rules, the report and the configuration as the request that `jsdoctor.app` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.app.comma_lists import split
from jsdoctor.app.judging import JudgeRequest
from jsdoctor.app.outputs import resolve
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.render.formats import FORMATS

_AS_GIVEN = (
    *("fail_on", "exit_zero", "allow_gaps", "all_findings", "drift", "max_examples"),
    *("quiet", "verbose", "color", "config", "isolated", "environment", "baseline"),
)


def judge_options(given: Mapping[str, Any]) -> JudgeRequest:
    """From what was given for the groups of options about rules, the report (if any) and the configuration."""
    if given.get("drift") and not given.get("manifest"):
        raise UsageProblem("--drift compares a deployment with manifests", "name them with --manifest PATH")
    return JudgeRequest(
        select=split(given["select"]),
        extend_select=split(given["extend_select"]),
        ignore=split(given["ignore"]),
        rule_settings=tuple(given["set_"] or ()),
        rules=tuple(given["rules"] or ()),
        outputs=resolve(given.get("output"), given.get("format_"), FORMATS),
        **{name: given[name] for name in _AS_GIVEN if name in given},
    )
