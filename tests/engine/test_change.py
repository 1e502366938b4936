"""Which findings a gate counts as those of a change, on a recorded deployment and manifests beside it."""

from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.engine.change import without_existing
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Observation, Outcome, Subject
from jsdoctor.model.manifest import (
    DeclaredConsumer,
    DeclaredStream,
    FilePosition,
    ManifestFile,
    Manifests,
    Mistake,
    PlannedAction,
    Tool,
)
from jsdoctor.model.report import Result
from jsdoctor.model.snapshot import SnapshotSeries
from tests.support.evidence import evidence_of
from tests.support.manifest_cases import manifest_evidence_of
from tests.support.ruleset import checks, rules

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


RULES = {rule.code: rule for rule in rules()}
BEFORE, FIXED = "was there before the change", "was there before the change, which passes this rule"
HERE = FilePosition("orders.yaml", 4)
MISTAKE = Mistake(HERE, "no such field")
LINE = HERE.shows("max_age is not set: 0")
REPLY = Observation("n1", "config.max_age", 0)
STREAM = Subject(kind="stream", name="ORDERS", account="APP")
BILLING = Subject(kind="consumer", name="billing", stream="ORDERS", account="APP")
CHANGED = {"config": {"description": "changed"}}


def beside(stream: dict[str, Any] | None = None, consumer: dict[str, Any] | None = None) -> EvidenceSet:
    """A deployment, and manifests that declare ORDERS and its consumer billing as they are deployed but for this."""
    deployed = evidence_of({"base": "three-nodes-2.15.1", "samples": 1})
    series = deployed.get(SnapshotSeries)
    assert series is not None
    orders = next(stream for stream in series.last.streams if stream.name == "ORDERS")
    billing = next(consumer for consumer in orders.consumers if consumer.name == "billing")
    given: list[dict[str, Any]] = []
    for config, settings in ((orders.config, stream or {}), (billing.config, consumer or {})):
        changed = replace(config, **settings.get("config", {}))
        given.append({"tool": Tool.NACK, "what": "", "place": HERE, **settings, "config": changed})
    declared = Manifests(
        files=(ManifestFile(path=HERE.file),),
        streams=(DeclaredStream(**given[0]),),
        consumers=(DeclaredConsumer(stream="ORDERS", **given[1]),),
    )
    return deployed.joined(declared)


def failed(subject: Subject, *evidence: Observation, code: str = "JSD401") -> Result:
    return Result(RULES[code], Finding(subject=subject, message="it fails", evidence=evidence))


def reason(result: Result, evidence: EvidenceSet, *others: Result) -> str:
    """Why that finding does not count; empty where it does."""
    judged, *_ = without_existing([result, *others], evidence, checks())
    return judged.suppressed.reason if judged.suppressed else ""


def declared(subject: Subject) -> Result:
    """A finding of a manifest, which names no account and is shown beside what is deployed."""
    return failed(replace(subject, account=""), REPLY, LINE)


def test_what_is_declared_as_it_is_deployed_was_there_before() -> None:
    unchanged = beside()
    for subject in (STREAM, BILLING):
        assert reason(declared(subject), unchanged) == BEFORE
        assert reason(failed(subject, REPLY), unchanged) == BEFORE
    assert reason(failed(Subject(kind="server", name="n1"), REPLY), unchanged) == BEFORE


def test_files_and_declared_servers_are_always_of_the_change() -> None:
    assert reason(failed(Subject(kind="file", name="jsdoctor.toml")), beside()) == ""
    assert reason(declared(Subject(kind="server", name="nats.conf")), beside()) == ""


@pytest.mark.parametrize(
    "fields",
    [
        CHANGED,
        {"planned_action": PlannedAction.REPLACED},
        {"mistakes": (MISTAKE,)},
        {"unknown": frozenset({"description"})},
    ],
    ids=["changed", "replaced", "mistaken", "not known yet"],
)
def test_a_stream_that_changes_or_may_change_is_judged_with_its_consumers(fields: dict[str, Any]) -> None:
    """Findings of the deployment count where they are about the stream itself."""
    evidence = beside(stream=fields)
    assert [reason(declared(subject), evidence) for subject in (STREAM, BILLING)] == ["", ""]
    assert [reason(failed(subject, REPLY), evidence) for subject in (STREAM, BILLING)] == ["", BEFORE]


def test_a_rule_that_judges_no_manifests_passes_nothing_of_them() -> None:
    evidence = beside(stream=CHANGED)
    assert reason(failed(STREAM, REPLY, code="JSD704"), evidence) == ""
    assert reason(failed(STREAM, REPLY, code="JSD601"), evidence) == FIXED


def test_what_a_manifest_states_wrongly_passes_no_rule() -> None:
    """The tool will refuse it, so that the deployment stays as it is."""
    for fields in (
        {"mistakes": (MISTAKE,)},
        {"unknown": frozenset({"max_age"})},
        {"planned_action": PlannedAction.REPLACED},
    ):
        assert reason(failed(STREAM, REPLY, code="JSD601"), beside(stream=fields)) == ""
