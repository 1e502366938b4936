"""Proxies of service meshes beside a server, and the ports on which they may wait for a client that waits for INFO."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Mesh(StrEnum):
    """A service mesh whose proxy runs in the pod."""

    ISTIO = "Istio"
    LINKERD = "Linkerd"


class SidecarPort(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A port on which the server sends the first bytes, and the objects that declare it as TCP, or fail to do so."""

    number: int
    declared: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()


class Sidecar(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The proxy of a service mesh in a pod. `ports` are those of the server that connections reach through it."""

    mesh: Mesh
    ports: tuple[SidecarPort, ...] = ()
    services_listed: bool = True
