"""Logs in bundles: the log lines that a capture keeps, and how a check reads them again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from jsdoctor.app.logs.options import FetchedLogs, LogRequest, Selected
from jsdoctor.app.logs.progress import LogProgress
from jsdoctor.app.logs.reading import planned_logs
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.app.window import window_of
from jsdoctor.collect.bundle.read import Captured
from jsdoctor.collect.logs.selected import SelectedLog, selected_logs
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.log_scan import ScanSettings
from jsdoctor.model.rule import Signature
from jsdoctor.model.window import Window
from jsdoctor.parse.bundle import CapturedLog, LogNote, LogServiceNote, captured_log
from jsdoctor.parse.logs.scan.selection import signature_identity
from jsdoctor.parse.redact import scrub_line

_NS_PER_US = 1000
_MAX_NAME_LENGTH = 200


def kept_log_options(given: Mapping[str, Any]) -> LogRequest | None:
    """The logs that `capture` reads, and their time window; None if none are named.

    Raises `UsageProblem` for a window without logs.
    """
    if not (given.get("logs") or given.get("loki")):
        if given.get("since") or given.get("until"):
            raise UsageProblem("--since and --until narrow logs, and none are given", "add --logs PATH")
        return None
    return LogRequest(paths=tuple(given.get("logs") or ()), window=window_of(given.get("since"), given.get("until")))


@dataclass(frozen=True, slots=True)
class SelectedLogs:
    """The lines of logs that a bundle keeps, and what is known of those that were fetched. `names` are the latter's."""

    logs: Sequence[SelectedLog] = ()
    fetched: FetchedLogs | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def unread(self) -> tuple[Sample, ...]:
        """What was not fetched, as a sample without replies: secrets are taken out of samples."""
        return (Sample(self.fetched.source.collected_at, (), self.fetched.gaps),) if self.fetched else ()

    def members(self, texts: Sequence[bytes]) -> list[CapturedLog]:
        """As members of a bundle. `texts` are theirs, without secrets."""
        of_path = self.fetched.series if self.fetched else {}
        series = {self.names[path]: name for path, name in of_path.items()}
        members = []
        for number, (log, text) in enumerate(zip(self.logs, texts, strict=True), 1):
            note = LogNote(
                name="",
                sha256="",
                size=0,
                path=log.path,
                lines=log.lines,
                kept=log.kept,
                left_out=log.left_out,
                written_us=max(log.mtime_us, 0),
                problem=log.problem,
                series=series.get(log.path, ""),
            )
            members.append(captured_log(number, text, note))
        return members

    def services(self, unread: Sequence[Sample]) -> tuple[LogServiceNote, ...]:
        """What a bundle notes of the service that logs were fetched from. `unread` is without secrets."""
        if self.fetched is None:
            return ()
        source = self.fetched.source
        return (
            LogServiceNote(
                source.kind,
                source.name,
                source.collected_at,
                words=scrub_line(self.fetched.words),
                incomplete=self.fetched.incomplete,
                gaps=tuple(gap for sample in unread for gap in sample.gaps),
            ),
        )


def select_logs(wanted: LogRequest | None, show: Callable[[str], None]) -> SelectedLogs:
    """Read them and keep the lines that rules can use."""
    if wanted is None:
        return SelectedLogs()
    if not wanted.paths:
        return SelectedLogs((), wanted.fetched)
    show("looking for logs")
    plan, _ = planned_logs(wanted)
    settings = ScanSettings(signatures=_signatures())
    logs = selected_logs(settings, plan, LogProgress(show, sum(part.size for part in plan.files)))
    return SelectedLogs(logs, wanted.fetched, wanted.names)


def searched_for() -> tuple[str, ...]:
    """The identities of all signatures: a reader with others knows that their absence shows nothing."""
    return tuple(map(signature_identity, _signatures()))


def _signatures() -> tuple[Signature, ...]:
    return tuple(signature for rule in open_rulebook().rules for signature in rule.signatures)


def log_gaps(notes: Sequence[LogNote]) -> Iterator[Gap]:
    """The gaps of the logs that a bundle was to keep."""
    for note in notes:
        full = f"{note.left_out:,} lines for which there was no room are left out" if note.left_out else ""
        if reason := "; ".join(filter(None, [note.problem, full])):
            yield Gap(
                kind="log",
                subject=Subject(kind="file", name=note.path),
                reason=f"{note.path}: {reason}",
                how_to_get="read the log itself with --logs, or capture it again with a shorter --since",
            )


@contextmanager
def with_captured_logs(
    request: LogRequest | None, captured: Captured, bundle: str, window: Window | None = None
) -> Iterator[LogRequest]:
    """The request with the logs of a bundle added to it. They are files while the context lasts."""
    logs, services = captured.logs, captured.log_services
    with TemporaryDirectory(prefix="jsdoctor-logs-") as directory:
        names: dict[str, str] = {}
        series: dict[str, str] = {}
        unkept: dict[str, int] = {}
        for number, log in enumerate(logs, 1):
            path = Path(directory) / f"{number:05}.log"  # never a name that the bundle gives
            path.write_bytes(log.text)
            written_ns = min(log.note.written_us, 1 << 52) * _NS_PER_US
            os.utime(path, ns=(written_ns, written_ns))
            names[str(path)] = f"{bundle}!{log.note.path[:_MAX_NAME_LENGTH].lstrip('/')}"
            if log.note.series:
                series[str(path)] = log.note.series[:_MAX_NAME_LENGTH]
            unkept[names[str(path)]] = max(log.note.lines - log.note.kept, 0)
        given = request or LogRequest(paths=(), window=window)
        gaps = (*(gap for service in services for gap in service.gaps), *log_gaps([log.note for log in logs]))
        selected = Selected(
            captured.signatures,
            any(log.note.left_out or not log.text for log in logs) or any(service.incomplete for service in services),
            unkept,
            "; ".join(service.words for service in services if service.words),
        )
        yield msgspec.structs.replace(
            given, paths=(*given.paths, *names), names=names, series=series, gaps=gaps, selected=selected
        )
