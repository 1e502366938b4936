"""How work is cut for Spark, and what becomes of Spark's own words."""

from pathlib import Path

import msgspec
import pytest

from jsdoctor.model.log_scan import Part
from jsdoctor.sources.archives.spark.driver import bin_count, explained, plan_tasks
from jsdoctor.sources.archives.spark.session import zipped_package
from jsdoctor.sources.archives.split import longest_packed, split

GIGABYTE = 1_000_000_000
BIN_BYTES = 256 << 20

# As Spark 4.3 said it; stack frames of the JVM left out.
NO_MODULE = """
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1920, in read_udfs
ModuleNotFoundError: No module named 'msgspec'
"""


@pytest.mark.parametrize(
    ("cores", "parts", "total", "expected"),
    [
        (2, 1, 1000, 1),
        (2, 100, GIGABYTE, 4),
        (2, 800, 50 * GIGABYTE, 187),
        (64, 800, 50 * GIGABYTE, 187),
        (64, 800, GIGABYTE, 128),
        (None, 800, GIGABYTE, 32),
        (2, 0, 0, 1),
    ],
)
def test_as_many_tasks_as_keep_every_core_busy_and_none_large(
    cores: int | None, parts: int, total: int, expected: int
) -> None:
    assert bin_count(cores, parts, total) == expected


def part(name: str, size: int) -> Part:
    return Part(path=f"/{name}", name=name, series=name, end=size, size=size, weight=size)


def test_one_huge_file_and_very_many_small_ones_make_tasks_of_one_size() -> None:
    files = [part("huge.log", 50 * GIGABYTE), *(part(f"{number}.log", 10_000) for number in range(100_000))]
    parts = split(files)
    packed = plan_tasks(parts, 8)
    assert len(packed) == -(
        -sum(file.size for file in files) // BIN_BYTES
    )  # a file counts once, however many its parts
    sizes = [sum(piece.end - piece.start for piece in task) for task in packed]
    assert max(sizes) < 1.4 * min(sizes)
    assert max(sizes) < 400_000_000
    assert sum(map(len, packed)) == len(parts)


def test_a_packed_file_is_one_task_and_the_first() -> None:
    huge = msgspec.structs.replace(part("z.log.gz", 5 * GIGABYTE), codec="gzip", weight=50 * GIGABYTE)
    files = [*(part(f"{number}.log", GIGABYTE) for number in range(100)), huge]
    parts = split(files)
    packed = plan_tasks(parts, 8)
    assert [piece.name for piece in packed[0]] == [huge.name]
    weights = [sum(piece.weight for piece in task) for task in packed]
    assert weights == sorted(weights, reverse=True)
    assert longest_packed(parts, 8) == huge
    assert longest_packed(parts, 2) is None  # no more than what the other core has to read
    assert longest_packed(parts, 1) is None
    assert longest_packed(parts[:-1], 8) is None


def test_what_is_missing_on_executors_is_named() -> None:
    problem = explained(NO_MODULE)
    assert problem.message == "the Python of the executors has no module msgspec"
    assert "spark.pyspark.python" in problem.hint
    assert explained("").message


def test_the_package_for_executors_is_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, again = zipped_package(tmp_path), zipped_package(tmp_path / "again")
    assert first.name == again.name
    assert first.read_bytes() == again.read_bytes()
