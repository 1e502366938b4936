"""JSD813: which servers flush late, by cluster, and as files declare it."""

from __future__ import annotations

from typing import Any

from jsdoctor.checks.server_health.sync_interval import (
    sync_interval,
    sync_interval_declared,
    sync_interval_mounted,
)
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Subject, passed
from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Manifests, RunningConfigurations
from jsdoctor.model.server import JetStreamConfig, JetStreamStats, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from tests.checks.values import NOON, params_of, server

MINUTE = 60_000_000_000


def flushing(name: str = "n1", minutes: float = 2, cluster: str = "C", always: bool = False) -> Server:
    config = JetStreamConfig(max_storage=1 << 30, sync_interval_ns=int(minutes * MINUTE), sync_always=always)
    return server(name, jetstream=JetStreamStats(config=config), cluster=cluster)


def judged(*servers: Server, streams: SnapshotSeries | None = None) -> list[Finding]:
    return list(sync_interval(Servers(servers), streams, params_of("JSD813")))


def single(count: int) -> SnapshotSeries:
    """File streams with one replica on n1."""
    made = [
        Stream(
            account="APP",
            name=f"S{number}",
            config=StreamConfig(storage="file", num_replicas=1),
            state=StreamState(messages=1_000_000),
            answered_by="n1",
            at=NOON,
        )
        for number in range(count)
    ]
    return SnapshotSeries((ClusterSnapshot(taken_at=NOON, streams=tuple(made)),))


def test_clusters_are_judged_by_themselves() -> None:
    findings = judged(flushing("n1", always=True, cluster="A"), flushing("n2", 9, "B"), flushing("n3", 9, ""))
    subjects = [Subject(kind="cluster", name=name) for name in ("A", "B")]
    assert [finding.subject for finding in findings] == [*subjects, Subject(kind="server", name="n3")]
    assert [finding.outcome for finding in findings] == [Outcome.PASS, Outcome.FAIL, Outcome.FAIL]
    assert judged(flushing(always=True)) == [passed(CLUSTER)]


def test_the_longest_of_several_intervals_is_measured() -> None:
    (finding,) = judged(flushing("n2", 3), flushing("n3", 9), flushing("n1", 5), flushing("n4", 2))
    assert finding.measured == 9 * MINUTE
    assert finding.message.startswith(
        "n1, n2, n3: files are flushed every 9m (sync_interval), longer than the server's"
    )
    assert [observation.value for observation in finding.evidence] == [3 * MINUTE, 9 * MINUTE, 5 * MINUTE]


def test_streams_of_which_one_host_has_the_only_copy() -> None:
    (finding,) = judged(flushing("n1", 1), flushing("n2", 2), streams=single(4))
    assert finding.message.startswith("4 file streams with fewer than three replicas")
    assert finding.measured == 2 * MINUTE
    assert [observation.path for observation in finding.evidence[2:]] == ["config.num_replicas"] * 3


def declared(*settings: dict[str, Any], **params: Any) -> list[Finding]:
    servers = tuple(
        DeclaredServers(what="server configuration", place=FilePosition(f"{number}.conf"), settings=values)
        for number, values in enumerate(settings)
    )
    rule = params_of("JSD813", **params)
    findings = list(sync_interval_declared(Manifests(servers=servers), rule))
    assert list(sync_interval_mounted(RunningConfigurations(servers=servers), rule)) == findings
    return findings


def test_each_declared_server_is_judged() -> None:
    outcomes = [finding.outcome for finding in declared({}, {"jetstream": True, "sync_interval": 9 * MINUTE})]
    assert outcomes == [Outcome.FAIL]
    outcomes = [finding.outcome for finding in declared({"jetstream": True}, warn_interval="0s")]
    assert outcomes == [Outcome.PASS]
