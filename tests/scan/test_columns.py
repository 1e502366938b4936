"""The raw form of a scan: what goes in comes out, whatever it is, and what is no scan is refused."""

import base64
import zlib
from collections import Counter
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.bundles.bundle import decode_manifest, decode_samples, encode_bundle
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.stored import MAX_INVERSIONS, MAX_SUBJECTS, Inversion, StoredMessages, StoredStream
from jsdoctor.redaction.redact import Secret, redact
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.clock import nanoseconds
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.replies.stored import BLOCK_MESSAGES, Columns, HasId, MessageBlock, StoredReply, unpack

AT = datetime(2026, 11, 21, 10, tzinfo=UTC)
AT_NS = nanoseconds(AT)
SECOND_NS = 1_000_000_000
DATES = st.integers(min_value=0, max_value=2 * AT_NS)


def sample_of(columns: Columns, **more: object) -> Sample:
    known = {"stream": "S", "read_by": "CONSUMER", "at": AT, "subjects": columns.subjects(), "blocks": columns.blocks()}
    body = msgspec.json.encode(StoredReply(**known | more))  # type: ignore[arg-type]
    return Sample(AT, (Exchange(Access.ACCOUNT, Endpoint.STORED_MESSAGES, "the scan", AT, 1, body),))


def stream_of(sample: Sample) -> StoredStream:
    stored = assemble([sample]).get(StoredMessages)
    assert stored is not None
    (stream,) = stored.streams
    return stream


def of_dates(*dates_ns: int) -> Columns:
    columns = Columns()
    for stream_seq, date_ns in enumerate(dates_ns, 1):
        columns.add(stream_seq, date_ns, "s", HasId.NO)
    return columns


@given(st.lists(st.tuples(st.integers(1, 1 << 40), DATES, st.sampled_from(HasId), st.binary(min_size=8, max_size=8))))
def test_what_goes_in_comes_out(messages: list[tuple[int, int, HasId, bytes]]) -> None:
    columns, stream_seq = Columns(digests=True), 0
    added: list[tuple[int, int, int, bytes]] = []
    for step, date_ns, has_id, digest in messages:
        stream_seq += step
        columns.add(stream_seq, date_ns, "s", has_id, digest)
        added.append((stream_seq, date_ns, int(has_id), digest))
    many = Counter(digest for *_, digest in added)
    expected = [(seq, at, kind, digest if many[digest] > 1 else bytes(8)) for seq, at, kind, digest in added]
    assert (columns.messages, columns.last_seq) == (len(messages), stream_seq)
    unpacked = []
    for rows in map(unpack, columns.blocks()):
        packed_digests = rows.digests or bytes(8 * len(rows.ids))
        digests = [packed_digests[at : at + 8] for at in range(0, len(packed_digests), 8)]
        unpacked += list(zip(rows.sequences, rows.dates, rows.ids, digests, strict=True))
    assert unpacked == expected
    assert (columns.messages, columns.last_seq) == (len(messages), stream_seq)


@given(st.lists(st.integers(0, 2 * SECOND_NS), min_size=1))
def test_every_inversion_is_found(steps: list[int]) -> None:
    dates = [AT_NS - 5 * SECOND_NS + step for step in steps]
    stream = stream_of(sample_of(of_dates(*dates)))
    expected = [
        Inversion(place, dates[place - 1], place + 1, dates[place])
        for place in range(1, len(dates))
        if dates[place] < dates[place - 1]
    ]
    assert list(stream.inversions.kept) == expected
    assert stream.inversions.count == len(expected)
    assert stream.future.count == 0


def test_blocks_are_read_across_their_ends() -> None:
    dates = [AT_NS - SECOND_NS] * BLOCK_MESSAGES + [AT_NS - 3 * SECOND_NS]
    stream = stream_of(sample_of(of_dates(*dates)))
    (inversion,) = stream.inversions.kept
    assert (inversion.stream_seq, inversion.size_ns) == (BLOCK_MESSAGES + 1, 2 * SECOND_NS)
    assert (stream.messages, stream.last_seq) == (BLOCK_MESSAGES + 1, BLOCK_MESSAGES + 1)


def test_of_many_inversions_the_largest_are_kept() -> None:
    dates = [AT_NS - SECOND_NS - number * (number % 2) for number in range(2 * MAX_INVERSIONS + 100)]
    stream = stream_of(sample_of(of_dates(*dates)))
    assert stream.inversions.count == MAX_INVERSIONS + 50
    assert len(stream.inversions.kept) == MAX_INVERSIONS
    assert min(kept.size_ns for kept in stream.inversions.kept) == 101


def test_dates_in_the_future() -> None:
    stream = stream_of(sample_of(of_dates(AT_NS, AT_NS + 60 * SECOND_NS, AT_NS + 9 * SECOND_NS, AT_NS)))
    assert (stream.future.count, stream.future.first_seq, stream.future.last_seq) == (2, 2, 3)
    assert stream.future.farthest_ns // SECOND_NS == 59
    assert stream.inversions.largest is not None
    assert stream.inversions.largest.stream_seq == 3


def test_subjects_beyond_a_thousand_are_counted_together() -> None:
    columns = Columns()
    for number in range(MAX_SUBJECTS + 20):
        columns.add(number + 1, AT_NS, f"s.{number}", HasId.YES if number % 2 else HasId.MISNAMED)
    rows = columns.subjects()
    assert len(rows) == MAX_SUBJECTS + 1
    assert (rows[-1].subject, rows[-1].with_id, rows[-1].without_id, rows[-1].misnamed) == ("", 10, 10, 10)


def test_a_bundle_and_redaction_keep_all_of_it() -> None:
    columns = of_dates(AT_NS, AT_NS - SECOND_NS)
    columns.add(3, AT_NS, "auth.token", HasId.YES)
    sample = sample_of(columns)
    clean = redact([sample], [Secret("password", "not-in-there")])
    assert (clean.samples, sum(clean.counts.values())) == ((sample,), 0)
    members = dict(encode_bundle([sample], created=AT, version="1"))
    manifest = decode_manifest(members.pop("manifest.json"))
    assert decode_samples(manifest, members) == (sample,)


def packed(column: bytes) -> str:
    return base64.b64encode(zlib.compress(column)).decode()


EIGHT = bytes(7) + b"\1"
BROKEN = {
    "no base64": MessageBlock(messages=1, sequences="%", dates=packed(EIGHT), ids=packed(b"\0")),
    "not deflated": MessageBlock(messages=1, sequences="AAAA", dates=packed(EIGHT), ids=packed(b"\0")),
    "too long": MessageBlock(messages=1, sequences=packed(bytes(1 << 20)), dates=packed(EIGHT), ids=packed(b"\0")),
    "too short": MessageBlock(messages=2, sequences=packed(EIGHT), dates=packed(EIGHT), ids=packed(b"\0")),
    "sequences that stay": MessageBlock(
        messages=2, sequences=packed(bytes(16)), dates=packed(bytes(16)), ids=packed(bytes(2))
    ),
    "too large": MessageBlock(messages=2, sequences=packed(b"\xff" * 7 + b"\x7f" + EIGHT), dates="", ids=""),
    "a date before 1970": MessageBlock(
        messages=1, sequences=packed(EIGHT), dates=packed(b"\xff" * 8), ids=packed(b"\0")
    ),
}


@pytest.mark.parametrize("block", BROKEN.values(), ids=BROKEN)
def test_what_nobody_wrote_is_a_gap(block: MessageBlock) -> None:
    with pytest.raises(ReplyError):
        unpack(block)
    evidence = assemble([sample_of(Columns(), blocks=(block,))])
    assert evidence.get(StoredMessages) is None
    assert [gap.kind for gap in evidence.gaps if gap.requested] == ["reply"]


def test_blocks_out_of_order_are_a_gap() -> None:
    first, other = of_dates(AT_NS).blocks(), of_dates(AT_NS, AT_NS).blocks()
    evidence = assemble([sample_of(Columns(), blocks=(*first, *other))])
    assert "not in order" in next(gap.reason for gap in evidence.gaps if gap.requested)
