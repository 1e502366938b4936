"""One run of JetStream traffic between hosts as they are, captured in many places at once."""

import json
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.hosts import Hosts, Topology
from tests.servers import wait_until

Step = dict[str, Any]
_STEP_AFTER = 0.5
"""Share of the packets before the clock of the capturing host is set."""


def _api(subject: str, **request: object) -> Step:
    return {"do": "request", "subject": f"$JS.API.{subject}", "data": request}


_EXPLICIT = {"durable_name": "WORKERS", "ack_policy": "explicit", "ack_wait": 60_000_000_000}
_TURN: tuple[Step, ...] = (
    {"do": "publish", "subject": "ORDERS.new", "times": 40, "size": 300},
    {"do": "publish", "subject": "ORDERS.new", "times": 5, "size": 200_000},
    {"do": "core", "subject": "ORDERS.new", "times": 20, "size": 40_000},
    {"do": "fetch", "stream": "ORDERS", "consumer": "WORKERS", "batch": 60, "expires": 10_000, "action": "ack"},
    {"do": "flush"},
)
_BEFORE: tuple[Step, ...] = (
    {"do": "connect", "name": "player"},
    _api("STREAM.CREATE.ORDERS", name="ORDERS", subjects=["ORDERS.>"], storage="memory"),
    _api("CONSUMER.DURABLE.CREATE.ORDERS.WORKERS", stream_name="ORDERS", config=_EXPLICIT),
)


@dataclass(frozen=True)
class Views:
    """Sets of captures of one run, by what they are a view of; and how often the hosts sent a segment again."""

    captures: dict[str, list[Path]]
    resent: int
    path: dict[str, int]


def views(directory: Path, topology: Topology, client: list[str]) -> Views:
    """Traffic over that topology, and everything that was captured of it."""
    with Hosts.open(directory, topology) as hosts:
        url = hosts.serve()
        near, far = hosts.capture("client", "lab0"), hosts.capture("server", "lab0")
        middle = hosts.capture("middle", "client0")
        captures = {
            "client": [near],
            "server": [far],
            "middle": [middle],
            "client, any": [hosts.capture("client", "any", "-y", "LINUX_SLL2", label="any2")],
            "server, any, cooked v1": [hosts.capture("server", "any", "-y", "LINUX_SLL", label="any1")],
            "middle, any": [hosts.capture("middle", "any", "-y", "LINUX_SLL2", label="any2")],
            "middle, any, cooked v1": [hosts.capture("middle", "any", "-y", "LINUX_SLL", label="any1")],
            "both ends": [near, far],
            "both ends and the middle": [near, middle, far],
        }
        ring = hosts.capture("server", "lab0", "-C", "1", "-W", "99", label="ring")
        command = hosts.command("client", *client, url, "player", "player")
        with _player(command) as player:
            _play(player, (*_BEFORE, *_TURN))
            captures["begun in the middle"] = [hosts.capture("client", "lab0", label="late")]
            _play(player, (*_TURN, {"do": "close"}))
    captures["ring"] = sorted(directory.glob(f"{ring.name}*"))
    captures["clock set"] = [_clock_set(near)]
    return Views(captures, hosts.resent, hosts.path)


_RESENT_OFTEN = 6
"""Segments sent again until nobody doubts: three by timeout take 1.4 s, and a tail loss probe comes before them."""


def black_hole_views(directory: Path, topology: Topology, client: list[str], *, to_server: bool) -> Views:
    """Small messages pass, and then large ones are on their way in that direction until the sender has tried often."""
    with Hosts.open(directory, topology) as hosts:
        url = hosts.serve()
        near, far = hosts.capture("client", "lab0"), hosts.capture("server", "lab0")
        captures = {
            "client": [near],
            "server": [far],
            "middle": [hosts.capture("middle", "client0")],
            "middle, behind": [hosts.capture("middle", "server0")],
            "client, any": [hosts.capture("client", "any", "-y", "LINUX_SLL2", label="any2")],
            "middle, any": [hosts.capture("middle", "any", "-y", "LINUX_SLL2", label="any2")],
            "middle, any, cooked v1": [hosts.capture("middle", "any", "-y", "LINUX_SLL", label="any1")],
            "both ends": [near, far],
        }
        small: Step = {"do": "publish", "subject": "ORDERS.new", "times": 3, "size": 200}
        large: Step = {"do": "publish", "subject": "ORDERS.large", "times": 1, "size": 20_000}
        fetch: Step = {"do": "fetch", "stream": "ORDERS", "consumer": "WORKERS", "batch": 1, "expires": 60_000}
        fetch["action"] = "ack"  # one by one: several deliveries share a packet, which would be large
        sender = "client" if to_server else "server"
        with (
            _player(hosts.command("client", *client, url, "player", "player")) as player,
            _player(hosts.command("server", *client, "nats://127.0.0.1:4222", "local", "local")) as local,
        ):
            _play(player, (*_BEFORE, small, fetch, fetch, fetch))
            if not to_server:
                _play(local, ({"do": "connect", "name": "local"}, large))
            before = hosts.sent_again(sender)
            _order(player, large if to_server else fetch)
            wait_until(lambda: hosts.sent_again(sender) >= before + _RESENT_OFTEN, "segments sent again", timeout=60)
    return Views(captures, hosts.resent, hosts.path)


@contextmanager
def _player(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as player:
        try:
            yield player
        finally:
            player.kill()


def _order(player: subprocess.Popen[str], step: Step) -> None:
    """Have it do this, without an answer."""
    assert player.stdin is not None
    player.stdin.write(json.dumps(step) + "\n")
    player.stdin.flush()


def _play(player: subprocess.Popen[str], steps: tuple[Step, ...]) -> None:
    assert player.stdout is not None
    for step in steps:
        _order(player, step)
        answer = json.loads(player.stdout.readline())
        if answer["problem"]:
            raise RuntimeError(f"{step}: {answer['problem']}")


def _clock_set(path: Path) -> Path:
    """The same capture by a host whose clock was set forward by ninety seconds in the middle of it."""
    content = bytearray(path.read_bytes())
    after, at = 24 + int(_STEP_AFTER * (len(content) - 24)), 24
    while at < len(content):
        seconds, _, captured, _ = struct.unpack_from("<IIII", content, at)
        if at > after:
            struct.pack_into("<I", content, at, seconds + 90)
        at += 16 + captured
    stepped = path.with_name("clock-set.pcap")
    stepped.write_bytes(content)
    return stepped
