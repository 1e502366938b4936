"""Access to logs: local files, and everything that `pyarrow.fs` reads."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import BinaryIO, NamedTuple

from jsdoctor.collect.logs.remote import entries, open_remote

STREAMS = ("-", "/dev/stdin")
"""Names of standard input."""

STDIN = "stdin"
"""Its name in reports."""


class Stored(NamedTuple):
    """One input: what to open, its name below the input it was found in, bytes, and time of last writing.

    `problem` is the reason why it cannot be opened, for a given path without a file.
    """

    path: str
    name: str
    size: int = 0
    mtime_us: int = 0
    problem: str = ""


def is_uri(path: str) -> bool:
    """Whether this names an object store (`s3://bucket/key`) and no local path."""
    scheme, separator, _ = path.partition("://")
    return bool(separator) and scheme.isalnum()


def open_stored(path: str) -> BinaryIO:
    """Open an input for reading, seekable. Raises `OSError`."""
    if is_uri(path):
        return open_remote(path)
    return Path(path).open("rb", buffering=0)


def stored_at(path: str) -> Iterator[Stored]:
    """Everything that an input names: a file, all files below a directory, all matches of a pattern."""
    try:
        stored_files = list(_remote(path) if is_uri(path) else _local(path))
    except OSError as error:
        yield Stored(path, path, problem=error.strerror or str(error))
        return
    yield from stored_files or [Stored(path, path, problem="nothing there: no file matches")]


def _local(path: str) -> Iterator[Stored]:
    if path in STREAMS or path.startswith(("/dev/fd/", "/proc/self/fd/")):
        yield _spooled(path)
        return
    if has_magic(path) and not Path(path).exists():
        for match in sorted(glob(path, recursive=True)):  # noqa: PTH207  # pathlib wants relative patterns
            if Path(match).is_file():
                yield _file(match, match)
        return
    if not Path(path).is_dir():
        yield _file(path, path)
        return
    seen: set[tuple[int, int]] = set()
    for directory, inner, files in os.walk(path, onerror=_raise, followlinks=True):
        inner[:] = [name for name in sorted(inner) if _is_new(os.path.join(directory, name), seen)]  # noqa: PTH118
        for file in sorted(files):
            full = os.path.join(directory, file)  # noqa: PTH118  # names need not be valid paths of pathlib
            yield _file(full, os.path.relpath(full, path))


def _is_new(directory: str, seen: set[tuple[int, int]]) -> bool:
    """Whether a directory was not walked yet: links may lead back to where they stand."""
    try:
        stat = Path(directory).stat()
    except OSError:
        return False
    known = (stat.st_dev, stat.st_ino) in seen
    seen.add((stat.st_dev, stat.st_ino))
    return not known


def _raise(error: OSError) -> None:
    raise error


def _spooled(path: str) -> Stored:
    """What comes through a pipe, in a temporary file that goes with the process: it can be read only once."""
    handle, copy = tempfile.mkstemp(prefix="jsdoctor-")
    atexit.register(Path(copy).unlink, missing_ok=True)
    with (
        os.fdopen(handle, "wb") as target,
        open(0 if path in STREAMS else path, "rb", closefd=path not in STREAMS) as source,
    ):  # a descriptor
        shutil.copyfileobj(source, target)
    return _file(copy, STDIN)


def _file(path: str, name: str) -> Stored:
    printable = name.encode(errors="surrogateescape").decode(errors="replace")
    try:
        status = Path(path).stat()
    except OSError as error:
        return Stored(path, printable, problem=error.strerror or str(error))
    if not stat.S_ISREG(status.st_mode):
        return Stored(path, printable, problem="this is not a regular file")
    return Stored(path, printable, status.st_size, status.st_mtime_ns // 1000)


def _remote(path: str) -> Iterator[Stored]:
    for entry in entries(path):
        yield Stored(entry.uri, entry.name, entry.size, entry.mtime_us)
