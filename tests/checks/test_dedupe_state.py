"""Ids that a restart loses: starts of servers against the messages that are stored."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.checks.dedupe_window.dedupe_state_lost import dedupe_state_lost_stored
from jsdoctor.model.finding import Finding, Outcome, Severity
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from tests.support.evidence import evidence_of

SECOND_NS = 1_000_000_000


def judged(
    stored: dict[str, Any], *edits: dict[str, Any], base: str = "three-nodes-2.15.1", **started_s: float | None
) -> Finding:
    """The finding of the one stream that was read, beside servers that were started so long ago by its clock."""
    evidence = evidence_of({"base": f"{base}-account", "edit": [*edits, stored]})
    read, snapshots = evidence.get(StoredMessages), evidence.get(SnapshotSeries)
    seen = evidence_of({"base": base}).get(Servers)
    assert read is not None
    assert snapshots is not None
    assert seen is not None
    at = next(stream.at for stream in snapshots.last.streams if stream.name == stored["stored"])
    servers = []
    for server in seen.servers:
        if server.name in started_s and server.varz is not None:
            age = started_s[server.name]
            varz = None if age is None else replace(server.varz, start=at - timedelta(seconds=age))
            servers.append(replace(server, varz=varz))
    [finding] = dedupe_state_lost_stored(read, snapshots, replace(seen, servers=tuple(servers)))
    return finding


def queue(*ages: str) -> dict[str, Any]:
    """Messages with one id in the work queue that n2 leads."""
    return {"stored": "WORK", "ages": list(ages), "ids": ["a"] * len(ages)}


@pytest.mark.parametrize(
    ("ago_s", "fresh"), [(-1, None), (0, "0s"), (60, "1m"), (119, "1m59s"), (120, None), (7_200, None)]
)
def test_within_the_window_after_a_start_ids_are_forgotten_just_now(ago_s: int, fresh: str | None) -> None:
    finding = judged(queue("60s"), n1=None, n2=ago_s)
    now = f"; n2 started {fresh} ago and has forgotten them just now" if fresh else ""
    assert finding.message == (
        "publishers send ids, and the stream removes what is acknowledged: a restart forgets the ids of what is"
        f" removed, so a retry across it is stored again{now}"
    )
    assert finding.severity is (None if fresh else Severity.INFO)
    measured = (ago_s * SECOND_NS, 120 * SECOND_NS, "duration") if fresh else (None, None, None)
    assert (finding.measured, finding.threshold, finding.unit) == measured


@pytest.mark.parametrize(("ago_s", "between"), [(61, False), (59, True), (11, True), (9, False)])
def test_a_start_between_both_messages_is_the_reason(ago_s: int, between: bool) -> None:
    finding = judged(queue("60s", "10s"), n2=ago_s)
    assert finding.message.endswith("Z, and WORK removes what is acknowledged") is between
    assert ("in between n2 started at " in finding.message) is between
    assert finding.severity is (None if between else Severity.INFO)


def test_a_stream_that_keeps_its_messages_removes_none() -> None:
    finding = judged({"stored": "ORDERS", "ages": ["60s", "10s"], "ids": ["a", "a"]}, n2=30)
    assert finding.message.endswith("Z")
    assert "in between n2 started at " in finding.message


def test_two_messages_of_one_moment_are_no_repeat_after_a_start() -> None:
    assert judged({"stored": "ORDERS", "ages": ["60s", "60s"], "ids": ["a", "a"]}).outcome is Outcome.PASS


def test_a_single_server_that_does_not_name_itself_is_the_leader() -> None:
    finding = judged(queue("60s"), base="one-node-2.15.1", n1=30)
    assert finding.message.endswith("; n1 started 30s ago and has forgotten them just now")


def test_no_start_is_known_of_a_leader_that_was_not_seen() -> None:
    assert judged(queue("60s"), n1=30).severity is Severity.INFO
