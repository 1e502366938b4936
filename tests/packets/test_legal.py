"""Generated legal captures of clean networks, cut and captured in any way: nobody is accused, and all is read."""

import struct
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.packets.segment import ACK, FIN
from jsdoctor.sources.packets.files import read_captures
from tests.packets.frames import MILLISECOND, Packet, handshake, pcap
from tests.packets.nats.speech import CONNECT, INFO, ack, hpub, msg, pub
from tests.support.packet_cases import only_packets
from tests.support.ruleset import run_all

_BLAMED = {"JSD501", "JSD502", "JSD503", "JSD506", "JSD508", "JSD509", "JSD510", "JSD209", "JSD201"}


@dataclass(frozen=True)
class Session:
    """A conversation: who says what in turn, how it is cut, and how it is captured."""

    turns: list[tuple[bool, bytes]]
    cuts: list[int]
    timestamps: bool
    ids: int
    places: int
    skipped: int
    closes: bool


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Publishes with answers and deliveries, in segments from a byte to 64 KB."""
    turns = [(False, INFO), (True, CONNECT + b"SUB _INBOX.> 1\r\nPING\r\n"), (False, b"PONG\r\n")]
    delivered = 0
    for number in range(draw(st.integers(1, 12))):
        body = b"x" * draw(st.sampled_from((0, 1, 100, 1400, 3000, 40_000)))
        reply = f"_INBOX.{number}"
        headers = draw(st.booleans())
        publish = (
            hpub("ORDERS.new", reply, {"Nats-Msg-Id": f"id-{number}"}, body)
            if headers
            else pub("ORDERS.new", reply, body)
        )
        turns += [(True, publish), (False, msg(reply, payload=ack(seq=number + 1)))]
        if draw(st.booleans()):
            delivered += 1
            where = f"$JS.ACK.ORDERS.C.1.{number + 1}.{delivered}.1790000000000000000.0"
            turns += [(False, msg("deliver", where, body)), (True, pub(where, payload=b"+ACK"))]
    return Session(
        turns,
        draw(st.lists(st.sampled_from((1, 7, 536, 1448, 2896, 14_480, 60_000)), min_size=1, max_size=6)),
        timestamps=draw(st.booleans()),
        ids=draw(st.sampled_from((0, 1, 2))),
        places=draw(st.integers(1, 3)),
        skipped=draw(st.sampled_from((0, 0, 3, 8))),
        closes=draw(st.booleans()),
    )


def packets_of(session: Session) -> list[Packet]:
    """Every turn is answered by an ack; ids count up, are zero, or are rewritten to one number for all."""
    numbers = {True: 1001, False: 9001}
    packets = [replace(packet, ts_val=100 if session.timestamps else -1) for packet in handshake()]
    at, count = 3 * MILLISECOND, 3

    def add(to_server: bool, payload: bytes, flags: int = ACK) -> None:
        nonlocal at, count
        at, count = at + MILLISECOND // 4, count + 1
        ids = (count, 0, 54_321)[session.ids]
        ts_val = 100 + at // MILLISECOND if session.timestamps else -1
        packets.append(
            Packet(at, numbers[to_server], payload, numbers[not to_server], flags, ids, ts_val, to_server=to_server)
        )
        numbers[to_server] += len(payload) + (1 if flags & FIN else 0)

    for number, (to_server, text) in enumerate(session.turns):
        start = 0
        while start < len(text):
            size = max(session.cuts[(number + start) % len(session.cuts)], len(text) // 40)
            add(to_server, text[start : start + size])
            start += size
        add(not to_server, b"")
    if session.closes:
        add(True, b"", ACK | FIN)
        add(False, b"", ACK | FIN)
        add(True, b"")
    return packets[session.skipped :]


def captured(session: Session) -> bytes:
    """As a host with several places on the way sees it: plain, in a VLAN, in a VXLAN."""
    frames = []
    for packet in packets_of(session):
        plain = packet.ethernet()
        copies = [plain, packet.ethernet(b"\x81\x00\x00\x07"), _vxlan(plain)]
        frames += [(packet.at + place * 2000, frame) for place, frame in enumerate(copies[: session.places])]
    return pcap(sorted(frames))


def _vxlan(frame: bytes) -> bytes:
    udp = (
        struct.pack(">HHHH", 50_000, 4789, (16 + len(frame)) & 0xFFFF, 0) + b"\x08\x00\x00\x00\x00\x00\x2a\x00" + frame
    )
    head = struct.pack(">BBHHHBBH", 0x45, 0, (20 + len(udp)) & 0xFFFF, 7, 0, 64, 17, 0) + bytes(
        (10, 0, 0, 1, 10, 0, 0, 2)
    )
    return b"\x02" * 12 + b"\x08\x00" + head + udp


def check(session: Session, directory: Path) -> None:
    path = directory / "legal.pcap"
    path.write_bytes(captured(session))
    observer = NatsObserver()
    evidence: PacketEvidence = read_captures([path], lambda _: observer)
    evidence = msgspec.structs.replace(evidence, nats=observer.traffic())
    for result in run_all(only_packets(evidence)).results:
        finding = result.finding
        assert finding.outcome is not Outcome.ERROR, (result.rule.code, finding.message)
        loud = finding.outcome is Outcome.FAIL and result.severity.rank >= Severity.WARNING.rank
        assert not (loud and result.rule.code in _BLAMED), (result.rule.code, finding.message)
    (connection,) = evidence.connections
    for flow in connection.flows:
        assert (flow.retransmission.segments, flow.duplicates, flow.missed_bytes, flow.unfilled_bytes) == (0, 0, 0, 0)
    assert connection.copies == (session.places - 1) * sum(flow.packets for flow in connection.flows)
    if not session.skipped:
        (talk,) = evidence.nats[0].connections
        published = sum(
            payload.startswith((b"PUB ORDERS", b"HPUB")) for to_server, payload in session.turns if to_server
        )
        assert (talk.publishing.messages, talk.publishing.acks, talk.whole) == (published, published, True)


@given(sessions())
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_legal_capture_accuses_nobody(tmp_path: Path, session: Session) -> None:
    check(session, tmp_path)


@pytest.mark.nightly
@given(sessions())
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
def test_ten_thousand_legal_captures_accuse_nobody(tmp_path: Path, session: Session) -> None:
    check(session, tmp_path)
