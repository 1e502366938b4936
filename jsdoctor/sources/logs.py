"""Logs: those that were named, and the reading of all that the sources of a run have found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from jsdoctor.checks.logs.undecided import SHORT_LOG_LINES
from jsdoctor.logs.scan.selection import unsearched
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence, LogFile
from jsdoctor.model.log_scan import ScanSettings
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.rule import Rule, Signature
from jsdoctor.model.window import Window
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.wording import quantity
from jsdoctor.sources.archives.discover import ReadPlan, discover
from jsdoctor.sources.archives.store import STDIN, STREAMS
from jsdoctor.sources.archives.window import Narrowed, narrowed
from jsdoctor.sources.base import Collection, LogFiles, Need, Reading, Run, Source
from jsdoctor.sources.log_scan import scan_logs
from jsdoctor.sources.rule_pages import known_lines

_MAX_NAMES = 3
"""Maximum number of files that a text names."""


@dataclass(frozen=True, slots=True)
class LogPaths(Source):
    """Logs that were named: files, directories, patterns and URIs."""

    paths: tuple[str, ...]
    provides = frozenset({LogEvidence})
    has_times = True

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names them."""
        return ("--logs",)

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """Pass the names on: `read_logs` reads the logs of all sources together."""
        del need, run, collection
        return nullcontext(Reading(logs=LogFiles(paths=self.paths)))


class _AllLogs(msgspec.Struct, frozen=True):
    """The logs of all sources as one."""

    files: tuple[LogFiles, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for source_logs in self.files for path in source_logs.paths)

    @property
    def names(self) -> Mapping[str, str]:
        return {path: name for source_logs in self.files for path, name in source_logs.names.items()}

    @property
    def series(self) -> Mapping[str, str]:
        return {path: name for source_logs in self.files for path, name in source_logs.series.items()}

    @property
    def shown(self) -> list[str]:
        return [self.names.get(path, path) for path in self.paths]

    @property
    def windowed(self) -> frozenset[str]:
        return frozenset(path for source_logs in self.files if source_logs.windowed for path in source_logs.paths)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return tuple(gap for source_logs in self.files for gap in source_logs.gaps)

    def origin(self, at: datetime) -> Iterator[EvidenceOrigin]:
        """Each file, or the service that the files were fetched from."""
        for source_logs in self.files:
            if source_logs.service is not None:
                yield source_logs.service
            else:
                yield from (EvidenceOrigin("logs", source_logs.names.get(path, path), at) for path in source_logs.paths)


def read_logs(files: Sequence[LogFiles], need: Need, run: Run) -> Reading:
    """Read them all. What cannot be read becomes a gap; raises SparkProblem and UsageProblem."""
    started = datetime.now(UTC)
    run.show("looking for logs")
    logs = _AllLogs(tuple(files))
    origin, words = tuple(logs.origin(started)), [source_logs.words for source_logs in files]
    plan, cut = planned_logs(files, run)
    outside = _window_words(run.window, cut) if cut else ""
    gaps = (*logs.gaps, *window_gaps(files, run.window, cut))
    if not plan.files and gaps:
        read = f"no line of logs{outside}" if outside else ""
        return Reading(absent=(LogEvidence, gaps[0]), gaps=gaps, origin=origin, headline=_joined([read, *words]))
    settings = ScanSettings(signatures=(*signatures_of(need.rules), *known_lines()))
    evidence, how = scan_logs(settings, plan, run)
    for source_logs in files:
        evidence = _with_unread_lines(evidence, source_logs, settings)
    gaps = (*gaps, *(_file_gap(file) for file in evidence.files if file.problem))
    read = _headline(evidence, how) + outside
    if _has_no_log_line(evidence) and not any(gap.requested for gap in gaps):
        nothing = _no_lines_gap(logs.shown, evidence)
        gaps, absent = (*gaps, nothing), (LogEvidence, nothing)
        return Reading(absent=absent, gaps=gaps, origin=origin, headline=_joined([read, *words]))
    return Reading(
        evidence=(evidence,),
        gaps=(*gaps, *_empty_file_gaps(evidence.files)),
        origin=origin,
        headline=_joined([read, *words]),
    )


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(filter(None, parts))


def signatures_of(rules: Sequence[Rule]) -> tuple[Signature, ...]:
    """All signatures of the rules."""
    return tuple(signature for rule in rules for signature in rule.signatures)


def planned_logs(files: Sequence[LogFiles], run: Run) -> tuple[ReadPlan, Narrowed | None]:
    """What is to be read, without what lies outside of the window; and what the window left out, if there is one."""
    logs = _AllLogs(tuple(files))
    plan = discover(logs.paths, run.reader.zones, run.reader.servers, logs.names)
    parts = [replace(part, series=logs.series.get(part.path, part.series)) for part in plan.files]
    own = ReadPlan(tuple(part for part in parts if part.path not in logs.windowed), plan.text)
    cut = narrowed(own, run.window) if run.window and own.files else None
    kept = (*(cut.plan if cut else own).files, *(part for part in parts if part.path in logs.windowed))
    return ReadPlan(kept, sum(part.weight for part in kept)), cut


def _with_unread_lines(evidence: LogEvidence, logs: LogFiles, settings: ScanSettings) -> LogEvidence:
    """The evidence with the lines that were not kept of some logs, and the signatures whose absence shows nothing."""
    if logs.signatures is None:
        missing = tuple(signature.name for signature in settings.signatures) if logs.incomplete else ()
    else:
        missing = unsearched(logs.signatures, settings.signatures, logs.incomplete)
    return replace(
        evidence,
        files=tuple(_with_unkept(file, logs.unkept.get(file.path, 0)) for file in evidence.files),
        unsearched=tuple(dict.fromkeys((*evidence.unsearched, *missing))),
    )


def _with_unkept(file: LogFile, lines: int) -> LogFile:
    """Lines that were not kept count as those that were: as a server's, or as a client's where no server's is known."""
    if file.server_lines:
        return replace(file, server_lines=file.server_lines + lines)
    return replace(file, client_lines=file.client_lines + lines) if file.client_lines else file


def _file_gap(file: LogFile) -> Gap:
    """The gap for a file that could not be read completely. If the user named the file, the run is inconclusive."""
    what = (
        f"{quantity(file.skipped, 'bytes')} of {quantity(file.size, 'bytes')} were not read: " if file.skipped else ""
    )
    return Gap(
        kind="log",
        subject=Subject(kind="file", name=file.path),
        reason=f"{what}{file.problem}",
        how_to_get="fix the file or fetch it again, then run again",
        requested=file.named,
    )


def _has_text(file: LogFile) -> bool:
    """Whether a file has more than the ends of its lines."""
    return file.read > 2 * file.lines


def _has_no_log_line(evidence: LogEvidence) -> bool:
    """Whether no line is a server's or matches a rule: rules would then pass without evidence.

    Many lines with times may be the log of a client without a problem. A date makes no log of a few.
    """
    is_log = evidence.has_client_logs and sum(file.lines for file in evidence.files) >= SHORT_LOG_LINES
    return not (evidence.has_server_logs or is_log or evidence.totals)


def _no_lines_gap(paths: Sequence[str], evidence: LogEvidence) -> Gap:
    """The gap for inputs without any line to judge: that is no evidence of health, so no rule judges it."""
    names = listed([STDIN if path in STREAMS else path for path in paths], _MAX_NAMES)
    if any(map(_has_text, evidence.files)):
        why = "no line of it is known as one of a NATS server, and no rule knows one of them"
    else:
        why = "it is empty"
    return Gap(
        kind="log",
        subject=Subject(kind="file", name=names),
        reason=f"{why}, so nothing was judged",
        how_to_get="give the log as the server or client wrote it; for stdin, check the command before the pipe",
    )


def _empty_file_gaps(files: Sequence[LogFile]) -> Iterator[Gap]:
    """Gaps for empty files that the user named. In directories, rotation leaves empty files."""
    for file in files:
        if file.named and not file.problem and not _has_text(file):
            yield Gap(
                kind="log",
                subject=Subject(kind="file", name=file.path),
                reason="it is empty",
                how_to_get="leave it out, or give a log that has lines",
            )


def _window_words(window: Window | None, cut: Narrowed) -> str:
    """The window and what it left out, as text; uncut files are named, because their lines outside of it count, too."""
    window = window or Window()
    left = f", {counted(cut.outside, 'file')} outside of it" if cut.outside else ""
    whole = f"; read whole, lines outside of it count, too: {listed(cut.whole, _MAX_NAMES)}" if cut.whole else ""
    return f"; only {window.words}, log times without a zone taken as {window.local_zone}{left}{whole}"


def window_gaps(files: Sequence[LogFiles], window: Window | None, cut: Narrowed | None) -> Iterator[Gap]:
    """The gap for a time window without any line, which is no evidence of health."""
    if cut is not None and not cut.plan.files and window is not None:
        yield Gap(
            kind="log",
            subject=Subject(kind="file", name=_AllLogs(tuple(files)).shown[0]),
            reason=f"no log line lies in the time window, {window.words}",
            how_to_get="widen --since and --until; --timezone sets the zone of log times without one",
        )


def _headline(evidence: LogEvidence, how: str) -> str:
    lines, text = sum(file.lines for file in evidence.files), sum(file.read for file in evidence.files)
    parts = [counted(len(evidence.files), "file"), counted(lines, "line"), quantity(text, "bytes")]
    whose = f" of {counted(len(evidence.servers), 'server')}" if evidence.servers else ""
    return f"logs{whose}: {', '.join(parts)}" + (f"; {how}" if how else "")
