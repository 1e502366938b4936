"""What servers of ill will, or broken ones, do to a client: by name, the step at which each goes wrong."""

import itertools
import json
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.sources.hostile_server import INFO, Handler, Reply, Talk, always, forever, ignore, plain

HUGE = 100_000_000
Json = dict[str, Any]
STREAM: Json = {
    "config": {"name": "S", "subjects": ["s"], "retention": "limits", "storage": "file", "num_replicas": 1},
    "created": "2026-01-01T00:00:00Z",
    "state": {"messages": 1, "bytes": 1, "first_seq": 1, "last_seq": 1, "consumer_count": 1},
    "ts": "2026-01-01T00:00:01Z",
}
USER = json.dumps({"data": {"user": "u", "account": "A"}}).encode()


def page(**more: Any) -> bytes:
    return json.dumps({"total": 1, "offset": 0, "limit": 256, "streams": [STREAM]} | more).encode()


def consumers(**more: Any) -> bytes:
    return json.dumps({"total": 0, "offset": 0, "limit": 256, "consumers": []} | more).encode()


def greeted(then: Handler) -> Handler:
    def handle(talk: Talk) -> None:
        talk.info()
        then(talk)

    return handle


def greeting(line: bytes, pong: bytes = b"PONG\r\n") -> Handler:
    """This INFO, and no answer to requests."""

    def handle(talk: Talk) -> None:
        talk.send(line)
        talk.serve(ignore, pong)

    return handle


ADDRESSES = ["127.0.0.1:1", "127.0.0.1:99999", "[::1", ":", "x" * 5000 + ":1", "a..b:1", "\x00:1", "\ud83d\udca9:1", ""]
"""What a server may give to clients as addresses."""


def info(**more: Any) -> bytes:
    return b"INFO " + json.dumps(INFO | more).encode() + b"\r\n"


def flooding(line: bytes) -> Handler:
    """Takes the login, and then sends a line without end."""

    def respond(talk: Talk, _: str, __: bytes) -> None:
        forever(talk, line * 1000)

    return greeted(lambda talk: talk.serve(respond))


def beside_ping(respond: Reply) -> Handler:
    """A system account whose server answers who it is, and everything else so."""

    def both(talk: Talk, subject: str, inbox: bytes) -> None:
        if subject.endswith("PING"):
            talk.reply(inbox, pong())
        else:
            respond(talk, subject, inbox)

    return greeted(lambda talk: talk.serve(both))


def api(**answers: Any) -> Handler:
    """A plain account whose API answers so; subjects by their last words, dots as underscores."""
    known = {"USER.INFO": USER, "CONSUMER.LIST": consumers(), "STREAM.LIST": page()}
    given = {name.replace("_", "."): what for name, what in answers.items()}
    return greeted(lambda talk: talk.serve(plain(given | {k: v for k, v in known.items() if k not in given})))


def ping(reply: Any) -> Handler:
    """A system account whose servers reply to the first request so."""
    return greeted(lambda talk: talk.serve(plain({"SERVER.PING": reply})))


def pong(**more: Any) -> bytes:
    server = {"name": "h", "id": "X", "ver": "2.12.8", "time": "2026-01-01T00:00:00Z"}
    return json.dumps({"server": server, "statsz": {"active_servers": 1}, "data": {}} | more).encode()


def wrong_then_reset(talk: Talk) -> None:
    talk.send(b"PANG\r\n")
    time.sleep(0.3)
    talk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    talk.sock.shutdown(socket.SHUT_RD)
    talk.file.close()
    talk.sock.close()


def huge_line(talk: Talk) -> None:
    for _ in range(HUGE // 1_000_000):
        talk.send(b"x" * 1_000_000)


def drip(data: bytes, pause_s: float = 0.2) -> Handler:
    def handle(talk: Talk) -> None:
        for byte in data:
            talk.send(bytes([byte]))
            time.sleep(pause_s)

    return handle


def drip_reply(talk: Talk, _: str, inbox: bytes) -> None:
    body = page()
    talk.send(b"MSG %s %s %d\r\n" % (inbox, talk.sid_of(inbox), len(body)))
    drip(body, 0.1)(talk)


def many_replies(body: bytes, count: int) -> Callable[[Talk, str, bytes], None]:
    def respond(talk: Talk, _: str, inbox: bytes) -> None:
        sid = talk.sid_of(inbox)
        message = b"MSG %s %s %d\r\n" % (inbox, sid, len(body)) + body + b"\r\n"
        for _i in range(count // 1000):
            talk.send(message * 1000)

    return respond


def huge_reply(talk: Talk, _: str, inbox: bytes) -> None:
    talk.send(b"MSG %s %s %d\r\n" % (inbox, talk.sid_of(inbox), HUGE))
    huge_line(talk)
    talk.send(b"\r\n")


def huge_header(talk: Talk, _: str, inbox: bytes) -> None:
    head = b"NATS/1.0\r\n" + b"a: b\r\n" * 2_000_000 + b"\r\n"
    talk.send(b"HMSG %s %s %d %d\r\n" % (inbox, talk.sid_of(inbox), len(head), len(head)) + head + b"\r\n")


def packed_megabytes(count: int) -> Iterator[bytes]:
    """So many megabytes of spaces as gzip packs them, without the trailer: each is packed as the second one was."""
    packer, megabyte = zlib.compressobj(9, zlib.DEFLATED, 31), b" " * 1_000_000
    first, second = (packer.compress(megabyte) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    yield first
    yield from itertools.repeat(second, count - 1)


def packed_bomb(talk: Talk, _: str, inbox: bytes) -> None:
    packed = b"".join(packed_megabytes(1000))
    head = b"NATS/1.0\r\nContent-Encoding: gzip\r\n\r\n"
    size = len(head) + len(packed)
    talk.send(b"HMSG %s %s %d %d\r\n" % (inbox, talk.sid_of(inbox), len(head), size) + head + packed + b"\r\n")


def raw_reply(template: bytes) -> Callable[[Talk, str, bytes], None]:
    return lambda talk, _, inbox: talk.send(template.replace(b"INBOX", inbox).replace(b"SID", talk.sid_of(inbox)))


def many_servers(talk: Talk, _: str, inbox: bytes) -> None:
    for n in range(50_000):
        talk.reply(inbox, pong(server={"name": f"n{n}", "id": f"N{n}"}))


def without_end(body: Callable[[int], bytes]) -> Reply:
    """Replies to one request for as long as the client takes them; the body is made of their number."""

    def respond(talk: Talk, _: str, inbox: bytes) -> None:
        until = time.monotonic() + 60
        for number in itertools.count():
            if time.monotonic() > until:
                break
            talk.reply(inbox, body(number))

    return respond


def stranger(number: int) -> bytes:
    return pong(server={"name": f"n{number}", "id": f"N{number}"}, data={"padding": "x" * 100_000})


def lying_total(talk: Talk, _: str, inbox: bytes) -> None:
    talk.reply(inbox, page(total=1 << 40, limit=1))


INFO_LINE = b'INFO {"server_id":"X","max_payload":1048576}\r\n'
DEEP = b"[" * 1_000_000 + b"]" * 1_000_000
NATS_SCENARIOS: dict[str, Handler] = {
    "silent at once": lambda _: time.sleep(60),
    "hangs up at once": lambda _: None,
    "speaks HTTP": lambda talk: talk.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "binary greeting": lambda talk: talk.send(bytes(range(256)) * 40 + b"\r\n"),
    "INFO without an end": lambda talk: forever(talk, b"INFO {" + b" " * 100_000),
    "a line of 100 MB after INFO": greeted(huge_line),
    "INFO of wrong types": greeting(b'INFO {"max_payload":"x","headers":[],"proto":{}}\r\n'),
    "INFO is a list": lambda talk: talk.send(b"INFO [1]\r\n"),
    "INFO is deep": lambda talk: talk.send(b"INFO " + b"[" * 300_000 + b"\r\n"),
    "INFO of spaces": greeted(lambda talk: talk.send(b"INFO" + b" " * 1_000_000 + b"\nx\r\n")),
    "INFO with half a character": lambda talk: talk.send(b'INFO {"server_name":"\\ud800"}\r\n'),
    "INFO of another shape later": greeted(lambda talk: talk.serve(ignore, b'PONG\r\nINFO {"server_name":[]}\r\n')),
    "lines of nothing": greeted(lambda talk: forever(talk, b"\r\n" * 1000)),
    "+OK without end": greeted(lambda talk: forever(talk, b"+OK\r\n" * 1000)),
    "INFO drips": drip(INFO_LINE),
    "INFO with a nonce of wrong type": greeting(b'INFO {"nonce":7,"auth_required":true}\r\n'),
    "connect_urls elsewhere": greeting(info(connect_urls=["192.0.2.1:4222"] * 1000), b"-ERR 'no'\r\n"),
    "connect_urls of wrong type": greeting(info(connect_urls={"a": 1})),
    "silent after INFO": greeted(lambda _: time.sleep(60)),
    "hangs up after INFO": greeted(lambda _: None),
    "INFO again and again": greeted(lambda talk: forever(talk, INFO_LINE)),
    "many connect_urls": greeting(info(connect_urls=[f"192.0.2.1:{n}" for n in range(50_000)])),
    "PINGs without end": greeted(lambda talk: forever(talk, b"PING\r\n" * 100)),
    "PONGs without end": greeted(lambda talk: forever(talk, b"PONG\r\n" * 100)),
    "wrong PONG": greeted(lambda talk: talk.serve(ignore, b"PANG\r\n")),
    "wrong PONG, then a reset": greeted(wrong_then_reset),
    "-ERR without end": greeted(lambda talk: forever(talk, b"-ERR 'x'\r\n" * 100)),
    "-ERR with control characters": greeted(lambda talk: talk.serve(ignore, b"-ERR '\x1b[31m\x00'\r\n")),
    "PONGs without end after the login": flooding(b"PONG\r\n"),
    "PINGs without end after the login": flooding(b"PING\r\n"),
    "INFO without end after the login": flooding(INFO_LINE),
    "denials without end after the login": flooding(b"-ERR 'Permissions Violation for Publish to \"a\"'\r\n"),
    "messages for nobody after the login": flooding(b"MSG a 99 3\r\nabc\r\n"),
    "PONG, then silence": greeted(lambda talk: talk.serve(ignore)),
    "messages for nobody": greeted(lambda talk: forever(talk, b"MSG a 99 3\r\nabc\r\n" * 1000)),
    "a message that is announced and never comes": ping(raw_reply(b"MSG INBOX SID 1000000\r\nabc")),
    "a message of negative length": ping(raw_reply(b"MSG INBOX SID -5\r\nabc\r\n")),
    "a message of 2^60 bytes": ping(raw_reply(b"MSG INBOX SID 1152921504606846976\r\nabc\r\n")),
    "a header longer than its message": ping(raw_reply(b"HMSG INBOX SID 90 5\r\nNATS/\r\n")),
    "a header that is none": ping(raw_reply(b"HMSG INBOX SID 5 5\r\n\xff\xfe\xfd\xfc\xfb\r\n")),
    "a header of 12 MB": ping(huge_header),
    "a PING reply of 100 MB": ping(huge_reply),
    "PING replies without end": ping(many_replies(pong(), 10_000_000)),
    "PING replies of many servers": ping(many_servers),
    "PING is no JSON": ping(always(b"\xff{")),
    "PING of wrong types": ping(always(b'{"server":[],"statsz":"x"}')),
    "PING is deep": ping(always(DEEP)),
    "PING with a lying count": ping(always(pong(statsz={"active_servers": 1 << 60}))),
    "PING answers, the rest is silent": beside_ping(ignore),
    "system replies of a wrong shape": greeted(lambda talk: talk.serve(always(pong(data=[1, {"a": "b"}])))),
    "system replies that are deep": beside_ping(always(DEEP)),
    "system replies that are huge": beside_ping(huge_reply),
    "system replies without end": beside_ping(without_end(lambda _: b"x" * 100_000)),
    "system replies of more and more servers": beside_ping(without_end(stranger)),
    "system replies that unpack to 1 GB": beside_ping(packed_bomb),
    "a list of 100 MB": api(STREAM_LIST=huge_reply),
    "a list that drips": api(STREAM_LIST=drip_reply),
    "a list that lies about its total": api(STREAM_LIST=lying_total),
    "a list with a negative limit": api(STREAM_LIST=page(limit=-1, total=-5)),
    "a list of wrong types": api(STREAM_LIST=page(streams=[1, "a", None, {"config": 5}])),
    "a list of streams with strange names": api(
        STREAM_LIST=page(
            streams=[
                STREAM | {"config": STREAM["config"] | {"name": n}}
                for n in ("a b", "*", ">", "", "x\r\nPUB y 0", "\u202e", "a" * 100_000)
            ]
        )
    ),
    "a list that is deep": api(STREAM_LIST=DEEP),
    "a list of numbers beyond 64 bits": api(
        STREAM_LIST=page(streams=[STREAM | {"state": {"messages": 1 << 70, "last_seq": -(1 << 70)}}])
    ),
    "times beyond the calendar": api(
        STREAM_LIST=page(
            streams=[STREAM | {"created": "0000-99-99T99:99:99Z", "ts": "9999-12-31T23:59:59.999999999-23:59"}]
        )
    ),
    "everybody is missing": api(STREAM_LIST=page(missing=[f"M{n}" for n in range(100_000)])),
    "consumers of 100 MB": api(CONSUMER_LIST=huge_reply),
    "consumers of another stream": api(
        CONSUMER_LIST=consumers(total=1, consumers=[{"stream_name": "OTHER", "name": "c"}])
    ),
    "consumers lie about their total": api(CONSUMER_LIST=consumers(total=1 << 50, limit=1)),
    "consumers never answer": api(CONSUMER_LIST=ignore),
    "many replies to one request": api(STREAM_LIST=many_replies(page(), 1_000_000)),
    "the user is huge": api(USER_INFO=json.dumps({"data": {"account": "A" * 1_000_000}}).encode()),
    "hangs up at the list": api(STREAM_LIST=lambda talk, _, __: talk.sock.close()),
    "lame duck": api(STREAM_LIST=lambda talk, _, __: talk.info(ldm=True, connect_urls=["192.0.2.1:1"])),
    "addresses of every kind": api(STREAM_LIST=lambda talk, _, __: talk.info(connect_urls=ADDRESSES)),
}
