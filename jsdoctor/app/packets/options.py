"""The options about packets, from what typer has read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from jsdoctor.collect.problems import UsageProblem

_SECONDS = 30.0
_MAX_PORTS = 32
"""Maximum number of ports: jumps of the kernel's filter reach 255 steps."""


class PacketRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The packet options of the command line: files, an interface to capture on, ports, and seconds."""

    files: tuple[Path, ...] = ()
    interface: str = ""
    ports: tuple[int, ...] = ()
    seconds: float = _SECONDS


def packet_options(
    files: Sequence[Path], interface: str | None, seconds: float | None, ports: Sequence[int] = ()
) -> PacketRequest | None:
    """None if no packets are requested. Raises `UsageProblem` for a time or ports that cannot be used."""
    if ports and not interface:
        raise UsageProblem("--port: there is no interface to listen on", "add --sniff INTERFACE")
    if len(ports) > _MAX_PORTS:
        raise UsageProblem(f"--port: at most {_MAX_PORTS} ports", "leave --port out to listen to all of TCP")
    if seconds is not None and not interface:
        raise UsageProblem("--seconds: there is no interface to listen on", "add --sniff INTERFACE")
    if not files and not interface:
        return None
    return PacketRequest(files=tuple(files), interface=interface or "", ports=tuple(ports), seconds=seconds or _SECONDS)
