"""An MQTT client of the few packets that the tests need."""

import contextlib
import socket
import struct
import threading

_PUBLISH = 3


def mqtt_session(port: int, subscribe: bool, client_id: str = "") -> socket.socket:
    """A device with a persistent session, which subscribes or publishes with QoS 1."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=5)

    def text(value: str) -> bytes:
        return struct.pack("!H", len(value)) + value.encode()

    name = client_id or ("reader" if subscribe else "sensor")
    hello = text("MQTT") + bytes([4, 0b1100_0000, 0, 60]) + text(name) + text("app") + text("app")
    connection.sendall(bytes([0x10, len(hello)]) + hello)
    assert connection.recv(4)[:1] == b"\x20"
    topic = text("plant/temperature")
    if subscribe:
        body = b"\x00\x01" + topic + b"\x01"
        connection.sendall(bytes([0x82, len(body)]) + body)
        assert connection.recv(5)[:1] == b"\x90"
    else:
        for number in range(1, 21):
            body = topic + struct.pack("!H", number) + b"21.5"
            connection.sendall(bytes([0x32, len(body)]) + body)
            assert connection.recv(4)[:1] == b"\x40"
    return connection


def acknowledge_always(connection: socket.socket) -> None:
    """Acknowledge what the device of that connection is sent, until it is closed."""
    threading.Thread(target=_acknowledge, args=(connection,), daemon=True).start()


def _acknowledge(connection: socket.socket) -> None:
    connection.settimeout(None)
    with contextlib.suppress(OSError, IndexError), connection.makefile("rb") as packets:
        while True:
            kind = packets.read(1)[0] >> 4
            size, shift = 0, 0
            while True:
                digit = packets.read(1)[0]
                size |= (digit & 0x7F) << shift
                shift += 7
                if digit < 0x80:
                    break
            body = packets.read(size)
            if kind == _PUBLISH:
                start = 2 + int.from_bytes(body[:2])
                connection.sendall(b"\x40\x02" + body[start : start + 2])
