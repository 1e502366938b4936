"""Captures that ended a run or a check once, and captures with any damage: evidence comes out, and every check runs."""

import gzip
import struct
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.packets.segment import ACK, PSH
from jsdoctor.sources.packets.files import read_captures
from tests.packets.frames import (
    MILLISECOND,
    Packet,
    ethernet_pcap,
    handshake,
    pcapng_block,
    pcapng_interface,
    pcapng_packet,
    pcapng_section,
)
from tests.packets.mutations import mutated
from tests.support.packet_cases import CAPTURES, only_packets
from tests.support.ruleset import run_all

SECOND = 1000 * MILLISECOND
_CONNECT = b'CONNECT {"verbose":false,"lang":"python3"}\r\n'


def judged(*paths: Path) -> PacketEvidence:
    """The evidence of these files, after every check has run on it without an error and all of it was encoded."""
    observer = NatsObserver()
    evidence = read_captures(paths, lambda _: observer)
    evidence = msgspec.structs.replace(evidence, nats=observer.traffic())
    msgspec.json.encode(evidence)
    for result in run_all(only_packets(evidence)).results:
        assert result.finding.outcome is not Outcome.ERROR, (result.rule.code, result.finding.message)
        msgspec.json.encode(result.finding)
    return evidence


def test_data_shortly_behind_a_pure_ack_that_overtook_it(tmp_path: Path) -> None:
    first = [replace(packet, ts_val=7) for packet in handshake()]
    ack = Packet(2 * MILLISECOND, 1001 + len(_CONNECT), ack=9001, flags=ACK, ts_val=7)
    data = Packet(2 * MILLISECOND + 300_000, 1001, _CONNECT, ack=9001, ts_val=7)
    (tmp_path / "a.pcap").write_bytes(ethernet_pcap([*first, ack, data]))
    assert judged(tmp_path / "a.pcap").captures[0].packets == 5


def test_a_capture_that_begins_during_an_outage(tmp_path: Path) -> None:
    again = [
        Packet(at * SECOND, 5000, b"PUB a 1\r\nx\r\n", ack=1, flags=ACK | PSH, ip_id=9 + at, ts_val=1000 * at)
        for at in (1, 2, 4, 8)
    ]
    (tmp_path / "a.pcap").write_bytes(ethernet_pcap(again))
    (connection,) = judged(tmp_path / "a.pcap").connections
    assert connection.to_server.retransmission.segments == 3


@pytest.mark.parametrize("ticks", [2**64 - 1, 2**63, 10**19])
def test_times_that_cannot_be(tmp_path: Path, ticks: int) -> None:
    packets = handshake()
    bad = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, 74, 74) + packets[2].ethernet().ljust(74, b"\x00")
    body = [pcapng_packet(packet.at, packet.ethernet()) for packet in packets[:2]]
    content = pcapng_section() + pcapng_interface() + b"".join(body) + pcapng_block(6, bad)
    for name in ("a.pcapng", "b.pcapng"):
        (tmp_path / name).write_bytes(content)
    evidence = judged(tmp_path / "a.pcapng", tmp_path / "b.pcapng")
    assert [capture.damaged_times for capture in evidence.captures] == [1, 1]


@pytest.mark.parametrize(("runs", "seed"), [(150, 1), pytest.param(10_000, 2, marks=pytest.mark.nightly)])
def test_any_damage_is_survived(tmp_path: Path, runs: int, seed: int) -> None:
    sources = [gzip.decompress(path.read_bytes()) for path in sorted(CAPTURES.glob("*.pcap.gz"))]
    for number in range(runs):
        chance = Random(seed * 1_000_000 + number)  # noqa: S311 - seeded on purpose
        source = chance.choice(sources)
        paths = [tmp_path / name for name in ("a.pcap", "b.pcap")[: chance.choice((1, 1, 1, 2))]]
        for path in paths:
            path.write_bytes(mutated(source, chance))
        judged(*paths)
