"""Which findings a gate counts as those of a change, on a recorded deployment and manifests beside it."""

from __future__ import annotations

import pytest

from jsdoctor.engine.change import without_existing
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.finding import Outcome
from tests.manifest_cases import manifest_evidence_of
from tests.ruleset import checks, rules

UNBOUNDED = {"stream": "APP/INTAKE", "set": {"config.max_age": 0, "config.max_bytes": -1, "config.max_msgs": -1}}
DECLARED = """
apiVersion: jetstream.nats.io/v1beta2
kind: Stream
metadata: { name: intake }
spec:
  name: INTAKE
  subjects: ["intake.>"]
  storage: file
  replicas: 3
  description: changed
"""


def reasons(limits: str) -> dict[str, str]:
    """Why each finding of JSD601 does not count, by its subject; empty for those that do."""
    case = {"base": "three-nodes-2.15.1", "edit": [UNBOUNDED], "text": {"intake.yaml": DECLARED + limits}}
    evidence = manifest_evidence_of(case)
    results = evaluate(select_rules(rules(), ["JSD601"]), checks(), evidence, {}).results
    return {
        result.finding.subject.label: result.suppressed.reason if result.suppressed else ""
        for result in without_existing(results, evidence, checks())
        if result.finding.outcome is Outcome.FAIL
    }


@pytest.mark.parametrize("limits", ["  maxMsgs: 1000\n", "  maxAge: 24h\n"])
def test_a_fault_that_the_change_fixes_is_none_of_the_change(limits: str) -> None:
    assert reasons(limits) == {"APP > INTAKE": "was there before the change, which passes this rule"}


def test_a_fault_that_the_change_leaves_counts_as_deployed_and_as_declared() -> None:
    assert reasons("") == {"APP > INTAKE": "", "INTAKE": ""}
