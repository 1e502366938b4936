"""The simulated cluster: tasks are begun in order, each on the core that is free first."""

import pytest

from bench.spark_scale import Costs, Outcome, makespan, simulate
from jsdoctor.model.log_scan import Part

MEGABYTE = 1_000_000
COSTS = Costs(
    plain_s=0.002,
    gzip_s=0.006,
    row_bytes=1000,
    aggregate_s=1e-4,
    kept=1000,
    kept_more=0.01,
    kept_bytes=100,
    assemble_row_s=1e-5,
    start_s=5,
    task_s=0.05,
)


def file(name: str, megabytes: int, codec: str = "") -> Part:
    text = megabytes * MEGABYTE
    stored = text // 10 if codec else text
    return Part(path=name, name=name, series=name, end=stored, size=stored, codec=codec, weight=text)


def simulated(*files: Part, cores: int = 100, backwards: bool = False) -> Outcome:
    return simulate(files, COSTS, cores, in_order=lambda tasks: tasks[::-1] if backwards else tasks)


@pytest.mark.parametrize(
    ("tasks", "cores", "seconds"),
    [([], 4, 0), ([3, 1, 1, 1], 1, 6), ([3, 1, 1, 1], 2, 3), ([1, 1, 1, 3], 2, 4), ([5], 100, 5)],
)
def test_tasks_are_begun_in_order(tasks: list[float], cores: int, seconds: float) -> None:
    assert makespan(tasks, cores) == seconds


def test_plain_text_is_read_by_all_cores() -> None:
    plain = [file(f"n{number}.log", 10_000) for number in range(100)]
    few, many = simulated(*plain, cores=50), simulated(*plain)
    work_s = 1_000_000 * COSTS.plain_s + many.tasks * COSTS.task_s
    assert many.scan_s == pytest.approx(work_s / 100, rel=0.05)
    assert few.scan_s == pytest.approx(2 * many.scan_s, rel=0.1)
    assert many.bound == "the scan"


def test_one_large_packed_file_bounds_the_run_wherever_it_is() -> None:
    files = [file("big.log.gz", 50_000, "gzip"), *(file(f"n{number}.log", 10_000) for number in range(95))]
    first = simulated(*files)
    assert first.scan_s == pytest.approx(50_000 * COSTS.gzip_s + COSTS.task_s)
    assert first.bound == "one task of the scan"
    last = simulated(*files, backwards=True)
    assert last.scan_s == pytest.approx(first.scan_s + 950_000 * COSTS.plain_s / 100, rel=0.1)
