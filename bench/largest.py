"""`jsdoctor check` of ten thousand streams, beside the floor: the replies of the same servers and nothing else."""

import tempfile
import time
from pathlib import Path

from bench.beside_floor import floor_rows, pairs
from bench.commands import FORMATS, check_as
from bench.deployment import NODES
from bench.figures import Row, Spread, Table
from bench.largest_deployment import JETSTREAM, furnish
from bench.settings import Site
from tests.servers import Cluster

SECONDS_LIMIT = 15.0
PEAK_RSS_LIMIT_BYTES = 600_000_000
ONE_SAMPLE = ("--samples", "1", "--timeout", "60s")
"""A server with many consumers takes seconds for its reply on a busy machine: the default timeout is five."""


def measure(site: Site) -> Table:
    """One sample: time, memory, times the floor, and what each format takes beyond the shortest of them."""
    streams, consumers = site.settings.largest_streams, site.settings.consumers_per_stream
    size = (streams, streams * consumers)
    with (
        tempfile.TemporaryDirectory(prefix="jsdoctor-bench-") as scratch,
        Cluster.launch(Path(scratch), nodes=NODES, jetstream=JETSTREAM) as cluster,
    ):
        begun = time.perf_counter()
        furnish(cluster, streams, consumers)
        created_s = time.perf_counter() - begun
        url = cluster.url("sys")
        measured = pairs(url, size, 1, site.settings.rounds, ONE_SAMPLE)
        formats = {name: check_as(url, name, *ONE_SAMPLE) for name in FORMATS}
    checks = [pair.check for pair in measured]
    seconds = Spread.of([checked.run.seconds for checked in checks])
    peak = max(run.peak_rss_bytes for run in [*(checked.run for checked in checks), *formats.values()])
    rows = [
        Row(
            "jsdoctor check, one sample",
            seconds.text(" s"),
            f"at most {SECONDS_LIMIT:g} s",
            seconds.middle <= SECONDS_LIMIT,
        ),
        Row("  processor time of that", Spread.of([checked.run.cpu_s for checked in checks]).text(" s")),
        *floor_rows(measured, None),
        Row(
            "peak memory of jsdoctor, all formats",
            f"{peak / 1e6:.0f} MB",
            f"at most {PEAK_RSS_LIMIT_BYTES / 1e6:.0f} MB",
            peak <= PEAK_RSS_LIMIT_BYTES,
        ),
        *(
            Row(f"  {name}: processor time, report", f"{run.cpu_s:.2f} s, {len(run.stdout) / 1e6:.1f} MB")
            for name, run in formats.items()
        ),
    ]
    notes = (
        f"creating them took {created_s:.0f} s; {checks[-1].headline}",
        f"{checks[-1].findings:,} findings",
    )
    return Table(
        f"Largest: {size[0]:,} streams, {size[1]:,} consumers; median of {len(measured)} (least to greatest)",
        tuple(rows),
        notes,
    )
