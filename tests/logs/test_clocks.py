"""The readers of a block with numpy and without say the same, whatever the block begins and ends with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.parse.logs.scan import clock_numpy, clock_plain, repeats, repeats_numpy
from jsdoctor.parse.logs.scan.time_segments import FoundLines, ProcessKeys
from tests.logs.corpus import REAL

LOGS = sorted(path for path in REAL.rglob("*") if path.is_file())
LINE = b"[7119] 2026/11/21 10:05:13.354814 [DBG] Apply stream entries for 'A > Q' got error\n"


def cuts(text: bytes, chance: random.Random) -> list[bytes]:
    """The text, its ends, pieces shorter than a stamp and what is before and behind it, and damaged ones."""
    texts = [text, text[5:], text[:-7], *(text[:size] for size in (0, 1, 27, 28, 40, 47, 56, 60, 100))]
    for _ in range(8):
        begin = chance.randrange(len(text) + 1)
        texts.append(text[begin : begin + chance.choice((30, 40, 50, 56, 80, 300, 5000))])
    for _ in range(4):
        damaged = bytearray(text[:20_000])
        for _ in range(60):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        texts.append(bytes(damaged))
    return texts


def columns_of(lines: FoundLines) -> list[tuple[object, ...]]:
    """Where a stamp stands counts only where there is one."""
    columns = zip(lines.begins, lines.ends, lines.stamps, lines.us, strict=True)
    return [(begin, end, stamp if us is not None else None, us) for begin, end, stamp, us in columns]


def alike(block: bytes) -> None:
    fast, plain = clock_numpy.read_clock(block), clock_plain.read_clock(block)
    assert (fast.lines, fast.long_lines) == (plain.lines, plain.long_lines)
    positions = range(0, len(block), 37)
    single = range(0, fast.lines, 3)
    found_lines = fast.lines_of(single, positions)
    assert columns_of(found_lines) == columns_of(plain.lines_of(single, positions))
    for begin, end in found_lines.runs:
        prefixes = {
            None if us is None else block[start:stamp]
            for start, stamp, us in zip(
                found_lines.begins[begin:end], found_lines.stamps[begin:end], found_lines.us[begin:end], strict=True
            )
        }
        assert len(prefixes) == 1, "a run has one prefix"
    assert [end for _, end in found_lines.runs[:-1]] == [begin for begin, _ in found_lines.runs[1:]]
    skip = [found_lines.begins[0]] if found_lines.begins else []
    for left_out in ([], skip):
        assert list(fast.segments([], left_out, ProcessKeys(2026))) == list(
            plain.segments([], left_out, ProcessKeys(2026))
        )


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(REAL)))
def test_real_logs(path: Path) -> None:
    text = path.read_bytes()[:300_000]
    for block in cuts(text or LINE, random.Random(len(text))):  # noqa: S311 - the same cuts each time
        alike(block)


@given(
    st.lists(
        st.sampled_from([LINE, LINE[7:], b"\n", b"x\n", b"panic: no\n", LINE[:40] + b"\n", LINE[:-1]]), max_size=30
    )
)
def test_short_blocks(lines: Sequence[bytes]) -> None:
    alike(b"".join(lines))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 400_000_000)), max_size=60))
def test_groups(lines: list[tuple[int, int]]) -> None:
    tallies, us = [tally for tally, _ in lines], [time for _, time in lines]
    offsets = [100 * number for number in range(len(lines))]
    assert list(repeats_numpy.grouped(tallies, us, offsets)) == list(repeats.grouped(tallies, us, offsets))
