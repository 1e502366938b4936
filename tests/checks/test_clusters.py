"""Servers of one cluster: whether they are in a rollout, and whether a stream with three replicas has a place."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from jsdoctor.checks.cluster_health.links import in_roll_out
from jsdoctor.checks.cluster_health.placement import placement_seen
from jsdoctor.model.finding import CLUSTER, Outcome
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers, Varz
from jsdoctor.model.snapshot import SnapshotSeries
from tests.support.evidence import evidence_of

NOW = datetime(2026, 11, 21, 15, tzinfo=UTC)
WITHIN_NS, APART_NS = 7_200 * 10**9, 600 * 10**9


def server(started_s: int | None) -> Server:
    """A server that was started so many seconds ago."""
    start = None if started_s is None else NOW - timedelta(seconds=started_s)
    return Server(name=f"n{started_s}", at=NOW, varz=Varz(start=start, now=NOW))


@pytest.mark.parametrize(
    ("started_s", "expected"),
    [
        ([60, 9_000], True),
        ([7_000, 7_200], True),
        ([7_000, 7_199], False),
        ([7_199, 7_300], True),
        ([7_200, 9_000], False),
        ([60, 660], True),
        ([60, 659], False),
        ([60, None], False),
        ([], False),
    ],
)
def test_a_rollout_is_in_progress(started_s: list[int | None], expected: bool) -> None:
    assert in_roll_out([server(seconds) for seconds in started_s], WITHIN_NS, APART_NS) is expected


@pytest.mark.parametrize(("full_server", "outcome"), [("n3", Outcome.FAIL), ("n1", Outcome.PASS)])
def test_a_full_server_may_be_the_only_one_with_its_tag(full_server: str, outcome: Outcome) -> None:
    """Of n1 and n4 in zone a, n2 in b and n3 in c, none but n3 may be full."""
    edits = [
        {"all_servers": True, "set": {"config.unique_tag": "az"}},
        {"server": full_server, "set": {"ha_assets": 101}},
        *({"server": f"n{n}", "endpoint": "VARZ", "set": {"tags": [f"az:{zone}"]}} for n, zone in enumerate("abc", 1)),
        {"server": full_server, "endpoint": "VARZ", "set": {"jetstream": {"limits": {"max_ha_assets": 100}}}},
    ]
    evidence = evidence_of({"base": "three-nodes-2.15.1", "edit": edits})
    servers, snapshots = evidence.get(Servers), evidence.get(SnapshotSeries)
    assert servers is not None
    assert snapshots is not None
    fourth = msgspec.structs.replace(servers.servers[0], name="n4", jetstream=servers.servers[1].jetstream)
    four = msgspec.structs.replace(servers, servers=(*servers.servers, fourth))
    findings = placement_seen(snapshots, four, None, Params({"settle": 0}))
    assert next(finding.outcome for finding in findings if finding.subject == CLUSTER) is outcome
