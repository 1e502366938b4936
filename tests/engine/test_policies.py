"""Policies as rules: the page that is made of one, and what each condition says of recordings and of manifests."""

import msgspec
import pytest

from jsdoctor.configuration.file import parse_configuration
from jsdoctor.engine.policies import policy_rules
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome
from jsdoctor.model.manifest import Manifests
from tests.support.evidence import evidence_of
from tests.support.manifest_cases import manifest_evidence_of

HEAD = """\
[[policies]]
code = "ORD001"
title = "Streams of orders are limited, and of nobody else"
severity = "error"
"""
BASE = "three-nodes-2.15.1"
ORDERS = 'on = "stream"\nmatch = { name = "ORDERS" }\n[policies.fields]\n'
BILLING = 'on = "consumer"\nmatch = { name = "billing", stream = "ORD*" }\n[policies.fields]\n'
SPECIFIED = """\
apiVersion: jetstream.nats.io/v1beta2
kind: Stream
metadata: {name: orders}
spec:
  name: ORDERS
  subjects: ["orders.>"]
"""
MANIFEST = SPECIFIED + '  maxAge: "1h"\n'


def judged(policy: str, evidence: EvidenceSet) -> list[str]:
    rules, checks = policy_rules(parse_configuration("jsdoctor.toml", HEAD + policy).policies)
    evaluation = evaluate(select_rules(rules), checks, evidence, {}, keep_passes=True)
    assert not [result for result in evaluation.results if result.finding.outcome is Outcome.ERROR]
    return sorted(
        f"{result.finding.subject.label}: {result.finding.message or result.finding.outcome.value}"
        for result in evaluation.results
    )


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ("num_replicas = { min = 3 }", "pass"),
        ("num_replicas = { min = 4 }", "num_replicas is 3 and must be at least 4"),
        ("num_replicas = { max = 3 }", "pass"),
        ("num_replicas = { max = 2 }", "num_replicas is 3 and must be at most 2"),
        ("max_bytes = { max = '64MiB' }", "pass"),
        ("max_bytes = { max = '1KiB' }", "max_bytes is 67,108,864 and must be at most 1,024"),
        ("max_bytes = { min = '1GiB' }", "max_bytes is 67,108,864 and must be at least 1,073,741,824"),
        ("max_msgs = { required = true }", "max_msgs is unlimited and must be set"),
        ("max_msgs = { max = 10 }", "max_msgs is unlimited and must be at most 10"),
        ("max_msgs = { min = 10 }", "pass"),
        ("max_age = { max = '1m' }", None),
        ("description = { required = true }", "description is not set and must be set"),
        ("storage = { one-of = ['memory'] }", "storage is file and must be memory"),
        ("storage = { one-of = ['memory', 'file'] }", "pass"),
        ("storage = { one-of = ['memory', 'tape'] }", "storage is file and must be memory or tape"),
        ("subjects = { pattern = 'orders\\.>' }", "pass"),
        ("subjects = { pattern = 'orders' }", "subjects is orders.> and must match orders"),
        ("metadata.owner = { required = true }", "metadata.owner is not set and must be set"),
        ("deny_delete = { one-of = [true] }", "deny_delete is false and must be true"),
        ("max_consumers = { required = true }", "max_consumers is unlimited and must be set"),
        ("num_replicas = { required = true }", "pass"),
        ("subjects = { one-of = ['orders.>', 'a'] }", "pass"),
        ("metadata.owner = { one-of = ['a'] }", "metadata.owner is not set and must be a"),
        (
            "num_replicas = { min = 5 }\nstorage = { one-of = ['memory'] }",
            "num_replicas is 3 and must be at least 5; storage is file and must be memory",
        ),
    ],
)
def test_conditions_on_a_stream(conditions: str, message: str | None) -> None:
    (line,) = judged(ORDERS + conditions, evidence_of({"base": BASE}))
    if message is None:
        assert line.startswith("APP > ORDERS: max_age is ")
    else:
        assert line == f"APP > ORDERS: {message}"


def test_a_finding_shows_the_field_and_the_url() -> None:
    policy = 'url = "https://wiki.example/1"\n' + ORDERS + "num_replicas = { min = 5 }"
    rules, checks = policy_rules(parse_configuration("jsdoctor.toml", HEAD + policy).policies)
    (result,) = evaluate(select_rules(rules), checks, evidence_of({"base": BASE}), {}).results
    assert result.finding.message == "num_replicas is 3 and must be at least 5 (https://wiki.example/1)"
    (shown,) = result.finding.evidence
    assert (shown.path, shown.value) == ("config.num_replicas", "3")


def test_a_policy_on_consumers_is_for_those_that_match() -> None:
    evidence = evidence_of({"base": BASE})
    assert judged(BILLING + "max_deliver = { max = 1 }", evidence) == [
        "APP > ORDERS > billing: max_deliver is unlimited and must be at most 1"
    ]
    elsewhere = BILLING.replace("ORD*", "WORK")
    assert judged(elsewhere + "max_deliver = { max = 1 }", evidence) == []
    of_all = 'on = "consumer"\n[policies.fields]\nack_policy = { one-of = ["explicit", "none", "all"] }'
    assert len(judged(of_all, evidence)) > 5


def test_accounts_and_metadata_narrow_a_policy() -> None:
    evidence = evidence_of({"base": BASE})
    fields = "[policies.fields]\nnum_replicas = { min = 5 }"
    assert judged(f'on = "stream"\nmatch = {{ name = "ORDERS", account = "OTHER" }}\n{fields}', evidence) == []
    assert judged(f'on = "stream"\nmatch = {{ name = "ORDERS", account = "A*" }}\n{fields}', evidence) != []
    assert judged(f'on = "stream"\nmatch = {{ metadata = {{ team = "x" }} }}\n{fields}', evidence) == []
    labelled = {"stream": "APP/ORDERS", "set": {"config.metadata": {"team": "x"}}}
    edited = evidence_of({"base": BASE, "edit": [labelled]})
    assert judged(f'on = "stream"\nmatch = {{ metadata = {{ team = "x" }} }}\n{fields}', edited) == [
        "APP > ORDERS: num_replicas is 3 and must be at least 5"
    ]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ("max_age = { max = '2h' }", "pass"),
        ("max_age = { max = '1h' }", "pass"),
        ("max_age = { max = '59m' }", "max_age is 1h and must be at most 59m"),
        ("max_age = { min = '61m' }", "max_age is 1h and must be at least 1h1m"),
        ("max_bytes = { required = true }", "max_bytes is unlimited and must be set"),
    ],
)
def test_conditions_on_a_manifest(conditions: str, message: str) -> None:
    evidence = manifest_evidence_of({"text": {"s.yaml": MANIFEST}})
    assert judged(ORDERS + conditions, evidence) == [f"ORDERS: {message}"]


@pytest.mark.parametrize(
    ("fields", "holds", "breaks"),
    [
        ("num_replicas = { min = 3 }", "replicas: 3", "replicas: 2"),
        ("num_replicas = { max = 3 }", "replicas: 3", "replicas: 4"),
        ("max_bytes = { required = true }", "maxBytes: 1", "maxBytes: -1"),
        ('max_bytes = { max = "1KiB" }', "maxBytes: 1024", "maxBytes: 1025"),
        ('max_bytes = { max = "1KiB" }', "maxBytes: 1", "replicas: 1"),
        ('max_bytes = { min = "1KiB" }', "replicas: 1", "maxBytes: 1023"),
        ('max_age = { max = "24h" }', 'maxAge: "24h"', 'maxAge: "24h1s"'),
        ('max_age = { max = "24h" }', 'maxAge: "1s"', "replicas: 1"),
        ('storage = { one-of = ["file"] }', "storage: file", "storage: memory"),
        ('subjects = { pattern = "orders\\\\..*" }', "replicas: 1", None),
        ('subjects = { one-of = ["payments"] }', None, "replicas: 1"),
        ("description = { required = true }", None, "replicas: 1"),
        ("metadata.owner = { required = true }", "metadata: {owner: me}", "metadata: {team: me}"),
        ('metadata.tier = { one-of = ["gold", "tin"] }', "metadata: {tier: tin}", "metadata: {tier: wood}"),
        ("deny_delete = { one-of = [true] }", "denyDelete: true", "denyDelete: false"),
    ],
)
def test_each_condition_holds_and_breaks(fields: str, holds: str | None, breaks: str | None) -> None:
    for stated, is_pass in ((holds, True), (breaks, False)):
        if stated is not None:
            evidence = manifest_evidence_of({"text": {"s.yaml": SPECIFIED + f"  {stated}\n"}})
            (line,) = judged(ORDERS + fields, evidence)
            assert line == "ORDERS: pass" if is_pass else " must " in line, line


@pytest.mark.parametrize(
    ("setting", "value", "conditions", "message"),
    [
        ("config.max_msgs", 1, "max_msgs = { required = true }", "pass"),
        ("config.num_replicas", 1, "num_replicas = { required = true }", "pass"),
        ("config.max_msgs", 0, "max_msgs = { required = true }", "max_msgs is unlimited and must be set"),
        ("config.max_msgs", 1, "max_msgs = { max = 1 }", "pass"),
        ("config.subjects", [], "subjects = { required = true }", "subjects is empty and must be set"),
        ("config.subjects", ["a", "b"], "subjects = { one-of = ['a'] }", "subjects is a, b and must be a"),
        ("config.subjects", ["a", "b"], "subjects = { pattern = 'a' }", "subjects is a, b and must match a"),
        ("config.metadata", {"owner": "ann"}, "metadata.owner = { required = true }", "pass"),
        (
            "config.metadata",
            {"owner": "ann"},
            "metadata.owner = { one-of = ['bob'] }",
            "metadata.owner is ann and must be bob",
        ),
    ],
)
def test_conditions_on_other_values(setting: str, value: object, conditions: str, message: str) -> None:
    edit = {"stream": "APP/ORDERS", "set": {setting: value}}
    assert judged(ORDERS + conditions, evidence_of({"base": BASE, "edit": [edit]})) == [f"APP > ORDERS: {message}"]


def test_a_finding_on_a_manifest_shows_the_line_and_nothing_to_type() -> None:
    policy = ORDERS + "max_age = { max = '59m' }\nmetadata.owner = { required = true }"
    rules, checks = policy_rules(parse_configuration("jsdoctor.toml", HEAD + policy).policies)
    for evidence in (manifest_evidence_of({"text": {"s.yaml": MANIFEST}}), evidence_of({"base": BASE})):
        (result,) = evaluate(select_rules(rules), checks, evidence, {}).results
        assert result.finding.remedy == {"action": "none"}
        assert len(result.finding.evidence) == 2
    (result,) = evaluate(select_rules(rules), checks, manifest_evidence_of({"text": {"s.yaml": MANIFEST}}), {}).results
    assert [(shown.path, shown.value) for shown in result.finding.evidence] == [
        ("line 7, column 3", "max_age: 1h"),
        ("line 5, column 3", "metadata is not set: not set"),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unknown": frozenset({"max_age"})}, "max_age is not known before the plan is applied"),
        ({"unknown": frozenset({"max_bytes"})}, "pass"),
        ({"unread": frozenset({"max_age", "metadata"})}, "max_age is not read of this kind of manifest"),
        ({"unread": frozenset({"metadata"})}, "metadata is not read of this kind of manifest"),
        ({"unread": frozenset({"max_bytes"})}, "pass"),
    ],
)
def test_a_policy_is_not_judged_on_what_a_manifest_leaves_open(change: dict[str, frozenset[str]], message: str) -> None:
    evidence = manifest_evidence_of({"text": {"s.yaml": MANIFEST}})
    manifests = evidence.get(Manifests)
    assert manifests is not None
    (stream,) = manifests.streams
    labelled = msgspec.structs.replace(stream.config, metadata={"owner": "ann"})
    changed = msgspec.structs.replace(manifests, streams=(msgspec.structs.replace(stream, config=labelled, **change),))
    policy = ORDERS + "max_age = { max = '2h' }\nmetadata.owner = { required = true }"
    assert judged(policy, evidence.joined(changed)) == [f"ORDERS: {message}"]


def test_the_first_of_the_fields_that_are_not_read_is_named() -> None:
    evidence = manifest_evidence_of({"text": {"s.yaml": MANIFEST}})
    manifests = evidence.get(Manifests)
    assert manifests is not None
    names = ("storage", "retention", "max_msgs", "max_bytes", "discard", "allow_direct", "compression", "no_ack")
    unread = msgspec.structs.replace(manifests.streams[0], unread=frozenset(names))
    joined = evidence.joined(msgspec.structs.replace(manifests, streams=(unread,)))
    policy = ORDERS + "".join(f"{name} = {{ required = true }}\n" for name in names)
    policies, checks = policy_rules(parse_configuration("jsdoctor.toml", HEAD + policy).policies)
    (result,) = evaluate(select_rules(policies), checks, joined, {}).results
    assert result.finding.message == "allow_direct is not read of this kind of manifest"
    assert result.finding.how_to_get == "apply it, then check the deployment"


def test_a_manifest_that_a_policy_is_not_for_comes_first() -> None:
    other = MANIFEST.replace("ORDERS", "AUDIT").replace("orders", "audit")
    evidence = manifest_evidence_of({"text": {"s.yaml": f"{other}---\n{MANIFEST}"}})
    assert judged(ORDERS + "max_age = { max = '59m' }", evidence) == ["ORDERS: max_age is 1h and must be at most 59m"]
