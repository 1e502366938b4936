"""Network namespaces: made with `ip`, entered by one thread, their interfaces told to leave packets alone."""

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x4000_0000
_SIOCETHTOOL = 0x8946
_SETTERS = {"rx": 0x15, "tx": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
"""ETHTOOL_S* of linux/ethtool.h."""


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread, inside that namespace. Sockets that are opened there stay there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as home, Path("/run/netns", namespace).open() as there:
        if libc.setns(there.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter namespace {namespace}")
        try:
            yield
        finally:
            libc.setns(home.fileno(), _CLONE_NEWNET)


def leave_packets_alone(interface: str) -> None:
    """No cutting, joining or unfinished checksums on an interface of this namespace: one packet sent is one seen."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in _SETTERS.values():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(control, _SIOCETHTOOL, request)
            except OSError as error:
                if error.errno != 95:  # EOPNOTSUPP: then there is nothing to turn off
                    raise


def can_make_namespaces() -> str:
    """Why they cannot be made here, or an empty text."""
    if not hasattr(os, "geteuid") or os.geteuid():
        return "network namespaces need root"
    if not any((Path(directory) / "ip").exists() for directory in os.environ.get("PATH", "").split(":")):
        return "the command `ip` (iproute2) is not installed"
    return ""
