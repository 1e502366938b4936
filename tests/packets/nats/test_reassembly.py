"""Bytes come in the order in which they were sent, whatever the order of segments; what is missing is told."""

from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.packets.nats.conversation import HELD_BYTES, Reassembly
from tests.packets.nats.speech import pieces


class Received:
    """What a reader gets; a gap is written as so many question marks, what was cut off as dots."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.times: list[int] = []
        self.readable = True

    def data(self, at_ns: int, data: memoryview) -> None:
        self.bytes += data
        self.times.append(at_ns)

    def uncaptured(self, at_ns: int, length: int) -> None:  # noqa: ARG002
        self.bytes += b"." * length

    def gap(self, at_ns: int, length: int) -> None:  # noqa: ARG002
        self.bytes += b"?" * length


@given(st.binary(min_size=1, max_size=200), st.lists(st.integers(0, 200)), st.randoms(use_true_random=False))
def test_any_order_and_any_repetition_is_the_same_text(data: bytes, cuts: list[int], random: object) -> None:
    segments = pieces(data, cuts) * 2 + [(0, data[:7])]
    random.shuffle(segments)  # type: ignore[attr-defined]
    received = Received()
    stream = Reassembly(received, 0)
    for at_ns, (offset, part) in enumerate(segments):
        stream.segment(offset, at_ns, memoryview(part), len(part))
    stream.finish(len(segments))
    assert bytes(received.bytes) == data
    assert received.times == sorted(received.times)


def test_a_gap_is_reported_when_too_much_waits_behind_it() -> None:
    received = Received()
    stream = Reassembly(received, 0)
    for number in range(HELD_BYTES // 1024 + 1):
        stream.segment(1 + number * 1024, number, memoryview(b"x" * 1024), 1024)
    assert received.bytes.startswith(b"?x")
