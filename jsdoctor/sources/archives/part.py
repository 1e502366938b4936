"""Scans one part of the input: undoes compression, walks archives, cuts blocks of whole lines, and never fails."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec

from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import year_of
from jsdoctor.logs.paste.rewrite import HEAD_BYTES, REWRITTEN_BYTES, is_ordinary
from jsdoctor.logs.scan.block import CONTEXT
from jsdoctor.logs.scan.native_core import NativeScan, have_native
from jsdoctor.logs.scan.part import BLOCK, PartReader, PartScan
from jsdoctor.model.log_scan import LogEvent, Part, Row, ScanSettings
from jsdoctor.sources.archives.discover import series_of
from jsdoctor.sources.archives.store import open_stored
from jsdoctor.sources.codec import PEEK, Unreadable, codec_of, decompressed, is_tar, not_a_log

if TYPE_CHECKING:
    import tarfile
    import zipfile


LINE_KEPT = 64 * 1024
"""Bytes kept of a line that does not fit into a block; the scan reads fewer."""


@cache
def _reuse_memory() -> None:
    """Let the memory of a block serve the next one, where the allocator is glibc's.

    That returns large pieces to the kernel when they are freed, and to get them back page by page takes a quarter of
    the time of a scan. It stops for pieces up to the largest one that was ever freed, and holds twice as much; this one
    is never touched and takes no memory.
    """
    bytes(2 * BLOCK)


class Blocks:
    """Blocks of whole lines that start below `end`. Afterwards, `torn` is True if the last line had no end."""

    def __init__(self, read: Callable[[int], bytes], start: int, end: int | None, block: int = BLOCK) -> None:
        self._read, self._end, self._size = read, end, block
        self._base = start
        self._rest = b""
        self.torn = False
        _reuse_memory()

    def skip_line(self) -> bytes:
        """Leave out the rest of a line that began earlier; the bytes left out (their tail, when it is long)."""
        left_out = b""
        while True:
            text = self._read(LINE_KEPT)
            newline = text.find(b"\n")
            if newline >= 0 or not text:
                kept = text[: newline + 1] if newline >= 0 else text
                self._rest = text[len(kept) :]
                self._base += len(kept)
                return (left_out + kept)[-LINE_KEPT:]
            self._base += len(text)
            left_out = text

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        while self._end is None or self._base < self._end:
            fresh = self._read(self._wanted())
            newline = fresh.rfind(b"\n")
            if newline >= 0 and (self._end is None or self._base + len(self._rest) + len(fresh) <= self._end):
                block = b"".join((self._rest, memoryview(fresh)[: newline + 1]))  # this way it is copied only once
                self._rest = fresh[newline + 1 :]
                del fresh  # nothing is held that the next one could have the memory of
                base, self._base = self._base, self._base + len(block)
                yield block, base
                del block
                continue
            text = self._rest + fresh
            ended = not fresh
            cut = self._cut(text)
            if ended and not cut:
                yield from self._last(text)
                return
            if cut:
                yield text[:cut], self._base
                self._base += cut
                self._rest = text[cut:]
            elif len(text) > LINE_KEPT and (len(text) >= self._size or self._is_past(text)):
                yield text[:LINE_KEPT] + b"\n", self._base
                self._base += len(text)
                self._rest = b""
                self.skip_line()
            else:
                self._rest = text

    def _wanted(self) -> int:
        """To the end of the part, then just so much more that the line that crosses it is complete."""
        if self._end is None:
            return self._size
        missing = self._end - self._base - len(self._rest)
        return min(self._size, missing) if missing > 0 else LINE_KEPT

    def _is_past(self, text: bytes) -> bool:
        return self._end is not None and self._base + len(text) >= self._end

    def _cut(self, text: bytes) -> int:
        """Where the last whole line that starts in the part ends, or 0 when there is none yet."""
        if self._end is None or self._base + len(text) <= self._end:
            return text.rfind(b"\n") + 1
        last = self._end - self._base
        return text.find(b"\n", last - 1) + 1 or text.rfind(b"\n", 0, last) + 1

    def _last(self, text: bytes) -> Iterator[tuple[bytes, int]]:
        if text:
            self.torn = not text.endswith(b"\n")
            yield text, self._base
            self._base += len(text)


Sink = Callable[[list[LogEvent]], None]
Progress = Callable[[int], None]

_NESTING = 3
"""An archive in an archive is read, and so is a compressed file in it; deeper is taken for an attack."""


def scan_part(
    settings: ScanSettings, part: Part, sink: Sink | None = None, progress: Progress | None = None
) -> Iterator[Row]:
    """All rows of a part. The row of a file has its read errors. `progress` gets stored bytes done."""
    yield from Scanner(_matchers.of(settings), sink).rows(part, progress)


class _Matchers:
    """The matcher of the latest settings, known by identity: hashing all signatures takes as long as a small file."""

    def __init__(self) -> None:
        self._settings: ScanSettings | None = None
        self._matcher: Matcher | None = None

    def of(self, settings: ScanSettings) -> Matcher:
        if self._matcher is None or self._settings is not settings:
            self._settings, self._matcher = settings, _matcher_of(settings)
        return self._matcher


@lru_cache(maxsize=2)
def _matcher_of(settings: ScanSettings) -> Matcher:
    return Matcher(settings.signatures)


_matchers = _Matchers()


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Counted:
    """Counts the stored bytes that were read, and reports at most `size` of them: a part may read past its end."""

    def __init__(self, stream: BinaryIO, progress: Progress | None = None, size: int = 0) -> None:
        self._stream, self._progress, self._size = stream, progress, size
        self.read_bytes = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size) or b""
        fresh = min(len(data), self._size - self.read_bytes)
        self.read_bytes += len(data)
        if self._progress is not None and fresh > 0:
            self._progress(fresh)
        return data

    def read_all(self, size: int) -> bytes:
        """Exactly `size` bytes, or all up to the end: raw files and object stores may return fewer at a time."""
        data = self.read(size)
        while data and len(data) < size:
            more = self.read(size - len(data))
            if not more:
                break
            data += more
        return data


NATIVE_ENV = "JSDOCTOR_NATIVE"
"""If this is `0`, the compiled scan is not used: for comparisons."""


def uses_native() -> bool:
    """Whether the compiled core is used."""
    return have_native() and os.environ.get(NATIVE_ENV) != "0"


def log_scan() -> tuple[str, str]:
    """Which scan reads logs here, and why."""
    if uses_native():
        return "compiled", "jsdoctor-native is installed"
    return "Python", f"{NATIVE_ENV}=0" if have_native() else "jsdoctor-native is not installed, or of another release"


class Scanner:
    """Scans parts with one matcher. `block` and `native` are for comparisons of scans and block sizes.

    `native` None: the compiled scan if it is installed. It does not return single events: with a `sink`, the Python
    scan is used.
    """

    def __init__(
        self, matcher: Matcher, sink: Sink | None = None, block: int = BLOCK, native: bool | None = None
    ) -> None:
        self._matcher, self._sink, self._block = matcher, sink, block
        if native is None:
            native = uses_native()
        self._native = native and sink is None

    def rows(self, part: Part, progress: Progress | None = None) -> Iterator[Row]:
        """All rows of a part; see `scan_part`."""
        if part.problem:
            yield from self.unread(part)
            return
        stream: BinaryIO | None = None
        try:
            stream = open_stored(part.path)
            reader = _Counted(stream, progress, part.end - part.start)
            if part.codec:
                yield from self.stream(part, reader)
            else:
                yield from self.plain(part, stream, reader)
        except OSError as error:
            yield from self.unread(msgspec.structs.replace(part, problem=error.strerror or str(error)))
        finally:
            if stream is not None:
                stream.close()

    def _scan(self, part: Part, context: bytes = b"") -> PartReader:
        if self._native:
            return NativeScan(part, self._matcher, context)
        return PartScan(part, self._matcher, context, self._sink)

    def unread(self, part: Part) -> Iterator[Row]:
        """The row of a file that could not be read at all."""
        yield from self._scan(part).finish(last=True, problem=part.problem, skipped=part.size, read=0)

    def plain(self, part: Part, stream: BinaryIO, reader: _Counted) -> Iterator[Row]:
        """A range of plain text."""
        if part.start == 0 and part.end == part.size <= REWRITTEN_BYTES:
            first = _Counted(stream)
            head = first.read_all(HEAD_BYTES)
            changed = self._rewritten(part, head, lambda: head + first.read_all(part.size - len(head)))
            if changed is not None:
                reader.read_bytes = part.size
                yield from self._plain_lines(part, changed, part.size)
                return
        before = max(0, part.start - CONTEXT)
        stream.seek(before)
        context = _Counted(stream).read_all(part.start - before)
        blocks = Blocks(reader.read_all, part.start, part.end, self._block)
        if context and not context.endswith(b"\n"):
            context = (context + blocks.skip_line())[-CONTEXT:]
        scan = self._scan(part, context)
        for block, base in blocks:
            yield from scan.feed(block, base)
            del block  # before the next one is read
        grown = part.start + reader.read_bytes < part.end
        problem = "the file became shorter while it was read" if grown else ""
        yield from scan.finish(
            last=part.end >= part.size, torn=blocks.torn, problem=problem, read=part.end - part.start
        )

    def stream(self, part: Part, reader: _Counted) -> Iterator[Row]:
        """A compressed file or an archive, from its first byte to its last."""
        if part.codec == "tar":
            yield from self._tar(part, ForwardReader(iter(lambda: reader.read(BLOCK), b"")), reader, _NESTING)
        else:
            yield from self._unpacked(part, part.codec, reader, reader, _NESTING)

    def _unpacked(self, part: Part, codec: str, packed: _Readable, reader: _Counted, depth: int) -> Iterator[Row]:
        if codec == "zip":
            yield from self._zipped(part, packed, depth)
        else:
            yield from self._compressed(part, decompressed(packed.read, codec), reader, depth)

    def _compressed(self, part: Part, pieces: Iterator[bytes], reader: _Counted, depth: int) -> Iterator[Row]:
        tape = ForwardReader(pieces)
        head = tape.peek(PEEK)
        inner = codec_of(head)
        if depth and (inner or is_tar(head)):
            if inner:
                yield from self._unpacked(part, inner, tape, reader, depth - 1)
            else:
                yield from self._tar(part, tape, reader, depth - 1)
            return
        stranger = not_a_log(head) if head else ""
        if stranger:
            yield from self.unread(msgspec.structs.replace(part, problem=f"inside: {stranger}"))
            return
        yield from self._text(part, tape, reader)

    def _text(self, part: Part, tape: ForwardReader, reader: _Counted) -> Iterator[Row]:
        changed = self._rewritten(part, tape.peek(HEAD_BYTES), lambda: tape.peek(REWRITTEN_BYTES + 1))
        if changed is not None and not tape.problem:
            yield from self._plain_lines(part, changed, len(tape.read()))
            return
        scan = self._scan(part)
        blocks = Blocks(tape.read, 0, None, self._block)
        for block, base in blocks:
            yield from scan.feed(block, base)
            del block  # before the next one is read
        skipped = _skipped(part, tape, reader) if tape.problem and part.size else 0
        yield from scan.finish(last=True, torn=blocks.torn, problem=tape.problem, skipped=skipped, read=tape.read_bytes)

    def _rewritten(self, part: Part, head: bytes, whole: Callable[[], bytes]) -> bytes | None:
        """The lines as servers wrote them, where the text is no log as it was written."""
        if not head or is_ordinary(head):
            return None
        from jsdoctor.logs.paste.rewrite import Rewriter

        return Rewriter(self._matcher, year_of(part.mtime_us)).lines(head, whole)

    def _plain_lines(self, part: Part, text: bytes, size: int) -> Iterator[Row]:
        """The lines of a pasted or exported text. Offsets and numbers of lines are those of the text that was made."""
        scan = self._scan(msgspec.structs.replace(part, form="paste"))
        for block, base in Blocks(BytesIO(text).read, 0, None, self._block):
            yield from scan.feed(block, base)
        yield from scan.finish(last=True, read=size)

    def _tar(self, part: Part, tape: ForwardReader, reader: _Counted, depth: int) -> Iterator[Row]:
        import tarfile

        problem = ""
        try:
            with tarfile.open(fileobj=tape, mode="r|") as archive:  # type: ignore[call-overload]  # it only reads
                for member in archive:
                    if member.isfile():
                        yield from self._member(part, member, archive, depth)
        except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
            problem = tape.problem or f"the archive is damaged ({error})"
        problem = problem or tape.problem
        skipped = _skipped(part, tape, reader) if problem else 0
        yield from self._scan(part).finish(last=True, problem=problem, skipped=skipped, read=0)

    def _zipped(self, part: Part, packed: _Readable, depth: int) -> Iterator[Row]:
        import zipfile

        problem = ""
        with tempfile.SpooledTemporaryFile(max_size=REWRITTEN_BYTES) as copy:
            while data := packed.read(BLOCK):
                copy.write(data)
            try:
                with zipfile.ZipFile(copy) as archive:
                    for member in archive.infolist():
                        if not member.is_dir():
                            yield from self._zip_member(part, member, archive, depth)
            except (zipfile.BadZipFile, EOFError, ValueError, OverflowError, NotImplementedError, zlib.error) as error:
                problem = f"the archive is damaged ({error})"
        yield from self._scan(part).finish(last=True, problem=problem, skipped=part.size if problem else 0, read=0)

    def _zip_member(self, part: Part, member: zipfile.ZipInfo, archive: zipfile.ZipFile, depth: int) -> Iterator[Row]:
        inner = _inside(part, member.filename, member.file_size, part.mtime_us)
        if member.flag_bits & 1:
            yield from self.unread(msgspec.structs.replace(inner, problem="it is encrypted: unpack it first"))
            return
        with archive.open(member) as stored:
            yield from self._stored(inner, ForwardReader(_pieces(stored.read)), depth)

    def _member(self, part: Part, member: tarfile.TarInfo, archive: tarfile.TarFile, depth: int) -> Iterator[Row]:
        stored = archive.extractfile(member)
        if stored is None:
            return
        mtime_us = int(member.mtime * 1_000_000) if 0 < member.mtime < 1 << 33 else part.mtime_us
        yield from self._stored(
            _inside(part, member.name, member.size, mtime_us), ForwardReader(_pieces(stored.read)), depth
        )

    def _stored(self, inner: Part, tape: ForwardReader, depth: int) -> Iterator[Row]:
        """A member of an archive."""
        codec = codec_of(tape.peek(PEEK))
        inner = msgspec.structs.replace(inner, codec=codec)
        counted = _Inner(tape)
        if codec and depth:
            yield from self._unpacked(inner, codec, tape, counted, depth - 1)
            return
        stranger = not_a_log(tape.peek(PEEK)) if tape.peek(1) else ""
        if is_tar(tape.peek(PEEK)) and depth:
            yield from self._tar(inner, tape, counted, depth - 1)
        elif stranger:
            yield from self.unread(msgspec.structs.replace(inner, problem=stranger))
        else:
            yield from self._text(inner, tape, counted)


def _inside(part: Part, member: str, size: int, mtime_us: int) -> Part:
    """A member of an archive as a part."""
    return msgspec.structs.replace(
        part,
        name=f"{part.name}!{member}".encode(errors="replace").decode(),
        series=f"{part.name}!{series_of(member)}",
        start=0,
        end=size,
        size=size,
        mtime_us=mtime_us,
        named=False,
    )


def _skipped(part: Part, tape: ForwardReader, reader: _Counted) -> int:
    """Stored bytes without a result: all of them if no text came, else the bytes that were not read, at least one."""
    return max(part.size - reader.read_bytes, 1) if tape.read_bytes else part.size


class _Inner(_Counted):
    """Counts what is read of a member of an archive."""

    def __init__(self, tape: ForwardReader) -> None:
        self._tape = tape

    @property
    def read_bytes(self) -> int:  # type: ignore[override]
        return self._tape.read_bytes


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    import tarfile
    import zipfile

    while True:
        try:
            piece = read(1 << 20)
        except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise Unreadable(f"the archive is damaged ({error})") from error
        if not piece:
            return
        yield piece


class ForwardReader:
    """Reads from an iterator of pieces. An `Unreadable` from it ends the text and is kept in `problem`."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest, self._at = b"", 0
        self.problem = ""
        self.read_bytes = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, at most `size`, without taking them."""
        self._fill(size)
        return self._rest[self._at : self._at + size]

    def read(self, size: int = -1) -> bytes:
        """The next bytes; fewer than `size` only at the end."""
        if size < 0:
            size = 1 << 62
        self._fill(size)
        taken = self._rest[self._at : self._at + size]
        self._at += len(taken)
        self.read_bytes += len(taken)
        return taken

    def _fill(self, size: int) -> None:
        have = len(self._rest) - self._at
        if have >= size or self.problem:
            return
        pieces = [self._rest[self._at :]]
        try:
            while have < size:
                piece = next(self._pieces, b"")
                if not piece:
                    break
                pieces.append(piece)
                have += len(piece)
        except (Unreadable, OSError) as error:
            self.problem = str(error)
        self._rest, self._at = b"".join(pieces), 0
