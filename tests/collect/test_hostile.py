"""Servers that send more than anybody can hold: a run ends in a sentence, in bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.collect.hostile_server import Reply, Talk, listening, plain

HUGE = 100_000_000
MOST_MB = 300
Handler = Callable[[Talk], None]


def _endless(talk: Talk) -> None:
    for _ in range(HUGE // 1_000_000):
        talk.send(b"x" * 1_000_000)


def _long_line(talk: Talk) -> None:
    talk.info()
    _endless(talk)


def _answering(answer: Reply) -> Handler:
    def handle(talk: Talk) -> None:
        talk.info()
        talk.serve(answer)

    return handle


def _announced(size: int) -> Reply:
    def answer(talk: Talk, _: str, inbox: bytes) -> None:
        talk.send(b"MSG %s %s %d\r\n" % (inbox, talk.sid_of(inbox), size))
        _endless(talk)

    return answer


SCENARIOS: dict[str, Handler] = {
    "a line of 100 MB": _long_line,
    "a reply of 2^60 bytes": _answering(plain({"SERVER.PING": _announced(1 << 60)})),
    "a list of 100 MB": _answering(plain({"STREAM.LIST": _announced(HUGE)})),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_too_long_ends_the_connection(name: str) -> None:
    with listening(SCENARIOS[name]) as port:
        command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--timeout", "2s", "--interval", "0.1s"]
        running = subprocess.Popen(
            [*command, "--server", f"nats://127.0.0.1:{port}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert running.stdout is not None
        with running.stdout as output:
            said = output.read().decode()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 3, said
    assert "internal error" not in said
    assert usage.ru_maxrss / 1024 < MOST_MB
