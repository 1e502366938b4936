"""The lines of logs that a capture keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.bundles.bundle import CapturedLog, LogNote, LogServiceNote, captured_log
from jsdoctor.logs.scan.selection import signature_identity
from jsdoctor.model.exchange import Sample
from jsdoctor.model.log_scan import ScanSettings
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.sources.archives.selected import SelectedLog, selected_logs
from jsdoctor.sources.base import LogFiles, Need, Run
from jsdoctor.sources.log_scan import LogProgress
from jsdoctor.sources.logs import planned_logs, signatures_of, window_gaps


class SelectedLogs(msgspec.Struct, frozen=True):
    """The lines of logs that a bundle keeps, and the logs of all sources that they are from."""

    logs: Sequence[SelectedLog]
    files: Sequence[LogFiles]

    @property
    def _with_service(self) -> list[tuple[LogFiles, EvidenceOrigin]]:
        return [(logs, logs.service) for logs in self.files if logs.service is not None]

    @property
    def unread(self) -> tuple[Sample, ...]:
        """What each service did not send, as a sample without replies: secrets are taken out of samples."""
        return tuple(Sample(service.collected_at, (), logs.gaps) for logs, service in self._with_service)

    def members(self, texts: Sequence[bytes]) -> list[CapturedLog]:
        """As members of a bundle. `texts` are theirs, without secrets."""
        series = {logs.names[path]: name for logs in self.files for path, name in logs.series.items()}
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
        """What a bundle notes of the services that logs were fetched from. `unread` is without secrets."""
        return tuple(
            LogServiceNote(
                service.kind,
                service.name,
                service.collected_at,
                words=scrub_line(logs.words),
                incomplete=logs.incomplete,
                gaps=clean.gaps,
            )
            for (logs, service), clean in zip(self._with_service, unread, strict=True)
        )


def select_logs(files: Sequence[LogFiles], need: Need, run: Run) -> SelectedLogs:
    """Read them and keep the lines that rules can use."""
    if not any(logs.paths for logs in files):
        return SelectedLogs((), files)
    run.show("looking for logs")
    plan, cut = planned_logs(files, run)
    if outside := tuple(window_gaps(files, run.window, cut)):
        named = EvidenceOrigin("logs", outside[0].subject.name, datetime.now(UTC))
        files = (*files, LogFiles(paths=(), service=named, gaps=outside))
    settings = ScanSettings(signatures=signatures_of(need.rules))
    logs = selected_logs(settings, plan, LogProgress(run.show, sum(part.size for part in plan.files)))
    return SelectedLogs(logs, files)


def searched_for(need: Need) -> tuple[str, ...]:
    """The identities of all signatures: a reader with others knows that their absence shows nothing."""
    return tuple(map(signature_identity, signatures_of(need.rules)))
