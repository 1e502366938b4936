"""Two captures of one connection: loss, copies, delay and the clocks of both hosts."""

import gzip
import struct
from pathlib import Path

import pytest

from jsdoctor.checks.collection.input_skipped import input_skipped_captured
from jsdoctor.model.packets import PairedConnection
from jsdoctor.packets import pairs
from jsdoctor.sources.packets.files import read_captures
from tests.packets.frames import MILLISECOND, ethernet_pcap, handshake
from tests.packets.reading import CAPTURES

SECOND = 1000 * MILLISECOND


def both(name: str) -> tuple[Path, Path]:
    return CAPTURES / f"{name}.client.pcap.gz", CAPTURES / f"{name}.server.pcap.gz"


def moved(source: Path, to: Path, by_ns: int) -> Path:
    """The same capture by a clock that is ahead."""
    content = bytearray(gzip.decompress(source.read_bytes()))
    unit = 1 if content[:4] == b"\x4d\x3c\xb2\xa1" else 1000
    position = 24
    while position < len(content):
        seconds, fraction, captured = struct.unpack_from("<III", content, position)
        at = seconds * SECOND + fraction * unit + by_ns
        struct.pack_into("<II", content, position, at // SECOND, at % SECOND // unit)
        position += 16 + captured
    to.write_bytes(content)
    return to


def clocks(pair: PairedConnection) -> tuple[int, int]:
    assert pair.clock_low_ns is not None
    assert pair.clock_high_ns is not None
    return pair.clock_low_ns, pair.clock_high_ns


def test_a_clean_network_loses_nothing() -> None:
    evidence = read_captures(both("nats-clean"))
    assert len(evidence.pairs) == 2
    for pair in evidence.pairs:
        assert (pair.near, pair.far) == (0, 1)
        for path in (pair.to_server, pair.to_client):
            assert (path.lost, path.duplicated, path.reordered, path.lost_bytes) == (0, 0, 0, 0)
            assert path.sent == path.delay_above_least_ns.count > 20
        low, high = clocks(pair)
        assert low <= 0 <= high


@pytest.mark.parametrize("name", ["lab-lost-rtt20", "lab-mixed", "lab-mixed-ipv6"])
def test_loss_is_exact(name: str) -> None:
    pairs = read_captures(both(name)).pairs
    in_truth = (CAPTURES / f"{name}.server.truth.tsv").read_text(encoding="utf-8").splitlines()[0].partition(";")[0]
    for direction in ("to_server", "to_client"):
        paths = [getattr(pair, direction) for pair in pairs]
        assert f"'{direction}': {sum(path.lost for path in paths)}" in in_truth
        assert all(bool(path.lost_bytes) >= bool(path.lost) for path in paths if name != "lab-mixed")
        assert bool(sum(path.duplicated for path in paths)) is name.startswith("lab-mixed")
        assert bool(sum(path.reordered for path in paths)) is name.startswith("lab-mixed")


@pytest.mark.parametrize("by_ns", [3_500 * MILLISECOND, -7 * SECOND, 900 * MILLISECOND])
def test_clocks_that_differ(tmp_path: Path, by_ns: int) -> None:
    client, server = both("nats-reorder")
    late = moved(server, tmp_path / "server.pcap", by_ns)
    straight, shifted = read_captures((client, server)).pairs, read_captures((client, late)).pairs
    assert len(straight) == len(shifted) == 2
    for before, after in zip(straight, shifted, strict=True):
        assert (after.near, after.far) == (0, 1)
        low, high = clocks(after)
        assert low <= by_ns <= high
        assert high - low == before.least_round_trip_ns == after.least_round_trip_ns
        assert 0 < high - low < 3 * MILLISECOND
        assert (after.to_server, after.to_client) == (before.to_server, before.to_client)


def test_a_capture_that_ended_early_is_no_loss(tmp_path: Path) -> None:
    client, server = both("nats-clean")
    short = tmp_path / "short.pcap"
    content = gzip.decompress(server.read_bytes())
    short.write_bytes(content[: len(content) // 2])
    for pair in read_captures((client, short)).pairs:
        assert (pair.to_server.lost, pair.to_client.lost) == (0, 0)


def test_captures_of_other_connections_have_no_pairs(tmp_path: Path) -> None:
    assert read_captures([CAPTURES / "nats-clean.client.pcap.gz", CAPTURES / "nats-retry.server.pcap.gz"]).pairs == ()
    few = tmp_path / "few.pcap"
    few.write_bytes(ethernet_pcap(handshake()))
    assert read_captures([few, few]).pairs == ()


def test_of_too_many_packets_the_first_are_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MAX_PACKETS", 100)
    for pair in read_captures(both("nats-clean")).pairs:
        assert (pair.to_server.lost, pair.to_client.lost) == (0, 0)


def test_packets_that_were_not_compared_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MAX_PACKETS", 100)
    paths = both("nats-clean")
    read = read_captures(paths)
    assert [capture.not_compared for capture in read.captures] == [capture.packets - 100 for capture in read.captures]
    [told, _] = input_skipped_captured(read)
    assert "were not compared with the other captures" in told.message
    assert [capture.not_compared for capture in read_captures(paths[:1]).captures] == [0]
