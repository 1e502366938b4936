"""Reading a bundle that somebody else may have made: into memory only, within limits, and nothing of it is believed.

Nothing is ever extracted to disk. A bundle is at most `MAX_BYTES`, packed and unpacked.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from pathlib import Path
from struct import error as StructError  # noqa: N812 - the class has the name of a variable

from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.model.exchange import Sample
from jsdoctor.parse.bundle import (
    MANIFEST,
    BundleError,
    Manifest,
    NewerFormatError,
    decode_manifest,
    decode_samples,
)

MAX_BYTES = 512 << 20
MAX_MANIFEST_BYTES = 64 << 20
MAX_DIRECTORY_BYTES = 8 << 20
"""The list of members at the end of a ZIP is read in one piece, and makes an object of some 600 bytes of each entry."""
MAX_MEMBERS = 100_000
MAX_RATIO = 200
"""JSON that says the same a thousand times shrinks to a fiftieth; what shrinks to less was made to."""
_RATIO_FROM_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 18
_ENCRYPTED = 0x1
_UNSAFE_NAME = re.compile(r"^/|\\|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)|[\x00-\x1f\x7f]")
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, StructError, EOFError),
    *(NotImplementedError, ValueError, OverflowError, OSError),
)
"""All that `zipfile` raises for an archive that is not as it should be (OSError: an offset before the beginning)."""


class BundleProblem(Problem):
    """A bundle whose evidence cannot be had: damaged, hostile, or of a later format. Exit code 3."""


def read_bundle(path: Path, max_bytes: int = MAX_BYTES) -> tuple[Manifest, tuple[Sample, ...]]:
    """The manifest and the samples of a bundle.

    Raises UsageProblem where no file can be opened, and BundleProblem for one that is not a bundle as it was written.
    """
    try:
        if not path.is_file():
            reason = "it is not a file" if path.exists() else "no such file"
            raise UsageProblem(f"cannot read the bundle {path}: {reason}", "give the file that jsdoctor capture wrote")
        with _Bounded(path.open("rb", buffering=0)) as file:
            return _read(file, max_bytes)
    except OSError as error:
        raise UsageProblem(
            f"cannot read the bundle {path}: {error.strerror or error}", "check its permissions"
        ) from error
    except NewerFormatError as error:
        raise BundleProblem(f"the bundle {path} cannot be read: {error}", "install a newer jsdoctor") from error
    except BundleError as error:
        hint = "get the file again (as binary), or capture again: jsdoctor capture -o FILE.zip"
        raise BundleProblem(f"the bundle {path} cannot be read: {error}", hint) from error


class _Bounded(io.BufferedReader):
    """A file that is never read in a piece larger than the longest list of members."""

    def read(self, size: int | None = -1, /) -> bytes:
        """As files do, but raises `BundleError` instead of reading that much."""
        wanted = MAX_DIRECTORY_BYTES + 1 if size is None or size < 0 else size
        content = super().read(wanted) if wanted <= MAX_DIRECTORY_BYTES + 1 else None
        if content is None or len(content) > MAX_DIRECTORY_BYTES:
            raise BundleError(f"its list of members is larger than {MAX_DIRECTORY_BYTES >> 20} MiB")
        return content


def _read(file: _Bounded, max_bytes: int) -> tuple[Manifest, tuple[Sample, ...]]:
    if file.seek(0, io.SEEK_END) > max_bytes:
        raise BundleError(f"it is larger than {max_bytes >> 20} MiB")
    try:
        with zipfile.ZipFile(file) as archive:
            entries = _entries(archive, max_bytes)
            if MANIFEST not in entries:
                raise BundleError(f"there is no {MANIFEST} in it, so it is not a bundle of jsdoctor")
            manifest = decode_manifest(_content(archive, entries[MANIFEST], MAX_MANIFEST_BYTES))
            return manifest, decode_samples(manifest, _bodies(archive, manifest, entries, max_bytes))
    except BundleError:
        raise
    except _DAMAGE as error:
        raise BundleError(f"it is damaged or not a ZIP file ({error})") from error


def _entries(archive: zipfile.ZipFile, max_bytes: int) -> dict[str, zipfile.ZipInfo]:
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
    if sum(entry.file_size for entry in listed) > max_bytes:
        raise BundleError(f"it claims to unpack to more than {max_bytes >> 20} MiB")
    return entries


def _bodies(
    archive: zipfile.ZipFile, manifest: Manifest, entries: dict[str, zipfile.ZipInfo], max_bytes: int
) -> dict[str, bytes]:
    bodies: dict[str, bytes] = {}
    left = max_bytes
    for member in manifest.members:
        if member.name in entries and member.name != MANIFEST:
            bodies[member.name] = _content(archive, entries[member.name], left)
            left -= len(bodies[member.name])
    return bodies


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """One member, checked against its checksum. What it claims to be was looked at; here counts what it is."""
    content = bytearray()
    with archive.open(entry) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            content += chunk
            if len(content) > limit:
                raise BundleError(f"{entry.filename[:80]!r} in it unpacks to more than {limit:,} bytes")
    return bytes(content)
