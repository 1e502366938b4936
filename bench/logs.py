"""How long an audit of logs takes, beside tools that only count: `rg -c`, DuckDB, Polars, and plain reading."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import log_peers
from bench.commands import JSDOCTOR
from bench.figures import Row, Spread, Table, exponent
from bench.log_archive import MEGABYTE, ArchivePlan, write_archive
from bench.process import CannotMeasureError
from bench.process_tree import TreeRun, run_tree
from bench.settings import Site
from jsdoctor.app.rulebook import open_rulebook

_READ, _RG = "plain read (cat)", "rg -c"
_ONE, _TWO = "jsdoctor, one process", "jsdoctor, two processes"
_SPARK = "jsdoctor, Spark"
_FINDINGS = (0, 1, 3)
_LOCAL_BYTES, _SPARK_BYTES = 150 * MEGABYTE, 1000 * MEGABYTE
_SMALL_FILES = 1000
_SUBJECTS_MEGABYTES = 20
_PEER_S = 60
"""Processor time after which a peer is given up: DuckDB takes minutes for so many patterns at once."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to measure. `command` is made for an archive; `cores` binds it to so many; `missing` says why not."""

    name: str
    command: Callable[[Path], Sequence[str | Path]]
    accept: tuple[int, ...] = (0,)
    cores: int | None = None
    missing: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def measure(site: Site) -> Table:
    """Every subject on every size of archive, by turns, each in processes of its own."""
    rows: list[Row] = []
    growth: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="jsdoctor-bench-") as place:
        subjects = _subjects(Path(place))
        for megabytes in site.settings.log_megabytes:
            archive = Path(place) / str(megabytes)
            write_archive(archive, ArchivePlan(megabytes))
            runs, failed = _measured(subjects, archive, site.settings.rounds)
            rows += _rows(megabytes, subjects, runs, failed)
            for name, taken in runs.items():
                growth.setdefault(name, []).append((megabytes, Spread.of([run.seconds for run in taken]).middle))
            shutil.rmtree(archive)
        rows += _storm(Path(place), site.settings.log_megabytes[0], site.settings.rounds)
        rows += _many_subjects(Path(place), site.settings.rounds)
        rows += _small_files(Path(place), min(_SMALL_FILES, 50 * site.settings.log_megabytes[0]), site.settings.rounds)
    for name, points in growth.items():
        if name.startswith("jsdoctor") and len(points) > 1:
            rows.append(Row(f"growth of {name}: exponent", f"{exponent(points):.2f}"))
    notes = ("Times: median (least to greatest) of whole processes, files in the page cache.",)
    return Table("Logs: the whole audit, beside counting alone", tuple(rows), notes)


def _subjects(place: Path) -> list[Subject]:
    patterns = place / "patterns"
    signatures = [signature for rule in open_rulebook().rules for signature in rule.signatures]
    if not signatures:
        raise CannotMeasureError("no rule page has signatures: nothing would be looked for")
    patterns.write_text(log_peers.of_whole_lines(signature.pattern for signature in signatures), encoding="utf-8")
    check: list[str | Path] = [JSDOCTOR, "check", "--isolated", "--engine", "local", "--logs"]
    audit: list[str | Path] = [JSDOCTOR, "audit", "--isolated", "--engine", "spark"]
    return [
        Subject(_READ, lambda archive: ["cat", *log_peers.files(archive)]),
        Subject("zstd -d", log_peers.zstd, missing=log_peers.no_program("zstd")),
        Subject(_RG, lambda archive: log_peers.rg(archive, patterns), (0, 1), missing=log_peers.no_program("rg")),
        Subject(
            "grep -cE",
            lambda archive: log_peers.grep(archive, patterns),
            (0, 1),
            variables={"LC_ALL": "C"},
            missing=log_peers.no_program("grep") if log_peers.no_program("rg") else "rg does the same",
        ),
        Subject("DuckDB", lambda archive: log_peers.duckdb(archive, patterns), missing=log_peers.no_module("duckdb")),
        Subject("Polars", lambda archive: log_peers.polars(archive, patterns), missing=log_peers.no_module("polars")),
        Subject(_ONE, lambda archive: [*check, archive], _FINDINGS, cores=1),
        Subject(_TWO, lambda archive: [*check, archive], _FINDINGS, cores=2),
        Subject(_SPARK, lambda archive: [*audit, archive], _FINDINGS),
    ]


def _measured(
    subjects: Sequence[Subject], archive: Path, rounds: int
) -> tuple[dict[str, list[TreeRun]], dict[str, str]]:
    """Every subject once a round, every second round backwards. Nothing is counted of the first run of each.

    With the reasons why some were not measured: what a peer cannot do is no reason to measure nothing.
    """
    failed = {subject.name: subject.missing for subject in subjects if subject.missing}
    runs: dict[str, list[TreeRun]] = {subject.name: [] for subject in subjects if not subject.missing}
    for number in range(rounds + 1):
        for subject in subjects if number % 2 else reversed(subjects):
            if subject.name in failed:
                continue
            try:
                limit_s = math.inf if subject.name.startswith("jsdoctor") else _PEER_S
                done = run_tree(subject.command(archive), subject.accept, subject.cores, limit_s, **subject.variables)
            except CannotMeasureError as error:
                if subject.name.startswith("jsdoctor"):
                    raise
                failed[subject.name] = f"it failed: {str(error)[-100:]!r}"
                del runs[subject.name]
            else:
                if number:
                    runs[subject.name].append(done)
    return runs, failed


def _rows(
    megabytes: int, subjects: Sequence[Subject], runs: dict[str, list[TreeRun]], failed: Mapping[str, str]
) -> Iterator[Row]:
    yield Row(f"{megabytes:,} MB of logs", "")
    for subject in subjects:
        if subject.name in failed:
            yield Row(f"  {subject.name}", f"not measured: {failed[subject.name]}")
            continue
        taken = runs[subject.name]
        cpu, memory = Spread.of([run.cpu_s for run in taken]).middle, max(run.peak_bytes for run in taken)
        time = Spread.of([run.seconds for run in taken]).text(" s")
        figure = f"{time}, {megabytes / _median(taken):.0f} MB/s, {cpu:.1f} s processor, {memory / MEGABYTE:.0f} MB"
        limit = _SPARK_BYTES if subject.name == _SPARK else _LOCAL_BYTES
        ours = subject.name.startswith("jsdoctor")
        yield Row(
            f"  {subject.name}", figure, f"at most {limit // MEGABYTE} MB" * ours, memory <= limit if ours else None
        )
    yield from _ratios(runs)


def _ratios(runs: dict[str, list[TreeRun]]) -> Iterator[Row]:
    for name, beside, limit in ((_TWO, _RG, 1.0), (_ONE, _RG, 1.0), (_TWO, _READ, None), (_ONE, _TWO, None)):
        if beside in runs:
            yield from _ratio(f"  {name} / {beside}", runs[name], runs[beside], limit)
    yield from _ratio(f"  {_SPARK} / {_TWO}", runs[_SPARK], runs[_TWO], None)


def _ratio(what: str, ours: Sequence[TreeRun], theirs: Sequence[TreeRun], limit: float | None) -> Iterator[Row]:
    """The median of the ratios of runs of one round: of the time, and of the processor time, which is judged.

    Both have two cores, and other work on the machine makes the time of either several times as long.
    """
    pairs = list(zip(ours, theirs, strict=True))
    time = Spread.of([mine.seconds / other.seconds for mine, other in pairs]).text("x")
    cpu = Spread.of([mine.cpu_s / max(other.cpu_s, 0.01) for mine, other in pairs])
    yield Row(f"{what}, time", time)
    judged = None if limit is None else cpu.middle <= limit
    yield Row(f"{what}, processor time", cpu.text("x"), f"at most {limit:g}x" if limit else "", judged)


def _many_subjects(place: Path, rounds: int) -> Iterator[Row]:
    """Nearly every line names a subject of its own. What a megabyte more takes, without the start."""
    check: list[str | Path] = [JSDOCTOR, "check", "--isolated", "--engine", "local", "--logs"]
    small, large = place / "few", place / "many"
    taken: dict[Path, list[TreeRun]] = {small: [], large: []}
    for archive, megabytes in ((small, _SUBJECTS_MEGABYTES), (large, 4 * _SUBJECTS_MEGABYTES)):
        write_archive(archive, ArchivePlan(megabytes, many_subjects=True))
    for number in range(rounds):
        for archive in (small, large) if number % 2 else (large, small):
            taken[archive].append(run_tree([*check, archive], _FINDINGS, cores=1))
    pairs = zip(taken[large], taken[small], strict=True)
    speed = Spread.of([3 * _SUBJECTS_MEGABYTES / max(more.cpu_s - less.cpu_s, 0.01) for more, less in pairs])
    figure = speed.text(" MB for each second of processor time beyond the start", digits=0)
    yield Row("every line names another subject, one core", figure, "at least 100 MB", speed.middle >= 100, False)
    memory = max(run.peak_bytes for run in taken[large])
    yield Row("every line names another subject, peak memory", f"{memory / MEGABYTE:.0f} MB")


def _storm(place: Path, megabytes: int, rounds: int) -> Iterator[Row]:
    """The slow case: a third of the lines are matched, parsed and kept count of."""
    check: list[str | Path] = [JSDOCTOR, "check", "--isolated", "--engine", "local", "--logs"]
    calm, storm = place / "calm", place / "storm"
    write_archive(calm, ArchivePlan(megabytes))
    write_archive(storm, ArchivePlan(megabytes, storm=True))
    taken: dict[Path, list[TreeRun]] = {calm: [], storm: []}
    for _ in range(rounds):
        for archive, runs in taken.items():
            runs.append(run_tree([*check, archive], _FINDINGS, cores=1))
    yield from _ratio("a third of lines hit / ordinary, one process", taken[storm], taken[calm], 2.0)
    memory = max(run.peak_bytes for run in taken[storm])
    yield Row("a third of lines hit, peak memory", f"{memory / MEGABYTE:.0f} MB")


def _small_files(place: Path, count: int, rounds: int) -> Iterator[Row]:
    """Files of thousands of servers that all name one stream: what they share must not make the cost grow faster."""
    check: list[str | Path] = [JSDOCTOR, "check", "--isolated", "--engine", "local", "--logs"]
    some, twice = place / "some", place / "twice"
    taken: dict[Path, list[TreeRun]] = {some: [], twice: []}
    for directory, files in ((some, count), (twice, 2 * count)):
        directory.mkdir()
        for number in range(files):
            (directory / f"nats-{number}.log").write_text(_small_log(number), encoding="utf-8")
    for _ in range(rounds):
        for directory, runs in taken.items():
            runs.append(run_tree([*check, directory], _FINDINGS, cores=1))
    yield from _ratio(f"{2 * count:,} small files / {count:,}, one process", taken[twice], taken[some], 2.2)
    cpu = Spread.of([run.cpu_s for run in taken[twice]]).middle
    yield Row("a small file, processor time with the start", f"{1000 * cpu / (2 * count):.1f} ms")


def _small_log(number: int) -> str:
    minute = f"2026/11/21 10:{number % 60:02}"
    lost = f"{minute}:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled"
    led = f"{minute}:30.000000 [INF] JetStream cluster new stream leader for 'APP > ORDERS'"
    routes = [f"{minute}:31.{rid:06} [INF] 10.0.0.9:52828 - rid:{rid} - Route connection created" for rid in range(40)]
    return "\n".join([lost, led, *routes]) + "\n"


def _median(taken: Sequence[TreeRun]) -> float:
    return Spread.of([run.seconds for run in taken]).middle
