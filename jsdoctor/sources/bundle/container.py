"""A ZIP archive from an untrusted source: read into memory only, within limits, and its metadata is not trusted.

Nothing is ever extracted to disk. `read` decides which members an archive may have.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from struct import error as StructError  # noqa: N812 - the class has the name of a variable

from jsdoctor.bundles.bundle import BundleError

MAX_BYTES = 512 << 20
MAX_DIRECTORY_BYTES = 8 << 20
"""The list of members at the end of a ZIP is read in one piece; each entry becomes an object of some 600 bytes."""
MAX_MEMBERS = 100_000
MAX_RATIO = 200
"""Repetitive JSON shrinks to about a fiftieth; a higher ratio is treated as a decompression bomb."""
_RATIO_FROM_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 18
_ENCRYPTED = 0x1
_UNSAFE_NAME = re.compile(r"^/|\\|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)|\x00")
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, StructError, EOFError),
    *(NotImplementedError, ValueError, OverflowError, OSError),
)
"""All exceptions of `zipfile` for an invalid archive (OSError: an offset before the beginning)."""


class Container:
    """The members of an archive. All bytes read from it count against one limit, `max_bytes`."""

    def __init__(self, archive: zipfile.ZipFile, max_bytes: int) -> None:
        self._archive = archive
        self._entries = _entries(archive)
        self._max_bytes = self._left = max_bytes

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return (name for name, entry in self._entries.items() if not entry.is_dir())

    @property
    def written(self) -> datetime | None:
        """The newest time of a member: in UTC as `nats` writes it, without a zone in the format."""
        times = (datetime(*entry.date_time, tzinfo=UTC) for entry in self._entries.values())
        with suppress(ValueError):
            return max(times, default=None)
        return None

    def expect(self, names: Iterable[str]) -> None:
        """Raise BundleError if the declared size of these members exceeds what may be read."""
        if sum(self._entries[name].file_size for name in names if name in self._entries) > self._max_bytes:
            raise BundleError(f"it claims to unpack to more than {self._max_bytes >> 20} MiB")

    def content(self, name: str, limit: int | None = None) -> bytes:
        """One member, checked against its checksum. `expect` checked the declared size; this checks the real one.

        Raises BundleError if it is larger than `limit`, or than the rest of what may be read.
        """
        limit = self._left if limit is None else min(limit, self._left)
        content = bytearray()
        with self._archive.open(self._entries[name]) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                content += chunk
                if len(content) > limit:
                    raise BundleError(f"{name[:80]!r} in it unpacks to more than {limit:,} bytes")
        self._left -= len(content)
        return bytes(content)


@contextmanager
def open_container(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[Container]:
    """Open an archive for as long as its members are read. Raises BundleError, also for damage that reading meets, and
    OSError where the file itself cannot be opened.
    """
    with _Bounded(path.open("rb", buffering=0)) as file:
        try:
            if file.seek(0, io.SEEK_END) > max_bytes:
                raise BundleError(f"it is larger than {max_bytes >> 20} MiB")
            with zipfile.ZipFile(file) as archive:
                yield Container(archive, max_bytes)
        except BundleError:
            raise
        except _DAMAGE as error:
            raise BundleError(f"it is damaged or not a ZIP file ({error})") from error


class _Bounded(io.BufferedReader):
    """A file that is never read in a piece larger than the longest list of members."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Like `read` of any file, but raises `BundleError` instead of reading more than the limit."""
        wanted = MAX_DIRECTORY_BYTES + 1 if size is None or size < 0 else size
        content = super().read(wanted) if wanted <= MAX_DIRECTORY_BYTES + 1 else None
        if content is None or len(content) > MAX_DIRECTORY_BYTES:
            raise BundleError(f"its list of members is larger than {MAX_DIRECTORY_BYTES >> 20} MiB")
        return content


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    if len(listed) > MAX_MEMBERS:
        raise BundleError(f"it has more than {MAX_MEMBERS:,} members")
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        if _UNSAFE_NAME.search(entry.orig_filename):
            raise BundleError(f"it has a member with the unsafe name {entry.orig_filename[:80]!r}")
        if entry.filename in entries:
            raise BundleError(f"it has two members named {entry.filename[:80]!r}")
        if entry.flag_bits & _ENCRYPTED:
            raise BundleError(f"{entry.filename[:80]!r} in it is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"{entry.filename[:80]!r} in it is packed in a way that bundles are not")
        if entry.file_size > max(_RATIO_FROM_BYTES, entry.compress_size * MAX_RATIO):
            raise BundleError(f"{entry.filename[:80]!r} in it claims to unpack to more than {MAX_RATIO} times its size")
        entries[entry.filename] = entry
    return entries
