"""Files, directories and standard input without options: each is used according to its content."""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as evolve
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.bundles.audit_archive_manifest import ARCHIVE_MANIFEST
from jsdoctor.bundles.bundle import MANIFEST
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.paste.rewrite import Rewriter
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.rule import Rule
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
_MAX = 8 << 20
_YEAR = 2000  # for times without a year; it has no effect on the kind of a file
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
        pieces.extend(_of_directory(path, is_log) if Path(path).is_dir() else [_of_file(path, is_log)])
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
        return Rewriter(Matcher([signature for rule in rules for signature in rule.signatures]), _YEAR)

    return lambda text: rewriter().is_log(text)


def _of_stdin(is_log: IsLog) -> Piece:
    content = sys.stdin.buffer.read(_MAX + 1)
    if len(content) > _MAX:
        # Longer than a paste: it is written to a file completely, and read there as a log.
        path = _spooled(content, sys.stdin.buffer.read)
        return Piece("stdin", path, (FileKind.LOG,))
    path = _spooled(content, lambda _: b"")
    return replace(_of_file(path, is_log), name="stdin")


def _spooled(content: bytes, more: Callable[[int], bytes]) -> str:
    directory = tempfile.mkdtemp(prefix="jsdoctor-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = Path(directory) / "stdin"
    with path.open("wb") as file:
        file.write(content)
        while block := more(1 << 20):
            file.write(block)
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
    pieces = [_of_file(path, is_log) for path in files]
    if not pieces or all(piece.kinds == (FileKind.LOG,) for piece in pieces):
        return iter(
            [Piece(directory, directory, (FileKind.LOG,) if pieces else (), why="" if pieces else "it is empty")]
        )
    return iter(pieces)


def _of_file(path: str, is_log: IsLog) -> Piece:
    try:
        with Path(path).open("rb") as file:
            head = file.read(PEEK)
            unpacked = _unpacked(head)
            kind = of_bytes(unpacked[:8])
            if kind is not None:
                return Piece(path, path, (kind,))
            if head[:2] == b"PK":
                return Piece(path, path, (_of_zip(path),))
            if is_tar(unpacked):
                return Piece(path, path, (FileKind.BUNDLE if MANIFEST.encode() in unpacked[:2048] else FileKind.LOG,))
            if not head.strip():
                return Piece(path, path, (), why="it is empty")
            if why := not_a_log(unpacked[:4096]) if not is_utf16(unpacked) else "":
                return Piece(path, path, (), why=why)
            packed = head != unpacked
            content = unpacked if packed else head + file.read(_MAX - len(head))
        at = datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
    except OSError as error:
        return Piece(path, path, (), why=error.strerror or str(error))
    text = _decoded(content)
    kinds = of_text(text, is_log)
    return Piece(path, path, kinds, text, "it is text that no rule reads" if not kinds else "", at)


def _decoded(content: bytes) -> str:
    return content.decode("utf-16" if is_utf16(content) else "utf-8-sig", errors="replace")


def _unpacked(head: bytes) -> bytes:
    """The first bytes of what gzip packed; of anything else as it is. Other packed files count as logs."""
    if codec_of(head) != "gzip" and head[:2] != b"\x1f\x8b":
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, PEEK)
    except (zlib.error, gzip.BadGzipFile):
        return head


def _of_zip(path: str) -> FileKind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return FileKind.BUNDLE
    return FileKind.BUNDLE if {MANIFEST, ARCHIVE_MANIFEST} & names else FileKind.LOG
