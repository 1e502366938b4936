"""Listening on a network interface for some seconds, with scapy's sockets and a buffer that holds a burst.

Linux only. With the buffer that scapy and libpcap ask for by default, a burst of 17,000 packets in a second lost 84 %.
What the kernel had to drop nevertheless is counted and told.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from jsdoctor.collect.problems import ConnectProblem, Problem, UsageProblem
from jsdoctor.parse.packets.analysis import Analysis, Analyzed
from jsdoctor.parse.packets.container import Interface
from jsdoctor.parse.packets.segment import StreamObserver

_BUFFER_BYTES = 256 * 1024 * 1024
_ORDINARY_BUFFER_BYTES = 8 * 1024 * 1024
_LARGEST_PACKET = 1 << 18
_SO_RCVBUFFORCE = 33
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_PACKET_OUTGOING = 4
_LOOPBACK, _WITHOUT_LINK_LAYER = 772, (512, 768, 769, 776, 778, 823, 65534)
"""Hardware types of Linux (linux/if_arp.h): PPP, tunnels and tun devices hand over IP packets."""
_ETHERNET, _RAW_IP = 1, 101
"""Link types of captures."""
_LOOK_EVERY_S = 0.2
_SHOW_EVERY = 5_000


def sniff(
    name: str, seconds: float, index: int, observer: StreamObserver | None, show: Callable[[str], None]
) -> Analyzed:
    """Read along on that interface. Raises a `Problem` when that is not possible or not allowed."""
    with contextlib.closing(_open(name, seconds)) as listener:
        return _listen(listener, Analysis(index, name, observer=observer), seconds, show)


def tcpdump_command(name: str, seconds: float) -> str:
    """The command that captures the same into a file, for whoever has the privilege."""
    return (
        f"sudo timeout {seconds:g} tcpdump -i {name} --immediate-mode -B 65536 -s 0 -w nats.pcap"
        " 'tcp port 4222 or tcp port 6222'"
    )


def _listen(listener: Any, analysis: Analysis, seconds: float, show: Callable[[str], None]) -> Analyzed:
    """Until the time is over or Ctrl-C; the kernel's counters tell what it dropped."""
    sock = listener.ins
    _, _, _, hardware, *_ = sock.getsockname()
    loopback = hardware == _LOOPBACK
    link = _RAW_IP if hardware in _WITHOUT_LINK_LAYER else _ETHERNET
    interface = analysis.interface(Interface(link, name=str(listener.iface)))
    end, count = time.monotonic() + seconds, 0
    with contextlib.suppress(KeyboardInterrupt):
        while (left := end - time.monotonic()) > 0:
            if not select.select([sock], [], [], min(left, _LOOK_EVERY_S))[0]:
                continue
            data, address, at_s = listener.packet()
            if data is None or (loopback and address[2] == _PACKET_OUTGOING):
                continue  # on the loopback interface each packet leaves and comes back
            analysis.packet(int(at_s * 1e9), data, len(data), interface)
            count += 1
            if count % _SHOW_EVERY == 0:
                show(f"listening on {listener.iface}: {count:,} packets, {left:.0f} s to go; Ctrl-C ends it")
    return analysis.finish(kernel_drops=_dropped(sock))


def _dropped(sock: Any) -> int:
    """How many packets the kernel had no room for since the socket was opened (asking sets it back)."""
    _packets, drops = struct.unpack("II", sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
    return int(drops)


def _open(name: str, seconds: float) -> Any:
    known = [interface for _, interface in socket.if_nameindex()]
    if name not in known:
        raise UsageProblem(f"there is no interface {name}", f"one of: {', '.join(known)}")
    try:
        listener = _listener_class()(iface=name)
    except ImportError as error:
        raise UsageProblem(
            f"--sniff needs scapy, which is not installed ({error.name})", "pip install 'jsdoctor[pcap]'"
        ) from error
    except PermissionError as error:
        raise _not_allowed(name, seconds) from error
    except OSError as error:
        raise UsageProblem(
            f"cannot listen on {name}: {error.strerror or error}", "is it up? ip link shows it"
        ) from error
    try:
        listener.ins.setsockopt(1, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    except OSError:
        listener.ins.setsockopt(1, 8, _ORDINARY_BUFFER_BYTES)
    return listener


def _not_allowed(name: str, seconds: float) -> Problem:
    return ConnectProblem(
        f"listening on {name} needs the privilege CAP_NET_RAW, which this process does not have",
        f"run as root, or capture with: {tcpdump_command(name, seconds)}; then jsdoctor check --pcap nats.pcap",
    )


def _listener_class() -> Any:
    """Scapy's listening socket; it comes with timestamps of the kernel, and puts VLAN tags back where they were."""
    logging.getLogger("scapy").setLevel(logging.ERROR)
    from scapy.arch.linux import L2ListenSocket  # noqa: PLC0415 - takes half a second

    class Listener(L2ListenSocket):
        """Packets with the address they came by."""

        def packet(self) -> tuple[bytes | None, Any, float]:
            """One packet, where it came from, and when."""
            data, address, at_s = self._recv_raw(self.ins, _LARGEST_PACKET)
            return data, address, time.time() if at_s is None else float(at_s)

    return Listener
