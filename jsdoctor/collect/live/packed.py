"""Replies that servers compress on request: those of large deployments fit into one message of the protocol then.

A server whose reply waits for a slow client longer than it keeps 64 MB for it drops the connection, and so do we for a
longer message. JSON of many streams and consumers is a twentieth of its size when it is compressed.
"""

from __future__ import annotations

import io
import zlib

from nats.aio.msg import Msg

REQUEST_HEADERS = {"Accept-Encoding": "gzip"}
"""Makes servers compress their replies to system requests (server: events.go getAcceptEncoding)."""
MAX_UNPACKED_BYTES = 160_000_000
"""Of one reply: some 200,000 consumers of one server."""
_PIECE = 1 << 20
_GZIP = 31  # wbits: with the header and the checksum of gzip


class UnpacksTooLongError(Exception):
    """A reply that unpacks to more than is kept of one."""


def unpacked(message: Msg) -> bytes:
    """The body of a reply. One that is damaged stays as it is: what cannot be read becomes a gap where it is parsed.

    Raises UnpacksTooLongError.
    """
    if not message.headers or message.headers.get("Content-Encoding") != "gzip":
        return message.data
    inflate, packed, body = zlib.decompressobj(_GZIP), message.data, io.BytesIO()
    try:
        while packed and not inflate.eof:
            body.write(inflate.decompress(packed, _PIECE))
            packed = inflate.unconsumed_tail
            if body.tell() > MAX_UNPACKED_BYTES:
                raise UnpacksTooLongError
    except zlib.error:
        return message.data
    return body.getvalue() if inflate.eof else message.data
