"""What rules on manifests say beside deployments that no recording has: limits, several accounts, deletions."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from jsdoctor.checks.stream_limits.change_deletes import change_deletes_declared
from jsdoctor.checks.stream_limits.configuration_refused import configuration_refused_declared
from jsdoctor.checks.stream_limits.near_limit import near_limit_declared
from jsdoctor.checks.stream_limits.no_ack import no_ack_declared
from jsdoctor.engine.select import find_rule
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import Account, AccountLimits, Accounts, Tier
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from tests.support.manifest_cases import manifests_of
from tests.support.ruleset import rules

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HEAD = "apiVersion: jetstream.nats.io/v1beta2\nkind: {}\nmetadata: {{name: x}}\nspec:\n"


def params(code: str) -> Params:
    return Params.of({name: param.default for name, param in find_rule(rules(), code).params.items()}, {})


def stream_file(name: str, **spec: object) -> str:
    return HEAD.format("Stream") + f"  name: {name}\n" + "".join(f"  {key}: {value}\n" for key, value in spec.items())


def consumer_file(stream: str, name: str, **spec: object) -> str:
    fields = {"streamName": stream, "durableName": name, "ackPolicy": "explicit"} | spec
    return HEAD.format("Consumer") + "".join(f"  {key}: {value}\n" for key, value in fields.items())


def plan(name: str, *actions: str, **fields: object) -> str:
    """A Terraform plan for one stream."""
    after = None if actions == ("delete",) else {"name": name, "storage": "file", "retention": "limits"} | fields
    address = f"jetstream_stream.{name}"
    change = {"actions": actions, "before": {"name": name}, "after": after, "after_unknown": {"id": True}}
    resource = {"address": address, "mode": "managed", "type": "jetstream_stream", "name": name, "change": change}
    return json.dumps({"format_version": "1.2", "resource_changes": [resource]})


def manifests(*texts: str, **files: str) -> Manifests:
    named = {f"{number}.yaml": text for number, text in enumerate(texts)}
    return manifests_of({"text": named | {f"{name}.json": text for name, text in files.items()}})


def deployed(name: str, held: int = 0, account: str = "APP", **fields: Any) -> Stream:
    config = StreamConfig(name=name, **({"subjects": (name.lower(),)} | fields.pop("config", {})))
    known: dict[str, Any] = {"messages": held, "bytes": 100 * held, "first_seq": 1, "last_seq": held}
    state = StreamState(**(known | fields.pop("state", {})))
    return Stream(account=account, name=name, config=config, state=state, at=NOON, answered_by="n1", **fields)


def series(*streams: Stream) -> SnapshotSeries:
    return SnapshotSeries((ClusterSnapshot(taken_at=NOON, streams=streams),))


def words(findings: list[Finding]) -> dict[str, str]:
    return {finding.subject.name: finding.message or finding.outcome.value for finding in findings}


# Configurations that a server refuses


def refused(declared: Manifests, *streams: Stream, **limits: Any) -> dict[str, str]:
    accounts = Accounts((Account("APP", (Tier(limits=AccountLimits(**limits)),), NOON, "n1"),)) if limits else None
    return words(list(configuration_refused_declared(declared, series(*streams), None, None, accounts)))


def test_limits_of_the_account() -> None:
    new = manifests(stream_file("NEW", subjects='["new"]'))
    assert refused(new, deployed("A"), max_streams=2) == {"NEW": "pass"}
    assert "its account has 1 streams, and may have 1" in refused(new, deployed("A"), max_streams=1)["NEW"]
    larger = {"subjects": '["a"]', "maxBytes": 200, "storage": "file"}
    above = "max_bytes 200 is above 100, the account's limit for one stream"
    change = refused(manifests(stream_file("A", **larger)), deployed("A"), storage_max_stream_bytes=100)
    assert above in change["A"]
    kept = manifests(stream_file("A", **larger, preventUpdate="true"))
    assert above not in refused(kept, deployed("A"), storage_max_stream_bytes=100)["A"]
    created = manifests(stream_file("B", **larger | {"subjects": '["b"]'}, preventUpdate="true"))
    assert above in refused(created, deployed("A"), storage_max_stream_bytes=100)["B"]


def test_limits_of_the_account_for_a_stream_that_a_plan_replaces() -> None:
    above = "max_bytes 200 is above 100, the account's limit for one stream"
    larger = manifests(tf=plan("A", "delete", "create", max_bytes=200))
    assert above in refused(larger, deployed("A"), storage_max_stream_bytes=100)["A"]
    assert refused(larger, deployed("A"), storage_max_stream_bytes=200) == {"A": "pass"}
    assert above in refused(larger, deployed("B"), storage_max_stream_bytes=100)["A"]
    assert refused(larger, deployed("A"), deployed("B"), max_streams=2) == {"A": "pass"}


def test_a_name_that_two_accounts_have_is_compared_with_no_limit() -> None:
    both = deployed("A"), deployed("A", account="OTHER")
    results = refused(manifests(stream_file("A", subjects='["a"]', maxBytes=200)), *both, storage_max_stream_bytes=100)
    assert results["A"].startswith("several accounts have a stream A (APP, OTHER)")


def test_a_new_stream_where_several_accounts_have_streams() -> None:
    streams = series(deployed("A"), deployed("B", account="OTHER"))
    new = manifests(stream_file("NEW", subjects='["new"]'))
    (finding,) = configuration_refused_declared(new, streams, None, None, None)
    assert (finding.outcome, finding.message, finding.how_to_get) == (
        Outcome.NOT_EVALUATED,
        "several accounts have streams: whether its subjects are taken in its own account is not known",
        "use a login of the account that it is for",
    )


def test_a_subject_that_another_stream_gives_up_is_free() -> None:
    """Of a stream that is declared as well, only the subjects that it keeps are taken."""
    held = deployed("A", config={"subjects": ("a", "b")})
    gives_up = manifests(stream_file("A", subjects='["a"]', storage="file"), stream_file("NEW", subjects='["b"]'))
    assert refused(gives_up, held)["NEW"] == "pass"
    keeps = manifests(stream_file("A", subjects='["a", "b"]', storage="file"), stream_file("NEW", subjects='["b"]'))
    assert "overlaps with 'b' of stream A" in refused(keeps, held)["NEW"]


# Changes that delete


def deletes(declared: Manifests, *streams: Stream, live: bool = True) -> list[Finding]:
    return list(change_deletes_declared(declared, series(*streams) if live else None, None, None))


def changed(spec: dict[str, object], **state: Any) -> Finding:
    held = deployed("A", 100, state=state)
    (finding,) = deletes(manifests(stream_file("A", subjects='["a"]', storage="file", **spec)), held)
    return finding


def test_whether_a_limit_for_each_subject_deletes_is_not_always_known() -> None:
    text = "max_msgs_per_subject becomes 5: whether one subjects holds more is not known"
    finding = changed({"maxMsgsPerSubject": 5})
    assert (finding.outcome, finding.message) == (Outcome.NOT_EVALUATED, text)
    assert finding.how_to_get == (
        "use a login of the stream's account, live: it can ask how many messages each subject holds"
    )
    fewer = "max_msgs 60 is below the 100 messages it holds: the oldest 40 are deleted"
    both = changed({"maxMsgsPerSubject": 5, "maxMsgs": 60})
    assert (both.outcome, both.measured, both.message) == (Outcome.FAIL, 40, f"{fewer}; {text}")


# Limits of streams


def test_streams_without_a_limit_for_consumers_come_before_one_with_it() -> None:
    declared = manifests(
        stream_file("UNKNOWN", subjects='["u"]', maxConsumers=100),
        stream_file("FREE", subjects='["f"]'),
        stream_file("ROOM", subjects='["r"]', maxConsumers=100),
        stream_file("FULL", subjects='["g"]', maxConsumers=1),
        consumer_file("FULL", "a"),
        consumer_file("FULL", "b"),
    )
    first, *others = declared.streams
    unsure = msgspec.structs.replace(first, unknown=frozenset({"max_consumers"}))
    results = near_limit_declared(msgspec.structs.replace(declared, streams=(unsure, *others)), None, params("JSD602"))
    assert [(finding.subject.name, finding.outcome.value) for finding in results] == [
        ("UNKNOWN", "not_evaluated"),
        ("ROOM", "pass"),
        ("FULL", "fail"),
    ]


def test_a_stream_that_only_copies_has_no_publishers_to_acknowledge() -> None:
    declared = manifests(stream_file("SUM", sources="[{name: A}, {name: B}]", noAck="true"))
    assert list(no_ack_declared(declared)) == []
