"""Queries NTP servers for true time: all at once, each in its own thread, because a name lookup may take long.

Every reply is kept as received, also one that does not match our request: `jsdoctor.replies.clock` decides whether it
is valid. The packets are ntplib's; the socket is ours, because ntplib's own request contains our time where a random
number distinguishes a spoofed reply from a genuine one.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic, monotonic_ns

import msgspec
import ntplib

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.gap import Gap
from jsdoctor.replies.clock import NtpAnswer, ntp_gap
from jsdoctor.sources.clock.ntp_host import NtpHost
from jsdoctor.sources.servers.collection_result import CollectionResult

_MAX_WAIT_S = 2.0
_ATTEMPTS = 2
_PACKET_BYTES = 48
_MAX_PACKET_BYTES = 1024
_FIELDS = set(NtpAnswer.__struct_fields__) - {"host", "sent"}


_NO_RESULT = "no response in time, or its name could not be looked up"


class _NoAnswerError(Exception):
    """No valid reply arrived; the message has the reason."""


async def ask_ntp(hosts: Sequence[NtpHost], timeout_s: float) -> CollectionResult:
    """The reply of each host, and a gap for each host without a reply."""
    wait_s = min(timeout_s, _MAX_WAIT_S)
    loop = asyncio.get_running_loop()
    collection = CollectionResult()
    asking: dict[asyncio.Future[Exchange | Gap], NtpHost] = {loop.create_future(): h for h in dict.fromkeys(hosts)}
    for future, host in asking.items():
        # Not in the loop's own pool: at exit, that would wait for a name server that does not respond.
        threading.Thread(target=_answer_into, args=(future, loop, host, wait_s), daemon=True).start()
    if asking:
        await asyncio.wait(asking, timeout=2 * _ATTEMPTS * wait_s)
    for future, host in asking.items():
        result = future.result() if future.done() else ntp_gap(host.text, _NO_RESULT)
        future.cancel()
        if isinstance(result, Gap):
            collection.gaps.append(result)
        else:
            collection.exchanges.append(result)
    return collection


def _answer_into(
    future: asyncio.Future[Exchange | Gap], loop: asyncio.AbstractEventLoop, host: NtpHost, wait_s: float
) -> None:
    """Put the reply of a host, or a gap, into `future`. Runs in a thread of its own."""
    try:
        reading: Exchange | Gap = _answer(host, wait_s)
    except _NoAnswerError as error:
        reading = ntp_gap(host.text, str(error))
    except (OSError, UnicodeError, ntplib.NTPException) as error:
        reading = ntp_gap(host.text, f"it cannot be queried: {error}")

    def set_result() -> None:
        if not future.done():
            future.set_result(reading)

    with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
        loop.call_soon_threadsafe(set_result)


def _answer(host: NtpHost, wait_s: float) -> Exchange:
    """The reply, or another packet that arrived instead. Raises OSError for an invalid name, and _NoAnswerError."""
    addresses = socket.getaddrinfo(host.name, host.port, type=socket.SOCK_DGRAM)
    other: Exchange | None = None
    refused = ""
    for family, kind, protocol, _, address in addresses[:1] * _ATTEMPTS + addresses[1:_ATTEMPTS]:
        try:
            with socket.socket(family, kind, protocol) as udp:
                udp.connect(address)  # so that the kernel drops packets of other senders
                answer, bogus = _ask(udp, host, wait_s)
        except OSError as error:
            refused = error.strerror or str(error)
            continue
        if answer:
            return answer
        other = other or bogus
    if other:
        return other
    raise _NoAnswerError(refused or f"no response within {wait_s:g} s")


def _ask(udp: socket.socket, host: NtpHost, wait_s: float) -> tuple[Exchange | None, Exchange | None]:
    """The reply to our request, and the first packet that does not match it."""
    question = ntplib.NTPPacket(version=4, mode=3, tx_timestamp=(secrets.randbits(52) | 1) / 2**20)
    packet = question.to_data()
    other: Exchange | None = None
    until = monotonic() + wait_s
    # In this order, an interruption between the two statements makes the reply seem late, which does no harm.
    started, asked_at = monotonic_ns(), datetime.now(UTC)
    udp.send(packet)
    while (left_s := until - monotonic()) > 0:
        udp.settimeout(left_s)
        try:
            raw = udp.recv(_MAX_PACKET_BYTES)
        except TimeoutError:
            break
        took_ns = monotonic_ns() - started
        if len(raw) < _PACKET_BYTES:
            continue
        reply = ntplib.NTPStats()
        reply.from_data(raw)
        fields = {name: getattr(reply, name) for name in _FIELDS}
        answer = NtpAnswer(host=host.text, sent=question.tx_timestamp, **fields)
        exchange = Exchange(Access.NTP, Endpoint.NTP, host.text, asked_at, took_ns, msgspec.json.encode(answer))
        if answer.orig_timestamp == answer.sent:
            return exchange, other
        other = other or exchange
    return None, other
