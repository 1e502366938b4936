"""Files, directories and standard input without options: each is used according to its content."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace as evolve
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.bundles.audit_archive_manifest import ARCHIVE_MANIFEST
from jsdoctor.bundles.bundle import MANIFEST
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import ANY_YEAR
from jsdoctor.logs.paste.rewrite import Rewriter
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.rule import Rule
from jsdoctor.pasted.documents import MAX
from jsdoctor.sources.codec import codec_of, is_tar, is_utf16, not_a_log
from jsdoctor.sources.file_kinds import PEEK, FileKind, IsLog, of_bytes, of_text
from jsdoctor.sources.request import (
    EvidenceRequest,
    LogRequest,
    ManifestRequest,
    PacketRequest,
    PastedText,
    UnreadableFile,
)

STDIN = "-"
_SNIFFED = 8 << 20
"""Number of bytes of a text from which its kinds are recognised."""

_FIRST_MEMBERS = 2048
"""Number of bytes of a tar archive that have the manifest if it is a bundle."""

_JUDGED = 4096
"""Number of bytes that show whether a file is text."""

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP = 31  # for zlib: only data with the header of gzip
_MAX_FILES = 20_000


class Piece(msgspec.Struct, frozen=True):
    """A given input: its name, the kinds of evidence in it, and its text if it is text."""

    name: str
    path: str
    kinds: tuple[FileKind, ...]
    text: str = ""
    why: str = ""
    at: datetime | None = None


def files_and_options(paths: Sequence[str], wanted: EvidenceRequest) -> EvidenceRequest:
    """The evidence that the options request, and the files. Raises `UsageProblem` for a path that does not exist."""
    return routed(wanted, pieces_of(paths, open_rulebook().rules))


def pieces_of(paths: Sequence[str], rules: Sequence[Rule]) -> list[Piece]:
    """Every piece that was given. Raises `UsageProblem` for a path that is not there."""
    is_log = _log_recogniser(rules)
    pieces: list[Piece] = []
    for path in paths:
        if path == STDIN:
            pieces.append(_of_stdin(is_log))
            continue
        if "://" in path:
            pieces.append(Piece(path, path, (FileKind.LOG,)))
            continue
        if not Path(path).exists():
            raise UsageProblem(
                f"cannot read {path}: no such file or directory", "give an existing file, or - for stdin"
            )
        pieces.extend(_of_directory(path, is_log) if Path(path).is_dir() else [_file_piece(path, is_log)])
    return pieces


def routed(wanted: EvidenceRequest, pieces: Sequence[Piece]) -> EvidenceRequest:
    """The request with every piece added to the evidence of its kind. Raises `UsageProblem` for two bundles."""

    def of(kind: FileKind) -> tuple[str, ...]:
        return tuple(piece.path for piece in pieces if kind in piece.kinds)

    bundles, captures = of(FileKind.BUNDLE), of(FileKind.PACKETS)
    if len(bundles) + (wanted.captured.bundle is not None) > 1:
        raise UsageProblem(f"{' and '.join(bundles)}: one deployment is judged at a time", "give one bundle")
    if captures and wanted.packets.captures:
        raise UsageProblem("packet captures are given with --pcap and without", "give all of them with --pcap, or none")
    replies = [piece for piece in pieces if FileKind.REPLY in piece.kinds]
    return replace(
        wanted,
        captured=evolve(wanted.captured, bundle=Path(bundles[0])) if bundles else wanted.captured,
        logs=LogRequest(paths=(*wanted.logs.paths, *of(FileKind.LOG))),
        manifests=ManifestRequest(paths=(*wanted.manifests.paths, *of(FileKind.MANIFEST))),
        packets=PacketRequest(captures=tuple(map(Path, captures)) or wanted.packets.captures),
        pasted=tuple(PastedText(piece.name, piece.text, piece.at or datetime.now(UTC)) for piece in replies),
        unrecognised=tuple(UnreadableFile(piece.name, piece.why or "") for piece in pieces if not piece.kinds),
    )


def _log_recogniser(rules: Sequence[Rule]) -> IsLog:
    """A function that recognises texts of logs. Its matcher is built for the first text."""

    @cache
    def rewriter() -> Rewriter:
        return Rewriter(Matcher([signature for rule in rules for signature in rule.signatures]), ANY_YEAR)

    return lambda text: rewriter().is_log(text)


def _of_stdin(is_log: IsLog) -> Piece:
    return replace(_file_piece(_spooled(sys.stdin.buffer), is_log), name="stdin")


def _spooled(source: BinaryIO) -> str:
    """The path of a copy, which goes with the process: what is piped can be read only once."""
    directory = tempfile.mkdtemp(prefix="jsdoctor-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = Path(directory) / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)
    return str(path)


def _of_directory(directory: str, is_log: IsLog) -> Iterator[Piece]:
    """The files of a directory; where all of them are logs, the directory itself, as logs of it belong together."""
    files = [
        str(Path(place) / name)
        for place, _, names in os.walk(directory)
        for name in sorted(names)
        if not name.startswith(".")
    ]
    if len(files) > _MAX_FILES:
        return iter([Piece(directory, directory, (FileKind.LOG,))])
    pieces = [_file_piece(path, is_log) for path in files]
    if not pieces or all(piece.kinds == (FileKind.LOG,) for piece in pieces):
        return iter(
            [Piece(directory, directory, (FileKind.LOG,) if pieces else (), why="" if pieces else "it is empty")]
        )
    return iter(pieces)


def _file_piece(path: str, is_log: IsLog) -> Piece:
    """A file with its kinds, by its first bytes, and with its text if it is text."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(PEEK)
        if piece := _binary_piece(path, head):
            return piece
        text = _decoded(_content(path, _SNIFFED))
        kinds = of_text(text, is_log)
        if FileKind.REPLY in kinds:
            content = _content(path, MAX + 1)
            if len(content) > MAX:
                return Piece(path, path, (), why=f"its replies are longer than {MAX >> 20} MiB: give fewer at a time")
            text = _decoded(content)
        at = datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
    except OSError as error:
        return Piece(path, path, (), why=error.strerror or str(error))
    return Piece(path, path, kinds, text, "it is text that no rule reads" if not kinds else "", at)


def _binary_piece(path: str, head: bytes) -> Piece | None:
    """A file that its first bytes show to be no text; None: it is text."""
    start = _unpacked(head, PEEK)
    if kind := of_bytes(start):
        return Piece(path, path, (kind,))
    if head.startswith(_ZIP):
        return Piece(path, path, (_zip_kind(path),))
    if is_tar(start):
        first = start[:_FIRST_MEMBERS]
        return Piece(path, path, (FileKind.BUNDLE if MANIFEST.encode() in first else FileKind.LOG,))
    if not head.strip():
        return Piece(path, path, (), why="it is empty")
    why = "" if is_utf16(start) else not_a_log(start[:_JUDGED])
    return Piece(path, path, (), why=why) if why else None


def _content(path: str, size: int) -> bytes:
    """The first bytes of a file, unpacked where gzip packed it."""
    with Path(path).open("rb") as file:
        return _unpacked(file.read(size), size)


def _decoded(content: bytes) -> str:
    return content.decode("utf-16" if is_utf16(content) else "utf-8-sig", errors="replace")


def _unpacked(content: bytes, size: int) -> bytes:
    """The first bytes of what gzip packed; of anything else as it is. Other packed files count as logs."""
    if codec_of(content) != "gzip":
        return content
    try:
        return zlib.decompressobj(wbits=_GZIP).decompress(content, size)
    except zlib.error:
        return content


def _zip_kind(path: str) -> FileKind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return FileKind.BUNDLE
    return FileKind.BUNDLE if {MANIFEST, ARCHIVE_MANIFEST} & names else FileKind.LOG
