"""Equal ids among stored messages: each is found with the one before it, however many there are."""

from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.stored import StoredStream
from jsdoctor.model.stored_ids import MAX_KEPT, Distances, Repeat
from jsdoctor.replies.stored import BLOCK_MESSAGES, Columns, HasId, equal_digests
from jsdoctor.sources.scan.stream import MessageRecorder, salted
from tests.cli.invoke import jsdoctor
from tests.scan.test_columns import AT_NS, SECOND_NS, sample_of, stream_of


def of_ids(*ids: str, apart_ns: int = SECOND_NS, **more: object) -> StoredStream:
    """Messages with these ids, one second after the other, the last one just now."""
    columns = Columns(digests=True)
    for place, message_id in enumerate(ids):
        digest = message_id.encode().rjust(8, b"\1") if message_id else b""
        columns.add(place + 1, AT_NS - (len(ids) - 1 - place) * apart_ns, "s", HasId.YES, digest)
    return stream_of(sample_of(columns, ids_read=True, **more))


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5)))
def test_every_equal_digest_is_found(digests: list[int]) -> None:
    last: dict[int, int] = {}
    expected = []
    for place, digest in enumerate(digests):
        if digest and digest in last:
            expected.append((last[digest], place))
        last[digest] = place
    assert sorted(equal_digests(array("Q", digests))) == sorted(expected)


def test_a_repeat_is_reported_with_the_one_before_it() -> None:
    stream = of_ids("a", "b", "a", "", "a")
    assert (stream.repeats.count, stream.repeats.ids) == (2, 1)
    first, second, third = (AT_NS - seconds * SECOND_NS for seconds in (4, 2, 0))
    assert stream.repeats.kept == (Repeat(1, first, 3, second), Repeat(3, second, 5, third))
    assert (stream.repeats.distances.smallest, stream.repeats.distances.largest) == (2 * SECOND_NS, 2 * SECOND_NS)


def test_what_was_compared_and_differs_is_no_retry() -> None:
    stream = of_ids("a", "a", "b", "b", "c", "c", contents={1: "x", 2: "y", 3: "x", 4: "x", 5: "x"})
    assert [repeat.stream_seq for repeat in stream.repeats.differing] == [2]
    assert [(repeat.stream_seq, repeat.differs) for repeat in stream.repeats.kept] == [(4, False), (6, None)]
    assert (stream.repeats.count, stream.repeats.differing_count, stream.repeats.compared) == (3, 1, 5)
    assert stream.contents_read


def test_across_blocks() -> None:
    ids = ["first", *("" for _ in range(BLOCK_MESSAGES)), "first"]
    (repeat,) = of_ids(*ids, apart_ns=1_000).repeats.kept
    assert (repeat.before_seq, repeat.stream_seq) == (1, BLOCK_MESSAGES + 2)


def test_of_many_repeats_the_closest_and_the_farthest_are_kept() -> None:
    many = 2 * MAX_KEPT + 500
    ids = [f"{number % many:06}" for number in range(2 * many)]
    stream = of_ids(*ids, apart_ns=1_000)
    assert (stream.repeats.count, stream.repeats.ids, len(stream.repeats.distances)) == (many, many, many)
    assert len(stream.repeats.kept) <= 2 * MAX_KEPT


def test_dates_that_go_back_have_no_distance() -> None:
    columns = Columns(digests=True)
    for stream_seq, date_ns in ((1, AT_NS), (2, AT_NS - SECOND_NS)):
        columns.add(stream_seq, date_ns, "s", HasId.YES, b"12345678")
    assert stream_of(sample_of(columns, ids_read=True)).repeats.distances.largest == 0


@given(st.lists(st.integers(0, 100), min_size=1), st.integers(0, 101))
def test_what_a_window_would_have_caught(lengths: list[int], window: int) -> None:
    distances = Distances(array("q", lengths))
    assert distances.below(window) == sum(length < window for length in lengths)
    assert distances.largest_below(window) == max((length for length in lengths if length < window), default=0)


def test_the_window_and_what_is_older_than_the_stream() -> None:
    columns = Columns(digests=True)
    for stream_seq, seconds in ((1, 30), (2, 20), (3, 10), (4, 5)):
        columns.add(stream_seq, AT_NS - seconds * SECOND_NS, "s", HasId.YES if stream_seq != 3 else HasId.NO)
    stream = stream_of(
        sample_of(columns, duplicate_window=20 * SECOND_NS, created=f"2026-11-21T09:59:{45}Z", ids_read=True)
    )
    assert stream.ids_in_window == 1, "a message of just the window's age is forgotten, and one has no id"
    assert (stream.older.count, stream.older.last_seq) == (2, 2)
    assert (stream.first_ns, stream.last_ns) == (AT_NS - 30 * SECOND_NS, AT_NS - 5 * SECOND_NS)


@pytest.mark.parametrize("source", ["ORDERS 1 > >", "ORDERS 2 > >", "EVENTS 1 > >", ""])
def test_an_id_counts_in_the_stream_that_it_was_published_to(source: str) -> None:
    """Two origins may use the same ids for different messages; one and the same origin may not."""
    taker = MessageRecorder(salted())
    origin = f"Nats-Stream-Source: {source}\r\n".encode() if source else b""
    first = b"NATS/1.0\r\nNats-Msg-Id: 7\r\nNats-Stream-Source: ORDERS 1 > >\r\n\r\n"
    taker.take_raw(1, 1, "s", first)
    taker.take_raw(2, 2, "s", b"NATS/1.0\r\n" + origin + b"Nats-Msg-Id: 7\r\n\r\n")
    headers = {"Nats-Msg-Id": "7"} | ({"Nats-Stream-Source": source} if source else {})
    taker.take(3, 3, "s", headers)
    same = source.startswith("ORDERS")
    assert taker.columns.again() == ([1, 2, 3] if same else [2, 3]), "both ways of reading tell the same"


def test_contents_of_no_stream_cannot_be_compared(tmp_path: Path) -> None:
    done = jsdoctor("check", "--digests", cwd=tmp_path)
    assert done.returncode == 2
    assert "--scan" in done.stderr
