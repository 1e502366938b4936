"""Labels, loss and delay against the truth of our own lab: a real server behind a network that we disturb."""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from jsdoctor.model.packets import PairedConnection, TcpConnection
from jsdoctor.sources.packets.files import read_capture, read_captures
from tests.lab import Disturbance, Lab, Truth, lab_or_skip, truth
from tests.lab.plan import SERVER_V4, TO_CLIENT, TO_SERVER
from tests.lab.shifted import wrapped
from tests.packets.reading import Noted

pytestmark = pytest.mark.real
MIXED = Disturbance(lost=0.02, reordered=0.05, duplicated=0.03)
CONDITIONS = {
    "clean": Disturbance(),
    "loss": Disturbance(lost=0.03, delay=2),
    "loss on a long way": Disturbance(lost=0.03, delay=10),
    "reordered by more than a round trip": Disturbance(reordered=0.08),
    "reordered by less than a round trip": Disturbance(reordered=0.06, delay=10, late=(0.5, 8)),
    "duplicated": Disturbance(duplicated=0.08),
    "mixed": MIXED,
    "mixed, acks as well": Disturbance(lost=0.02, reordered=0.05, duplicated=0.03, data_only=False),
}


@dataclass
class Score:
    """Segments that did not come in order: how many, how many of them got the true label; false alarms on others."""

    odd: int = 0
    right: int = 0
    false_alarms: int = 0
    in_order: int = 0

    def add(self, expected: Truth, noted: Noted) -> None:
        true = {**expected.labels[TO_SERVER], **expected.labels[TO_CLIENT]}
        given = noted.all  # routes are opened from both ends: whose direction it is does not matter
        self.odd += len(true)
        self.right += sum(given.get(frame) == label for frame, label in true.items())
        self.false_alarms += len(given.keys() - true.keys())
        self.in_order += sum(expected.in_order.values())


@pytest.fixture(autouse=True)
def _lab() -> None:
    lab_or_skip()


def disturbed(directory: Path, plan: Disturbance, traffic: Callable[[Lab], str]) -> tuple[Lab, Score]:
    """A lab that has run, and how the labels at both ends compare with the truth."""
    with Lab.open(directory, plan) as lab:
        output = traffic(lab)
    assert '"stored"' in output
    score = Score()
    for path, at_server in ((lab.client_capture, False), (lab.server_capture, True)):
        noted = Noted()
        read_capture(path, noticed=noted)
        score.add(truth(lab.report, path, at_server=at_server), noted)
    return lab, score


def test_a_disturbed_network_is_judged_right(tmp_path: Path) -> None:
    lab, score = disturbed(tmp_path, MIXED, lambda lab: lab.publish(300))
    assert score.odd > 20
    assert score.false_alarms == 0
    assert score.right >= 0.97 * score.odd
    before, after = Noted(), Noted()
    plain = read_capture(lab.server_capture, noticed=before)
    wrapped(lab.server_capture, tmp_path / "wrapped.pcap")
    shifted = read_capture(tmp_path / "wrapped.pcap", noticed=after)
    assert after.labels == before.labels
    assert shifted.connections == plain.connections


def test_two_captures_show_exactly_what_was_lost(tmp_path: Path) -> None:
    plan = Disturbance(lost=0.04, duplicated=0.04, data_only=False)
    with Lab.open(tmp_path, plan) as lab:
        lab.publish(200)
        later = f"import socket, time; time.sleep(0.8); socket.create_connection(('{SERVER_V4}', 4222), 30).recv(10)"
        lab.run(lab.client, sys.executable, "-c", later)
    evidence = read_captures([lab.server_capture, lab.client_capture])
    copies = Counter(passed.direction for passed in lab.report.passed if passed.copy and passed.number >= 0)
    pairs = evidence.pairs
    unmatched = sum(map(_packets, evidence.connections)) - sum(map(_packets, _of_pairs(evidence.connections, pairs)))
    lost = {TO_SERVER: sum(p.to_server.lost for p in pairs), TO_CLIENT: sum(p.to_client.lost for p in pairs)}
    again = {
        TO_SERVER: sum(p.to_server.duplicated for p in pairs),
        TO_CLIENT: sum(p.to_client.duplicated for p in pairs),
    }
    for direction in (TO_SERVER, TO_CLIENT):
        assert 0 <= lab.report.dropped[direction] - lost[direction] <= unmatched
        assert 0 <= copies[direction] - again[direction] <= unmatched
    assert sum(lost.values()) > 10
    assert sum(again.values()) > 10
    for pair in pairs:
        assert (pair.near, pair.far) == (1, 0)
        assert pair.clock_low_ns is not None
        assert pair.clock_high_ns is not None
        assert pair.clock_low_ns <= 0 <= pair.clock_high_ns, "both captures have the clock of this machine"
        assert pair.least_round_trip_ns is not None
        assert pair.least_round_trip_ns >= 2_000_000


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_condition(tmp_path: Path, name: str, seed: int) -> None:
    plan = CONDITIONS[name].seeded(seed)
    lab, score = disturbed(tmp_path, plan, lambda lab: lab.publish(1500))
    assert score.false_alarms == 0
    assert score.right >= 0.985 * score.odd
    connections = read_captures([lab.server_capture, lab.client_capture]).connections
    if not plan.reordered:
        assert not sum(flow.reordering.segments for connection in connections for flow in connection.flows)
        assert sum(flow.reordering.downstream for connection in connections for flow in connection.flows) <= 2
    assert not sum(flow.missed_bytes for connection in connections for flow in connection.flows)


@pytest.mark.nightly
def test_without_ids(tmp_path: Path) -> None:
    _, score = disturbed(tmp_path, MIXED, lambda lab: lab.publish(1500, ipv6=True))
    assert score.false_alarms == 0
    assert score.right >= 0.93 * score.odd


@pytest.mark.nightly
def test_routes(tmp_path: Path) -> None:
    plan = Disturbance(lost=0.03)
    _, score = disturbed(tmp_path, plan, lambda lab: lab.publish_on_route(1000))
    assert score.odd > 10
    assert score.false_alarms == 0
    assert score.right >= 0.98 * score.odd


def _packets(connection: TcpConnection) -> int:
    return sum(flow.packets for flow in connection.flows)


def _of_pairs(connections: tuple[TcpConnection, ...], pairs: tuple[PairedConnection, ...]) -> list[TcpConnection]:
    known = {(pair.client, pair.server) for pair in pairs}
    return [connection for connection in connections if (connection.client, connection.server) in known]
