"""The HTTP servers of tests leave nothing to the tests that come after them."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.support.http_server import QuietHandler, serving


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HT", b""], ids=["request", "half a one", "none"])
def test_a_client_that_hangs_up_is_no_error(sent: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    hung_up = threading.Event()

    class Late(QuietHandler):
        def do_GET(self) -> None:
            hung_up.wait(10)
            self.respond(200, bytes(16 << 20))

    before = set(threading.enumerate())
    with serving(Late) as port:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(sent)
        hung_up.set()
    assert set(threading.enumerate()) <= before
    assert capfd.readouterr() == ("", "")


def test_an_error_of_a_handler_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    class Broken(QuietHandler):
        def do_GET(self) -> None:
            raise ValueError(self.path)

    with serving(Broken) as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /nothing HTTP/1.0\r\n\r\n")
        assert client.recv(1) == b""
    assert "ValueError: /nothing" in capfd.readouterr().err
