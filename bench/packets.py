"""Judging a capture beside tshark, which is asked for the same: which segments came again, early or late."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Row, Spread, Table
from bench.log_peers import no_program
from bench.packet_capture import MEGABYTE, CapturePlan, Written, write_capture
from bench.process import CannotMeasureError, Run, run
from bench.settings import Site
from bench.traffic_capture import Traffic, cannot_record, record

CPU_AIM = 0.35
PEAK_LIMIT_BYTES = 100 * MEGABYTE
_FULL, _HEADERS = 262_144, 96
_FIELDS = ("tcp.stream", "tcp.len", "tcp.analysis.out_of_order", "tcp.analysis.retransmission")
_TSHARK = ["tshark", "-n", "-T", "fields", *(word for field in _FIELDS for word in ("-e", field))]
_TSHARK += ["-e", "tcp.analysis.fast_retransmission", "-r"]
_TCP, _NATS, _PEER = "jsdoctor: TCP", "jsdoctor: TCP and NATS", "tshark, three fields of analysis"


def measure(site: Site) -> Table:
    """Processor time of whole processes by turns, on a capture with payload and on one of headers."""
    missing = no_program("tshark")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="jsdoctor-bench-") as directory:
        for name, snaplen in (("full packets", _FULL), ("snaplen 96", _HEADERS)):
            path = Path(directory) / f"{snaplen}.pcap"
            written = write_capture(path, CapturePlan(site.settings.capture_megabytes, snaplen))
            rows += _rows(name, path, written, site.settings.rounds, missing)
            path.unlink()
        unrecorded = cannot_record()
        if not unrecorded:
            path = Path(directory) / "traffic.pcap"
            rows += _real(path, record(path, site.settings.published), site.settings.rounds, missing)
    notes = (
        "Processor time; median (least to greatest); the file in the page cache.",
        f"{missing}." if missing else "",
        f"{unrecorded}." if unrecorded else "",
    )
    title = f"Packets: captures of {site.settings.capture_megabytes} MB, every packet judged"
    return Table(title, tuple(rows), tuple(note for note in notes if note))


def _real(path: Path, traffic: Traffic, rounds: int, missing: str) -> list[Row]:
    """Real traffic has no planted loss: what is checked is that every packet and every publish was read."""
    what = f"real traffic, {traffic.published:,} publishes, {traffic.delivered:,} deliveries"
    return _rows(what, path, Written(traffic.packets, 0, 0), rounds, missing, published=traffic.published)


def _rows(
    name: str, path: Path, written: Written, rounds: int, missing: str, *, published: int | None = None
) -> list[Row]:
    commands: dict[str, Sequence[str | Path]] = {
        _TCP: [sys.executable, "-m", "bench.packets_alone", path],
        _NATS: [sys.executable, "-m", "bench.packets_alone", path, "nats"],
    }
    if not missing:
        commands[_PEER] = [*_TSHARK, path]
    runs: dict[str, list[Run]] = {what: [] for what in commands}
    for number in range(rounds):
        for what in list(commands) if number % 2 == 0 else list(commands)[::-1]:
            runs[what].append(_run(what, commands[what], written, published))
    rows = [Row(f"{name}: {written.packets:,} packets", "")]
    for what, taken in runs.items():
        cpu = Spread.of([run.cpu_s for run in taken]).text(" s")
        rows.append(Row(f"  {what}", f"{cpu}, {max(run.peak_rss_bytes for run in taken) / 1e6:.0f} MB"))
    peak = max(run.peak_rss_bytes for what in (_TCP, _NATS) for run in runs[what])
    limit = f"at most {PEAK_LIMIT_BYTES / 1e6:.0f} MB"
    rows.append(Row("  peak memory of jsdoctor", f"{peak / 1e6:.0f} MB", limit, peak <= PEAK_LIMIT_BYTES))
    if not missing:
        for what in (_TCP, _NATS):
            ratio = Spread.of([own.cpu_s / other.cpu_s for own, other in zip(runs[what], runs[_PEER], strict=True)])
            promised = published is None
            met = ratio.middle <= CPU_AIM if promised else None
            aim = f"at most {CPU_AIM:g}x" if promised else ""
            rows.append(Row(f"  {what}, times tshark", ratio.text("x"), aim, met))
    return rows


def _run(what: str, command: Sequence[str | Path], written: Written, published: int | None) -> Run:
    done = run(command)
    if what == _PEER:
        if done.stdout.count(b"\n") != written.packets:
            raise CannotMeasureError(f"tshark printed other than {written.packets} packets")
        return done
    packets, odd, *read = map(int, done.stdout.split())
    planted = odd if published is not None else written.lost + written.reordered
    if (packets, odd) != (written.packets, planted) or (published is not None and read not in ([], [published])):
        raise CannotMeasureError(f"jsdoctor found something else than what is there: {done.stdout!r}, {written}")
    return done
