"""Captures of hosts as they are: offloads on, bridges, tunnels, NAT. Nothing was lost in any of them, so nothing is."""

import gzip
from pathlib import Path

import pytest

from jsdoctor.sources.packets.files import read_captures
from tests.packets.mutations import Records
from tests.packets.segmented import segmented, write
from tests.packets.test_robustness import judged
from tests.support.packet_cases import capture_path, only_packets
from tests.support.rule_case import loud
from tests.support.ruleset import run_all

FULL = 1448


def raw(name: str) -> bytes:
    return gzip.decompress(capture_path(name).read_bytes())


def loud_in(*paths: Path) -> list[tuple[str, str, str]]:
    return loud(run_all(only_packets(judged(*paths))).results)


@pytest.mark.parametrize("sides", [("client", "server"), ("server", "client")])
def test_both_ends_with_offloads_lose_nothing(sides: tuple[str, str]) -> None:
    paths = [capture_path(f"lab-offload-bridge.{side}") for side in sides]
    evidence = read_captures(paths)
    assert len(evidence.pairs) == 3
    assert {(pair.to_server.lost, pair.to_client.lost) for pair in evidence.pairs} == {(0, 0)}
    assert loud_in(*paths) == []


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
    assert loud_in(client, server) == []


def test_what_was_acknowledged_was_not_lost_though_the_capture_missed_it(tmp_path: Path) -> None:
    client = write(tmp_path / "client.pcap", raw("lab-offload-bridge.client"))
    content, gone = segmented(raw("lab-offload-bridge.server"), FULL, lambda number: number % 40 == 7)
    server = write(tmp_path / "server.pcap", content)
    assert gone > 3
    assert [pair.to_server.lost for pair in read_captures([client, server]).pairs] == [0, 0, 0]
    assert "JSD502" not in {code for code, *_ in loud_in(client, server)}


def test_both_ends_of_nat_are_matched() -> None:
    evidence = read_captures([capture_path("lab-offload-nat.client"), capture_path("lab-offload-nat.server")])
    assert len(evidence.pairs) == 3
    for pair in evidence.pairs:
        assert pair.client != pair.far_client
        assert (pair.to_server.lost, pair.to_client.lost) == (0, 0)
    assert evidence.unmatched == ()


@pytest.mark.parametrize("name", ["lab-offload-bridge", "lab-offload-nat", "nats-clean"])
@pytest.mark.parametrize("thinned", ["client", "server"])
def test_what_one_capture_missed_is_not_lost(tmp_path: Path, name: str, thinned: str) -> None:
    paths = []
    for side in ("client", "server"):
        content = raw(f"{name}.{side}")
        paths.append(write(tmp_path / f"{side}.pcap", without_every(content, 9) if side == thinned else content))
    evidence = read_captures(paths)
    assert evidence.pairs
    assert sum(flow.missed_bytes for connection in evidence.connections for flow in connection.flows)
    for pair in evidence.pairs:
        assert (pair.to_server.lost_bytes, pair.to_client.lost_bytes) == (0, 0)


def without_every(content: bytes, nth: int) -> bytes:
    """As a capturing host writes it that is too slow: every nth packet is missing, but not the first and last ones."""
    records = Records.of(content, most=100_000)
    last = len(records.packets) - nth
    records.packets = [
        packet for number, packet in enumerate(records.packets) if number % nth or not nth <= number < last
    ]
    return records.content()
