"""`jsdoctor check` on a large cluster, beside `nats audit gather` and `analyze` on the same one, by turns."""

from collections.abc import Iterator

from bench.beside_floor import floor_rows, pairs
from bench.commands import NO_WAITING, Audited, Checked, audit, check_json, check_text, nats_version, report
from bench.deployment import Deployment
from bench.figures import Row, Spread, Table
from bench.process import Run
from bench.settings import Site

RATIO_AIM = 0.5
PEAK_RSS_LIMIT_BYTES = 400_000_000
LINES_PER_RULE = 30
LINES_BESIDE = 30
"""Five examples of a rule are shown, some lines each, whether ten subjects have the fault or ten thousand."""

PEERS: dict[str, tuple[str, ...]] = {
    "nats audit gather + analyze": (),
    # Without what `analyze` does not need. The timeout, 5s by default, is what `gather` always waits to learn who is
    # there; with less than this it leaves out streams on a busy machine.
    "the same, cheapest options (1)": (
        *("--no-server-profiles", "--no-account-endpoints", "--no-details"),
        *("--timeout", "2s"),
    ),
}
"""What jsdoctor is measured beside: options of `gather`."""

FLOOR_AIM = 3.0

_Round = tuple[Checked, dict[str, Audited]]


def measure(site: Site) -> Table:
    """Time, memory, and length of the report."""
    deployment = site.deployment()
    deployment.grow_to(site.settings.streams)
    system, account = deployment.cluster.url("sys"), deployment.cluster.url("app")
    size = (deployment.streams, deployment.consumers)
    check_json(system, *size, *NO_WAITING)  # nothing is counted of the first run
    rounds = [_round(deployment, number) for number in range(site.settings.rounds)]
    waiting = check_json(system, *size)
    plain = check_json(account, *size, *NO_WAITING)
    text = check_text(system)
    reports = [report(system) for _ in rounds]
    measured = pairs(system, size, 2, site.settings.rounds, NO_WAITING)
    checks = [*(checked for checked, _ in rounds), *(pair.check for pair in measured)]
    peak = max(run.peak_rss_bytes for run in [*(checked.run for checked in checks), waiting.run, plain.run, text])
    rows = [
        Row("jsdoctor check, two samples, no waiting", Spread.of([c.run.seconds for c in checks]).text(" s")),
        Row("  processor time of that", Spread.of([c.run.cpu_s for c in checks]).text(" s")),
        *floor_rows(measured, FLOOR_AIM),
        *(row for peer in PEERS for row in _peer_rows(peer, rounds)),
        Row("nats server report jetstream", Spread.of([shown.seconds for shown in reports]).text(" s")),
        Row("jsdoctor check, 2 s between samples, once", f"{waiting.run.seconds:.2f} s"),
        Row("jsdoctor check, plain account, no waiting, once", f"{plain.run.seconds:.2f} s"),
        Row(
            "peak memory of jsdoctor, all runs",
            f"{peak / 1e6:.0f} MB",
            f"at most {PEAK_RSS_LIMIT_BYTES / 1e6:.0f} MB",
            peak <= PEAK_RSS_LIMIT_BYTES,
        ),
        _text_row(text, waiting),
    ]
    title = f"Large cluster: {size[0]:,} streams, {size[1]:,} consumers; median of {len(rounds)} (least to greatest)"
    return Table(title, tuple(rows), (*_notes(waiting, plain), *_outcomes(rounds)))


def _round(deployment: Deployment, number: int) -> _Round:
    """One measurement of each; every second round backwards, so that none profits from its place."""
    url, archive = deployment.cluster.url("sys"), deployment.scratch / "audit.zip"

    def check() -> Checked:
        return check_json(url, deployment.streams, deployment.consumers, *NO_WAITING)

    def audits(peers: list[str]) -> dict[str, Audited]:
        return {peer: audit(url, deployment.stream_copies, archive, *PEERS[peer]) for peer in peers}

    if number % 2:
        audited = audits(list(reversed(PEERS)))
        return check(), audited
    return check(), audits(list(PEERS))


def _peer_rows(peer: str, rounds: list[_Round]) -> list[Row]:
    audits = [audited[peer] for _, audited in rounds]
    ratio = Spread.of([checked.run.seconds / audited[peer].seconds for checked, audited in rounds])
    peak = max(run.peak_rss_bytes for audited in audits for run in (audited.gather, audited.analyze))
    return [
        Row(peer, Spread.of([audited.seconds for audited in audits]).text(" s")),
        Row("  gather alone", Spread.of([audited.gather.seconds for audited in audits]).text(" s")),
        Row("  peak memory", f"{peak / 1e6:.0f} MB"),
        Row("  jsdoctor takes of its time", ratio.text("x"), f"at most {RATIO_AIM:g}x", ratio.middle <= RATIO_AIM),
    ]


def _text_row(text: Run, full: Checked) -> Row:
    lines = text.stdout.decode().splitlines()
    limit = LINES_PER_RULE * full.rules_failed + LINES_BESIDE
    return Row(
        f"text report: {full.findings:,} findings of {full.rules_failed} rules",
        f"{len(lines)} lines, {len(text.stdout):,} bytes",
        f"at most {limit} lines",
        len(lines) <= limit,
    )


def _notes(waiting: Checked, plain: Checked) -> tuple[str, ...]:
    return (
        f"(1) {' '.join(option for options in PEERS.values() for option in options)}",
        f"JSON report: {len(waiting.run.stdout):,} bytes",
        f"jsdoctor, system account: {waiting.headline}; {waiting.rules} rules",
        f"jsdoctor, plain account: {plain.headline}; {plain.rules} rules",
        f"nats: {nats_version()}",
    )


def _outcomes(rounds: list[_Round]) -> Iterator[str]:
    for peer, last in rounds[-1][1].items():
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(last.outcomes.items()) if count)
        incomplete = sum(audits[peer].incomplete for _, audits in rounds)
        yield f"{peer}: checks {counts}; {incomplete} more runs left out streams and were not counted"
