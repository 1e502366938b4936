"""The kernel's own word on its clock: adjtimex(2), asked without changing anything."""

from __future__ import annotations

import ctypes

from jsdoctor.model.host import KernelClock

_UNSYNCHRONISED = 0x0040
"""STA_UNSYNC of <sys/timex.h>."""
_FAILED = -1


class _Timex(ctypes.Structure):
    """struct timex up to what is read here. `modes` 0: nothing is set. The rest is room for what the kernel writes."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def kernel_clock() -> KernelClock | None:
    """None where the kernel does not say: a sandbox, or a C library without the call."""
    timex = _Timex()
    try:
        if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) == _FAILED:
            return None
    except (AttributeError, OSError):
        return None
    return KernelClock(
        synchronised=not timex.status & _UNSYNCHRONISED,
        max_error_us=max(timex.maxerror, 0),
        estimated_error_us=max(timex.esterror, 0),
    )
