"""Captures of hosts as they are: offloads on, bridges, tunnels, NAT. Nothing was lost in any of them, so nothing is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from jsdoctor.collect.packets.files import read_captures
from jsdoctor.model.finding import Outcome, Severity
from tests.packet_cases import capture_path, only_packets
from tests.packets.segmented import segmented, write
from tests.packets.test_robustness import judged
from tests.ruleset import run_all

FULL = 1448


def raw(name: str) -> bytes:
    return gzip.decompress(capture_path(name).read_bytes())


def loud(*paths: Path) -> list[tuple[str, str]]:
    results = run_all(only_packets(judged(*paths))).results
    return [
        (result.rule.code, result.finding.message)
        for result in results
        if result.finding.outcome is Outcome.FAIL and result.severity.rank >= Severity.WARNING.rank
    ]


@pytest.mark.parametrize("sides", [("client", "server"), ("server", "client")])
def test_both_ends_with_offloads_lose_nothing(sides: tuple[str, str]) -> None:
    paths = [capture_path(f"lab-offload-bridge.{side}") for side in sides]
    evidence = read_captures(paths)
    assert len(evidence.pairs) == 3
    assert {(pair.to_server.lost, pair.to_client.lost) for pair in evidence.pairs} == {(0, 0)}
    assert loud(*paths) == []


def test_what_the_card_cuts_is_not_lost(tmp_path: Path) -> None:
    client = write(tmp_path / "client.pcap", raw("lab-offload-bridge.client"))
    content, _ = segmented(raw("lab-offload-bridge.server"), FULL)
    server = write(tmp_path / "server.pcap", content)
    evidence = read_captures([client, server])
    busy = [pair for pair in evidence.pairs if pair.to_server.by_bytes or pair.to_client.by_bytes]
    assert len(busy) == 2
    assert {(pair.to_server.lost, pair.to_client.lost, pair.to_server.duplicated) for pair in evidence.pairs} == {
        (0, 0, 0)
    }
    assert loud(client, server) == []


def test_what_is_lost_behind_the_card_is_counted_in_packets(tmp_path: Path) -> None:
    client = write(tmp_path / "client.pcap", raw("lab-offload-bridge.client"))
    content, gone = segmented(raw("lab-offload-bridge.server"), FULL, lambda number: number % 40 == 7)
    server = write(tmp_path / "server.pcap", content)
    evidence = read_captures([client, server])
    lost_there = sum(pair.to_server.lost for pair in evidence.pairs)
    assert gone > 3
    assert 0 < lost_there <= gone, "what the server sent was dropped from the server's capture: nobody sent it there"
    sent = sum(pair.to_server.sent for pair in evidence.pairs if pair.to_server.by_bytes)
    assert lost_there / sent == pytest.approx(1 / 40, rel=0.6)


def test_both_ends_of_nat_are_matched() -> None:
    evidence = read_captures([capture_path("lab-offload-nat.client"), capture_path("lab-offload-nat.server")])
    assert len(evidence.pairs) == 3
    for pair in evidence.pairs:
        assert pair.client != pair.far_client
        assert (pair.to_server.lost, pair.to_client.lost) == (0, 0)
    assert evidence.unmatched == ()


@pytest.mark.parametrize("name", ["lab-offload-bridge.any1", "lab-offload-vxlan.any2"])
def test_a_bridge_shows_each_packet_twice_and_it_counts_once(name: str) -> None:
    evidence = read_captures([capture_path(name)])
    for connection in evidence.connections:
        seen = sum(flow.packets for flow in connection.flows)
        assert connection.copies == seen
        assert not any(flow.retransmission.segments + flow.duplicates for flow in connection.flows)
        assert not connection.captured_twice
