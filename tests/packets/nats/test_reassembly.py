"""Bytes come in the order in which they were sent, whatever the order of segments; what is missing is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.parse.packets.nats.conversation import HELD_BYTES, Reassembly
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


def test_what_was_held_back_has_the_time_of_what_filled_the_hole() -> None:
    received = Received()
    stream = Reassembly(received, 0)
    stream.segment(3, 10, memoryview(b"def"), 3)
    stream.segment(0, 250, memoryview(b"abc"), 3)
    assert bytes(received.bytes) == b"abcdef"
    assert received.times == [250, 250]
    assert (stream.held_back, stream.longest_hold_ns) == (1, 240)


def test_a_gap_is_reported_when_it_is_acknowledged() -> None:
    received = Received()
    stream = Reassembly(received, 0)
    stream.segment(5, 1, memoryview(b"fgh"), 3)
    assert not received.bytes
    stream.lost(5)
    assert bytes(received.bytes) == b"?????fgh"


def test_a_gap_is_reported_when_too_much_waits_behind_it() -> None:
    received = Received()
    stream = Reassembly(received, 0)
    for number in range(HELD_BYTES // 1024 + 1):
        stream.segment(1 + number * 1024, number, memoryview(b"x" * 1024), 1024)
    assert received.bytes.startswith(b"?x")


def test_what_the_capture_cut_off_is_reported() -> None:
    received = Received()
    stream = Reassembly(received, 0)
    stream.segment(0, 1, memoryview(b"abc"), 5)
    stream.segment(2, 2, memoryview(b"cdefg"), 5)
    assert bytes(received.bytes) == b"abc..fg"


def test_bytes_before_the_beginning_are_passed_over() -> None:
    received = Received()
    stream = Reassembly(received)
    stream.segment(0, 1, memoryview(b"abc"), 3)
    stream.segment(-3, 2, memoryview(b"xyz"), 3)
    assert bytes(received.bytes) == b"abc"
