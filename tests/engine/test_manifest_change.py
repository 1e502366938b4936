"""What manifests change in the deployment beside them, and what cannot be known of that."""

from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.engine.manifest_change import drift_gaps, manifest_change
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.change import ChangeAction, ChangeStep, ManifestChange
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.manifest import (
    DeclaredAsset,
    DeclaredConsumer,
    DeclaredStream,
    FilePosition,
    Manifests,
    Mistake,
    Tool,
)
from jsdoctor.model.server import ConnectedServer
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from tests.support.evidence import evidence_of
from tests.support.ruleset import checks, rules

BLIND = "not all of the deployment was seen"
SEVERAL = "several accounts have streams, and the manifests do not name the account"
PLACE = FilePosition("plan.json", 3)
RECORDED = evidence_of({"base": "three-nodes-2.15.1"})
UNREACHED = Gap("server", Subject(kind="server", name="n3"), "no reply", "start it")


def recorded() -> dict[str, Stream]:
    series = RECORDED.get(SnapshotSeries)
    assert series is not None
    return {stream.name: stream for stream in series.last.streams}


def deployment(*streams: Stream) -> EvidenceSet:
    """A deployment with these streams and no others."""
    series = RECORDED.get(SnapshotSeries)
    assert series is not None
    return RECORDED.joined(SnapshotSeries((replace(series.last, streams=streams),)))


def stream(name: str, like: str = "ORDERS", config: dict[str, Any] | None = None, **more: Any) -> DeclaredStream:
    """A stream of a Terraform plan, equal to a recorded one but for these values."""
    wanted = replace(recorded()[like].config, name=name, **(config or {}))
    return DeclaredStream(tool=Tool.TERRAFORM, what="stream", place=PLACE, config=wanted, **more)


def consumer(of_stream: str, name: str, config: dict[str, Any] | None = None, **more: Any) -> DeclaredConsumer:
    """A consumer of a Terraform plan, equal to the billing consumer of ORDERS but for these values."""
    (like,) = (known for known in recorded()["ORDERS"].consumers if known.name == "billing")
    wanted = replace(like.config, name=name, durable_name=name, **(config or {}))
    return DeclaredConsumer(tool=Tool.TERRAFORM, what="consumer", place=PLACE, stream=of_stream, config=wanted, **more)


def change_of(
    evidence: EvidenceSet, *declared: DeclaredAsset, gaps: tuple[Gap, ...] = (), select: tuple[str, ...] = ()
) -> ManifestChange:
    manifests = Manifests(
        streams=tuple(asset for asset in declared if isinstance(asset, DeclaredStream)),
        consumers=tuple(asset for asset in declared if isinstance(asset, DeclaredConsumer)),
    )
    evidence = evidence.joined(manifests)
    evaluation = evaluate(select_rules(rules(), select or ("JSD615",)), checks(), evidence, {})
    change = manifest_change(evidence, evaluation.results, evaluation.verdicts, gaps)
    assert change is not None
    return change


def step_of(change: ManifestChange) -> ChangeStep:
    (step,) = change.steps
    return step


def test_without_manifests_or_a_deployment_there_is_no_change() -> None:
    manifests = Manifests(streams=(stream("NEW"),))
    assert manifest_change(RECORDED, (), (), ()) is None
    assert manifest_change(RECORDED.joined(manifests).without(SnapshotSeries, UNREACHED), (), (), ()) is None
    assert drift_gaps(None) == (
        Gap(
            "drift",
            CLUSTER,
            "no deployment was seen beside the manifests",
            "name it: -s URL, --context NAME or --bundle FILE",
        ),
    )


def test_a_field_that_is_stated_and_not_read_is_no_change() -> None:
    """A resource of NACK may have fields that jsdoctor does not read: what is deployed of them stays."""
    orders = recorded()["ORDERS"]
    packed = replace(orders, config=replace(orders.config, compression="s2", description="orders"))
    declared = stream("ORDERS", unread=frozenset({"compression", "description"}))
    change = change_of(deployment(packed), declared, consumer("ORDERS", "billing", unread=frozenset({"sample_freq"})))
    assert (change.steps, change.unchanged) == ((), 2)
    assert step_of(change_of(deployment(packed), stream("ORDERS"))).subject.label.endswith("ORDERS")


def test_what_is_deployed_as_declared_is_unchanged() -> None:
    evidence = deployment(recorded()["RING"], recorded()["ORDERS"])
    change = change_of(evidence, stream("ORDERS"), stream("RING", "RING"), consumer("ORDERS", "billing"))
    assert (change.steps, change.unchanged, change.incomplete) == ((), 3, "")
    assert {subject.label for subject in change.undeclared} == {
        f"APP > ORDERS > {known.name}" for known in recorded()["ORDERS"].consumers if known.name != "billing"
    }
    assert drift_gaps(change) == ()


@pytest.mark.parametrize("kind", ["connection", "server", "stream", "endpoint", "reply"])
def test_a_stream_may_exist_where_something_did_not_reply(kind: str) -> None:
    evidence = deployment(recorded()["RING"])
    change = change_of(evidence, stream("ORDERS"), gaps=(Gap(kind, CLUSTER, "no reply", "run again"),))
    step = step_of(change)
    assert (step.action, step.reason, step.at_stake, step.fields) == (ChangeAction.UNCLEAR, BLIND, "not known", ())
    assert change.incomplete == BLIND
    assert drift_gaps(change) == (
        Gap("drift", stream("ORDERS").subject, BLIND, "see the other gaps, and run again"),
        Gap("drift", CLUSTER, BLIND, "use a login of the account that the manifests are for"),
    )


@pytest.mark.parametrize("kind", ["logs", "ntp", "history"])
def test_other_gaps_hide_no_stream(kind: str) -> None:
    gap = Gap(kind, CLUSTER, "not given", "name one")
    change = change_of(deployment(recorded()["RING"]), stream("ORDERS"), gaps=(gap,))
    assert (step_of(change).action, change.incomplete) == (ChangeAction.CREATE, "")


def test_a_login_of_one_account_shows_all_that_is_its_own() -> None:
    """What such a login never shows hides nothing; without a connection, it may hide a stream."""
    never = replace(UNREACHED, requested=False)
    evidence = deployment(recorded()["RING"])
    assert step_of(change_of(evidence, stream("ORDERS"), gaps=(never,))).action is ChangeAction.CREATE
    offline = evidence.without(ConnectedServer, never)
    assert step_of(change_of(offline, stream("ORDERS"), gaps=(never,))).action is ChangeAction.UNCLEAR
    assert step_of(change_of(offline, stream("ORDERS"))).action is ChangeAction.CREATE


def test_a_consumer_may_exist_where_those_of_its_stream_are_not_all_seen() -> None:
    listed = recorded()["ORDERS"]
    partly = deployment(replace(listed, consumers_seen=False), recorded()["RING"])
    change = change_of(partly, stream("RING", "RING"), stream("ORDERS"), consumer("ORDERS", "new"))
    step = step_of(change)
    assert (step.subject.label, step.action, step.reason) == ("ORDERS > new", ChangeAction.UNCLEAR, BLIND)
    assert change.incomplete == BLIND
    assert change_of(partly, stream("ORDERS"), consumer("ORDERS", "billing")).unchanged == 2
    new = step_of(change_of(deployment(listed), consumer("ORDERS", "new"), gaps=(UNREACHED,)))
    assert new.action is ChangeAction.CREATE
    unseen = step_of(change_of(deployment(listed), consumer("GONE", "new"), gaps=(UNREACHED,)))
    assert (unseen.action, unseen.fields) == (ChangeAction.UNCLEAR, ())


def test_a_stream_that_its_leader_did_not_report_is_unclear() -> None:
    evidence = deployment(replace(recorded()["ORDERS"], from_leader=False))
    step = step_of(change_of(evidence, stream("ORDERS", config={"max_msgs": 50})))
    reason = "stream ORDERS is there, and its leader did not report it"
    assert (step.action, step.fields, step.reason) == (ChangeAction.UNCLEAR, (), reason)
    assert step.at_stake == f"not known: {reason}"


def test_a_plan_may_state_what_is_known_only_afterwards_and_have_mistakes() -> None:
    evidence = deployment(recorded()["ORDERS"])
    fields = ("subjects", "max_age", "max_msgs", "placement", "description", "metadata", "storage")
    unknown = step_of(change_of(evidence, stream("ORDERS", unknown=frozenset(fields))))
    later = f"known after the tool has run: {', '.join(sorted(fields))}"
    assert (unknown.action, unknown.fields, unknown.reason) == (ChangeAction.UPDATE, (), later)
    mistakes = (Mistake(PLACE, "no such field"),)
    wrong = step_of(change_of(evidence, stream("ORDERS", mistakes=mistakes)))
    assert (wrong.action, wrong.reason) == (ChangeAction.UPDATE, "its manifest has mistakes: see the findings")
    held = stream("ORDERS", mistakes=mistakes, unknown=frozenset(fields), may_update=False)
    assert step_of(change_of(evidence, held)).reason == (
        f"{later}; its manifest has mistakes: see the findings; Terraform has the option not to update it"
    )


def other_account() -> Stream:
    return replace(recorded()["RING"], account="OTHER", name="THEIRS")


def test_manifests_are_for_the_account_that_has_their_streams() -> None:
    """Streams that servers make for MQTT are declared nowhere."""
    session = replace(recorded()["RING"], name="$MQTT_sess")
    evidence = deployment(recorded()["ORDERS"], recorded()["WORK"], session, other_account())
    of_stream = change_of(evidence, stream("WORK", "WORK"), consumer("WORK", "mail"))
    assert "APP > ORDERS" in {subject.label for subject in of_stream.undeclared}
    assert not {"APP > $MQTT_sess", "OTHER > THEIRS"} & {subject.label for subject in of_stream.undeclared}
    by_consumer = change_of(evidence, consumer("ORDERS", "billing"))
    assert [subject.label for subject in by_consumer.undeclared] == ["APP > ORDERS", "APP > WORK"]
    assert by_consumer.incomplete == of_stream.incomplete == ""


def test_manifests_for_any_of_several_accounts_are_compared_as_far_as_that_goes() -> None:
    change = change_of(deployment(recorded()["ORDERS"], other_account()), stream("NEW"))
    assert (step_of(change).action, change.undeclared, change.incomplete) == (ChangeAction.CREATE, (), SEVERAL)
    assert drift_gaps(change) == (
        Gap("drift", CLUSTER, SEVERAL, "use a login of the account that the manifests are for"),
    )
