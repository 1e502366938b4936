"""Which declarations keep the proxy of a mesh from waiting for clients: pods and Services as the API has them."""

import contextlib
import socket
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.manifests.sidecars import sidecar_of
from tests.servers import VERSIONS
from tests.servers.landscape import Landscape, server

Json = dict[str, Any]
LABELS = {"app": "nats"}
ISTIO, LINKERD = ({"initContainers": [{"name": name}]} for name in ("istio-proxy", "linkerd-proxy"))
OPAQUE, SKIPPED = "config.linkerd.io/opaque-ports", "config.linkerd.io/skip-inbound-ports"
EXCLUDED, INCLUDED = (f"traffic.sidecar.istio.io/{word}cludeInboundPorts" for word in ("ex", "in"))
CONTAINER = {"ports": [{"name": "nats", "containerPort": 4222}, {"name": "cluster", "containerPort": 6222}]}


def service(port: Json, *, annotations: Json | None = None, selector: Json = LABELS, **spec: Any) -> Json:
    metadata = {"name": "nats", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"selector": selector, "ports": [port], **spec}}


def chart(**port: Any) -> Json:
    """A Service of the chart: from 1.0 on with `appProtocol`."""
    return service({"name": "nats", "port": 4222, "targetPort": "nats", **port})


def judged(spec: Json, services: list[Json], annotations: Json | None = None) -> dict[int, bool] | None:
    """Whether each port is declared everywhere."""
    metadata = {"labels": LABELS, "annotations": annotations or {}}
    sidecar = sidecar_of(metadata, spec, CONTAINER, services)
    if sidecar is None:
        return None
    return {port.number: bool(port.declared) and not port.undeclared for port in sidecar.ports}


@pytest.mark.parametrize(
    ("services", "declared"),
    [
        ([chart(appProtocol="tcp")], True),
        ([chart(appProtocol="tls")], True),
        ([chart()], False),
        ([chart(appProtocol="http")], False),
        ([chart(name="tcp-nats")], True),
        ([chart(name="TCP")], True),
        ([chart(name="tcp-nats", appProtocol="nats")], False),
        ([chart(appProtocol="tcp"), chart()], False),
        ([chart(appProtocol="tcp"), chart(name="udp", protocol="UDP")], True),
        ([chart(appProtocol="tcp"), service({"port": 4222}, selector={"app": "other"})], True),
        ([service({"port": 4222, "appProtocol": "tcp"})], True),
        ([service({"port": 443, "targetPort": 4222, "appProtocol": "tcp"})], True),
        ([service({"port": 8222, "appProtocol": "tcp"})], False),
        ([], False),
    ],
)
def test_istio_takes_services(services: list[Json], declared: bool) -> None:
    assert judged(ISTIO, services) == {4222: declared}


@pytest.mark.parametrize(
    ("annotations", "services", "declared"),
    [
        ({OPAQUE: "4222"}, [service({"port": 4222}, annotations={OPAQUE: "4222"})], True),
        ({OPAQUE: "25, nats"}, [chart(appProtocol="tcp")], True),
        ({OPAQUE: "4000-5000"}, [chart(appProtocol="linkerd.io/opaque")], True),
        ({OPAQUE: "4222"}, [chart(appProtocol="http")], False),
        ({OPAQUE: "4222"}, [chart()], False),
        ({OPAQUE: "4222"}, [service({"port": 4222}, clusterIP="None")], True),
        ({OPAQUE: "4222"}, [], True),
        ({OPAQUE: "25,587,x-y,-"}, [chart(appProtocol="tcp")], False),
        ({}, [chart(appProtocol="tcp")], False),
    ],
)
def test_linkerd_takes_the_pod_and_services(annotations: Json, services: list[Json], declared: bool) -> None:
    assert judged(LINKERD, services, annotations) == {4222: declared}


@pytest.mark.parametrize(
    ("spec", "annotations"),
    [
        (ISTIO, {EXCLUDED: "4222"}),
        (ISTIO, {INCLUDED: ""}),
        (ISTIO, {INCLUDED: "8080"}),
        (LINKERD, {SKIPPED: "4222,6222"}),
    ],
)
def test_ports_beside_the_proxy(spec: Json, annotations: Json) -> None:
    assert judged(spec, [chart()], annotations) == {}


def test_a_port_that_no_service_has() -> None:
    """It is left out beside one that a Service has."""
    metadata, ports = {"labels": LABELS}, [{"containerPort": number} for number in (4222, 7422)]
    sidecars = (sidecar_of(metadata, ISTIO, {"ports": ports}, services) for services in ([service({"port": 4222})], []))
    assert [[port.number for port in sidecar.ports] for sidecar in sidecars if sidecar] == [[4222], [4222, 7422]]


def test_pods_without_a_proxy() -> None:
    assert judged({}, [chart()], {"linkerd.io/inject": "enabled"}) is None
    assert judged({**ISTIO, "hostNetwork": True}, [chart()]) is None


@pytest.mark.real
@pytest.mark.parametrize("version", VERSIONS)
def test_who_sends_first(version: str, tmp_path: Path) -> None:
    """A server that connects to another waits for its INFO on the ports for leaf nodes and gateways, not on routes."""
    with Landscape(tmp_path, version) as land, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        routes, gateways, leafs = (f"nats://127.0.0.1:{listening.getsockname()[1]}" for listening in silent)
        own = f'cluster {{ name: C, listen: "127.0.0.1:-1", routes: ["{routes}"] }}\n'
        own += f'leafnodes {{ remotes: [{{ url: "{leafs}", account: APP }}] }}\n'
        own += f'gateway {{ name: C, listen: "127.0.0.1:-1", gateways: [{{ name: D, url: "{gateways}" }}] }}\n'
        land.start("n1", server("n1", storage=False) + own)
        assert [first_bytes(listening)[:7] for listening in silent] == [b"CONNECT", b"", b""]


def first_bytes(listening: socket.socket) -> bytes:
    """What a server that connects sends by itself within half a second."""
    listening.settimeout(10)
    connection, _ = listening.accept()
    with connection, contextlib.suppress(TimeoutError):
        connection.settimeout(0.5)
        return connection.recv(64)
    return b""
