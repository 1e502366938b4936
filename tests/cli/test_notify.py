"""Notifications reach each receiver, whatever another one or an earlier body does."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from jsdoctor.app.watch.notify import Notifier
from jsdoctor.app.watch.request import Receiver, parse_receiver
from jsdoctor.engine.watch import ChangeKind, FindingChange
from jsdoctor.render.watch.notification import Notification
from jsdoctor.render.watch.notification_format import NotificationFormat
from tests.render import reports

NOW = datetime(2026, 11, 29, tzinfo=UTC)


class Answers(BaseHTTPRequestHandler):
    """Refuses the first body on /picky, and holds what comes to /slow until `released`."""

    posted: ClassVar[list[str]] = []
    released: ClassVar[threading.Event] = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/slow":
            self.released.wait(20)
        self.posted.append(self.path)
        self.send_response(400 if self.path == "/picky" and self.posted.count("/picky") == 1 else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Answers.posted, Answers.released = [], threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def notification() -> Notification:
    stuck = reports.stuck(reports.consumer("billing"))
    change = FindingChange(ChangeKind.APPEARED, stuck, NOW, NOW, stuck.severity)
    return Notification(deployment="test", at=NOW, every_s=10, changes=(change,), open=((stuck, NOW),))


def test_a_body_that_is_refused_holds_up_no_later_one(url: str) -> None:
    notifier = Notifier((Receiver(NotificationFormat.JSON, f"{url}/picky"),))
    for _ in range(2):
        notifier.send(notification())
        notifier.finish(20)
    assert Answers.posted == ["/picky", "/picky"]


def test_what_comes_while_another_receiver_is_slow_is_posted(url: str) -> None:
    receivers = tuple(Receiver(NotificationFormat.JSON, f"{url}/{name}") for name in ("quick", "slow"))
    notifier = Notifier(receivers)
    notifier.send(notification())
    notifier.send(notification())
    Answers.released.set()
    notifier.finish(20)
    assert sorted(Answers.posted) == ["/quick", "/quick", "/slow", "/slow"]


def test_an_address_from_a_file_may_end_in_a_line_break_and_nothing_else_is_hidden_in_it() -> None:
    assert parse_receiver("slack=https://hooks.example/x\r\n").url == "https://hooks.example/x"
    with pytest.raises(ValueError, match="write it as"):
        parse_receiver("https://hooks.example/x\ry")


def test_an_address_that_is_no_url_is_a_problem_and_no_crash() -> None:
    notifier = Notifier((Receiver(NotificationFormat.JSON, "http://[::1/x"),))
    notifier.send(notification())
    notifier.finish(20)
    assert notifier.problem == "the address of a receiver is no URL"
