"""Access to logs: local files, and everything that `pyarrow.fs` opens, with an error in seconds if it cannot."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

ANSWER_S = 15.0
"""A store that has not responded to the first request after this time (in seconds) is reported as unreachable."""

_QUERY = re.compile(r"\?(?=\w+=)[^*\[\]]*$")
_NEEDS = {
    "s3": "check the endpoint (with scheme=http where it has no TLS), the region and the credentials"
    " (AWS_ACCESS_KEY_ID, AWS_PROFILE)",
    "gs": "check the network and the credentials (GOOGLE_APPLICATION_CREDENTIALS)",
    "gcs": "check the network and the credentials (GOOGLE_APPLICATION_CREDENTIALS)",
    "abfs": "give the account's credentials (AZURE_STORAGE_KEY, az login) and write abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
    "abfss": "give the account's credentials (az login) and write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
    "hdfs": "it needs Hadoop's native library: set HADOOP_HOME, JAVA_HOME and CLASSPATH (hadoop classpath --glob)",
    "viewfs": "it needs Hadoop's native library: set HADOOP_HOME, JAVA_HOME and CLASSPATH (hadoop classpath --glob)",
}
_UNKNOWN = "stores are s3://, gs://, abfs://, hdfs:// and file://; copy the logs to this machine from any other"
_MAX = 200
_T = TypeVar("_T")


class RemoteFile(NamedTuple):
    """One file there: its URI, its path below what was named, bytes, and time of last writing."""

    uri: str
    name: str
    size: int
    mtime_us: int


def open_remote(uri: str) -> BinaryIO:
    """Open a file for reading. Raises `OSError`, soon."""
    system, inner = _system(uri)
    return cast("BinaryIO", _answered(uri, lambda: system.open_input_file(inner)))


def entries(uri: str) -> Iterator[RemoteFile]:
    """The files that a URI names: one, all below a directory, all that match a pattern. Raises `OSError`, soon."""
    query = _QUERY.search(uri)
    main, options = (uri[: query.start()], query[0]) if query else (uri, "")
    pattern = main if has_magic(main) else ""
    if pattern:
        main = main[: main.rfind("/", 0, min(main.find(sign) for sign in "*?[" if sign in main))]
    system, inner = _system(main + options)
    result = _answered(uri, lambda: _listed(system, inner, bool(pattern)))
    for info in result:
        where = main.rstrip("/") + info.path.removeprefix(inner.rstrip("/")) if info.path != inner else main
        if not pattern or fnmatchcase(where, pattern):
            alone = len(result) == 1 or bool(pattern)
            name = where if alone else info.path.removeprefix(inner).lstrip("/")
            yield RemoteFile(where + options, name, info.size or 0, (info.mtime_ns or 0) // 1000)


def _listed(system: Any, inner: str, below: bool) -> list[Any]:
    from pyarrow import fs  # only for those who read from object stores

    info = system.get_file_info(inner)
    if info.type == fs.FileType.Directory or below:
        infos = system.get_file_info(fs.FileSelector(inner, recursive=True))
        return sorted((info for info in infos if info.type == fs.FileType.File), key=lambda info: str(info.path))
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(2, "No such file or directory")
    return [info]


def _system(uri: str) -> tuple[Any, str]:
    try:
        from pyarrow import fs
    except ImportError as error:
        raise OSError("reading from object stores needs the extra: pip install 'jsdoctor[logs]'") from error
    if uri.startswith(("gs://", "gcs://")) and "retry_limit_seconds" not in uri:
        uri += f"{'&' if '?' in uri else '?'}retry_limit_seconds={ANSWER_S / 3:.0f}"
    system, inner = _answered(uri, lambda: fs.FileSystem.from_uri(uri))
    return system, inner


def _answered(uri: str, ask: Callable[[], _T]) -> _T:
    """The result of a request to a store. Raises `OSError` with one sentence, also if the store does not respond."""
    scheme = uri.partition("://")[0]
    needs = _NEEDS.get(scheme, _UNKNOWN)
    answer: list[_T] = []
    problem: list[Exception] = []

    def run() -> None:
        try:
            answer.append(ask())
        except Exception as error:  # noqa: BLE001  # pyarrow raises what its drivers raise
            problem.append(error)

    asking = threading.Thread(target=run, name="object-store", daemon=True)
    asking.start()
    asking.join(ANSWER_S)
    if answer:
        return answer[0]
    if problem and isinstance(problem[0], FileNotFoundError):
        raise problem[0]
    if problem:
        stated = str(problem[0]).strip().partition("\n")[0][:_MAX]
        raise OSError(f"it cannot be opened ({stated}): {needs}") from problem[0]
    raise OSError(f"no response within {ANSWER_S:.0f}s: {needs}")


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
    walked: set[tuple[int, int]] = set()
    _enter(path, walked)
    unread: list[OSError] = []
    for directory, inner, files in os.walk(path, onerror=unread.append, followlinks=True):
        inner[:] = [name for name in sorted(inner) if _enter(os.path.join(directory, name), walked)]  # noqa: PTH118
        for file in sorted(files):
            full = os.path.join(directory, file)  # noqa: PTH118  # names need not be valid paths of pathlib
            yield _file(full, os.path.relpath(full, path))
    for error in unread:
        name = str(error.filename)
        shown = name if name == path else os.path.relpath(name, path)
        yield Stored(name, shown, problem=error.strerror or str(error))


def _enter(directory: str, walked: set[tuple[int, int]]) -> bool:
    """Add a directory to those that are walked. False where it is one of them, as links may lead back, or is gone."""
    try:
        status = Path(directory).stat()
    except OSError:
        return False
    if (status.st_dev, status.st_ino) in walked:
        return False
    walked.add((status.st_dev, status.st_ino))
    return True


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
