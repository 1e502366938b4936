"""The list of known defects is whole, and its conditions tell apart the streams that a defect can hit."""

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from jsdoctor.checks.cluster_health.known_defects import CONDITIONS
from jsdoctor.checks.cluster_health.known_defects import known_defects as judged
from jsdoctor.model.defect import Affected, Defect, Harm, KnownDefects
from jsdoctor.model.finding import Outcome
from jsdoctor.model.jetstream import (
    Cluster,
    ConsumerConfig,
    ExternalStream,
    SequencePair,
    SourceConfig,
    StreamConfig,
    StreamState,
)
from jsdoctor.model.release import release
from jsdoctor.model.server import ConnectedServer
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from jsdoctor.sources.rule_pages import known_defects
from tests.servers import ROOT

DEFECTS = known_defects().defects
LAST_RELEASES: dict[tuple[int, ...], str] = {
    (2, 10): "2.10.29",
    (2, 11): "2.11.17",
    (2, 12): "2.12.15",
    (2, 14): "2.14.10",
}
"""Of the branches with defects that no release of them has fixed."""
NOW = datetime(2026, 11, 22, tzinfo=UTC)
PLAIN: dict[str, Any] = {"storage": "", "num_replicas": 1}
FILE = {"storage": "file"}
MEMORY = {"storage": "memory"}
R2 = {"num_replicas": 2}
WORK = {"retention": "workqueue"}
INTEREST = {"retention": "interest"}
CLUSTERED = {"clustered": True}
FIVE_SECONDS = 5_000_000_000
REMOTE = SourceConfig(name="A", external=ExternalStream(api="$JS.shop.API"))
USES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ack_all": ({}, {"ack_policy": "all"}),
    "ack_all_replicated_interest": (R2 | INTEREST, {"ack_policy": "all"}),
    "at_sign": ({"subjects": ("mail.a@b",)}, {}),
    "atomic_batches": ({"allow_atomic": True}, {}),
    "atomic_counters_or_schedules": ({"allow_atomic": True, "allow_msg_counter": True}, {}),
    "clustered": (CLUSTERED, {}),
    "clustered_inactive_threshold": (CLUSTERED, {"inactive_threshold_ns": 1}),
    "clustered_limits": (CLUSTERED | {"max_msgs": 1}, {}),
    "clustered_push": (CLUSTERED, {"deliver_subject": "d"}),
    "compression": (FILE | {"compression": "s2"}, {}),
    "counters": ({"allow_msg_counter": True}, {}),
    "dedupe": ({"duplicate_window_ns": 1}, {}),
    "direct_get": ({"allow_direct": True}, {}),
    "ephemeral_pull": ({}, {"inactive_threshold_ns": FIVE_SECONDS}),
    "file_consumers": (FILE, {"name": "worker"}),
    "file_storage": (FILE, {}),
    "files_from_start_time": (FILE, {"deliver_policy": "by_start_time"}),
    "files_limited_by_size": (FILE | {"max_msgs": 1}, {}),
    "filtered_consumers": ({}, {"filter_subject": "a"}),
    "interest": (WORK, {}),
    "interest_policy": (INTEREST, {}),
    "interest_with_max_deliver": (INTEREST, {"max_deliver": 1}),
    "interest_with_rollup": (INTEREST | {"allow_rollup_hdrs": True}, {}),
    "last_per_subject": ({}, {"deliver_policy": "last_per_subject"}),
    "last_per_subject_in_memory": (MEMORY, {"deliver_policy": "last_per_subject"}),
    "limit_per_subject": ({"max_msgs_per_subject": 1}, {}),
    "limited_files": (FILE | {"max_msgs": 1}, {}),
    "max_ack_pending": ({}, {"max_ack_pending": 1}),
    "max_deliver": ({}, {"max_deliver": 1}),
    "memory_storage": (MEMORY, {}),
    "message_ttl": ({"allow_msg_ttl": True}, {}),
    "mirrors": ({"mirror": SourceConfig(name="A")}, {}),
    "mqtt": ({"name": "$MQTT_msgs"}, {}),
    "one_message_per_subject": (FILE | {"max_msgs_per_subject": 1}, {}),
    "paused_consumers": ({}, {"pause_until": NOW}),
    "percent_sign_in_name": ({}, {"name": "50%"}),
    "pinned_client": ({}, {"priority_policy": "pinned_client"}),
    "priority_groups": ({}, {"priority_policy": "overflow"}),
    "pull_with_inactive_threshold": ({}, {"inactive_threshold_ns": 1}),
    "rate_limit": ({}, {"rate_limit_bps": 1}),
    "replicated_consumers": (R2, {"name": "worker"}),
    "replicated_dedupe": (R2 | {"duplicate_window_ns": 1}, {}),
    "replicated_files": (R2 | FILE, {}),
    "replicated_flow_control": (R2, {"deliver_subject": "d", "flow_control": True}),
    "replicated_interest": (R2 | INTEREST, {}),
    "replicated_last_per_subject": (R2, {"deliver_policy": "last_per_subject"}),
    "replicated_sources": (R2 | {"sources": (SourceConfig(name="A"),)}, {}),
    "replicated_streams": (R2, {}),
    "replicated_work_queue_with_max_deliver": (R2 | WORK, {"max_deliver": 1}),
    "schedules": ({"allow_msg_schedules": True}, {}),
    "several_filters": ({}, {"filter_subjects": ("a", "b")}),
    "several_messages_per_subject": (FILE | {"max_msgs_per_subject": 2}, {}),
    "several_sources": ({"sources": (SourceConfig(name="A"), SourceConfig(name="B"))}, {}),
    "single_file_copies": (CLUSTERED | FILE, {}),
    "sources_over_leaf_node": ({"sources": (REMOTE,)}, {}),
    "sourcing_consumer": ({}, {"ack_policy": "flow_control"}),
    "work_queue_files": (WORK | FILE, {}),
    "work_queue_with_filters_on_one_server": (WORK, {"filter_subject": "a"}),
    "work_queue_with_sourcing_consumer": (WORK, {"ack_policy": "flow_control", "filter_subject": "a"}),
}
"""For each condition the stream configuration, and the configuration of a consumer, that a defect needs.

`clustered` is no field of the configuration: it stands for a stream that has cluster information.
"""

SPARED: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "at_sign": [({"subjects": ("mail.a.b",)}, {"name": "worker"})],
    "clustered_inactive_threshold": [(CLUSTERED, {"inactive_threshold_ns": 0})],
    "clustered_limits": [
        (CLUSTERED | {limit: count}, {})
        for limit in ("max_msgs", "max_bytes", "max_age_ns", "max_msgs_per_subject")
        for count in (0, -1)
    ],
    "clustered_push": [(CLUSTERED, {"name": "worker"})],
    "compression": [(FILE | {"compression": "none"}, {}), (FILE | {"compression": ""}, {})],
    "ephemeral_pull": [
        (CLUSTERED, {"inactive_threshold_ns": FIVE_SECONDS}),
        ({}, {"inactive_threshold_ns": FIVE_SECONDS, "durable_name": "worker"}),
        ({}, {"inactive_threshold_ns": FIVE_SECONDS, "deliver_subject": "d"}),
        ({}, {"inactive_threshold_ns": FIVE_SECONDS + 1}),
    ],
    "files_from_start_time": [(FILE, {"deliver_policy": "by_start_sequence"})],
    "files_limited_by_size": [
        (FILE | {"max_msgs": 0, "max_bytes": 0}, {}),
        (FILE | {"max_msgs": -1, "max_bytes": -1}, {}),
        (FILE | {"max_age_ns": 1}, {}),
    ],
    "interest": [({"retention": "limits"}, {})],
    "interest_policy": [(WORK, {})],
    "interest_with_max_deliver": [(WORK, {"max_deliver": 1})],
    "max_ack_pending": [({}, {"max_ack_pending": 0}), ({}, {"max_ack_pending": -1})],
    "max_deliver": [({}, {"max_deliver": 1, "ack_policy": policy}) for policy in ("none", "")]
    + [({}, {"max_deliver": unlimited}) for unlimited in (0, -1)],
    "mqtt": [({"name": "MQTT_msgs"}, {})],
    "one_message_per_subject": [(FILE | {"max_msgs_per_subject": count}, {}) for count in (0, 2)],
    "percent_sign_in_name": [({}, {"name": "half"})],
    "priority_groups": [({}, {"priority_policy": "none"})],
    "pull_with_inactive_threshold": [
        ({}, {"inactive_threshold_ns": 1, "deliver_subject": "d"}),
        ({}, {"inactive_threshold_ns": 0}),
    ],
    "replicated_dedupe": [(R2 | {"duplicate_window_ns": 0}, {})],
    "replicated_flow_control": [(R2, {"deliver_subject": "d"}), (R2, {"flow_control": True})],
    "several_filters": [({}, {"filter_subjects": ("a",)}), ({}, {"filter_subject": "a"})],
    "several_messages_per_subject": [(FILE | {"max_msgs_per_subject": 1}, {})],
    "several_sources": [({"sources": (SourceConfig(name="A"),)}, {})],
    "single_file_copies": [(CLUSTERED | FILE | R2, {})],
    "sources_over_leaf_node": [({"sources": (SourceConfig(name="A"),)}, {}), ({"mirror": SourceConfig(name="A")}, {})],
    "work_queue_with_filters_on_one_server": [(WORK | CLUSTERED, {"filter_subject": "a"}), (WORK, {"name": "worker"})],
    "work_queue_with_sourcing_consumer": [
        (WORK, {"ack_policy": "flow_control"}),
        (WORK, {"ack_policy": "explicit", "filter_subject": "a"}),
    ],
}
"""What comes near to a condition and does not meet it."""
ALSO: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "at_sign": [({"name": "a@b"}, {}), ({}, {"name": "a@b"})],
    "atomic_counters_or_schedules": [({"allow_atomic": True, "allow_msg_schedules": True}, {})],
    "clustered_limits": [(CLUSTERED | {limit: 1}, {}) for limit in ("max_bytes", "max_age_ns", "max_msgs_per_subject")],
    "files_limited_by_size": [(FILE | {"max_bytes": 1}, {})],
    "filtered_consumers": [({}, {"filter_subjects": ("a", "b")})],
    "interest": [(INTEREST, {})],
    "priority_groups": [({}, {"priority_policy": "pinned_client"})],
    "sources_over_leaf_node": [({"mirror": REMOTE}, {})],
}
"""Other ways to meet it."""


def is_named(uses: str, *streams: Stream) -> bool:
    """Whether the rule names a defect with this condition for a deployment with these streams."""
    defect = Defect("x", "data", uses, "something", "https://example.org", (Affected("2.12.0", "2.12.3", "2.12.4"),))
    seen = SnapshotSeries((ClusterSnapshot(taken_at=NOW, streams=streams),))
    (finding,) = judged(KnownDefects((defect,)), seen, None, ConnectedServer(server_name="n1", version="2.12.3"))
    return finding.outcome is Outcome.FAIL


def stream(config: dict[str, Any], consumer: dict[str, Any], pending: int = 1) -> Stream:
    fields = {"name": "A", **PLAIN, **config}
    clustered = fields.pop("clustered", False)
    settings = StreamConfig(**fields)
    worker = ConsumerConfig(**consumer)
    position = SequencePair()
    worker_state = Consumer(
        account="APP",
        stream=settings.name,
        name=worker.name,
        config=worker,
        delivered=position,
        ack_floor=position,
        num_ack_pending=pending,
        at=NOW,
    )
    return Stream(
        account="APP",
        name=settings.name,
        config=settings,
        state=StreamState(),
        cluster=Cluster(name="C") if clustered else None,
        at=NOW,
        consumers=(worker_state,) if consumer else (),
    )


def test_every_condition_is_tried_and_used() -> None:
    assert set(CONDITIONS) == set(USES) == {defect.uses for defect in DEFECTS}


@pytest.mark.parametrize("name", USES)
def test_a_condition_holds_for_what_it_names_and_not_for_a_plain_stream(name: str) -> None:
    config, consumer = USES[name]
    assert is_named(name, stream(config, consumer))
    assert is_named(name, stream({}, {}), stream(config, consumer))
    assert not is_named(name, stream({}, {}))
    for missing in config:
        left_out = {key: value for key, value in config.items() if key != missing}
        assert not is_named(name, stream(left_out, consumer)), missing
    for also in ALSO.get(name, []):
        assert is_named(name, stream(*also)), also
    for spared in SPARED.get(name, []):
        assert not is_named(name, stream(*spared)), spared


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.id)
def test_each_range_ends_before_its_fix_and_stays_in_one_branch(defect: Defect) -> None:
    assert defect.harm in get_args(Harm)
    assert defect.source.startswith("https://github.com/nats-io/nats-server/")
    branches = [release(affected.first)[:2] for affected in defect.affected]
    assert sorted(set(branches)) == branches
    for releases in defect.affected:
        first, last, fixed = release(releases.first), release(releases.last), release(releases.fixed_in)
        assert first <= last < fixed
        assert first[:2] == last[:2]
        # Only what no release of the branch has is fixed in a later one.
        assert fixed[:2] == first[:2] or releases.last == LAST_RELEASES[first[:2]]


def test_a_version_with_a_fix_has_the_defect_no_more() -> None:
    for defect in DEFECTS:
        for releases in defect.affected:
            fixed = release(releases.fixed_in)
            assert not any(release(a.first) <= fixed <= release(a.last) for a in defect.affected), defect.id


def test_every_defect_is_listed_once() -> None:
    assert len({defect.id for defect in DEFECTS}) == len({defect.source for defect in DEFECTS}) == len(DEFECTS)


def test_the_page_and_the_change_log_say_how_many_there_are() -> None:
    page = (ROOT / "rules" / "cluster_health" / "JSD720.md").read_text("utf-8")
    assert f"list has {len(DEFECTS)} defects" in page
    assert f"one of {len(DEFECTS)} known defects" in (ROOT / "CHANGELOG.md").read_text("utf-8")
