"""Labels against the truth: what a forwarder really did to the packets of real NATS traffic."""

import gzip
from collections.abc import Iterator

import pytest

from jsdoctor.model.packets import Flow, Label, OrderProof
from jsdoctor.sources.packets.files import read_capture
from tests.packets.reading import CAPTURES, Noted, analyze

MEANING: dict[str, set[Label]] = {
    "reordered": {Label.REORDERED, Label.REORDERED_NEEDLESS},
    "reordered-behind-ack": {Label.BEHIND_ACK},
    "retransmission": {Label.LOST_UPSTREAM, Label.SENT_AGAIN},
    "network-duplicate": {Label.DUPLICATE},
    **{str(label): {label} for label in Label if label is not Label.REORDERED},
}
"""What the truth files of `nats-*` say, and those of `lab-*`, which are as exact as the labels."""

TRUTHS = sorted(path.name.removesuffix(".truth.tsv") for path in CAPTURES.glob("*.truth.tsv"))
UNDISTURBED = (
    *("nats-clean.client", "nats-clean.server", "nats-captureloss.server", "nats-any-dup-sll2", "nats-tls.client"),
    *("nats-errors.client", "nats-stale.client", "nats-lo-tso-nano-snap96", "nats-slowconsumer-snap128.server"),
    *("nats-skew+3.5s.client", "nats-ackv2-domain.client", "nats-vlan.client", "nats-two-interfaces"),
)
LOSSY = (
    *("nats-loss.server", "nats-midflow-loss.server", "nats-retry.server", "lab-lost-rtt20.client"),
    *("lab-lost-rtt20.server", "lab-lost-routes.client", "lab-lost-routes.server"),
)


def test_there_are_captures_with_a_truth() -> None:
    assert len(TRUTHS) >= 15


@pytest.mark.parametrize("name", TRUTHS)
def test_every_label_is_the_truth(name: str) -> None:
    noted = Noted()
    read_capture(CAPTURES / f"{name}.pcap.gz", noticed=noted)
    given = {frame: label for frame, label in noted.all.items() if label is not Label.INTO_ZERO_WINDOW}
    expected = dict(_truth(name))
    hidden = {frame for frame, kind in expected.items() if kind == "retransmission-advancing"}
    assert given.keys() == expected.keys() - hidden, "a packet was labelled that came in order, or the other way round"
    wrong = {frame: (expected[frame], label) for frame, label in given.items() if label not in MEANING[expected[frame]]}
    assert not wrong


@pytest.mark.parametrize("name", UNDISTURBED)
def test_a_network_without_disturbance_is_cleared(name: str) -> None:
    path = next(CAPTURES.glob(f"{name}.pcap*"))
    flows = [flow for connection in read_capture(path).connections for flow in connection.flows]
    assert flows
    assert [_blamed(flow) for flow in flows] == [0] * len(flows)


@pytest.mark.parametrize("name", LOSSY)
def test_loss_is_not_taken_for_reordering(name: str) -> None:
    connections = read_capture(CAPTURES / f"{name}.pcap.gz").connections
    assert sum(flow.retransmission.segments for connection in connections for flow in connection.flows)
    assert not any(
        flow.reordering.segments or flow.reordering.downstream
        for connection in connections
        for flow in connection.flows
    )


def test_every_packet_twice_is_reported_and_left_out() -> None:
    for name in ("nats-any-dup-sll2", "nats-two-interfaces"):
        connections = read_capture(next(CAPTURES.glob(f"{name}.pcap*"))).connections
        assert len(connections) == 2
        for connection in connections:
            assert connection.copies * 10 >= 9 * sum(flow.packets for flow in connection.flows)


def test_a_hole_of_the_capture_is_no_loss_of_the_network() -> None:
    flows = [
        flow
        for connection in read_capture(CAPTURES / "nats-captureloss.server.pcap.gz").connections
        for flow in connection.flows
    ]
    assert sum(flow.missed_bytes for flow in flows) == 5230
    assert not sum(flow.retransmission.segments for flow in flows)


def test_data_into_a_closed_window_is_no_loss() -> None:
    path = CAPTURES / "nats-slowconsumer-snap128.server.pcap.gz"
    noted = Noted()
    (connection,) = read_capture(path, noticed=noted).connections
    assert set(noted.all.values()) == {Label.INTO_ZERO_WINDOW}
    assert connection.to_client.into_zero_window == 4
    assert connection.to_server.zero_windows == 1
    assert 3_316_000_000 < connection.to_server.zero_window_ns < 3_317_000_000


def test_an_outage_is_a_chain_of_timeouts() -> None:
    flows = [
        flow
        for connection in read_capture(CAPTURES / "nats-blackout.client.pcap.gz").connections
        for flow in connection.flows
    ]
    worst = max(flows, key=lambda flow: flow.retransmission.longest_chain).retransmission
    assert (worst.timeout, worst.longest_chain) == (3, 3)
    assert 820_000_000 < worst.longest_wait_ns < 870_000_000


def test_without_ids_timestamps_are_the_proof() -> None:
    name = "nats-reorder.server"
    content = bytearray(gzip.decompress((CAPTURES / f"{name}.pcap.gz").read_bytes()))
    position = 24
    while position < len(content):
        captured = int.from_bytes(content[position + 8 : position + 12], "little")
        content[position + 16 + 18 : position + 16 + 20] = b"\x00\x00"  # the id of IPv4
        position += 16 + captured
    noted = Noted()
    analyzed = analyze(bytes(content), noted=noted)
    assert {flow.proof for connection in analyzed.connections for flow in connection.flows} == {OrderProof.TIMESTAMPS}
    expected = dict(_truth(name))
    right = sum(label in MEANING[expected[frame]] for frame, label in noted.all.items() if frame in expected)
    assert noted.all.keys() == expected.keys()
    assert right >= len(expected) - 1


def _truth(name: str) -> Iterator[tuple[int, str]]:
    for line in (CAPTURES / f"{name}.truth.tsv").read_text(encoding="utf-8").splitlines():
        if line[:1].isdigit():
            frame, _, kind = line.split("\t")
            yield int(frame), kind


def _blamed(flow: Flow) -> int:
    return (
        flow.reordering.segments
        + flow.reordering.downstream
        + flow.retransmission.segments
        + flow.retransmission.syn
        + flow.duplicates
        + flow.unfilled_bytes
    )
