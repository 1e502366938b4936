"""Hits in runs: both scans aggregate to the same evidence, and the core leaves out only what is not kept anyway."""

import random
from pathlib import Path

import pytest

from jsdoctor.logs.aggregate.aggregation import aggregate, groups_of
from jsdoctor.logs.aggregate.runs import KEPT
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.scan.native_core import have_native
from jsdoctor.logs.scan.rows import (
    HIT,
    HitRow,
    HitSource,
    KeptLine,
    PartRow,
    ProcessRef,
    hits_of,
    renamed,
    row,
    runs_of,
)
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import MINUTE_US, SignatureTotal
from jsdoctor.model.log_scan import Part, Row
from jsdoctor.sources.archives.part import Scanner
from jsdoctor.sources.archives.series import RowSorter
from tests.logs.corpus import SIGNATURES
from tests.logs.same_rows import parts_of, reference

needs_core = pytest.mark.skipif(not have_native(), reason="the compiled scan is not installed: `make native` builds it")
NAMES = ("a", "a.b", "b", "@x")
FIELDS = ("took", "bytes", "attempt")
NUMBERS = (-(2**62), -1, 0, 1, 70, 300, 2**31, 2**40, 2**63, 2**64 - 1)
OTHERS = (("text", "é"), ("id", ""))


def part(name: str, start: int = 0, server: str = "") -> Part:
    return Part(path=name, name=name, series="s", start=start, end=start + 100, size=1000, weight=1, server=server)


def pair(chance: random.Random) -> tuple[int, int]:
    low, high = sorted(chance.choices(NUMBERS, k=2))
    return low, high


def random_hits(chance: random.Random, place: Part, subjects: int, count: int) -> list[Row]:
    """Runs of one part: dated, undated and zoned lines of several processes."""
    hits = []
    for number in range(count):
        dated, zoned = chance.random() < 0.9, chance.random() < 0.5
        lines = chance.choice((1, 1, 1, 1, 1, 2, 2, 7, 7, 600))
        times = sorted(chance.randrange(10**15, 10**15 + chance.choice((10**9, 10**11))) for _ in range(lines))
        subject = (("stream", f"S{chance.randrange(subjects)}"),)
        name = chance.choice(NAMES)
        seen = [
            KeptLine(
                us if dated else None, zoned, number, place.start + chance.randrange(50), f"line {at}", OTHERS[:at]
            )
            for at, us in enumerate(times[:3])
        ]
        last = KeptLine(times[-1], zoned, 700, place.start + 60, "the last one", ()) if lines > 3 and dated else None
        process = ProcessRef("", "", chance.choice((None, 1, 2)))
        server = chance.choice(("", "", "n2"))
        hit = HitRow(
            name,
            HitSource(place.name, place.start, server, process, zoned if dated else None),
            subject,
            lines,
            Histogram.joined([(us, us, 1) for us in times], MINUTE_US) if dated else Histogram(),
            [(field, lines, *pair(chance)) for field in FIELDS if chance.random() < 0.3],
            seen,
            last,
        )
        hits.append(hit)
    return list(runs_of(place, hits))


@needs_core
@pytest.mark.parametrize(
    ("seed", "subjects"),
    [(2, 300), *(pytest.param(*more, marks=pytest.mark.nightly) for more in ((1, 3), (3, 5_000), (4, 100_000)))],
)
def test_the_core_leaves_out_what_is_not_kept_anyway(seed: int, subjects: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # no secret
    places = [part("n1.log"), part("n1.log", 100), part("n1.log.1"), part("n9.log", server="n9")]
    rows = [row(place, "1.part", place.name, (0, place.start), PartRow(place)) for place in places]
    for place in places:
        for _ in range(3):
            rows += random_hits(chance, place, subjects, chance.randrange(500, 1_500))
    rows.sort()
    aggregates = list(aggregate(rows, native=True))
    assert aggregates == list(aggregate(rows, native=False))
    totals = [row.value for row in aggregates if isinstance(row.value, SignatureTotal)]
    assert {total.signature for total in totals} == set(NAMES)
    assert any(total.omitted_subjects for total in totals) == (subjects > 3)  # of so few all are kept


@needs_core
def test_both_scans_aggregate_to_the_same(tmp_path: Path) -> None:
    """More subjects than are kept, some of them in several parts and files, with one to nine lines each."""
    line = "[%d] 2026/11/01 10:%02d:%02d.%06d [WRN] JetStream cluster stream 'A > S%d' has NO quorum, stalled\n"
    chance = random.Random(7)  # noqa: S311  # no secret
    for name in ("n1.log", "n1.log.1"):
        made = (line % (1 + n // 20_000, n // 1000 % 60, n % 60, n, chance.randrange(9_000)) for n in range(30_000))
        (tmp_path / name).write_text("".join(made), encoding="utf-8")
    matcher, parts = Matcher(SIGNATURES), parts_of([tmp_path], 500_000)
    assert len(parts) > 4
    by_scan = []
    for scanner, native in ((Scanner(matcher, native=True), True), (reference(matcher), False)):
        with RowSorter() as sorter:
            for part in parts:
                sorter.add(scanner.rows(part))
            by_scan.append(list(aggregate(sorter.rows(), native)))
    assert by_scan[0] == by_scan[1]
    total = next(row.value for row in by_scan[0] if isinstance(row.value, SignatureTotal))
    assert (total.count, total.subjects - total.omitted_subjects) == (60_000, KEPT)


@needs_core
@pytest.mark.parametrize("damage", [b"", b"\x93", b"\xdd\xff\xff\xff\xff", b"\x91\x93\xa1a\x05"])
def test_a_damaged_run_is_an_error(damage: bytes) -> None:
    rows = [row(part("n1"), "1.part", "n1", (0, 0), PartRow(part("n1"))), Row("s", HIT, "a", 0, 0, damage)]
    with pytest.raises(ValueError, match="damaged"):
        list(aggregate(rows, native=True))


def test_groups_have_all_hits_of_a_key() -> None:
    """Runs that overlap, in the order of their first keys."""
    chance = random.Random(6)  # noqa: S311  # no secret
    runs = sorted(run for start in range(0, 900, 100) for run in random_hits(chance, part("n", start), 50, 500))
    groups = list(groups_of(runs, lambda _: "n1"))
    lines = sum(hit.count for run in runs for hit in hits_of(run))
    assert sum(subject.lines for group in groups for subject in group.on_servers) == lines
    assert sum(subject.merged().lines for group in groups for subject in group.on_servers) == lines
    subjects = [(group.signature, {subject.merged().subject for subject in group.on_servers}) for group in groups]
    assert all(len(same) == 1 for _, same in subjects)
    assert len({(name, *same) for name, same in subjects}) == len(groups)


def test_a_run_of_a_file_that_was_renamed() -> None:
    runs = random_hits(random.Random(8), part("n1.log"), 10, 20)  # noqa: S311  # no secret
    again = [hit for run in runs for hit in hits_of(run._replace(value=renamed(run, "n1.log.1")))]
    assert [hit.source.file for hit in again] == ["n1.log.1"] * 20
    assert [(hit.key, hit.hit) for hit in again] == [(hit.key, hit.hit) for run in runs for hit in hits_of(run)]
