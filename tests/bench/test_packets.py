"""The benchmark of captures in its smallest form: that it measures, and says so. No figure is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import __main__ as program
from bench.packet_capture import MEGABYTE, CapturePlan, write_capture
from jsdoctor.collect.packets.files import read_capture


def test_a_capture_is_the_same_for_the_same_seed_and_has_what_was_planted(tmp_path: Path) -> None:
    written = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        written[name] = write_capture(tmp_path / name, CapturePlan(megabytes=2, seed=seed, lost=0.02, reordered=0.02))
    content = {name: (tmp_path / name).read_bytes() for name in written}
    assert content["a"] == content["b"] != content["c"]
    assert 1.9 * MEGABYTE < len(content["a"]) < 2.1 * MEGABYTE
    flows = [flow for connection in read_capture(tmp_path / "a").connections for flow in connection.flows]
    assert sum(flow.reordering.segments for flow in flows) == written["a"].reordered > 0
    assert sum(flow.retransmission.segments for flow in flows) == written["a"].lost > 0


def test_packets(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only", "packets", "--rounds", "1", "--capture-megabytes", "2", "--published", "300"]) == 0
    output = capsys.readouterr().out
    assert "Packets: captures of 2 MB" in output
    for row in ("full packets", "snaplen 96", "jsdoctor: TCP", "jsdoctor: TCP and NATS", "peak memory of jsdoctor"):
        assert row in output
