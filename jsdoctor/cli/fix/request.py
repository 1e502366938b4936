"""The options of `fix` as the request that `jsdoctor.app` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jsdoctor.app.comma_lists import split
from jsdoctor.app.fix.request import FixRequest, parse_remedies
from jsdoctor.app.outputs import PlanFormat
from jsdoctor.cli.evidence_options import evidence_options
from jsdoctor.cli.fix.options import Allow, plan_format
from jsdoctor.cli.judge_options import judge_options
from jsdoctor.model.rule import Risk


def fix_request(
    given: Mapping[str, Any],
    own: Mapping[str, Any],
    allow: Allow | None,
    remedy: Sequence[str] | None,
    step: Sequence[str] | None,
    format_: PlanFormat | None,
) -> FixRequest:
    """From what was given for the groups of options, and for those of `fix` alone. Raises UsageProblem."""
    return FixRequest(
        judge=judge_options(given),
        wanted=evidence_options(given),
        format=plan_format(format_, own["output"]),
        remedies=parse_remedies(remedy or ()),
        steps=split(step),
        allow=Risk(allow.value) if allow else None,
        **own,
    )
