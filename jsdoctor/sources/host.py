"""One reading of this host: its clock and its nats-server processes."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import ENOSYS
from pathlib import Path

import msgspec
from msgspec.structs import replace

from jsdoctor.manifests.conf_tree import configuration
from jsdoctor.manifests.server_arguments import Arguments, Word
from jsdoctor.manifests.server_config import server_config
from jsdoctor.manifests.tree import ManifestError
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.host import HostReading, KernelClock, ServerProcess, Volume
from jsdoctor.model.manifest import FilePosition
from jsdoctor.model.problems import UsageProblem


def require_linux() -> None:
    """Raises UsageProblem where there is no /proc to read."""
    if sys.platform != "linux":
        raise UsageProblem("--this-host reads /proc, which only Linux has", "run it on a Linux host of a server")


def read_host() -> Exchange:
    """This host now. What the kernel does not show to this user is left out of the reading."""
    at = datetime.now(UTC)
    reading = HostReading(
        host=platform.node(),
        at=at,
        clock=kernel_clock(),
        processes=tuple(server_processes()),
    )
    return Exchange(Access.HOST, Endpoint.HOST, platform.node(), at, 0, msgspec.json.encode(reading))


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
    return KernelClock(synchronised=not timex.status & _UNSYNCHRONISED)


# The nats-server processes of this host (proc(5)): their configuration, files, limits and processor time.
#
# Only what is needed is read: never the environment of a process, which may hold logins.

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_MAX_CONFIG_BYTES = 1 << 20
_DEFAULT_STORE = "/tmp/nats/jetstream"  # noqa: S108 - the server's default (os.TempDir)


@dataclass(frozen=True, slots=True)
class _Settings:
    name: str = ""
    jetstream: bool = False
    store_dir: str = ""


def server_processes() -> list[ServerProcess]:
    """Every nats-server that this user can see, by process number. Where two have one name, each gets its number."""
    processes = list(_servers())
    times = Counter(server.name for server in processes)
    return [
        replace(server, name=f"{server.name} (pid {server.pid})") if times[server.name] > 1 else server
        for server in processes
    ]


def _servers() -> Iterator[ServerProcess]:
    for process in sorted(_PROC.glob("[0-9]*"), key=lambda path: int(path.name)):
        if _text(process / "comm").strip() == "nats-server" and (server_process := _server(process)):
            yield server_process


def _server(process: Path) -> ServerProcess | None:
    """None for a process that has ended meanwhile."""
    words = _text(process / "cmdline").split("\0")[:-1]
    if not words:
        return None
    settings = _settings(process, words)
    store_dir = settings.store_dir or (_DEFAULT_STORE if settings.jetstream else "")
    periods, throttled = _cpu_throttling(process)
    return ServerProcess(
        name=settings.name or f"nats-server {process.name}",
        pid=int(process.name),
        store_dir=store_dir,
        volume=volume_of(process, store_dir) if store_dir else None,
        open_files=_open_files(process),
        max_open_files=_max_open_files(process),
        cpu_periods=periods,
        cpu_throttled=throttled,
    )


def _settings(process: Path, words: list[str]) -> _Settings:
    """From the arguments, and from the configuration file where it can be read: arguments win."""
    arguments = Arguments()
    place = FilePosition("arguments")
    arguments.read([Word(word, place) for word in words[1:]])
    set_ = {**_of_file(process, arguments.config), **arguments.settings}
    store_dir = _absolute(process, str(set_.get("store_dir", "")))
    return _Settings(str(set_.get("server_name", "")), bool(set_.get("jetstream")), store_dir)


def _of_file(process: Path, config: str) -> dict[str, object]:
    if not (path := _absolute(process, config)):
        return {}

    def include(of: str, name: str) -> tuple[str, str] | None:
        included = str(Path(of).parent / name)
        text = _text(_inside(process, included))
        return (included, text) if text else None

    text = _text(_inside(process, path))
    try:
        tree = configuration(path, text, include)
        return dict(server_config(tree.tree, dict(tree.missing)).settings)
    except ManifestError:
        return {}


def _absolute(process: Path, path: str) -> str:
    """A path of the process, by its working directory; empty where that cannot be read."""
    if not path or path.startswith("/"):
        return path
    try:
        return str((process / "cwd").readlink() / path)
    except OSError:
        return ""


def _inside(process: Path, path: str) -> Path:
    """A path of the process, which may have a root of its own, as in a container."""
    return Path(f"{process}/root{path}")


def _open_files(process: Path) -> int | None:
    try:
        return sum(1 for _ in (process / "fd").iterdir())
    except OSError:
        return None


def _max_open_files(process: Path) -> int | None:
    """The soft limit: `Max open files            1024                 524288               files`."""
    line = next((line for line in _text(process / "limits").splitlines() if line.startswith("Max open files")), "")
    words = line.split()
    return int(words[3]) if len(words) > 3 and words[3].isdigit() else None


def _cpu_throttling(process: Path) -> tuple[int | None, int | None]:
    """`nr_periods` and `nr_throttled` of the process's cgroup, version 2 or 1; None where it has no CPU quota."""
    for line in _text(process / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        base = _CGROUPS / controllers if controllers else _CGROUPS
        lines = _text(Path(f"{base}{path}/cpu.stat")).splitlines()
        stat = {name: value for name, _, value in (line.partition(" ") for line in lines)}
        if stat.get("nr_periods", "0") != "0":
            return int(stat["nr_periods"]), int(stat.get("nr_throttled", 0))
    return None, None


def _text(path: Path) -> str:
    """What is in it; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_CONFIG_BYTES).decode(errors="replace")
    except OSError:
        return ""


_TIMEOUT_S = 2.0
"""A network file system whose server is away blocks every call, for ever."""
_ESCAPED = re.compile(r"\\([0-7]{3})")


def volume_of(process: Path, directory: str) -> Volume | None:
    """The volume of a directory of that process (`/proc/PID`); None where its mounts cannot be read."""
    try:
        lines = (process / "mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return None
    volume: Volume | None = None
    for mount in filter(None, map(_mount, lines)):
        # Of two mounts on one directory the later hides the earlier.
        below = mount.mount in ("/", directory) or directory.startswith(f"{mount.mount}/")
        if below and (volume is None or len(mount.mount) >= len(volume.mount)):
            volume = mount
    return _with_sizes(volume, f"{process}/root{directory}") if volume else None


def _mount(line: str) -> Volume | None:
    """One line: `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue`."""
    of_mount, separator, of_file_system = line.partition(" - ")
    fields, more = of_mount.split(" "), of_file_system.split(" ")
    if not separator or len(fields) < 6 or len(more) < 3:
        return None
    path = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4])
    options = {*fields[5].split(","), *more[2].split(",")}
    return Volume(mount=path, fs_type=more[0], read_only="ro" in options)


def _with_sizes(volume: Volume, path: str) -> Volume:
    """The volume with its sizes, asked of the directory or of the nearest one above it that exists."""
    answers: list[tuple[os.statvfs_result, str] | OSError] = []

    def ask() -> None:
        try:
            answers.append((_statvfs(path), _identity(path)))
        except OSError as error:
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_TIMEOUT_S)
    if not answers:
        return _without_sizes(volume, f"it did not respond within {_TIMEOUT_S:g} s")
    if isinstance(answer := answers[0], OSError):
        return _without_sizes(volume, str(answer.strerror or answer))
    stat, directory = answer
    return Volume(
        mount=volume.mount,
        fs_type=volume.fs_type,
        read_only=volume.read_only,
        # As df counts: without the blocks that are kept for root.
        total=(stat.f_blocks - stat.f_bfree + stat.f_bavail) * stat.f_frsize,
        available=stat.f_bavail * stat.f_frsize,
        inodes=stat.f_files,
        free_inodes=stat.f_favail,
        directory=directory,
    )


def _identity(path: str) -> str:
    """Device and inode of a directory, whatever the path by which a process has it; empty where it cannot be read."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - a path below /proc/PID/root is no name that pathlib may rewrite
    except OSError:
        return ""
    return f"{stat.st_dev}:{stat.st_ino}"


def _statvfs(path: str) -> os.statvfs_result:
    """Of the path, or of the nearest directory above it that exists: a server makes its store directory itself."""
    if sys.platform == "win32":
        raise OSError(ENOSYS, "this platform has no statvfs")
    try:
        return os.statvfs(path)
    except FileNotFoundError:
        if path in ("", "/"):
            raise
        return _statvfs(path.rpartition("/")[0] or "/")


def _without_sizes(volume: Volume, problem: str) -> Volume:
    return Volume(mount=volume.mount, fs_type=volume.fs_type, read_only=volume.read_only, problem=problem)
