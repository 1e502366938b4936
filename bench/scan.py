"""`--scan` beside a bare nats-py consumer: the headers of many stored messages, read by turns in the same run."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import nats

from bench.figures import Row, Spread, Table
from bench.process import Run, run
from bench.settings import Site
from tests.servers import Cluster

RATIO_AIM = 1.3
PEAK_RSS_LIMIT_BYTES = 200_000_000
STREAM = "STORED"
_SUBJECTS = 50
_PAYLOAD = b"x" * 256

_MODULES = {"bare nats-py consumer": "bench.scan_floor", "jsdoctor's scan": "bench.scan_alone"}


def measure(site: Site) -> Table:
    """Time and memory of fresh processes that do nothing else; each is told to read all messages."""
    messages = site.settings.stored_messages
    with tempfile.TemporaryDirectory() as directory, Cluster.launch(Path(directory)) as cluster:
        url = cluster.url("app")
        asyncio.run(fill(url, messages))
        runs: dict[str, list[Run]] = {name: [] for name in _MODULES}
        for number in range(site.settings.rounds):
            names = list(_MODULES) if number % 2 == 0 else list(_MODULES)[::-1]
            for name in names:
                runs[name].append(_read(_MODULES[name], url, messages))
        check = _check(url, messages)
    floor, ours = runs.values()
    ratio = Spread.of([mine.seconds / bare.seconds for mine, bare in zip(ours, floor, strict=True)])
    cpu = Spread.of([mine.cpu_s / bare.cpu_s for mine, bare in zip(ours, floor, strict=True)])
    peak = max(done.peak_rss_bytes for done in (*ours, check))
    rows = [
        *(Row(name, Spread.of([done.seconds for done in done_runs]).text(" s")) for name, done_runs in runs.items()),
        Row("  times the bare consumer", ratio.text("x"), f"at most {RATIO_AIM:g}x", ratio.middle <= RATIO_AIM),
        Row("  processor time likewise", cpu.text("x")),
        Row("jsdoctor check --scan, all of it, once", f"{check.seconds:.2f} s"),
        Row(
            "  peak memory of either",
            f"{peak / 1e6:.0f} MB",
            f"at most {PEAK_RSS_LIMIT_BYTES / 1e6:.0f} MB",
            peak <= PEAK_RSS_LIMIT_BYTES,
        ),
        Row("  peak memory of the bare consumer", f"{max(done.peak_rss_bytes for done in floor) / 1e6:.0f} MB"),
    ]
    title = f"Scan: {messages:,} stored messages; median of {site.settings.rounds} (least to greatest)"
    return Table(title, tuple(rows), (f"{len(_PAYLOAD)} bytes each, {_SUBJECTS} subjects, every second with an id",))


async def fill(url: str, messages: int) -> None:
    """Store so many messages, unacknowledged but for the last of each thousand."""
    client = await nats.connect(url.split(","))
    try:
        config = {"name": STREAM, "subjects": [f"{STREAM}.>"], "duplicate_window": 1_000_000_000}
        await client.request(f"$JS.API.STREAM.CREATE.{STREAM}", json.dumps(config).encode(), timeout=10)
        for number in range(1, messages + 1):
            subject = f"{STREAM}.{number % _SUBJECTS}"
            headers = {"Nats-Msg-Id": f"id-{number}"} if number % 2 else None
            if number % 1000 and number < messages:
                await client.publish(subject, _PAYLOAD, headers=headers)
            else:
                await client.request(subject, _PAYLOAD, timeout=30)
    finally:
        await client.close()


def _read(module: str, url: str, messages: int) -> Run:
    return run([sys.executable, "-m", module, url, STREAM, str(messages)])


def _check(url: str, messages: int) -> Run:
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--format", "json", "--server", url]
    done = run([*command, "--select", "JSD105", "--scan", f"{STREAM}:{messages}", "--exit-zero"])
    (verdict,) = [rule for rule in json.loads(done.stdout)["rules"] if rule["code"] == "JSD105"]
    if verdict["outcome"] != "pass":
        raise RuntimeError(f"JSD105 did not pass on what was stored in order: {verdict}")
    return done
