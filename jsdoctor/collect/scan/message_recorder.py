"""Recorded fields of a message: sequence, date, subject, whether it has an id; never the id itself or the payload."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

from nats.js.api import Header

from jsdoctor.parse.replies import ReplyError
from jsdoctor.parse.stored_columns import DIGEST_BYTES, Columns, HasId

_SECOND_NS = 1_000_000_000
_MSG_ID: str = Header.MSG_ID.value
_MSG_ID_LOWER = _MSG_ID.lower()
_RAW_MSG_ID = f"\r\n{_MSG_ID}:".encode()
_RAW_MSG_ID_LOWER = _RAW_MSG_ID.lower()
_MARKER, _TTL = "KV-Operation", "Nats-TTL"
"""A client deletes a key of a bucket with a message that has the first header (ADR-8: DEL or PURGE). With the second
one the message has an end (ADR-43), as all markers that servers write."""
_RAW_MARKER, _RAW_TTL = (f"\r\n{name}:".encode() for name in (_MARKER, _TTL))
_SOURCE = "Nats-Stream-Source"
_RAW_SOURCE = f"\r\n{_SOURCE}:".encode()
_NO, _YES, _MISNAMED = map(int, HasId)
"""Plain numbers: this is done for every message, and members of an enumeration are slow."""

Digest = Callable[[str], bytes]


def salted() -> Digest:
    """Digests that distinguish equal ids of one run from different ones, and nothing else: the salt is discarded."""
    salt = os.urandom(16)
    return lambda text: blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES, key=salt).digest()


class MessageRecorder:
    """Puts messages into columns, and counts those that mark a key of a bucket as deleted and have no end."""

    def __init__(self, digest: Digest | None = None) -> None:
        self.columns = Columns(digests=digest is not None)
        self.markers = 0
        self._digest = digest

    def take(self, stream_seq: int, date_ns: int, subject: str, headers: Mapping[str, str] | None) -> None:
        """One message, after all that have smaller sequences."""
        if headers and _MARKER in headers and _TTL not in headers:
            self.markers += 1
        if headers and (message_id := headers.get(_MSG_ID)):
            digest = self._digest(_identity(message_id, headers.get(_SOURCE, ""))) if self._digest else b""
            self.columns.add(stream_seq, date_ns, subject, _YES, digest)
        elif headers and len(headers) > 1 and _MSG_ID_LOWER in map(str.lower, headers):
            self.columns.add(stream_seq, date_ns, subject, _MISNAMED)
        else:
            self.columns.add(stream_seq, date_ns, subject, _NO)

    def take_raw(self, stream_seq: int, date_ns: int, subject: str, headers: bytes) -> None:
        """The same with the block of headers as it came over the wire."""
        if _RAW_MARKER in headers and _RAW_TTL not in headers:
            self.markers += 1
        at = headers.find(_RAW_MSG_ID)
        if at >= 0 and (message_id := _raw_value(headers, at + len(_RAW_MSG_ID))):
            digest = b""
            if self._digest:
                source = headers.find(_RAW_SOURCE)
                origin = _raw_value(headers, source + len(_RAW_SOURCE)) if source >= 0 else b""
                digest = self._digest(_identity(_text(message_id), _text(origin)))
            self.columns.add(stream_seq, date_ns, subject, _YES, digest)
        elif at < 0 and _RAW_MSG_ID_LOWER in headers.lower():
            self.columns.add(stream_seq, date_ns, subject, _MISNAMED)
        else:
            self.columns.add(stream_seq, date_ns, subject, _NO)


def _identity(message_id: str, source: str) -> str:
    """The id together with the stream that it was published to; `ORDERS 7 > >` is the source of a copied message."""
    return f"{source.partition(' ')[0]} {message_id}" if source else message_id


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


def _raw_value(headers: bytes, start: int) -> bytes:
    return headers[start : headers.find(b"\r\n", start)].strip()


@lru_cache(maxsize=64)
def _second(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def date_ns(text: str) -> int:
    """A time as servers write it (`2026-11-21T10:05:37.968123456Z`), exact to the nanosecond. Raises `ReplyError`."""
    try:
        whole, point, rest = text.partition(".")
        if not point:
            return _second(whole) * _SECOND_NS
        digits = rest.rstrip("Z").partition("+")[0].partition("-")[0]
        return _second(whole + rest[len(digits) :]) * _SECOND_NS + int(digits.ljust(9, "0")[:9])
    except ValueError as error:
        raise ReplyError(f"a stored message has the date {text[:60]!r}") from error


def headers_of(packed: str | None) -> dict[str, str]:
    """The headers that STREAM.MSG.GET has in base64. Of equal names the first counts, as it does for servers."""
    headers: dict[str, str] = {}
    if packed:
        for line in base64.b64decode(packed).split(b"\r\n")[1:]:
            name, colon, value = line.decode(errors="surrogateescape").partition(":")
            if colon:
                headers.setdefault(name, value.strip())
    return headers
