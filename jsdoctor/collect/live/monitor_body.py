"""HTTP responses of monitoring ports, with a limit on their size: no body can fill the memory of a run."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator

import httpx2

from jsdoctor.collect.connect.bounds import MAX_MESSAGE_BYTES
from jsdoctor.collect.live.monitor_url import MonitorUrl

_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


_PIECE = 64 << 10
_GZIP_OR_ZLIB = 47  # wbits: detected by the header


class TooLongError(httpx2.HTTPError):
    """The responses of a server are larger than what is read of it."""


class Budget:
    """What may still be read of one server, in bytes, for one sample; requests at the same time share it."""

    def __init__(self, left: int = MAX_MESSAGE_BYTES) -> None:
        self._left = left

    def spend(self, count: int) -> None:
        """Raises TooLongError."""
        self._left -= count
        if self._left < 0:
            raise TooLongError(f"more than {MAX_MESSAGE_BYTES // 1_000_000} MB")


class _Decoder:
    """Decompresses in small parts, so that a budget ends a body that unpacks to gigabytes; httpx2 does it at once."""

    def __init__(self, encoding: str) -> None:
        packed = encoding.lower() in ("gzip", "x-gzip", "deflate")
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB) if packed else None

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Raises httpx2.DecodingError."""
        if self._inflate is None:
            yield piece
            return
        try:
            while piece:
                yield self._inflate.decompress(piece, _PIECE)
                piece = self._inflate.unconsumed_tail
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from None


async def get(
    client: httpx2.AsyncClient, target: httpx2.URL | str, url: MonitorUrl, budget: Budget, timeout_s: float
) -> httpx2.Response:
    """The whole response within `timeout_s`. Raises httpx2.HTTPError (TooLongError among them) and OSError."""
    async with asyncio.timeout(timeout_s):  # httpx2 counts from one piece of the response to the next
        async with client.stream("GET", target, auth=url.login) as response:
            body = bytearray()
            decoder = _Decoder(response.headers.get("content-encoding", ""))
            async for piece in response.aiter_raw(_PIECE):
                for part in decoder.parts(piece):
                    budget.spend(len(part))
                    body += part
    # As bytes: not all that is sent there is text in ASCII.
    headers = [(name, value) for name, value in response.headers.raw if name.decode().lower() not in _OF_THE_BODY]
    return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)
