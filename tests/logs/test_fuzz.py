"""Broken input of any kind: no exception, every byte accounted for, and the same answer however it is read."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jsdoctor.logs.lines.line import read_line, read_structured
from jsdoctor.logs.lines.stamp import LogYear
from tests.logs.corpus import REAL, WRAPPINGS, evidence, same

SEEDS = [
    (REAL / "2.15.1" / "c2-n1.log").read_bytes()[:6000],
    (REAL / "2.10.26" / "l4-partition_n3.log").read_bytes()[:6000],
    (REAL / "2.15.1" / "syslog-udp.log").read_bytes(),
    b"\n".join(wrap((REAL / "2.15.1" / "c2-n1.log").read_bytes().splitlines()[3]) for wrap in WRAPPINGS.values()),
]
NASTY = st.sampled_from(
    (
        *(b"\n", b"\r", b"\x00", b"\xff", b"^C", b'{"log":"', b"[1] ", b"[WRN] ", b"==> x <==\n", b"--- n1.log\n"),
        *(b"2026/11/21 09:23:30.349568 [", b"9999/99/99 99:99:99.999999 [INF] ", b"2026-11-21T09:23:30Z", b"\n\n\n"),
        *(b"Starting nats-server\n", b" has NO quorum, stalled", b"'A > B' ", b"\\u003e", b'"}', b"x" * 20_000),
        *(b"panic: ", b"  Name:     n9\n"),
    )
)
EDIT = st.tuples(st.integers(0, 1 << 16), st.integers(0, 400), st.one_of(NASTY, st.binary(max_size=40)))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from(SEEDS))
    for place, cut, added in draw(st.lists(EDIT, max_size=12)):
        at = place % (len(data) + 1)
        data = data[:at] + added + data[at + cut :]
    return data


# Hypothesis warns of a failing example that is long, and the example is what there is to see.
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")

RUN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def check(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(data)
    whole = evidence([file])
    (row,) = whole.files
    not_understood = "inside a form that is not known" in row.problem  # read to its end, and not judged
    assert row.problem == "" or not_understood or row.skipped == len(data)
    if row.wrapping != "paste":  # such a text is made into other lines, and is never cut
        assert row.problem or (row.read, row.lines) == (len(data), data.count(b"\n") + (data[-1:] not in {b"", b"\n"}))
        assert same(evidence([file], size=1000), whole)
    assert same(evidence([file], native=False), whole)


@settings(RUN, max_examples=150)
@given(data=mutated())
def test_mutated_logs(tmp_path: Path, data: bytes) -> None:
    check(tmp_path, data)


@pytest.mark.nightly
@settings(RUN, max_examples=10_000)
@given(data=mutated())
def test_ten_thousand_mutated_logs(tmp_path: Path, data: bytes) -> None:
    check(tmp_path, data)


@settings(RUN, max_examples=60)
@given(data=mutated(), edits=st.lists(EDIT, max_size=4))
def test_mutated_archives(tmp_path: Path, data: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    packed = gzip.compress(data)
    for place, cut, added in edits:
        at = place % (len(packed) + 1)
        packed = packed[:at] + added + packed[at + min(cut, 8) :]
    file = tmp_path / "n1.log"
    file.write_bytes(packed)
    rows = evidence([file]).files
    assert all(row.problem or row.read == len(data) or row.codec != "gzip" or edits for row in rows)


@settings(RUN, max_examples=300)
@given(line=st.one_of(st.binary(max_size=300), mutated()))
def test_any_line_is_read(line: bytes) -> None:
    read_line(line, LogYear(2026))
    read_structured(b"{" + line, LogYear(2026))


def test_deeply_nested_json_is_text() -> None:
    assert read_line(b'{"a":' * 50_000, LogYear(2026)).server is False
    assert read_line(b'{"msg":' + b"[" * 7000 + b"]" * 7000 + b"}", LogYear(2026)).server is False


@pytest.mark.parametrize("size", [400, 420, 440, 458])  # the last three end in the undated line
def test_a_start_without_a_time_ends_a_process_however_it_is_read(tmp_path: Path, size: int) -> None:
    """A part may end with the undated line, before any dated line of the new process."""
    stamped = [b"[7] 2026/11/21 10:00:%02d.000000 [INF] line %d" % (second, second) for second in range(20)]
    file = tmp_path / "n1.log"
    file.write_bytes(b"\n".join([*stamped[:9], b"Starting nats-server", *stamped[9:], b""]))
    whole = evidence([file])
    assert len(whole.runs) == 2
    assert same(evidence([file], size=size), whole)


def test_a_mark_of_utf_16_before_bytes_of_ascii_is_no_utf_16(tmp_path: Path) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(b"\xff\xfe" + SEEDS[0])
    (row,) = evidence([file]).files
    assert (row.problem, row.read, row.lines) == ("", 6002, SEEDS[0].count(b"\n") + 1)
