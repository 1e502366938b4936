"""The same evidence however a log is cut, searched and timed."""

from pathlib import Path

import pytest

from jsdoctor.model.log import LogEvidence, canonical
from jsdoctor.sources.archives.discover import discover
from jsdoctor.sources.archives.local import run_local
from jsdoctor.sources.archives.split import bins, split
from tests.logs.corpus import REAL, SETTINGS, WRAPPINGS, evidence, same

CLUSTER = [REAL / "2.15.1" / f"c2-n{n}.log" for n in (1, 2, 3)]


def assert_same(evidence: LogEvidence, other: LogEvidence) -> None:
    assert canonical(evidence).decode() == canonical(other).decode()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five megabytes: three servers' logs with a day's shift each time, and what tears at scanners in between."""
    directory = tmp_path_factory.mktemp("large")
    for path in CLUSTER:
        lines = path.read_bytes().splitlines(keepends=True)
        with (directory / path.name).open("wb") as file:
            for day in range(1, 29):
                for line in lines:
                    file.write(line.replace(b"2026/11/21", b"2026/11/%02d" % day))
                file.write(b"panic: day %d\n\ngoroutine 1 [running]:\n" % day)
                file.write(
                    b"[1] 2026/11/%02d 23:00:00.000000 [TRC] " % day + b"x" * 40_000 + b" has NO quorum, stalled\n"
                )
    return directory


@pytest.mark.parametrize("size", [64 << 20, 4 << 20, 1_000_003, 65_537])
def test_split_size_does_not_matter(large: Path, size: int) -> None:
    assert_same(evidence([large], size=size), evidence([large]))


@pytest.mark.parametrize("size", [4096, 1000, 777, 101])
def test_small_parts_do_not_matter(size: int) -> None:
    for directory in ("2.10.26", "2.15.1"):
        inputs = sorted((REAL / directory).glob("c2-*.log"))
        assert_same(evidence(inputs, size=size), evidence(inputs))


@pytest.mark.parametrize("version", ["2.10.26", "2.12.8", "2.15.1"])
def test_both_scans_agree(version: str) -> None:
    """Where the compiled one is not installed, both are that in Python."""
    assert_same(evidence([REAL / version]), evidence([REAL / version], native=False))


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_cuts_do_not_matter_to_wrapped_lines(wrapping: str, tmp_path: Path) -> None:
    file = tmp_path / "wrapped.log"
    lines = [WRAPPINGS[wrapping](line) for line in CLUSTER[0].read_bytes().splitlines()]
    file.write_bytes(b"\n".join(lines) + b"\n")
    whole = evidence([file])
    assert_same(evidence([file], size=3001), whole)
    assert_same(evidence([file], native=False), whole)
    assert whole.total("t-route-dial") == evidence([CLUSTER[0]]).total("t-route-dial") > 0


def test_processes_do_not_matter(large: Path) -> None:
    parts = split(discover([str(large)]).files, 1 << 20)
    done: list[int] = []
    alone = run_local(SETTINGS, parts, 1, done.append)
    assert sum(done) == sum(part.size for part in discover([str(large)]).files)
    assert_same(run_local(SETTINGS, parts, 2), alone)
    assert_same(evidence([large]), alone)


def test_bins_are_stable_and_complete(large: Path) -> None:
    parts = split(discover([str(large)]).files, 1 << 18)
    packed = bins(parts, 4)
    assert packed == bins(list(reversed(parts)), 4)
    assert sorted(part.start for batch in packed for part in batch) == sorted(part.start for part in parts)
    weights = [sum(part.weight for part in batch) for batch in packed]
    assert max(weights) - min(weights) <= 1 << 18


def test_what_is_read_adds_up(large: Path) -> None:
    read = evidence([large], size=65_537)
    for file in read.files:
        data = (large / file.path).read_bytes()
        assert (file.size, file.read, file.lines) == (len(data), len(data), data.count(b"\n"))
        assert file.long_lines == 28


def test_exemplars_are_at_their_offsets(large: Path) -> None:
    read = evidence([large], size=1_000_003)
    lines = [line for occurrence in read.found for line in occurrence.exemplars]
    lines += [run.exemplar for run in read.runs if run.exemplar is not None]
    assert len(lines) > 20
    for line in lines:
        data = (large / line.file).read_bytes()
        assert data[line.offset :].startswith(line.text.encode())
        assert data[: line.offset].count(b"\n") + 1 == line.line
        assert line.offset == 0 or data[line.offset - 1 : line.offset] == b"\n"


def test_long_lines_are_not_searched_to_their_end(large: Path) -> None:
    quorum = evidence([large]).total("t-stream-quorum-lost")
    assert quorum == 28 * evidence(CLUSTER).total("t-stream-quorum-lost") > 0
    assert not same(evidence([large]), evidence(CLUSTER))
