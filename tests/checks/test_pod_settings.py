"""JSD832 and JSD836-844: what pods of servers have, as far as Kubernetes and the servers show it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from jsdoctor.checks.server_health.pod_configuration import pod_configuration
from jsdoctor.checks.server_health.pod_memory import pod_memory
from jsdoctor.checks.server_health.pod_order import pod_order
from jsdoctor.checks.server_health.pod_places import pods_on_one_node
from jsdoctor.checks.server_health.pod_probes import pod_probes
from jsdoctor.checks.server_health.pod_readiness import pods_ready
from jsdoctor.checks.server_health.pod_shutdown import pod_shutdown
from jsdoctor.checks.server_health.pod_startup import pod_startup
from jsdoctor.checks.server_health.pod_versions import release_of
from jsdoctor.checks.server_health.pod_volume_growth import volume_can_grow
from jsdoctor.model.finding import Finding, Outcome, Severity
from jsdoctor.model.kubernetes import (
    ContainerProbe,
    KubernetesFacts,
    ObjectWarning,
    PodConfiguration,
    ServerContainer,
    ServerPod,
    ServerSet,
    Shutdown,
    VolumeClaim,
)
from jsdoctor.model.manifest import DeclaredServers, FilePosition
from jsdoctor.model.server import UNLIMITED, Health, HealthError, JetStreamConfig, JetStreamStats, Server, Servers
from tests.checks.values import NOON, after, by_name, params_of, server

META = ContainerProbe(path="/healthz?js-meta-only=true", delay_s=10)
ASSETS = ContainerProbe(path="/healthz", delay_s=10)
SERVER_ONLY = ContainerProbe(path="/healthz?js-server-only=true")
CONFIG = "configmap/nats/nats.conf"


def pod(name: str = "n1", *, container: dict[str, Any] | None = None, **more: Any) -> ServerPod:
    values: dict[str, Any] = {"owner": "nats", "node": f"node-{name}", "configuration": CONFIG}
    return ServerPod(name=name, container=ServerContainer(name="nats", **(container or {})), **values | more)


def facts(*pods: ServerPod, **more: Any) -> KubernetesFacts:
    return KubernetesFacts(namespace="prod", at=NOON, pods=pods, **more)


def configured(**settings: Any) -> tuple[PodConfiguration, ...]:
    servers = DeclaredServers(what="server configuration", place=FilePosition(CONFIG), settings=settings)
    return (PodConfiguration(name=CONFIG, changed=after(hours=-1), servers=servers),)


def running(name: str = "n1", *, cluster: str = "C", varz: dict[str, Any] | None = None, **stats: Any) -> Server:
    return server(name, varz=varz, jetstream=JetStreamStats(**stats), cluster=cluster, version="2.12.8")


def test_settings_that_differ_from_those_of_the_file() -> None:
    file = configured(max_payload=1_000, max_file_store=2_000, max_memory_store=3_000)
    loaded = {"config_load_time": after(hours=-9), "max_payload": 1_048_576}
    single = running(varz=loaded, config=JetStreamConfig(max_storage=2_000, max_memory=4_000))
    known = facts(pod("n0", deleting=True), pod("n9", configuration="none"), pod(), configurations=file)
    findings = list(pod_configuration(known, Servers((single,)), params_of("JSD844")))
    assert by_name(findings) == {"n9": "not_evaluated", "n1": "fail"}
    assert (
        "Z: max_payload is 1,000 there and 1,048,576 here; max_memory_store is 3,000 there and 4,000 here. Its next"
        in findings[-1].message
    )


def memory(own: int | None, reported: int = 0, version: str = "2.12.8", **stats: Any) -> Finding:
    container = {"memory_limit": 1_000, "go_memory_limit": own}
    config = JetStreamConfig(**{"max_memory": UNLIMITED} | stats)
    single = server(varz={"gomemlimit": reported}, jetstream=JetStreamStats(config=config), version=version)
    (finding,) = pod_memory(facts(pod(container=container)), Servers((single,)), params_of("JSD840"))
    return finding


def test_from_2_11_2_on_servers_report_gomemlimit() -> None:
    for version, severity in (("2.11.2", "info"), ("2.12.0", "info"), ("2.11.1", None), ("2.10.26", None)):
        finding = memory(None, version=version)
        assert (finding.severity and finding.severity.value) == severity
        assert finding.outcome is (Outcome.FAIL if severity else Outcome.NOT_EVALUATED)


def test_gomemlimit_is_shown_where_it_was_seen() -> None:
    assert memory(990).evidence[1].source == "namespace prod"
    assert memory(None, 990).evidence[1].source == "n1"
    assert memory(800).outcome is Outcome.PASS


def test_a_server_without_a_limit_for_memory_is_no_matter_of_its_container() -> None:
    assert memory(800, max_memory=1_000).outcome is Outcome.FAIL
    assert memory(800, max_memory=999).outcome is Outcome.PASS


def order(*sets: ServerSet, listed: bool = True, servers: tuple[Server, ...] = (), **readiness: Any) -> dict[str, str]:
    probes = {"readiness": ASSETS} | readiness
    owners = {"a1": "a", "b1": "b", "b2": "b", "c1": "c", "c2": "c", "c3": "c"}
    pods = (pod(name, owner=owner, container=probes) for name, owner in owners.items())
    return by_name(list(pod_order(facts(*pods, sets=sets if listed else None), Servers(servers))))


def test_sets_that_start_one_server_after_the_other() -> None:
    assert order(listed=False) == {"b": "not_evaluated", "c": "not_evaluated"}
    sets = ServerSet(name="a"), ServerSet(name="b", replicas=2), ServerSet(name="c", replicas=3, ordered=True)
    alone, member = running("c1", cluster=""), running("c2")
    assert order(*sets, servers=(alone, member)) == {"b": "pass", "c": "fail"}
    assert order(*sets, servers=(alone,)) == {"b": "pass", "c": "pass"}
    assert order(*sets[1:]) == {"b": "pass", "c": "not_evaluated"}


def test_the_node_with_the_majority() -> None:
    def places(*nodes: str, count: int | None = 9) -> Finding:
        pods = (pod(f"n{number}", node=node) for number, node in enumerate(nodes))
        (finding,) = pods_on_one_node(facts(*pods, nodes=count))
        return finding

    two = places("a", "b", "b", count=None)
    assert two.message == ("2 of its 3 servers are on node b (n1, n2): without it the others have no majority")
    assert two.severity is None
    assert places("a", "a", "a", count=None).severity is Severity.INFO
    assert places("a", "b", "c").outcome is Outcome.PASS


def test_a_pod_with_one_probe_is_judged_by_that() -> None:
    pods = (pod("n1", container={"liveness": META}), pod("n2", container={"readiness": ASSETS}), pod("n3"))
    findings = list(pod_probes(facts(*pods), Servers((running("n2", ha_assets=1),)), None))
    assert by_name(findings) == {"n1": "fail", "n2": "fail"}


@pytest.mark.parametrize(
    ("health", "text"),
    [
        (None, ""),
        (Health(status=""), ""),
        (Health(status="ok"), ""),
        (Health(status="unavailable"), "; its health check fails now (unavailable)"),
        (
            Health(status="error", errors=(HealthError(error="no leader"), HealthError(error="b"))),
            "; its health check fails now (no leader)",
        ),
    ],
)
def test_whether_the_probe_fails_now(health: Health | None, text: str) -> None:
    single = server("n1", health=health)
    (finding,) = pod_probes(facts(pod(container={"liveness": META})), Servers((single,)), None)
    assert finding.message.endswith(f"although a restart fixes neither{text}")


def test_pods_that_are_starting_may_become_ready() -> None:
    waiting = ("", "ContainerCreating", "PodInitializing", "ImagePullBackOff")
    pods = (pod(f"n{n}", container={"waiting": why}) for n, why in enumerate(waiting))
    assert by_name(list(pods_ready(facts(*pods), None, params_of("JSD836")))) == dict.fromkeys(
        ("n0", "n1", "n2"), "pass"
    )


def shutdowns(*pods: ServerPod, **settings: Any) -> list[Finding]:
    return list(pod_shutdown(facts(*pods, configurations=configured(**settings)), None, params_of("JSD841")))


def test_how_long_a_stop_takes() -> None:
    plain = Shutdown(grace_s=30, before_s=20, after_s=10)
    gone, other = pod("n0", deleting=True, shutdown=plain), pod("n9")
    (finding,) = shutdowns(gone, other, pod(shutdown=plain))
    assert "and its preStop hook waits for 30 s: it never gets the signal to stop" in finding.message
    assert shutdowns(pod(shutdown=Shutdown(grace_s=31, before_s=20, after_s=10)))[0].outcome is Outcome.PASS
    lame = Shutdown(grace_s=64, before_s=20, after_s=40, lame_duck=True)
    seconds = {"lame_duck_duration": 30_000_000_000, "lame_duck_grace_period": 10_000_000_000}
    both = shutdowns(pod("n2", shutdown=plain), pod(shutdown=lame), **seconds)
    assert [finding.threshold for finding in both] == [31, 65]


def test_settings_of_lame_duck_mode_that_are_not_known() -> None:
    lame = pod(shutdown=Shutdown(grace_s=64, lame_duck=True))
    for setting in ("lame_duck_duration", "lame_duck_grace_period"):
        (known,) = configured()
        unclear = PodConfiguration(
            name=CONFIG,
            servers=DeclaredServers(what="", place=FilePosition(CONFIG), unclear=frozenset({setting})),
        )
        for configuration, outcome in ((unclear, Outcome.NOT_EVALUATED), (known, Outcome.FAIL)):
            (finding,) = pod_shutdown(facts(lame, configurations=(configuration,)), None, params_of("JSD841"))
            assert finding.outcome is outcome


def ended(ended_at: datetime, last: datetime | None, message: str = "Liveness probe failed: 503", **more: Any) -> bool:
    container = {"startup": ASSETS, "restarts": 2, "ended_at": ended_at}
    warnings = (ObjectWarning(name="n1", message=message, last=last, **more),)
    (finding,) = pod_startup(facts(pod(container=container), warnings=warnings), None, params_of("JSD839"))
    return finding.outcome is Outcome.FAIL


def test_runs_that_a_probe_ended_within_a_day() -> None:
    assert ended(after(hours=-24), after(hours=-24))
    assert not ended(after(hours=-24.001), after(hours=-24))
    for minutes in (-10, 10):
        assert ended(after(hours=-1), after(hours=-1, minutes=minutes))
        assert not ended(after(hours=-1), after(hours=-1, minutes=minutes * 1.001))
    assert ended(after(hours=-1), None, "Startup probe failed: 503")
    assert not ended(after(hours=-1), None, "Readiness probe failed: 503")


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("nats:2.12.8-alpine", (2, 12, 8)),
        ("registry:5000/nats:2.12.8@sha256:0123", (2, 12, 8)),
        ("registry:5000/nats", ()),
        ("nats", ()),
        ("nats:latest", ()),
    ],
)
def test_versions_of_images(image: str, release: tuple[int, ...]) -> None:
    assert release_of(pod(container={"image": image}), None) == release
    assert release_of(pod(container={"image": image}), running()) == (2, 12, 8)


def test_the_volume_that_holds_the_store() -> None:
    claims = VolumeClaim(name="js", bytes=100, storage_class="a"), VolumeClaim(name="log", bytes=9_000)
    mounts = {"js": "/data/", "log": "/var/log"}
    pods = (pod("n0"), pod("n1", claims=("js", "log"), mounts=mounts), pod("n2", claims=("js",), mounts=mounts))
    known = facts(*pods, claims=claims, expandable={"a": False})
    servers = (
        running("n1", storage=99, config=JetStreamConfig(store_dir="/data/jetstream")),
        running("n2", storage=99),
    )
    findings = list(volume_can_grow(known, Servers(servers), params_of("JSD837")))
    assert by_name(findings) == {"n1": "fail", "n2": "fail"}
    assert findings[0].evidence[1].path == "claims.js.bytes"
