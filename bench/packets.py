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

CPU_AIM = 0.25
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
    notes = (
        "Processor time; median (least to greatest); the file in the page cache.",
        f"{missing}." if missing else "",
    )
    title = f"Packets: captures of {site.settings.capture_megabytes} MB, every packet judged"
    return Table(title, tuple(rows), tuple(note for note in notes if note))


def _rows(name: str, path: Path, written: Written, rounds: int, missing: str) -> list[Row]:
    commands: dict[str, Sequence[str | Path]] = {
        _TCP: [sys.executable, "-m", "bench.packets_alone", path],
        _NATS: [sys.executable, "-m", "bench.packets_alone", path, "nats"],
    }
    if not missing:
        commands[_PEER] = [*_TSHARK, path]
    runs: dict[str, list[Run]] = {what: [] for what in commands}
    for number in range(rounds):
        for what in list(commands) if number % 2 == 0 else list(commands)[::-1]:
            runs[what].append(_run(what, commands[what], written))
    rows = [Row(f"{name}: {written.packets:,} packets", "")]
    for what, taken in runs.items():
        cpu = Spread.of([one.cpu_s for one in taken]).text(" s")
        rows.append(Row(f"  {what}", f"{cpu}, {max(one.peak_rss_bytes for one in taken) / 1e6:.0f} MB"))
    peak = max(one.peak_rss_bytes for what in (_TCP, _NATS) for one in runs[what])
    limit = f"at most {PEAK_LIMIT_BYTES / 1e6:.0f} MB"
    rows.append(Row("  peak memory of jsdoctor", f"{peak / 1e6:.0f} MB", limit, peak <= PEAK_LIMIT_BYTES))
    if not missing:
        for what in (_TCP, _NATS):
            ratio = Spread.of([own.cpu_s / other.cpu_s for own, other in zip(runs[what], runs[_PEER], strict=True)])
            met = ratio.middle <= CPU_AIM if what == _TCP else None
            aim = f"at most {CPU_AIM:g}x" if what == _TCP else ""
            rows.append(Row(f"  {what}, times tshark", ratio.text("x"), aim, met))
    return rows


def _run(what: str, command: Sequence[str | Path], written: Written) -> Run:
    done = run(command)
    if what == _PEER:
        if done.stdout.count(b"\n") != written.packets:
            raise CannotMeasureError(f"tshark printed other than {written.packets} packets")
    elif done.stdout.split() != [b"%d" % written.packets, b"%d" % (written.lost + written.reordered)]:
        raise CannotMeasureError(f"jsdoctor found something else than what was planted: {done.stdout!r}, {written}")
    return done
