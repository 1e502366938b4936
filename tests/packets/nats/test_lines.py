"""The protocol is read whatever the segments; what is no NATS is recognised; after a gap the place is found again."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.nats_traffic import Content
from tests.packets.nats.speech import CONNECT, INFO, SECRET, Ear, hpub, pieces, pub

FROM_CLIENT = b"".join(
    (
        CONNECT,
        b"PING\r\nSUB _INBOX.> 1\r\n",
        hpub("orders.new", "_INBOX.1", {"Nats-Msg-Id": "a"}),
        pub("orders.new", "_INBOX.2", b"PUB evil _INBOX.3 2\r\nhi\r\n"),
        pub("$JS.ACK.ORDERS.C.1.7.9.1700000000000000000.0", payload=b"+ACK"),
        b"pub lower.case 0\r\n\r\n",
    )
)


@given(st.lists(st.integers(0, len(FROM_CLIENT)), max_size=30))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    ear = Ear()
    ear.server(INFO)
    for _, part in pieces(FROM_CLIENT, cuts):
        ear.client(part)
    observed = ear.only()
    assert (observed.content, observed.who, observed.bad_lines, observed.resyncs) == (
        Content.NATS,
        "billing (go 1.48.0)",
        0,
        0,
    )
    assert (observed.publishing.messages, observed.publishing.requests, observed.publishing.identified) == (3, 2, 1)


@given(st.integers(0, len(FROM_CLIENT)), st.integers(1, 60))
def test_after_a_gap_the_rest_is_read(start: int, length: int) -> None:
    """What comes behind the gap is heard, and the connection is no longer called whole when lines may be missing."""
    ear = Ear()
    ear.server(INFO)
    direction = ear.connection.to_server
    whole = FROM_CLIENT + b"".join(pub(f"after.{number}") for number in range(4))
    end = min(start + length, len(FROM_CLIENT))
    ear.segment(direction, 0, whole[:start])
    ear.segment(direction, end, whole[end:])
    ear.observer.lost(direction, start, end)
    observed = ear.only()
    assert observed.content is Content.NATS
    assert 4 <= observed.publishing.messages <= 7
    assert observed.publishing.messages == 7 or not observed.whole or end == start


@pytest.mark.parametrize(
    ("first", "content"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", Content.TLS),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Content.OTHER),
        (b"GET /varz HTTP/1.1\r\nHost: x\r\n\r\n", Content.OTHER),
        (b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", Content.WEBSOCKET),
        (b"*1\r\n$4\r\nPING\r\n", Content.OTHER),
        (b"", Content.UNKNOWN),
    ],
)
def test_what_is_no_nats_is_recognised(first: bytes, content: Content) -> None:
    ear = Ear()
    ear.client(first)
    assert ear.only().content is content


def test_secrets_are_not_kept() -> None:
    ear = Ear()
    ear.server(INFO)
    ear.client(CONNECT[:-20])
    ear.client(CONNECT[-20:])
    for capture in ear.observer._captures.values():
        for talk in capture.talks.values():
            hello = talk.control.hello
            assert SECRET not in bytes(talk.to_server.reader._buffer)
            assert not any(SECRET.decode() in str(getattr(hello, name)) for name in hello.__struct_fields__)
    assert SECRET not in msgspec.json.encode(ear.hang_up())


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=80), st.booleans()), max_size=12))
def test_nothing_raises(segments: list[tuple[bool, bytes, bool]]) -> None:
    ear = Ear()
    for to_server, data, cut in segments:
        ear.say(data, to_server=to_server, captured=len(data) // 2 if cut else None)
    ear.hang_up()


LINES = st.sampled_from(
    [
        *(b"PUB a 1\r\n", b"HPUB a b 12 3\r\n", b"MSG a 1 $JS.ACK.x 0\r\n", b"-ERR 'x'\r\n", b"INFO {\r\n"),
        *(b"HMSG a 1 99999999999 9\r\n", b"CONNECT []\r\n", b"SUB\r\n", b"MSG\r\n", b"x\r\n", b"\r\n", b"PONG\r\n"),
        *(b"RMSG a $JS.ACK.S.C.1.2.3.4.5@x 0\r\n\r\n", b"MSG $JS.API.x 1 1\r\n", b"\xff\xfe 1\r\n"),
        b"PUB $JS.ACK.1.2.3.4 4\r\n+ACK\r\n",
    ]
)


@given(st.lists(st.tuples(st.booleans(), LINES), max_size=30), st.booleans())
def test_lines_that_make_no_sense_raise_nothing(lines: list[tuple[bool, bytes]], midstream: bool) -> None:
    ear = Ear(midstream)
    for to_server, line in lines:
        ear.say(line, to_server=to_server)
    ear.hang_up()
