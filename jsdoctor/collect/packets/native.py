"""Which reader of packets a run has: the compiled one where it is installed, unless the environment says no."""

from __future__ import annotations

import os

from jsdoctor.parse.packets.native_core import NativeCore, PacketWalk, have_native, native_core
from jsdoctor.parse.packets.native_observer import CompiledObserver
from jsdoctor.parse.packets.nats.observer import NatsObserver
from jsdoctor.parse.packets.segment import StreamObserver

_ENVIRONMENT = "JSDOCTOR_NATIVE"


def packet_core() -> NativeCore | None:
    """The compiled reader, or None for the one in Python."""
    return native_core() if have_native() and os.environ.get(_ENVIRONMENT) != "0" else None


def nats_observer() -> NatsObserver:
    """Who reads NATS along."""
    core = packet_core()
    return NatsObserver() if core is None else CompiledObserver(core)


def packet_walk(observer: StreamObserver | None) -> PacketWalk | None:
    """What follows the packets of a capture that simply come next."""
    core = packet_core()
    return core.PacketWalk(observer, isinstance(observer, CompiledObserver)) if core is not None else None
