"""Where logs lie: local files, and whatever pyarrow.fs reads."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast


class Stored(NamedTuple):
    """One input: what to open, what it is called below the input it was found in, bytes, and time of last writing.

    `problem` tells why it cannot be opened, for a path that was given and led nowhere.
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
        system, inner = _system(path)
        return cast("BinaryIO", system.open_input_file(inner))
    return Path(path).open("rb", buffering=0)


def stored_at(path: str) -> Iterator[Stored]:
    """Everything that an input names: a file, all files below a directory, all matches of a pattern."""
    try:
        found = list(_remote(path) if is_uri(path) else _local(path))
    except OSError as error:
        yield Stored(path, path, problem=error.strerror or str(error))
        return
    yield from found or [Stored(path, path, problem="nothing there: no file matches")]


def _local(path: str) -> Iterator[Stored]:
    if has_magic(path) and not Path(path).exists():
        for match in sorted(glob(path, recursive=True)):  # noqa: PTH207  # pathlib wants relative patterns
            if Path(match).is_file():
                yield _file(match, match)
        return
    if not Path(path).is_dir():
        yield _file(path, path)
        return
    for directory, inner, files in os.walk(path, onerror=_raise):
        inner.sort()
        for file in sorted(files):
            full = os.path.join(directory, file)  # noqa: PTH118  # names need not be valid paths of pathlib
            yield _file(full, os.path.relpath(full, path))


def _raise(error: OSError) -> None:
    raise error


def _file(path: str, name: str) -> Stored:
    printable = name.encode(errors="surrogateescape").decode(errors="replace")
    try:
        found = Path(path).stat()
    except OSError as error:
        return Stored(path, printable, problem=error.strerror or str(error))
    if not stat.S_ISREG(found.st_mode):
        return Stored(path, printable, problem="this is not a regular file")
    return Stored(path, printable, found.st_size, found.st_mtime_ns // 1000)


def _system(path: str) -> tuple[Any, str]:
    try:
        from pyarrow import ArrowException, fs  # noqa: PLC0415  # only for those who read from object stores
    except ImportError as error:
        raise OSError("reading from object stores needs the extra: pip install 'jsdoctor[logs]'") from error
    try:
        system, inner = fs.FileSystem.from_uri(path)
    except (ArrowException, ValueError) as error:
        raise OSError(f"cannot be opened: {error}") from error
    return system, inner


def _remote(path: str) -> Iterator[Stored]:
    from pyarrow import fs  # noqa: PLC0415

    base, pattern = path, ""
    if has_magic(path):
        cut = path.rfind("/", 0, min(path.find(sign) for sign in "*?[" if sign in path))
        base, pattern = path[:cut], path
    system, inner = _system(base)
    root = path[: len(base) - len(inner)] if base.endswith(inner) else base[: base.find("://") + 3]
    info = system.get_file_info(inner)
    if info.type == fs.FileType.Directory or pattern:
        selected = fs.FileSelector(inner, recursive=True)
        entries = sorted(system.get_file_info(selected), key=lambda entry: str(entry.path))
    elif info.type == fs.FileType.NotFound:
        raise FileNotFoundError(2, "No such file or directory")
    else:
        entries = [info]
    for entry in entries:
        uri = root + entry.path
        if entry.type == fs.FileType.File and (not pattern or fnmatchcase(uri, pattern)):
            name = uri if len(entries) == 1 or pattern else entry.path.removeprefix(inner).lstrip("/")
            yield Stored(uri, name, entry.size or 0, (entry.mtime_ns or 0) // 1000)
