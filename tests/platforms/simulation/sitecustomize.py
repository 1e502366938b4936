"""Makes jsdoctor believe that it runs on another platform: python imports this at its start, from PYTHONPATH.

JSDOCTOR_SIMULATED_PLATFORM is `windows` or `macos`. Modules of jsdoctor then have that platform's
`sys.platform`, and can import no module and no name that Python lacks there. Libraries keep all names: they support
these platforms themselves. A text file that is opened without an encoding is an error, because the default differs.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
import types
import warnings
from typing import Any

_UNIX_OS = """
    O_CLOEXEC O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_SYNC O_DSYNC chroot fchmod fchown fork forkpty getgid getgroups
    getloadavg getpgid getpgrp getpriority getresuid getsid getuid geteuid getegid initgroups killpg lchown lockf
    mkfifo mknod nice openpty pathconf posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev readv
    sched_getaffinity sched_yield sendfile setgid setpgid setpriority setsid setuid statvfs sync sysconf tcgetpgrp
    ttyname uname wait3 wait4 waitid writev WNOHANG WIFEXITED eventfd memfd_create pidfd_open copy_file_range splice
    getrandom
"""
_UNIX_SIGNALS = """
    SIGKILL SIGHUP SIGQUIT SIGUSR1 SIGUSR2 SIGPIPE SIGALRM SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGWINCH
    alarm setitimer getitimer pause pthread_sigmask pthread_kill sigwait siginterrupt sigpending
"""
_LINUX_OS = """
    sched_getaffinity posix_fadvise posix_fallocate eventfd memfd_create pidfd_open copy_file_range splice getrandom
    getresuid
"""
_LINUX_SOCKET = "AF_PACKET AF_NETLINK SO_BINDTODEVICE SO_MARK PACKET_OUTGOING"

PLATFORMS: dict[str, tuple[str, frozenset[str], dict[str, str]]] = {
    "windows": (
        "win32",
        frozenset(
            {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
        ),
        {
            "os": _UNIX_OS,
            "signal": _UNIX_SIGNALS,
            "socket": f"{_LINUX_SOCKET} AF_UNIX SO_REUSEPORT  MSG_DONTWAIT recvmsg sendmsg",
            "select": "poll epoll kqueue",
            "time": "tzset clock_gettime clock_gettime_ns CLOCK_REALTIME CLOCK_MONOTONIC",
        },
    ),
    "macos": ("darwin", frozenset(), {"os": _LINUX_OS, "socket": _LINUX_SOCKET, "select": "epoll"}),
}
"""Of each platform: `sys.platform`, modules that it has not, names that its modules have not."""


class _Reduced(types.ModuleType):
    """A module without some of its names, or with others in their place."""

    def __init__(self, whole: types.ModuleType, without: frozenset[str], instead: dict[str, Any]) -> None:
        super().__init__(whole.__name__)
        self.__dict__.update(_whole=whole, _without=without, _instead=instead)

    def __getattr__(self, name: str) -> Any:
        if name in self._instead:
            return self._instead[name]
        if name in self._without:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._whole, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._whole, name, value)


def simulate(platform: str) -> None:
    """Reduce what modules of jsdoctor can import from now on."""
    name, missing, without = PLATFORMS[platform]
    real_import, real_find = builtins.__import__, importlib.util.find_spec
    reduced: dict[str, types.ModuleType] = {"sys": _Reduced(sys, frozenset(), {"platform": name})}

    def reduced_import(
        module: str, globals_: Any = None, locals_: Any = None, fromlist: Any = (), level: int = 0
    ) -> types.ModuleType:
        importer = (globals_ or {}).get("__name__", "")
        if level or not (importer == "__main__" or importer.partition(".")[0] == "jsdoctor"):
            return real_import(module, globals_, locals_, fromlist, level)
        if module in missing:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        imported = real_import(module, globals_, locals_, fromlist, level)
        if module in without and module not in reduced:
            reduced[module] = _Reduced(
                imported, frozenset(without[module].split()), {"name": "nt"} if platform == "windows" else {}
            )
        return reduced.get(module, imported)

    def reduced_find(module: str, package: str | None = None) -> Any:
        return None if module in missing else real_find(module, package)

    builtins.__import__ = reduced_import  # type: ignore[assignment]
    importlib.util.find_spec = reduced_find  # type: ignore[assignment]
    warnings.filterwarnings("error", category=EncodingWarning, module="jsdoctor")


if os.environ.get("JSDOCTOR_SIMULATED_PLATFORM"):
    simulate(os.environ["JSDOCTOR_SIMULATED_PLATFORM"])
