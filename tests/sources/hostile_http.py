"""What HTTP servers of ill will, or broken ones, do to a client of a monitoring port."""

import time

from tests.sources.hostile_nats import DEEP, drip, huge_line, packed_megabytes
from tests.sources.hostile_server import Handler, Talk, forever


def http(head: bytes, body: Handler | bytes = b"") -> Handler:
    def handle(talk: Talk) -> None:
        while talk.file.readline().strip():
            pass
        talk.send(head)
        if callable(body):
            body(talk)
        else:
            talk.send(body)

    return handle


def after_varz(then: Handler) -> Handler:
    """As a server does at /varz, and then so."""

    def handle(talk: Talk) -> None:
        request = talk.file.readline()
        while talk.file.readline().strip():
            pass
        if b" /varz" not in request:
            return then(talk)
        body = b'{"server_id":"X","server_name":"h","version":"2.12.8"}'
        talk.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        return None

    return handle


def huge_body(talk: Talk) -> None:
    talk.send(OPEN)
    huge_line(talk)


def ok(body: bytes) -> Handler:
    return http(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body)


OPEN = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
BOMB = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"


def bomb(talk: Talk) -> None:
    for packed in packed_megabytes(1000):
        talk.send(packed)


HTTP_SCENARIOS: dict[str, Handler] = {
    "silent": lambda _: time.sleep(60),
    "hangs up": lambda _: None,
    "not HTTP": lambda talk: talk.send(b"INFO {}\r\n"),
    "100 MB": http(OPEN, huge_line),
    "endless chunks": http(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        lambda t: forever(t, b"186a0\r\n" + b" " * 100_000 + b"\r\n"),
    ),
    "gzip bomb": http(BOMB, bomb),
    "endless headers": http(b"HTTP/1.1 200 OK\r\n", lambda t: forever(t, b"a: b\r\n" * 1000)),
    "body drips": http(OPEN, drip(b" " * 1000)),
    "head drips": drip(b"HTTP/1.1 200 OK\r\n" * 20),
    "redirect to itself": http(b"HTTP/1.1 302 Found\r\nLocation: /varz\r\nContent-Length: 0\r\n\r\n"),
    "redirect elsewhere": http(b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"),
    "deep": ok(DEEP),
    "not JSON": ok(b"\xff\xfe<html>"),
    "wrong types": ok(b'{"server_id":"X","server_name":[],"jetstream":7}'),
    "minimal": ok(b'{"server_id":"X"}'),
    "lying length": http(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b'{"server_id":"X"}'),
    "negative length": http(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"{}"),
    "100 MB after /varz": after_varz(huge_body),
    "nothing after /varz": after_varz(lambda _: None),
    "silent after /varz": after_varz(lambda _: time.sleep(60)),
    "header of 1 MB": http(b"HTTP/1.1 200 OK\r\na: " + b"b" * 1_000_000 + b"\r\n\r\n"),
    "status that is none": http(b"HTTP/1.1 99999 OK\r\nContent-Length: 0\r\n\r\n"),
    "unknown encoding": http(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n", b"abc"),
    "nobody is allowed": http(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"),
}
