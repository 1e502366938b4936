"""`jsdoctor check --bundle` beside `nats audit analyze`: what was captured of the large cluster, by turns."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.commands import NO_WAITING, Checked, analyze, capture, check_file, gather, nats_version
from bench.figures import Row, Spread, Table
from bench.process import Run
from bench.settings import Site

RATIO_AIM = 1.0
PEAK_RSS_LIMIT_BYTES = 300_000_000

GATHER = ("--no-server-profiles", "--timeout", "2s")
"""Profiles are nothing that anybody's checks look at. The timeout is what `gather` waits to learn who is there."""


@dataclass(frozen=True, slots=True)
class _Round:
    """One measurement of each."""

    bundle: Checked
    single: Checked
    archive: Checked
    analyzed: Run


def measure(site: Site) -> Table:
    """Time and memory. All files are of the same deployment, whose state does not change."""
    deployment = site.deployment()
    deployment.grow_to(site.settings.streams)
    url, size = deployment.cluster.url("sys"), (deployment.streams, deployment.consumers)
    bundle, single, archive = (deployment.scratch / name for name in ("two.zip", "one.zip", "audit.zip"))
    capture(url, bundle, *NO_WAITING)
    capture(url, single, "--samples", "1")
    gather(url, deployment.stream_copies, archive, *GATHER)
    check_file(bundle, *size)  # nothing is counted of the first run of either
    _, outcomes = analyze(archive)

    def once(number: int) -> _Round:
        """Every second round backwards, so that none profits from its place."""
        if number % 2:
            third, second, first = (check_file(path, *size) for path in (archive, single, bundle))
            return _Round(first, second, third, analyze(archive)[0])
        analyzed, _ = analyze(archive)
        first, second, third = (check_file(path, *size) for path in (bundle, single, archive))
        return _Round(first, second, third, analyzed)

    rounds = [once(number) for number in range(site.settings.rounds)]
    last = rounds[-1]
    outcome_counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()) if count)
    analyzed = [done.analyzed for done in rounds]
    rows = [
        Row("nats audit analyze, its archive", Spread.of([run.seconds for run in analyzed]).text(" s")),
        Row("  processor time of that", Spread.of([run.cpu_s for run in analyzed]).text(" s")),
        Row("  peak memory", f"{max(run.peak_rss_bytes for run in analyzed) / 1e6:.0f} MB"),
        *_rows("jsdoctor check, the same archive", [done.archive for done in rounds], analyzed),
        *_rows("jsdoctor check, a bundle of one sample", [done.single for done in rounds], analyzed),
        *_rows("jsdoctor check, a bundle of two samples", [done.bundle for done in rounds], analyzed),
    ]
    notes = (
        f"archive of nats audit gather {' '.join(GATHER)}: {archive.stat().st_size / 1e6:.1f} MB",
        f"bundles: one sample {single.stat().st_size / 1e6:.1f} MB, two samples {bundle.stat().st_size / 1e6:.1f} MB",
        f"bundle: {last.bundle.headline}; {last.bundle.rules} rules, {last.bundle.findings:,} findings",
        f"archive: {last.archive.headline}; {last.archive.findings:,} findings",
        f"nats audit analyze: {outcome_counts}",
        f"nats: {nats_version()}",
    )
    title = f"Captured: {size[0]:,} streams, {size[1]:,} consumers; median of {len(rounds)} (least to greatest)"
    return Table(title, tuple(rows), notes)


def _rows(what: str, checks: Sequence[Checked], analyzed: Sequence[Run]) -> list[Row]:
    ratio = Spread.of([checked.run.seconds / run.seconds for checked, run in zip(checks, analyzed, strict=True)])
    peak = max(checked.run.peak_rss_bytes for checked in checks)
    limit = f"at most {PEAK_RSS_LIMIT_BYTES / 1e6:.0f} MB"
    return [
        Row(what, Spread.of([checked.run.seconds for checked in checks]).text(" s")),
        Row("  processor time of that", Spread.of([checked.run.cpu_s for checked in checks]).text(" s")),
        Row("  times analyze", ratio.text("x"), f"at most {RATIO_AIM:g}x", ratio.middle <= RATIO_AIM),
        Row("  peak memory", f"{peak / 1e6:.0f} MB", limit, peak <= PEAK_RSS_LIMIT_BYTES),
    ]
