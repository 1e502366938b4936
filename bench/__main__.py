"""Measure, print tables, exit 0: 1 when `--strict` is given and a promise is not kept, 3 when a figure is missing."""

import argparse
import os
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bench import captured, growth, large_cluster, largest, logs, manifests, packets, scan, startup
from bench.figures import Table
from bench.settings import Settings, Site
from tests.servers import DEFAULT_VERSION

BENCHMARKS: dict[str, Callable[[Site], Table]] = {
    "startup": startup.measure,
    "growth": growth.measure,  # before the large cluster: both use one deployment, which only grows
    "large_cluster": large_cluster.measure,
    "largest": largest.measure,
    "logs": logs.measure,
    "captured": captured.measure,
    "scan": scan.measure,
    "packets": packets.measure,
    "manifests": manifests.measure,
}


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for and return the exit code."""
    options, defaults = _parser().parse_args(arguments), Settings()
    settings = Settings(
        streams=options.streams,
        consumers_per_stream=options.consumers,
        rounds=options.rounds,
        start_rounds=options.start_rounds,
        log_megabytes=tuple(options.log_megabytes or defaults.log_megabytes),
        stored_messages=options.stored_messages,
        capture_megabytes=options.capture_megabytes,
        published=options.published,
        manifests=options.manifests,
        largest_streams=options.largest_streams,
    )
    wanted = [name for name in BENCHMARKS if name in (options.only or BENCHMARKS)]
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {_machine()}", flush=True)
    missed = missing = False
    with Site.open(settings) as site:
        for name in wanted:
            try:
                table = BENCHMARKS[name](site)
            except Exception as error:  # noqa: BLE001 - whatever it was, the others can still be measured
                print(f"\n{name} could not be measured: {type(error).__name__}: {error}", flush=True)
                missing = True
            else:
                print(f"\n{table.text()}", flush=True)
                missed = missed or table.missed
    print(f"\nAt the end: load average {_load()}")
    return 3 if missing else 1 if missed and options.strict else 0


def _parser() -> argparse.ArgumentParser:
    defaults = Settings()
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what jsdoctor promises.")
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="this one; may be given again")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a promise is not kept")
    parser.add_argument("--streams", type=_positive, default=defaults.streams, help="default %(default)s")
    parser.add_argument("--consumers", type=_positive, default=defaults.consumers_per_stream, help="of each stream")
    parser.add_argument("--rounds", type=_positive, default=defaults.rounds, help="on the cluster")
    parser.add_argument("--start-rounds", type=_positive, default=defaults.start_rounds, help="of the start")
    parser.add_argument("--log-megabytes", type=_positive, action="append", help="of an archive; may be given again")
    parser.add_argument(
        "--stored-messages", type=_positive, default=defaults.stored_messages, help="of the stream read"
    )
    parser.add_argument("--capture-megabytes", type=_positive, default=defaults.capture_megabytes, help="of packets")
    parser.add_argument("--published", type=_positive, default=defaults.published, help="messages of real traffic")
    parser.add_argument("--largest-streams", type=_positive, default=defaults.largest_streams, help="of `largest`")
    parser.add_argument("--manifests", type=_positive, default=defaults.manifests, help="files of them")
    return parser


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return number


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"nats-server {DEFAULT_VERSION}; load average {_load()}"
    )


def _load() -> str:
    return ", ".join(f"{value:.1f}" for value in os.getloadavg())


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that servers and their data go, too
    sys.exit(main(sys.argv[1:]))
