"""The list of known defects is whole, and its conditions tell apart the streams that a defect can hit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from jsdoctor.checks.cluster_health.defect_conditions import CONDITIONS
from jsdoctor.collect.rule_pages import known_defects
from jsdoctor.model.defect import Defect, Harm
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
from jsdoctor.model.snapshot import Consumer, Stream
from tests.servers import ROOT

DEFECTS = known_defects().defects
NOW = datetime(2026, 11, 22, tzinfo=UTC)
PLAIN: dict[str, Any] = {"storage": "", "num_replicas": 1}
FILE = {"storage": "file"}
MEMORY = {"storage": "memory"}
R3 = {"num_replicas": 3}
WORK = {"retention": "workqueue"}
INTEREST = {"retention": "interest"}
REMOTE = SourceConfig(name="A", external=ExternalStream(api="$JS.shop.API"))
USES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ack_all": ({}, {"ack_policy": "all"}),
    "ack_all_replicated_interest": (R3 | INTEREST, {"ack_policy": "all"}),
    "at_sign": ({"subjects": ("mail.a@b",)}, {}),
    "atomic_batches": ({"allow_atomic": True}, {}),
    "atomic_counters_or_schedules": ({"allow_atomic": True, "allow_msg_counter": True}, {}),
    "clustered_push": ({}, {"deliver_subject": "d"}),
    "compression": (FILE | {"compression": "s2"}, {}),
    "counters": ({"allow_msg_counter": True}, {}),
    "direct_get": ({"allow_direct": True}, {}),
    "file_storage": (FILE, {}),
    "filtered_consumers": ({}, {"filter_subject": "a"}),
    "interest": (WORK, {}),
    "interest_with_max_deliver": (INTEREST, {"max_deliver": 3}),
    "interest_with_rollup": (INTEREST | {"allow_rollup_hdrs": True}, {}),
    "last_per_subject": ({}, {"deliver_policy": "last_per_subject"}),
    "last_per_subject_in_memory": (MEMORY, {"deliver_policy": "last_per_subject"}),
    "limit_per_subject": ({"max_msgs_per_subject": 1}, {}),
    "max_ack_pending": ({}, {"max_ack_pending": 10}),
    "max_deliver": ({}, {"max_deliver": 3}),
    "memory_storage": (MEMORY, {}),
    "message_ttl": ({"allow_msg_ttl": True}, {}),
    "mirrors": ({"mirror": SourceConfig(name="A")}, {}),
    "mqtt": ({"name": "$MQTT_msgs"}, {}),
    "one_message_per_subject": (FILE | {"max_msgs_per_subject": 1}, {}),
    "percent_sign_in_name": ({}, {"name": "50%"}),
    "pinned_client": ({}, {"priority_policy": "pinned_client"}),
    "priority_groups": ({}, {"priority_policy": "overflow"}),
    "replicated_consumers": (R3, {"name": "worker"}),
    "replicated_dedupe": (R3 | {"duplicate_window_ns": 1}, {}),
    "replicated_files": (R3 | FILE, {}),
    "replicated_interest": (R3 | INTEREST, {}),
    "replicated_sources": (R3 | {"sources": (SourceConfig(name="A"),)}, {}),
    "replicated_streams": (R3, {}),
    "replicated_work_queue_with_max_deliver": (R3 | WORK, {"max_deliver": 3}),
    "schedules": ({"allow_msg_schedules": True}, {}),
    "several_messages_per_subject": (FILE | {"max_msgs_per_subject": 5}, {}),
    "sources_over_leaf_node": ({"sources": (REMOTE,)}, {}),
    "work_queue_files": (WORK | FILE, {}),
}
"""For each condition the stream configuration, and the configuration of a consumer, that a defect needs."""


def stream(config: dict[str, Any], consumer: dict[str, Any], pending: int = 1) -> Stream:
    settings = StreamConfig(**{"name": "A", **PLAIN, **config})
    worker = ConsumerConfig(**consumer)
    position = SequencePair()
    one = Consumer(
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
        cluster=Cluster(name="C") if consumer else None,
        at=NOW,
        consumers=(one,) if consumer else (),
    )


def test_every_condition_is_tried_and_used() -> None:
    assert set(CONDITIONS) == set(USES) == {defect.uses for defect in DEFECTS}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_holds_for_what_it_names_and_not_for_a_plain_stream(name: str) -> None:
    config, consumer = USES[name]
    assert CONDITIONS[name](stream(config, consumer))
    assert not CONDITIONS[name](stream({}, {}))
    for missing in config:
        left_out = {key: value for key, value in config.items() if key != missing}
        assert not CONDITIONS[name](stream(left_out, consumer)), missing


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.id)
def test_ranges_end_before_the_fix_and_stay_in_one_branch(defect: Defect) -> None:
    assert defect.harm in get_args(Harm)
    assert defect.source.startswith("https://github.com/nats-io/nats-server/")
    branches = [release(found.fixed_in)[:2] for found in defect.affected]
    assert sorted(set(branches)) == branches
    for found in defect.affected:
        first, last, fixed = release(found.first), release(found.last), release(found.fixed_in)
        assert first <= last < fixed
        assert first[:2] == last[:2] == fixed[:2]


def test_every_defect_is_listed_once() -> None:
    assert len({defect.id for defect in DEFECTS}) == len({defect.source for defect in DEFECTS}) == len(DEFECTS)


def test_the_page_and_the_change_log_say_how_many_there_are() -> None:
    page = (ROOT / "rules" / "cluster_health" / "JSD720.md").read_text("utf-8")
    assert f"list has {len(DEFECTS)} defects" in page
    assert f"one of {len(DEFECTS)} known defects" in (ROOT / "CHANGELOG.md").read_text("utf-8")
