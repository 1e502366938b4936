"""Scenarios of `tools.record_captures`: connections that end in ways that somebody should hear of."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

from tests.servers import Cluster

WRITE_DEADLINE = 'write_deadline: "1s"\n'
_BODY = 100_000


def _connect(cluster: Cluster, name: str, receive_bytes: int = 0) -> socket.socket:
    """A connection that is logged in, with a small receive buffer if wanted."""
    host, _, port = cluster.urls[0].rpartition("/")[2].rpartition("@")[2].partition(":")
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(10)
    connection.connect((host, int(port)))
    connection.recv(4096)
    login = b'CONNECT {"verbose":false,"user":"app","pass":"app","name":"%s","lang":"c","version":"3.9.1"}\r\nPING\r\n'
    connection.sendall(login % name.encode())
    assert connection.recv(4096).startswith(b"PONG")
    return connection


def _request(connection: socket.socket, subject: str, payload: bytes) -> None:
    connection.sendall(b"PUB %s _INBOX.x.1 %d\r\n%s\r\n" % (subject.encode(), len(payload), payload))


def _publish(connection: socket.socket, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        connection.sendall(b"PUB WORK.new _INBOX.x.%d 4\r\n%04d\r\n" % (number, number))


async def reset_by_both(cluster: Cluster) -> None:
    """A client that is killed while answers are under way, a server that is, and a client that just closes."""
    setup = _connect(cluster, "setup")
    setup.sendall(b"SUB _INBOX.x.> 1\r\n")
    _request(setup, "$JS.API.STREAM.CREATE.WORK", b'{"name":"WORK","subjects":["WORK.>"],"storage":"file"}')
    await asyncio.sleep(0.5)
    _publish(setup, 20)
    await asyncio.sleep(0.3)
    setup.recv(65536)
    setup.close()
    for name in ("killed", "dying"):
        client = _connect(cluster, name)
        client.sendall(b"SUB _INBOX.x.> 1\r\n")
        _publish(client, 5)
        await asyncio.sleep(0.3)
        client.recv(65536)
        cluster.pause("n1")
        _publish(client, 5, first=5)
        await asyncio.sleep(0.2)
        if name == "killed":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            await asyncio.sleep(0.2)
            cluster.resume("n1")
            await asyncio.sleep(0.2)
        else:
            cluster.kill("n1")
            await asyncio.sleep(0.2)
            client.close()


async def slow_consumer(cluster: Cluster) -> None:
    """A subscriber that does not read for longer than the server's write_deadline, and later reads what is left."""
    reader = _connect(cluster, "slow reader", receive_bytes=4096)
    reader.sendall(b"SUB bulk 1\r\nPING\r\n")
    assert reader.recv(4096).startswith(b"PONG")
    writer = _connect(cluster, "writer")
    for _ in range(120):
        writer.sendall(b"PUB bulk %d\r\n%s\r\n" % (_BODY, bytes(_BODY)))
    await asyncio.sleep(3.5)
    with contextlib.suppress(OSError):
        while reader.recv(1 << 20):
            pass
    reader.close()
    writer.close()
