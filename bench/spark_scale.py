"""An audit on a cluster, on paper: the tasks that jsdoctor plans, on as many cores as you like, with costs from here.

    python -m bench.spark_scale [--megabytes 200] [--terabytes 1] [--cores 100] [--runs 2]

Costs are measured on this machine, as processor time: to scan a megabyte of plain and of gzip text, the rows of it, to
aggregate and to assemble a row, to start Spark and each task. The plan is the one of an audit (`collect.logs.split`);
tasks are begun in its order, each on the core that is free first, as Spark does. Then follow the aggregation, by
series, and the driver. Real audits of a small archive at one and at two cores stand beside their simulation.
Left out: the network between executors, stragglers, and stores that give less than the cores take.
"""

from __future__ import annotations

import argparse
import gzip
import heapq
import os
import shutil
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.commands import JSDOCTOR
from bench.log_archive import MEGABYTE, ArchivePlan, write_archive
from bench.process_tree import TreeRun, run_tree
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.collect.logs.discover import discover
from jsdoctor.collect.logs.part import uses_native
from jsdoctor.collect.logs.series import scan_rows
from jsdoctor.collect.logs.sorter import RowSorter
from jsdoctor.collect.logs.spark.driver import plan_tasks
from jsdoctor.collect.logs.split import longest_packed, split
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.parse.logs.aggregate.aggregated import packed as packed_row
from jsdoctor.parse.logs.aggregate.aggregation import aggregate
from jsdoctor.parse.logs.aggregate.evidence import assemble

_FEW, _MANY = 4, 104
"""Tasks of the two empty jobs whose difference is the price of a task."""
_SERVER_MEGABYTES = 10_000
"""Text of one server in the archive of the simulation: 100 servers in a terabyte."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of one core for a megabyte of text, bytes of its rows, and what Spark takes by itself.

    Of each series `kept` rows and so many more for each megabyte are left when it is aggregated: what the driver gets.
    """

    plain_s: float
    gzip_s: float
    row_bytes: float
    aggregate_s: float
    kept: float
    kept_more: float
    kept_bytes: float
    assemble_row_s: float
    start_s: float
    task_s: float

    def kept_of(self, megabytes: float) -> float:
        """The rows that are left of a series."""
        return self.kept + self.kept_more * megabytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """How long the phases take; `longest_s` is the longest task of the scan."""

    start_s: float
    scan_s: float
    longest_s: float
    tasks: int
    aggregate_s: float
    driver_s: float
    driver_bytes: float

    @property
    def seconds(self) -> float:
        """All of it, one after the other."""
        return self.start_s + self.scan_s + self.aggregate_s + self.driver_s

    @property
    def bound(self) -> str:
        """What it is that takes longest."""
        if self.longest_s > 0.9 * self.scan_s and self.tasks > 1 and self.scan_s > 0.5 * self.seconds:
            return "one task of the scan"
        phases = {"the scan": self.scan_s, "the aggregation": self.aggregate_s, "the driver": self.driver_s}
        return max({**phases, "the start": self.start_s}.items(), key=lambda phase: phase[1])[0]


def makespan(tasks: Sequence[float], cores: int) -> float:
    """When the last task ends, if each is begun in this order on the core that is free first."""
    free = [0.0] * max(1, cores)
    for task in tasks:
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def simulate(
    files: Sequence[Part], costs: Costs, cores: int, *, in_order: Callable[[list[float]], list[float]]
) -> Outcome:
    """An audit of these files. `in_order` changes the order in which its tasks are begun."""
    parts = split(files)
    packed = plan_tasks(parts, cores)

    def seconds(part: Part) -> float:
        return part.weight / MEGABYTE * (costs.gzip_s if part.codec else costs.plain_s)

    tasks = [costs.task_s + sum(map(seconds, chosen)) for chosen in packed]
    buckets = min(cores, len(packed))
    loads: dict[int, float] = defaultdict(float)
    megabytes: dict[str, float] = defaultdict(float)
    for part in parts:
        megabytes[part.series] += part.weight / MEGABYTE
    for series, size in megabytes.items():
        loads[zlib.crc32(series.encode()) % buckets] += size * costs.aggregate_s
    aggregation = [costs.task_s + loads[bucket] for bucket in range(buckets)]
    kept = sum(map(costs.kept_of, megabytes.values()))
    return Outcome(
        costs.start_s,
        makespan(in_order(tasks), cores),
        max(tasks),
        len(tasks),
        makespan(aggregation, cores),
        kept * costs.assemble_row_s,
        kept * costs.kept_bytes,
    )


def measured_costs(archive: Path, packed: Path) -> Costs:
    """All but the costs of Spark from one process, its own time: other work on the machine counts for little."""
    signatures = [signature for rule in open_rulebook().rules for signature in rule.signatures]
    settings = ScanSettings(signatures=tuple(signatures))
    files = discover([str(archive)]).files
    halves = split(files, max(part.end for part in files) // 2 + 1)
    list(scan_rows(settings, split(files[:1], 1 << 20)[0], None))  # each process compiles the patterns once
    begun, begun_s = _scanned(settings, [part for part in halves if not part.start])
    rest, rest_s = _scanned(settings, [part for part in halves if part.start])
    _, gzip_s = _scanned(settings, discover([str(packed)]).files)
    text = sum(part.weight for part in halves) / MEGABYTE
    half, _ = _aggregated(begun)
    whole, aggregate_s = _aggregated([*begun, *rest])
    started = time.process_time()
    assemble(settings, iter(whole))
    assemble_s = time.process_time() - started
    few_s, many_s = _empty_job(_FEW), _empty_job(_MANY)
    task_s = max(0.0, many_s - few_s) / (_MANY - _FEW)
    more = (len(whole) - len(half)) / (text / 2)
    return Costs(
        plain_s=(begun_s + rest_s) / text,
        gzip_s=gzip_s / text,
        row_bytes=len(msgspec.msgpack.encode([*begun, *rest])) / text,
        aggregate_s=aggregate_s / text,
        kept=max(0.0, len(whole) - more * text) / len(files),
        kept_more=more,
        kept_bytes=len(msgspec.msgpack.encode(whole)) / len(whole),
        assemble_row_s=assemble_s / len(whole),
        start_s=few_s - _FEW * task_s,
        task_s=task_s,
    )


def _aggregated(rows: list[Row]) -> tuple[list[Row], float]:
    started = time.process_time()
    with RowSorter() as sorter:
        sorter.add(rows)
        kept = list(map(packed_row, aggregate(sorter.rows(), uses_native())))
    return kept, time.process_time() - started


def _scanned(settings: ScanSettings, parts: Sequence[Part]) -> tuple[list[Row], float]:
    begun = time.process_time()
    rows = [row for part in parts for row in scan_rows(settings, part, None)]
    return rows, time.process_time() - begun


def _empty_job(tasks: int) -> float:
    return run_tree([sys.executable, "-m", "bench.spark_floor", str(tasks)], cores=1).cpu_s


def _archives(place: Path, megabytes: int) -> tuple[Path, Path, Path]:
    """The same logs plain, packed file by file, and plain with one file packed that has a third of the text."""
    plain, packed, mixed = place / "plain", place / "packed", place / "mixed"
    write_archive(plain, ArchivePlan(megabytes, days=1))
    for name in sorted(plain.rglob("*.log")):
        into = packed / name.relative_to(plain)
        into.parent.mkdir(parents=True)
        with name.open("rb") as source, gzip.open(f"{into}.gz", "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target)
    shutil.copytree(plain, mixed)
    first = next(iter(sorted(mixed.rglob("*.log"))))
    shutil.copy(packed / f"{first.relative_to(mixed)}.gz", first.parent)
    first.unlink()
    return plain, packed, mixed


def _real(archive: Path, cores: int) -> TreeRun:
    command: list[str | Path] = [JSDOCTOR, "audit", "--isolated", "--quiet", "--master", f"local[{cores}]", archive]
    return run_tree(command, accept=(0, 1, 3), cores=cores)


def _on_paper(terabytes: float, packed: str) -> list[Part]:
    """Servers with 10 GB of text each; `packed` is `none`, `each`: a gzip file for each GB, or `one`: one of 50 GB."""
    total = int(terabytes * 1_000_000)
    files = []
    if packed == "one":
        files.append(_file("big.log.gz", 50_000, codec="gzip"))
        total -= 50_000
    for number in range(max(1, total // _SERVER_MEGABYTES)):
        if packed == "each":
            files += [_file(f"n{number}.log.{day}.gz", 1_000, f"n{number}", "gzip") for day in range(10)]
        else:
            files.append(_file(f"n{number}.log", _SERVER_MEGABYTES))
    return files


def _file(name: str, megabytes: int, series: str = "", codec: str = "") -> Part:
    """A file with so much text; packed, it is a tenth of that."""
    text = megabytes * MEGABYTE
    stored = text // 10 if codec else text
    return Part(path=name, name=name, series=series or name, end=stored, size=stored, codec=codec, weight=text)


def main() -> None:
    """Measure, compare with real runs, simulate, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark_scale", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=200, help="of the real archive")
    parser.add_argument("--terabytes", type=float, default=1.0, help="of the one on paper")
    parser.add_argument("--cores", type=int, default=100, help="on paper")
    parser.add_argument("--runs", type=int, default=2, help="real audits of each kind")
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {'compiled' if uses_native() else 'Python'} scan")
    with tempfile.TemporaryDirectory(prefix="jsdoctor-bench-") as scratch:
        plain, packed, mixed = _archives(Path(scratch), options.megabytes)
        costs = measured_costs(plain, packed)
        _print_costs(costs)
        for archive in (plain, packed, mixed):
            files = _with_true_weights(discover([str(archive)]).files, options.megabytes)
            slowdown = 1.0
            for cores in (1, 2):
                real = min((_real(archive, cores) for _ in range(options.runs)), key=lambda run: run.seconds)
                slowdown = real.seconds / real.cpu_s if cores == 1 else slowdown
                _print_beside(archive.name, cores, real, slowdown, simulate(files, costs, cores, in_order=list))
    for kind, words in (("none", "all plain"), ("each", "gzip files of 1 GB of text"), ("one", "one gzip of 50 GB")):
        files = _on_paper(options.terabytes, kind)
        outcome = simulate(files, costs, options.cores, in_order=list)
        _print_outcome(f"{options.terabytes:g} TB on {options.cores} cores, {words}", outcome)
        if longest_packed(split(files), options.cores):
            last = simulate(files, costs, options.cores, in_order=lambda tasks: tasks[::-1])
            _print_outcome("  the same with that file last", last)


def _print_beside(name: str, cores: int, real: TreeRun, slowdown: float, outcome: Outcome) -> None:
    """By processor time on one core; on two by the clock, as far as one core was not kept waiting by other work."""
    seconds = real.seconds / slowdown
    print(
        f"{name}, {cores} core{'s' if cores > 1 else ''}: {seconds:.1f} s without waiting ({real.seconds:.1f} s,"
        f" processor {real.cpu_s:.1f} s), simulated {outcome.seconds:.1f} s ({seconds / outcome.seconds:.2f} times)",
        flush=True,
    )


def _with_true_weights(files: Sequence[Part], megabytes: int) -> list[Part]:
    """What is in a packed file is only estimated; of this archive it is known."""
    text = megabytes * MEGABYTE // len(files)
    return [msgspec.structs.replace(part, weight=text if part.codec else part.weight) for part in files]


def _print_costs(costs: Costs) -> None:
    print(
        f"a MB of text: {costs.plain_s * 1000:.2f} ms plain, {costs.gzip_s * 1000:.2f} ms packed,"
        f" {costs.row_bytes / 1000:.0f} kB of rows, {costs.aggregate_s * 1000:.2f} ms to aggregate;"
        f" left of a log: {costs.kept:,.0f} rows and {costs.kept_more:.2f} for each MB, of {costs.kept_bytes:.0f} bytes"
        f" and {costs.assemble_row_s * 1e6:.0f} us of the driver;"
        f" Spark: {costs.start_s:.1f} s, and {costs.task_s * 1000:.0f} ms for each task",
        flush=True,
    )


def _print_outcome(what: str, outcome: Outcome) -> None:
    print(
        f"{what}: {outcome.seconds:,.0f} s; start {outcome.start_s:.0f}, scan {outcome.scan_s:,.0f} in"
        f" {outcome.tasks:,} tasks (longest {outcome.longest_s:,.0f}), aggregation {outcome.aggregate_s:,.0f},"
        f" driver {outcome.driver_s:,.0f} with {outcome.driver_bytes / 1e6:,.0f} MB of rows; bound by {outcome.bound}"
    )


if __name__ == "__main__":
    main()
