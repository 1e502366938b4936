"""NATS in WebSocket frames is read as without them: masked, in fragments, compressed, cut anywhere, from the middle."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsdoctor.model.nats_traffic import Content, NatsConnection
from jsdoctor.parse.packets.nats.websocket import MAX_INFLATED
from tests.packets.nats.speech import CONNECT, INFO, Ear, ack, hpub, msg, pieces, pub

REQUEST = (
    b"GET / HTTP/1.1\r\nHost: nats:8080\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover\r\n\r\n"
)
REPLY = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
REQUESTS = [
    CONNECT + b"PING\r\n",
    b"SUB _INBOX.> 1\r\n",
    hpub("orders.new", "_INBOX.1", {"Nats-Msg-Id": "a"}),
    pub("orders.new", "_INBOX.2", b"y" * 300),
    pub("orders.new", "_INBOX.3", b"z" * 70_000),
]
REPLIES = [INFO, b"PONG\r\n", *(msg(f"_INBOX.{number}", payload=ack(seq=number)) for number in (1, 2, 3))]
_PING, _PONG, _CLOSE = 9, 10, 8


def frame(payload: bytes, mask: bytes = b"", opcode: int = 2, *, final: bool = True, compressed: bool = False) -> bytes:
    """One frame as RFC 6455 writes it."""
    first = opcode | (0x80 if final else 0) | (0x40 if compressed else 0)
    masked, size = (0x80 if mask else 0), len(payload)
    if size < 126:
        head = struct.pack(">BB", first, masked | size)
    elif size < 65536:
        head = struct.pack(">BBH", first, masked | 126, size)
    else:
        head = struct.pack(">BBQ", first, masked | 127, size)
    return (
        head + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload) if mask)
        if mask
        else head + payload
    )


def message(text: bytes, cuts: list[int], mask: bytes = b"", *, compressed: bool = False) -> bytes:
    """A message in as many frames as the cuts make of it, with a ping between them."""
    if compressed:
        deflate = zlib.compressobj(wbits=-15)
        text = (deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH))[:-4]
    parts = [part for _, part in pieces(text, cuts)]
    written = b""
    for number, part in enumerate(parts):
        final = number == len(parts) - 1
        written += frame(part, mask, 0 if number else 2, final=final, compressed=compressed and not number)
        if not final:
            written += frame(b"still there", mask, _PING)
    return written


def figures(connection: NatsConnection) -> tuple[object, ...]:
    publishing = connection.publishing
    return (
        *(
            connection.content,
            connection.client,
            connection.whole,
            connection.bad_lines,
            connection.resyncs,
            publishing.messages,
        ),
        *(publishing.requests, publishing.identified, publishing.acks, connection.pings_unanswered),
    )


_PLAIN = (Content.NATS, "billing", True, 0, 0, 3, 3, 1, 3, 0)


@given(
    st.integers(0, len(REQUEST)),
    st.lists(st.integers(0, 2000), max_size=4),
    st.lists(st.integers(0, 3000), max_size=20),
    st.booleans(),
    st.sampled_from((b"", b"\x01\x02\x03\x04", b"\xff\x00\x80\x7f")),
)
@settings(max_examples=60, deadline=None)
def test_frames_change_nothing(head: int, frames: list[int], cuts: list[int], compressed: bool, mask: bytes) -> None:
    ear = Ear()
    ear.client(REQUEST[:head])
    ear.client(REQUEST[head:])
    ear.server(REPLY)
    ear.server(message(REPLIES[0], frames, compressed=compressed))
    for _, part in pieces(
        b"".join(message(request, frames, mask, compressed=compressed) for request in REQUESTS), cuts
    ):
        ear.client(part)
    for _, part in pieces(b"".join(message(reply, frames, compressed=compressed) for reply in REPLIES[1:]), cuts):
        ear.server(part)
    ear.client(frame(b"\x03\xe8", mask, _CLOSE))
    observed = ear.only()
    assert observed.websocket
    assert figures(observed) == _PLAIN


def test_frames_in_the_segment_of_the_handshake_and_its_header_in_two() -> None:
    ear = Ear()
    ear.client(REQUEST[:40])
    ear.client(REQUEST[40:])
    ear.server(REPLY + frame(REPLIES[0]))
    ear.client(b"".join(frame(request, b"abcd") for request in REQUESTS))
    ear.server(b"".join(frame(reply) for reply in REPLIES[1:]))
    assert figures(ear.only()) == _PLAIN


@pytest.mark.parametrize("compressed", [False, True])
def test_the_middle_of_a_connection_is_recognised(compressed: bool) -> None:
    ear = Ear(midstream=True)
    ear.client(b"\x17 the end of some frame")
    ear.client(message(REQUESTS[3], [], b"wxyz", compressed=compressed))
    ear.server(message(REPLIES[3], [], compressed=compressed))
    observed = ear.only()
    assert (observed.content, observed.websocket, observed.whole) == (Content.NATS, True, False)
    assert (observed.publishing.messages, observed.publishing.acks) == (1, 1)


@pytest.mark.parametrize("compressed", [False, True])
def test_after_a_gap_reading_goes_on_with_the_next_frame(compressed: bool) -> None:
    ear = Ear()
    ear.client(REQUEST)
    ear.server(REPLY, frame(INFO))
    ear.client(message(REQUESTS[0], [], b"abcd", compressed=compressed))
    lost = message(REQUESTS[2], [], b"abcd", compressed=compressed)
    direction = ear.connection.to_server
    ear.skip(len(lost), to_server=True)
    start = len(REQUEST) + len(message(REQUESTS[0], [], b"abcd", compressed=compressed))
    ear.observer.lost(direction, start, start + len(lost))
    ear.client(message(REQUESTS[3], [], b"abcd", compressed=compressed))
    observed = ear.only()
    assert (observed.content, observed.publishing.messages, observed.whole, observed.gapless) == (
        Content.NATS,
        1,
        False,
        False,
    )


def test_a_frame_that_the_capture_cut_is_harmless_inside_of_a_payload() -> None:
    ear = Ear()
    ear.client(REQUEST)
    ear.server(REPLY, frame(INFO))
    ear.client(frame(REQUESTS[0], b"abcd"))
    ear.say(frame(REQUESTS[4], b"abcd"), to_server=True, captured=96)
    ear.client(frame(REQUESTS[3], b"abcd"))
    observed = ear.only()
    assert (observed.publishing.messages, observed.resyncs, observed.whole) == (2, 0, True)


def test_a_small_frame_that_becomes_very_large_takes_neither_memory_nor_much_time() -> None:
    ear = Ear()
    ear.client(REQUEST)
    ear.server(REPLY, frame(INFO))
    size = MAX_INFLATED + 10_000_000
    huge = message(b"PUB x %d\r\n" % size + bytes(size), [], b"abcd", compressed=True)
    ear.client(frame(REQUESTS[0], b"abcd"))
    tracemalloc.start()
    ear.client(huge)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ear.client(frame(REQUESTS[3], b"abcd"))
    observed = ear.only()
    assert peak < 10_000_000
    assert (observed.publishing.messages, observed.resyncs) == (2, 1)


def test_websocket_without_nats_in_it() -> None:
    ear = Ear()
    ear.client(REQUEST)
    ear.server(REPLY)
    ear.client(frame(b"\x10\x20\x00\x04MQTT\x04\x02\x00\x3c", b"abcd"))
    ear.server(frame(b"\x20\x02\x00\x00"))
    assert ear.only().content is Content.WEBSOCKET
