"""Detects the format of a file by its first bytes, and decompresses it."""

from __future__ import annotations

import bz2
import codecs
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "zip"),
)
_OTHER_FORMATS: tuple[tuple[bytes, str], ...] = (
    (b"7z\xbc\xaf", "a 7z archive: unpack it first"),
    (b"Rar!", "a rar archive: unpack it first"),
    (b"\x04\x22\x4d\x18", "compressed with lz4: unpack it first"),
    (b"\xd4\xc3\xb2\xa1", "a packet capture: give it with --pcap"),
    (b"\xa1\xb2\xc3\xd4", "a packet capture: give it with --pcap"),
    (b"\x4d\x3c\xb2\xa1", "a packet capture: give it with --pcap"),
    (b"\x0a\x0d\x0d\x0a", "a packet capture: give it with --pcap"),
    (b"\x7fELF", "a program"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"PAR1", "a Parquet file"),
    (b"LPKSHHRH", "a binary systemd journal: export it with journalctl -o json"),
)
FACTORS = {"": 1.0, "gzip": 10.0, "zstd": 10.0, "bzip2": 15.0, "xz": 15.0, "zip": 10.0, "utf-16": 0.5}
"""Estimated bytes of log text per stored byte."""

PEEK = 512
"""Number of first bytes that identify the format of a file."""

_READ_BYTES = 16 * 1024
_MAX_TEXT_BYTES = 4 << 20
_TEXT_BYTES = bytes(range(0x20, 0x100)) + b"\t\n\r\x1b\x00\x0b\x0c\x08\x07"


class Unreadable(Exception):  # noqa: N818  # the input is at fault, not the program
    """Input that is not in the expected form. The message has the reason, for the report."""


def codec_of(head: bytes) -> str:
    """`gzip`, `zstd`, `bzip2`, `xz`, `zip` or `utf-16`, else an empty text."""
    if is_utf16(head):
        return "utf-16"
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")


def is_utf16(head: bytes) -> bool:
    """Whether text in UTF-16 begins here: its mark, and zero bytes, as ASCII characters have, for one byte in eight."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) and head.count(0, 2) * 8 >= len(head) - 2


def is_tar(head: bytes) -> bool:
    """Whether a tar archive begins here."""
    return head[257:262] == b"ustar"


def not_a_log(head: bytes) -> str:
    """Why these first bytes cannot be those of a text log, or an empty text."""
    for magic, what in _OTHER_FORMATS:
        if head.startswith(magic):
            return f"this is {what}"
    # Logs of crashed machines may contain binary bytes, and begin with zeros: not text is above 4 % or a third.
    odd = len(head.translate(None, _TEXT_BYTES))
    nulls = head.count(0)
    if odd * 25 > len(head) or (nulls * 3 > len(head) and not head.startswith(b"\x00" * 16)):
        return "this is not text"
    return ""


class _StreamDecoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class _Zlib:
    """zlib's decoder with the interface of the other two."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max(0, max_length))


class _Zstd:
    """One zstd frame after another; `zstandard` is part of the extra `logs`."""

    needs_input = True

    def __init__(self) -> None:
        try:
            import zstandard  # only for those who have such files
        except ImportError as error:
            raise Unreadable("zstd needs the extra: pip install 'jsdoctor[logs]'") from error
        self._inner = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._error = zstandard.ZstdError

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)

    def decompress(self, data: bytes, _max_length: int = -1) -> bytes:
        try:
            return bytes(self._inner.decompress(data))
        except self._error as error:
            raise zlib.error(str(error)) from error


_DECODERS: dict[str, Callable[[], _StreamDecoder]] = {
    "gzip": _Zlib,
    "zstd": _Zstd,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


def _utf16_to_utf8(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """The text as UTF-8. UTF-16 with a byte order mark is what Windows tools save."""
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    while data := read(_READ_BYTES):
        yield decoder.decode(data).encode(errors="replace")
    yield decoder.decode(b"", final=True).encode(errors="replace")


def decompressed(read: Callable[[int], bytes], codec: str) -> Iterator[bytes]:
    """The text of a packed input, piece by piece. Raises `Unreadable` where it is damaged or cut short."""
    return _utf16_to_utf8(read) if codec == "utf-16" else _unpacked(read, codec)


def _unpacked(read: Callable[[int], bytes], codec: str) -> Iterator[bytes]:
    """The text of a compressed input, piece by piece: all its members, a few MB at most at a time.

    Raises `Unreadable` where it is damaged or cut short, after everything before that was yielded.
    """
    read_bytes = 1024 if codec == "zstd" else _READ_BYTES  # a zstd block of 4 bytes may hold 128 KiB
    data = read(read_bytes)
    while data:
        decoder: Any = _DECODERS[codec]()  # the state changes with every call, which types cannot express
        while not decoder.eof:
            try:
                text = decoder.decompress(data, _MAX_TEXT_BYTES)
            except (zlib.error, OSError, lzma.LZMAError, EOFError) as error:
                raise Unreadable(f"the {codec} data is damaged ({error})") from error
            if text:
                yield text
            data = b""
            if not decoder.eof and getattr(decoder, "needs_input", True):
                data = read(read_bytes)
                if not data:
                    raise Unreadable(f"the {codec} data ends too early: the file is cut short")
        data = decoder.unused_data or read(read_bytes)
        if data and not data.strip(b"\x00"):  # padding of tapes and block devices
            return
        if data and len(data) < PEEK:
            data += read(read_bytes)
        if data and codec_of(data) != codec:
            raise Unreadable(f"there is something else behind the {codec} data")
