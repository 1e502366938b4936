"""JSD832 and JSD836-844: what pods of servers have, as far as Kubernetes and the servers show it."""

from typing import Any

import pytest
from msgspec import structs

from jsdoctor.checks.server_health.pod_order import pod_order
from jsdoctor.checks.server_health.pod_probes import pod_probes
from jsdoctor.checks.server_health.pod_shutdown import pod_shutdown
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.kubernetes import (
    ContainerProbe,
    KubernetesFacts,
    PodConfiguration,
    ServerContainer,
    ServerPod,
    ServerSet,
    Shutdown,
)
from jsdoctor.model.manifest import DeclaredServers, FilePosition
from jsdoctor.model.server import Health, HealthError, JetStreamStats, Server, Servers
from tests.checks.values import NOON, after, by_name, params_of, server

META = ContainerProbe(path="/healthz?js-meta-only=true", delay_s=10)
ASSETS = ContainerProbe(path="/healthz", delay_s=10)
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


@pytest.mark.parametrize(
    ("version", "closed"), [("2.14.9", True), ("2.14.10", False), ("2.15.2", True), ("2.15.3", False)]
)
def test_whether_the_store_is_closed_in_lame_duck_mode(version: str, closed: bool) -> None:
    lame = pod(shutdown=Shutdown(grace_s=5, lame_duck=True))
    running = Servers((structs.replace(server("n1"), version=version),))
    (finding,) = pod_shutdown(facts(lame, configurations=configured()), running, params_of("JSD841"))
    assert finding.message.endswith("cut off all at once" + ("" if closed else ", and its store is not closed"))


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
