"""A small NTP server for tests: a process of its own that answers over UDP on loopback, rightly or wrongly.

    python -m tests.clock.ntp_server MODE [AHEAD_SECONDS]

It prints its port. Modes: good, kiss, unsynchronised, stratum16, spoofed, broadcast, short, garbled, backwards, vague,
late (answers a question when the next one has come), silent, lying_then_good (a spoofed answer before the true one).
"""

import contextlib
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator

EPOCH_S = 2_208_988_800
PACKET = struct.Struct("!BBbb3I4Q")
VERSION_4 = 4 << 3
SERVER, BROADCAST = 4, 5
KISS_CODE = int.from_bytes(b"RATE", "big")


def stamp(moment_s: float) -> int:
    """Seconds since 1970 as an NTP time."""
    whole = int(moment_s)
    return (whole + EPOCH_S << 32) + int((moment_s - whole) * (1 << 32))


def reply_to(question: bytes, mode: str, ahead_s: float) -> bytes:
    """What such a server says to that question."""
    now = time.time() + ahead_s
    sent = PACKET.unpack(question[:48])[-1]
    leap = 3 if mode == "unsynchronised" else 0
    kind = BROADCAST if mode == "broadcast" else SERVER
    stratum = {"kiss": 0, "stratum16": 16}.get(mode, 2)
    own_s = 3 if mode == "vague" else 0
    received, transmitted = (now + 1, now) if mode == "backwards" else (now, time.time() + ahead_s)
    if mode == "spoofed":
        sent ^= 1 << 40
    reference = KISS_CODE if mode == "kiss" else 0
    head = (leap << 6 | VERSION_4 | kind, stratum, 6, -20, 0, own_s << 16, reference)
    return PACKET.pack(*head, stamp(now - 9), sent, stamp(received), stamp(transmitted))


def serve(udp: socket.socket, mode: str, ahead_s: float) -> None:
    """Answer until somebody ends this process."""
    kept = b""
    while True:
        question, asker = udp.recvfrom(1024)
        if mode == "silent":
            continue
        if mode == "late":
            if kept:
                udp.sendto(reply_to(kept, "good", ahead_s), asker)
            kept = question
            continue
        if mode == "lying_then_good":
            udp.sendto(reply_to(question, "spoofed", 3600), asker)
        reply = {"short": b"no time", "garbled": bytes(48)}.get(mode)
        udp.sendto(reply_to(question, mode, ahead_s) if reply is None else reply, asker)


@contextlib.contextmanager
def ntp_server(mode: str = "good", ahead_s: float = 0.0) -> Iterator[str]:
    """Run one; gives `HOST:PORT`."""
    command = [sys.executable, "-m", "tests.clock.ntp_server", mode, str(ahead_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


if __name__ == "__main__":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        sys.stdout.write(f"{bound.getsockname()[1]}\n")
        sys.stdout.flush()
        serve(bound, sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
