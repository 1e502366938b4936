"""A bundle of `jsdoctor capture`, or an archive of `nats audit gather`, as the deployment that is judged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from jsdoctor.bundles.bundle import LogNote
from jsdoctor.model.exchange import Endpoint, Sample
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.packets.kept import kept_packets
from jsdoctor.sources.base import Collection, LogFiles, Need, Reading, Role, Run, Source
from jsdoctor.sources.bundle.read import BundleProblem, Captured, read_bundle
from jsdoctor.sources.headline import packets_headline

_NS_PER_US = 1000
_MAX_NAME_LENGTH = 200
_MAX_TIME_US = 1 << 52  # the time in a bundle may be any number


@dataclass(frozen=True, slots=True)
class BundleFile(Source):
    """A file with what was captured of a deployment, of logs and of packets."""

    path: Path
    alone = "--bundle judges what was captured and connects to nothing"
    has_times = True
    role = Role.DEPLOYMENT

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names it."""
        return ("--bundle",)

    @contextmanager
    def read(self, need: Need, run: Run, collection: Collection) -> Iterator[Reading]:
        """Its replies and log lines. A bundle that cannot be read is a gap; raises UsageProblem where there is none."""
        del need, collection
        run.show(f"reading {self.path}")
        try:
            captured = read_bundle(self.path)
        except BundleProblem as problem:
            now = datetime.now(UTC)
            gap = Gap("bundle", CLUSTER, problem.message, problem.hint)
            unread = Sample(taken_at=now, exchanges=(), gaps=(gap,))
            yield Reading(samples=(unread,), origin=(EvidenceOrigin("bundle", str(self.path), now),), problem=problem)
            return
        with TemporaryDirectory(prefix="jsdoctor-logs-") as directory:
            packets, gaps = kept_packets(exchange for sample in captured.samples for exchange in sample.exchanges)
            yield Reading(
                samples=tuple(map(_without_packets, captured.samples)),
                evidence=(packets,) if packets else (),
                gaps=gaps,
                headline=packets_headline(packets) if packets else "",
                origin=tuple(self._origin(captured)),
                captured_at=captured.samples[0].taken_at,
                logs=self._logs(captured, Path(directory)) if captured.has_logs else None,
            )

    def _origin(self, captured: Captured) -> Iterator[EvidenceOrigin]:
        yield EvidenceOrigin("bundle", str(self.path), captured.created)
        for exchange in (exchange for sample in captured.samples for exchange in sample.exchanges):
            if exchange.endpoint is Endpoint.PACKETS:
                yield EvidenceOrigin("pcap", f"{self.path}!{exchange.target}", exchange.asked_at)
        for service in captured.log_services:
            yield EvidenceOrigin(service.kind, f"{self.path}!{service.name}", service.asked_at)

    def _logs(self, captured: Captured, directory: Path) -> LogFiles:
        """The log lines as files in the directory."""
        names: dict[str, str] = {}
        series: dict[str, str] = {}
        unkept: dict[str, int] = {}
        for number, log in enumerate(captured.logs, 1):
            path = directory / f"{number:05}.log"  # never a name that the bundle gives
            path.write_bytes(log.text)
            written_ns = min(log.note.written_us, _MAX_TIME_US) * _NS_PER_US
            os.utime(path, ns=(written_ns, written_ns))
            names[str(path)] = f"{self.path}!{log.note.path[:_MAX_NAME_LENGTH].lstrip('/')}"
            if log.note.series:
                series[str(path)] = log.note.series[:_MAX_NAME_LENGTH]
            unkept[names[str(path)]] = max(log.note.lines - log.note.kept, 0)
        services = captured.log_services
        is_incomplete = any(log.note.left_out or not log.text for log in captured.logs)
        return LogFiles(
            paths=tuple(names),
            names=names,
            series=series,
            signatures=captured.signatures,
            unkept=unkept,
            incomplete=is_incomplete or any(service.incomplete for service in services),
            words="; ".join(service.words for service in services if service.words),
            gaps=(
                *(gap for service in services for gap in service.gaps),
                *log_gaps([log.note for log in captured.logs]),
            ),
        )


def _without_packets(sample: Sample) -> Sample:
    kept = tuple(exchange for exchange in sample.exchanges if exchange.endpoint is not Endpoint.PACKETS)
    return replace(sample, exchanges=kept)


def log_gaps(notes: Sequence[LogNote]) -> Iterator[Gap]:
    """The gaps of the logs that a bundle was to keep."""
    for note in notes:
        too_large = f"{note.left_out:,} lines for which there was no room are left out" if note.left_out else ""
        if reason := "; ".join(filter(None, [note.problem, too_large])):
            yield Gap(
                kind="log",
                subject=Subject(kind="file", name=note.path),
                reason=f"{note.path}: {reason}",
                how_to_get="read the log itself with --logs, or capture it again with a shorter --since",
            )
