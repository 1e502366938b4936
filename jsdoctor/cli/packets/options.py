"""The options about packets, from what typer has read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jsdoctor.collect.problems import UsageProblem

_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketRequest:
    """What the command line says of packets: files, an interface to listen on, which ports, for how long."""

    files: tuple[Path, ...] = ()
    interface: str = ""
    ports: tuple[int, ...] = ()
    seconds: float = _SECONDS


def packet_options(
    files: Sequence[Path], interface: str | None, seconds: float | None, ports: Sequence[int] = ()
) -> PacketRequest | None:
    """None where no packets are asked for. Raises `UsageProblem` for a time or a port without an interface."""
    if ports and not interface:
        raise UsageProblem("--port: there is no interface to listen on", "add --sniff INTERFACE")
    if seconds is not None and not interface:
        raise UsageProblem("--seconds: there is no interface to listen on", "add --sniff INTERFACE")
    if not files and not interface:
        return None
    return PacketRequest(files=tuple(files), interface=interface or "", ports=tuple(ports), seconds=seconds or _SECONDS)
