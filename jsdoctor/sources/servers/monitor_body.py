"""HTTP responses of monitoring ports, with a limit on their size; and the reason if there is no usable one."""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from asyncio import CancelledError
from collections.abc import Iterator

import httpx2
import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.typed import decode_as
from jsdoctor.sources.connect.refusal import printable
from jsdoctor.sources.connect.transport import MAX_MESSAGE_BYTES
from jsdoctor.sources.servers.monitor_url import MonitorUrl

_ENCODING_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


_PART_BYTES = 64 << 10
_GZIP_OR_ZLIB = 47  # wbits: detected by the header


class TooLongError(httpx2.HTTPError):
    """The responses of a server are larger than what is read of it."""


class Budget:
    """What may still be read of one server, in bytes, for one sample; requests at the same time share it."""

    def __init__(self, left: int = MAX_MESSAGE_BYTES) -> None:
        self._left = left

    def spend(self, count: int) -> None:
        """Count bytes that were read. Raises TooLongError if that is more than what was left."""
        self._left -= count
        if self._left < 0:
            raise TooLongError(f"more than {MAX_MESSAGE_BYTES // 1_000_000} MB")


class _Decoder:
    """Decompresses in small parts, so that a budget ends a body that unpacks to gigabytes; httpx2 does it at once."""

    def __init__(self, encoding: str) -> None:
        packed = encoding.lower() in ("gzip", "x-gzip", "deflate")
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB) if packed else None

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """The decompressed parts of a piece. Raises httpx2.DecodingError."""
        if self._inflate is None:
            yield piece
            return
        try:
            while piece:
                yield self._inflate.decompress(piece, _PART_BYTES)
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
            async for piece in response.aiter_raw(_PART_BYTES):
                for part in decoder.parts(piece):
                    budget.spend(len(part))
                    body += part
    # As bytes: not all that is sent there is text in ASCII.
    headers = [(name, value) for name, value in response.headers.raw if name.decode().lower() not in _ENCODING_HEADERS]
    return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)


_CHECK_HINT = (
    "check the address: monitoring is the server's http_port (8222 unless configured otherwise; off by default)"
)
_PORT_HINT = "the server's monitoring port is not its client port 4222: " + _CHECK_HINT
_CLOSED = ("disconnected without sending a response", "closed connection without sending complete")
"""What h11 reports of a connection that ended: a server that stops or is overloaded, or the client port of one."""
_CLOSED_HINT = "run again, as a server that starts, stops or is overloaded does so; or " + _PORT_HINT


class MonitorError(Exception):
    """A monitoring port has no usable response. `base` is its URL without a login, `refusal` reason and next step."""

    def __init__(self, base: str, refusal: tuple[str, str]) -> None:
        super().__init__(base, refusal)
        reason, how_to_get = refusal
        self.gap = Gap(
            kind="endpoint",
            subject=Subject(kind="server", name=base),
            reason=f"monitoring at {base}: {reason}",
            how_to_get=how_to_get,
        )


def transport_refusal(error: Exception, base: str, timeout_s: float) -> tuple[str, str]:
    """Reason and next step when no HTTP response came."""
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return f"no response within {timeout_s:g} s", "run again with a longer --timeout, or " + _CHECK_HINT
    if isinstance(error, TooLongError):
        return f"it responds with {error}", _PORT_HINT
    if isinstance(error, httpx2.RemoteProtocolError) and any(words in str(error) for words in _CLOSED):
        return "it closed the connection without a complete HTTP response", _CLOSED_HINT
    if isinstance(error, httpx2.RemoteProtocolError | httpx2.DecodingError):
        return "it does not speak HTTP", _PORT_HINT
    cause = _root_cause(error)
    if isinstance(cause, ssl.SSLError):
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = f"its certificate is not trusted: {printable(cause.verify_message)}"
            return reason, "give the CA's certificate with --tlsca FILE, and the name that the certificate is made for"
        return f"no TLS there: {printable(cause.reason or str(cause))}", f"try http://{base.partition('://')[2]}"
    if isinstance(cause, socket.gaierror):
        return "no such host name", _CHECK_HINT
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused, nothing listens on that port", _CHECK_HINT
    return f"no connection: {printable(str(cause) or type(cause).__name__)}", _CHECK_HINT


def http_refusal(response: httpx2.Response, base: str) -> tuple[str, str]:
    """Reason and next step when the response is none of a NATS server's monitoring."""
    status = response.status_code
    if b'"kind":"Status"' in response.content[:200]:
        return _kubernetes_refusal(response)
    if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
        reason = f"it wants a login (HTTP {status})"
        return reason, f"write the login into the URL: {base.replace('://', '://USER:PASSWORD@', 1)}"
    if b"HTTP request to an HTTPS server" in response.content:
        return "it speaks TLS only", f"use {base.replace('http://', 'https://', 1)}"
    if response.is_redirect:
        where = printable(response.headers.get("location", "nowhere"))
        return f"it redirects (HTTP {status}) to {where}", "give the address that it redirects to"
    kind = printable(response.headers.get("content-type", "no content type"))
    return f"that is not NATS monitoring (HTTP {status}, {kind})", _CHECK_HINT


class _KubernetesStatus(msgspec.Struct, frozen=True):
    message: str = ""


def _kubernetes_refusal(response: httpx2.Response) -> tuple[str, str]:
    """The response came from the API server of Kubernetes, not from the pod behind it."""
    try:
        status = decode_as(response.content, _KubernetesStatus)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        status = _KubernetesStatus()
    message = printable(status.message or f"HTTP {response.status_code}")
    if response.status_code == httpx2.codes.FORBIDDEN:
        return f"Kubernetes refuses: {message}", "allow `get` on pods/proxy in the namespace of the pods"
    return f"Kubernetes: {message}", "look at the pod: kubectl describe pod, and whether http_port is set"


def _root_cause(error: BaseException) -> BaseException:
    """The innermost cause of an error of httpx2."""
    while True:
        inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error.__context__
        if inner is None or isinstance(inner, CancelledError):
            return error
        error = inner
