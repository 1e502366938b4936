"""Pods behind the proxy of a service mesh, and what declares the ports on which nats-server sends the first bytes.

On a port without a declaration the proxy waits for the first bytes of the client, which waits for INFO.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jsdoctor.manifests.kubernetes_containers import Json, elements, inner, text, whole
from jsdoctor.model.sidecar import Mesh, Sidecar, SidecarPort

_PROXIES = {"istio-proxy": Mesh.ISTIO, "linkerd-proxy": Mesh.LINKERD}
_PORTS = {"nats": 4222, "client": 4222, "leafnodes": 7422, "leafnode": 7422, "gateway": 7222}
"""Ports on which the side that connects waits for INFO, by name. It does not on those of routes, MQTT and WebSocket."""
_TCP_OF_ISTIO = ("tcp", "tls", "https")
_HTTP_OF_LINKERD = ("http", "kubernetes.io/h2c")
"""Every other `appProtocol` makes a port opaque (linkerd2: policy-controller/grpc/src/outbound.rs)."""
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_OPAQUE = "config.linkerd.io/opaque-ports"
_SKIPPED = "config.linkerd.io/skip-inbound-ports"
_EXCLUDED = "traffic.sidecar.istio.io/excludeInboundPorts"
_INCLUDED = "traffic.sidecar.istio.io/includeInboundPorts"


def sidecar_of(
    metadata: Json, spec: Json, container: Json, services: Iterable[Json] | None, *, planned: bool = False
) -> Sidecar | None:
    """The proxy in a pod and the ports of its server behind it; None if there is no proxy.

    `services` are those of its namespace. `planned`: the pod is a template; the mesh will add its proxy, and there may
    be more Services. Ports without a Service are left out if another port has one.
    """
    running = (_PROXIES[name] for name in _container_names(spec) if name in _PROXIES)
    mesh = next(running, _injected(metadata) if planned else None)
    if mesh is None or spec.get("hostNetwork") is True:
        return None
    labels = inner(metadata, "labels")
    selecting = [service for service in services or () if _selects(inner(service, "spec", "selector"), labels)]
    ports = {whole(port.get("containerPort")): text(port, "name") for port in elements(container, "ports")}
    awaited = {number: name for number, name in ports.items() if name in _PORTS or number in _PORTS.values()}
    proxied = tuple(
        _port_of(mesh, number, name, metadata, selecting)
        for number, name in (awaited or {4222: "nats"}).items()
        if not _bypassed(inner(metadata, "annotations"), number, name)
    )
    return Sidecar(
        mesh=mesh,
        ports=tuple(port for port in proxied if port.declared or port.undeclared) or proxied,
        services_listed=bool(selecting) if planned else services is not None,
    )


def _container_names(spec: Json) -> Iterator[str]:
    """The names of all containers. Some proxies are init containers that go on running."""
    return (text(container, "name") for key in ("containers", "initContainers") for container in elements(spec, key))


def _injected(metadata: Json) -> Mesh | None:
    annotations, labels = inner(metadata, "annotations"), inner(metadata, "labels")
    if annotations.get("linkerd.io/inject") in ("enabled", "ingress"):
        return Mesh.LINKERD
    inject = "sidecar.istio.io/inject"
    return Mesh.ISTIO if "true" in (labels.get(inject), annotations.get(inject)) else None


def _bypassed(annotations: Json, number: int, name: str) -> bool:
    included = annotations.get(_INCLUDED, "*")
    return (
        _has_port(annotations, _EXCLUDED, number, name)
        or _has_port(annotations, _SKIPPED, number, name)
        or (included != "*" and not _has_port(annotations, _INCLUDED, number, name))
    )


def _port_of(mesh: Mesh, number: int, name: str, metadata: Json, services: Iterable[Json]) -> SidecarPort:
    """A port with what declares it, and what ought to: its Services, and with Linkerd its pod."""
    declared, undeclared = list[str](), list[str]()
    if mesh is Mesh.LINKERD:
        opaque = _has_port(inner(metadata, "annotations"), _OPAQUE, number, name)
        (declared if opaque else undeclared).append("its pod")
    for service in services:
        about, spec = inner(service, "metadata"), inner(service, "spec")
        if mesh is Mesh.LINKERD and spec.get("clusterIP") == "None":
            continue  # clients connect to the pods, whose annotation counts
        for port in elements(spec, "ports"):
            target = text(port, "targetPort") or text(port, "port")
            if target in (str(number), name) and text(port, "protocol") != "UDP":
                declares = _declares(mesh, port, inner(about, "annotations"))
                (declared if declares else undeclared).append(f"Service {text(about, 'name')}")
    return SidecarPort(number=number, declared=tuple(declared), undeclared=tuple(undeclared))


def _declares(mesh: Mesh, port: Json, annotations: Json) -> bool:
    """Whether a Service says of its port that the proxy must not wait for the client's first bytes."""
    protocol, name = text(port, "appProtocol"), text(port, "name")
    if mesh is Mesh.ISTIO:
        return (protocol or name).partition("-")[0].lower() in _TCP_OF_ISTIO
    if protocol:
        return protocol not in _HTTP_OF_LINKERD
    return _has_port(annotations, _OPAQUE, whole(port.get("port")), name)


def _selects(selector: Json, labels: Json) -> bool:
    return bool(selector) and selector.items() <= labels.items()


def _has_port(annotations: Json, key: str, number: int, name: str) -> bool:
    """Whether a port is in an annotation, which lists numbers, ranges and names."""
    for entry in map(str.strip, text(annotations, key).split(",")):
        numbers = _RANGE.fullmatch(entry)
        if int(numbers[1]) <= number <= int(numbers[2] or numbers[1]) if numbers else entry == name != "":
            return True
    return False
