"""Logs in object stores and Hadoop: everything that `pyarrow.fs` opens, with an error in seconds if it cannot."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from glob import has_magic
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
    from pyarrow import fs  # noqa: PLC0415  # only for those who read from object stores

    info = system.get_file_info(inner)
    if info.type == fs.FileType.Directory or below:
        infos = system.get_file_info(fs.FileSelector(inner, recursive=True))
        return sorted((info for info in infos if info.type == fs.FileType.File), key=lambda info: str(info.path))
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(2, "No such file or directory")
    return [info]


def _system(uri: str) -> tuple[Any, str]:
    try:
        from pyarrow import fs  # noqa: PLC0415
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
