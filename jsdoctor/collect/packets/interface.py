"""Captures on a network interface for some seconds, with a packet socket and a buffer that holds a burst.

Linux only. With the default buffer of libpcap, a burst of 17,000 packets in a second lost 84 %. Packets that the kernel
dropped nevertheless are counted and reported.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from jsdoctor.collect.packets.bpf import packed, tcp_filter
from jsdoctor.collect.problems import ConnectProblem, Problem, UsageProblem
from jsdoctor.parse.packets.analysis import Analysis, Analyzed
from jsdoctor.parse.packets.container import Interface
from jsdoctor.parse.packets.segment import StreamObserver

_BUFFER_BYTES = 256 * 1024 * 1024
_ORDINARY_BUFFER_BYTES = 8 * 1024 * 1024
_MAX_PACKET = 1 << 18
_ALL_PROTOCOLS = 3
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS, _SO_ATTACH_FILTER = 33, 35, 26
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_AUXDATA = 263, 6, 8
_PACKET_OUTGOING = 4
_VLAN_VALID = 1 << 4
_EXTRA_BYTES = 256
_LOOPBACK, _WITHOUT_LINK_LAYER = 772, (512, 768, 769, 776, 778, 823, 65534)
"""Hardware types of Linux (linux/if_arp.h): PPP, tunnels and tun devices hand over IP packets."""
_ETHERNET, _RAW_IP = 1, 101
"""Link types of captures."""
_LOOK_EVERY_S = 0.2
_SHOW_EVERY = 5_000


class PacketSocket:
    """A packet socket on one interface. `ins` is the socket."""

    name: str
    ins: socket.socket

    def __init__(self, name: str, ports: Sequence[int] = ()) -> None:
        if sys.platform != "linux":
            raise OSError(errno.EAFNOSUPPORT, "packet sockets need Linux")
        self.name = name
        program = packed(tcp_filter(ports))
        code = ctypes.create_string_buffer(program, len(program))
        self.ins = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            fprog = struct.pack("HL", len(program) // 8, ctypes.addressof(code))
            self.ins.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, fprog)
            self.ins.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self.ins.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            self.ins.bind((name, _ALL_PROTOCOLS))  # from here on packets come, and only those of the filter
        except OSError:
            self.ins.close()
            raise

    def packet(self) -> tuple[bytes, tuple[str, int, int, int, bytes], int]:
        """One packet, where it came from, and when by the clock of the kernel."""
        if sys.platform != "linux":
            raise AssertionError("there is no such socket")
        data, extra, _, address = self.ins.recvmsg(_MAX_PACKET, _EXTRA_BYTES)
        at_ns = 0
        for level, kind, value in extra:
            if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                seconds, nanos = struct.unpack("qq", value[:16])
                at_ns = seconds * 1_000_000_000 + nanos
            elif level == _SOL_PACKET and kind == _PACKET_AUXDATA and len(value) >= 20:
                status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", value[:20])
                if status & _VLAN_VALID:  # the kernel takes the outer tag off
                    data = data[:12] + struct.pack(">HH", tpid or 0x8100, tci) + data[12:]
        return data, address, at_ns or time.time_ns()

    def close(self) -> None:
        """Close the socket."""
        self.ins.close()


def sniff(
    name: str,
    seconds: float,
    index: int,
    observer: StreamObserver | None,
    show: Callable[[str], None],
    *,
    ports: Sequence[int] = (),
) -> Analyzed:
    """Capture on that interface. Raises a `Problem` if that is not possible or not allowed."""
    with contextlib.closing(_open(name, seconds, ports)) as listener:
        return _listen(listener, Analysis(index, name, observer=observer), seconds, show)


def tcpdump_command(name: str, seconds: float, ports: Sequence[int] = ()) -> str:
    """The command that captures the same into a file, for whoever has the privilege.

    One second longer, as tcpdump does not write the last second when it is ended. In immediate mode it would, but with
    whole packets its buffer has place for 256 of them.
    """
    wanted = " or ".join(f"tcp port {port}" for port in ports or (4222, 6222))
    return f"sudo timeout {seconds + 1:g} tcpdump -i {name} -B 65536 -s 0 -w nats.pcap '{wanted}'"


def _listen(listener: PacketSocket, analysis: Analysis, seconds: float, show: Callable[[str], None]) -> Analyzed:
    """Read until the time is over, SIGINT or SIGTERM, then what arrived before. The kernel counts what it dropped."""
    sock = listener.ins
    _, _, _, hardware, *_ = sock.getsockname()
    loopback = hardware == _LOOPBACK
    link = _RAW_IP if hardware in _WITHOUT_LINK_LAYER else _ETHERNET
    interface = analysis.interface(Interface(link, name=listener.name))
    end, count = time.monotonic() + seconds, 0
    with contextlib.suppress(KeyboardInterrupt), _stoppable() as stopped:
        last_ns = 0
        while True:
            left = end - time.monotonic()
            if not last_ns and (stopped() or left <= 0):
                last_ns = time.time_ns()  # what the kernel stamped until now may still wait in the socket's buffer
            wait_s = 0 if last_ns else min(left, _LOOK_EVERY_S)
            if not select.select([sock], [], [], wait_s)[0]:
                if last_ns:
                    break
                continue
            data, address, at_ns = listener.packet()
            if last_ns and at_ns > last_ns:
                break
            if loopback and address[2] == _PACKET_OUTGOING:
                continue  # on the loopback interface each packet leaves and comes back
            analysis.packet(at_ns, data, len(data), interface)
            count += 1
            if count % _SHOW_EVERY == 0:
                show(f"listening on {listener.name}: {count:,} packets, {max(left, 0):.0f} s to go; Ctrl-C ends it")
    return analysis.finish(kernel_drops=_dropped(sock))


@contextlib.contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Yields a function that reports whether SIGINT or SIGTERM arrived, so that no packet is left half analysed.

    A second signal is a KeyboardInterrupt. Only the main thread gets signals.
    """
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        if len(signals) > 1:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _dropped(sock: socket.socket) -> int:
    """How many packets the kernel had no room for since the socket was opened (asking sets it back)."""
    _packets, drops = struct.unpack("II", sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
    return int(drops)


def _open(name: str, seconds: float, ports: Sequence[int] = ()) -> PacketSocket:
    if sys.platform != "linux":
        raise UsageProblem("--sniff needs Linux", f"capture with: {tcpdump_command(name, seconds, ports)}")
    known = [interface for _, interface in socket.if_nameindex()]
    if name not in known:
        raise UsageProblem(f"there is no interface {name}", f"one of: {', '.join(known)}")
    try:
        listener = PacketSocket(name, ports)
    except PermissionError as error:
        raise _not_allowed(name, seconds, ports) from error
    except OSError as error:
        raise UsageProblem(
            f"cannot listen on {name}: {error.strerror or error}", "is it up? ip link shows it"
        ) from error
    try:
        listener.ins.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    except OSError:
        listener.ins.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ORDINARY_BUFFER_BYTES)
    return listener


def _not_allowed(name: str, seconds: float, ports: Sequence[int]) -> Problem:
    return ConnectProblem(
        f"listening on {name} needs the privilege CAP_NET_RAW, which this process does not have",
        f"run as root, or capture with: {tcpdump_command(name, seconds, ports)}; then jsdoctor check --pcap nats.pcap",
    )
