"""Captures and link layers that jsdoctor does not read itself: scapy's readers, if they are installed.

scapy is an extra (`pip install 'jsdoctor[pcap]'`) and slow to import: nothing of it is touched before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jsdoctor.parse.packets.analysis import Analysis
from jsdoctor.parse.packets.container import Interface

_EXTRA = "install the extra that reads more formats: pip install 'jsdoctor[pcap]'"
_ETHERNET = 1
_SECOND_NS = 1_000_000_000


def link_offset(link: int) -> Callable[[bytes], int | None] | None:
    """Where IP begins in frames of that link type; None without scapy, or when scapy does not know it either."""
    import logging  # noqa: PLC0415 - few captures need scapy

    logging.getLogger("scapy").setLevel(logging.ERROR)  # it would tell the user of its own settings
    try:
        from scapy.config import conf  # noqa: PLC0415
        from scapy.layers import all as _layers  # noqa: F401, PLC0415
        from scapy.layers.inet import IP  # noqa: PLC0415
        from scapy.layers.inet6 import IPv6  # noqa: PLC0415
    except ImportError:
        return None
    frame_class = conf.l2types.num2layer.get(link)
    if frame_class is None:
        return None

    def offset(frame: bytes) -> int | None:
        try:
            packet: Any = frame_class(frame)
        except Exception:  # noqa: BLE001 - dissectors of many authors, on whatever was captured
            return None
        layer = packet.getlayer(IP) or packet.getlayer(IPv6)
        begins = frame.find(layer.original[:20]) if layer is not None and layer.original else -1
        return begins if begins >= 0 else None

    return offset


def packets_of(path: Path, analysis: Analysis) -> str:
    """Give all packets of a file to the analysis; why that is not possible, or an empty text."""
    if path.suffix != ".erf":
        return "convert it first: editcap -F pcapng IN OUT"
    try:
        from scapy.utils import ERFEthernetReader  # noqa: PLC0415
    except ImportError:
        return _EXTRA
    interface = analysis.interface(Interface(_ETHERNET))
    analysis.format = "ERF"
    try:
        with ERFEthernetReader(str(path)) as reader:
            for packet in reader:
                data: bytes = bytes(packet.original)
                analysis.packet(int(packet.time * _SECOND_NS), data, int(packet.wirelen or len(data)), interface)
    except Exception as error:  # noqa: BLE001 - whatever the reader stumbles over, what it read counts
        return f"scapy stopped reading ({type(error).__name__}: {error})"
    return ""
