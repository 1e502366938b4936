"""The file system below a directory, as a process sees it: proc_pid_mountinfo(5) and statvfs(3)."""

from __future__ import annotations

import os
import re
import sys
import threading
from errno import ENOSYS
from pathlib import Path

from jsdoctor.model.host import Volume

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
        if _is_below(directory, mount.mount) and (volume is None or len(mount.mount) >= len(volume.mount)):
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


def _is_below(directory: str, mount: str) -> bool:
    return mount in ("/", directory) or directory.startswith(f"{mount}/")


def _with_sizes(volume: Volume, path: str) -> Volume:
    """The volume with its sizes, asked of the directory or of the nearest one above it that exists."""
    answers: list[os.statvfs_result | OSError] = []

    def ask() -> None:
        try:
            answers.append(_statvfs(path))
        except OSError as error:
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_TIMEOUT_S)
    if not answers:
        return _without_sizes(volume, f"it did not respond within {_TIMEOUT_S:g} s")
    stat = answers[0]
    if isinstance(stat, OSError):
        return _without_sizes(volume, str(stat.strerror or stat))
    return Volume(
        mount=volume.mount,
        fs_type=volume.fs_type,
        read_only=volume.read_only,
        # As df counts: without the blocks that are kept for root.
        total=(stat.f_blocks - stat.f_bfree + stat.f_bavail) * stat.f_frsize,
        available=stat.f_bavail * stat.f_frsize,
        inodes=stat.f_files,
        free_inodes=stat.f_favail,
    )


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
