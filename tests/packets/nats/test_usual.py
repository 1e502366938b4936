"""The short cuts for usual messages change nothing: what is heard with them is what is heard without."""

from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jsdoctor.model.nats_traffic import NatsTraffic
from jsdoctor.packets.nats import conversation
from jsdoctor.packets.nats.lines import Usual
from jsdoctor.packets.nats.publishing import PublishTally
from tests.packets.nats.speech import CONNECT, INFO, Ear, ack, hpub, msg, pieces, pub

_INBOXES = tuple(f"_INBOX.{number}" for number in range(4))
_NO_RESPONDERS = b"NATS/1.0 503\r\n\r\n"
_DELIVERY = "$JS.ACK.ORDERS.C.1.%d.%d.1700000000000000000.0"
_REFUSED = (
    b'{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"ORDERS","seq":0}'
)
_CLIENT = (
    *(pub("orders.new", inbox, b"x" * size) for inbox in _INBOXES for size in (0, 1, 300)),
    *(hpub("orders.new", inbox, {"Nats-Msg-Id": "a"}) for inbox in _INBOXES),
    pub("orders.new"),
    pub("telemetry.new", _INBOXES[0], b"PUB evil _INBOX.3 2\r\nhi\r\n"),
    pub("$JS.API.CONSUMER.MSG.NEXT.ORDERS.C", _INBOXES[1]),
    pub(_DELIVERY % (7, 1), payload=b"+ACK"),
    b"pub lower.case _INBOX.2 2\r\nhi\r\n",
    b"PUB\torders.tab  _INBOX.3\t2\r\nhi\r\n",
    b"PUB orders.damaged _INBOX.1 2\r\nhello\r\n",
    b"PUB orders.many 1 2 3 2\r\nhi\r\n",
    b"PUB orders.new _INBOX.1 x2\r\n",
    b"PUB 2\r\nhi\r\n",
    b"PING\r\n",
    b"\r\n",
)
_SERVER = (
    *(msg(inbox, payload=ack(seq=number + 1)) for number, inbox in enumerate(_INBOXES)),
    *(msg(inbox, payload=ack(seq=1, duplicate=True)) for inbox in _INBOXES),
    msg(_INBOXES[0], payload=_REFUSED),
    msg(_INBOXES[1], payload=b"what a service says\r\n"),
    msg(_INBOXES[2], payload=b""),
    msg(_INBOXES[3], payload=b'{"stream":"%b","seq":1}' % (b"s" * 5000)),
    msg("orders.new", _DELIVERY % (1, 1)),
    msg("orders.new", _DELIVERY % (2, 2)),
    msg("telemetry.new", payload=b"MSG _INBOX.1 1 2\r\nhi\r\n"),
    b"MSG _INBOX.1 1 2\r\n{}garbage\r\n",
    b"MSG _INBOX.1 1 0002\r\n{}\r\n",
    b"HMSG _INBOX.2 1 %d %d\r\n%b\r\n" % (len(_NO_RESPONDERS), len(_NO_RESPONDERS), _NO_RESPONDERS),
    b"PONG\r\n",
    b"-ERR 'Slow Consumer'\r\n",
)


@dataclass(frozen=True)
class Segment:
    """Bytes of one side in one segment: `captured` of it are in the capture, -1 for all; None: it is not in there."""

    data: bytes
    to_server: bool
    captured: int | None


@st.composite
def talks(draw: st.DrawFn) -> list[Segment]:
    """Both sides by turns, each turn cut into segments anywhere; here and there one is cut off or missing."""
    segments: list[Segment] = []
    for _ in range(draw(st.integers(1, 5))):
        for to_server, words in ((True, _CLIENT), (False, _SERVER)):
            text = b"".join(draw(st.lists(st.sampled_from(words), max_size=8)))
            cuts = draw(st.lists(st.integers(0, len(text)), max_size=4))
            segments += [Segment(part, to_server, -1) for _, part in pieces(text, cuts) if part]
    broken: bool = draw(st.booleans())
    if segments and broken:
        place = draw(st.integers(0, len(segments) - 1))
        hit = segments[place]
        captured = draw(st.one_of(st.none(), st.integers(0, len(hit.data))))
        segments[place] = Segment(hit.data, hit.to_server, captured)
    return segments


def traffic_of(segments: list[Segment], midstream: bool) -> NatsTraffic:
    """What an observer makes of it."""
    ear = Ear(midstream)
    if not midstream:
        ear.server(INFO)
        ear.client(CONNECT)
    for segment in segments:
        if segment.captured is None:
            ear.skip(len(segment.data), to_server=segment.to_server)
        else:
            ear.say(
                segment.data, to_server=segment.to_server, captured=None if segment.captured < 0 else segment.captured
            )
    return ear.hang_up()


def _no_short_cut(_tally: PublishTally) -> Usual:
    return lambda _at_ns, _text, at: at


_NEXT = pub("orders.next", _INBOXES[2])


@example(segments=[Segment(_CLIENT[0] + b"PUB orders.damaged _INBOX.1 2\r\nhi??" + _NEXT, True, -1)], midstream=False)
@example(
    segments=[Segment(b"PUB orders.damaged _INBOX.1 2\r\nhi\r", True, -1), Segment(b"x" + _NEXT, True, -1)],
    midstream=False,
)
@example(segments=[Segment(b"PUB orders.zeros _INBOX.1 0000000002\r\nhi\r\n" + _NEXT, True, -1)], midstream=False)
@given(talks(), st.booleans())
def test_short_cuts_change_nothing(segments: list[Segment], midstream: bool) -> None:
    shortened = traffic_of(segments, midstream)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("publishes", "answers"):
            patch.setattr(conversation, name, _no_short_cut)
        assert traffic_of(segments, midstream) == shortened
