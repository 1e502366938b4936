"""Reads logs for one run: selects the files and the engine, and returns the evidence and its gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from jsdoctor.app.beside import BesideRead
from jsdoctor.app.logs.options import LogRequest, Selected
from jsdoctor.app.logs.scanning import scan_logs
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.checks.logs.undecided import SHORT_LOG_LINES
from jsdoctor.collect.logs.discover import ReadPlan, discover
from jsdoctor.collect.logs.store import STDIN, STREAMS
from jsdoctor.collect.logs.window import Narrowed, narrowed
from jsdoctor.collect.rule_pages import known_lines
from jsdoctor.model.evidence import Gaps
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence, LogFile
from jsdoctor.model.log_scan import ScanSettings
from jsdoctor.model.report import Source
from jsdoctor.model.rule import Rule, Signature
from jsdoctor.model.window import Window
from jsdoctor.model.wording import counted, listed
from jsdoctor.parse.logs.scan.selection import unsearched
from jsdoctor.render.units import quantity

_UNEXPLAINED = "collection.lines_unexplained_logged"


def read_logs(
    request: LogRequest, rules: tuple[Rule, ...], show: Callable[[str], None], notice: Callable[[str, str], None]
) -> BesideRead:
    """Read them all. What cannot be read becomes a gap; raises problems with Spark, and usage problems."""
    started = datetime.now(UTC)
    show("looking for logs")
    fetched = request.fetched
    shown = [request.names.get(path, path) for path in request.paths]
    own = [path for path in request.paths if not (fetched and path in fetched.series)]
    sources = tuple(Source("logs", request.names.get(path, path), started) for path in own)
    sources += (fetched.source,) if fetched else ()
    missing = (*request.gaps, *(fetched.gaps if fetched else ()))
    if not request.paths and missing:
        words = request.selected.words if request.selected else ""
        absent, problem = (LogEvidence, missing[0]), fetched.problem if fetched else None
        return BesideRead(Gaps(()), missing, sources, words, absent=absent, problem=problem)
    plan, cut = planned_logs(request)
    settings = ScanSettings(signatures=_signatures(rules))
    evidence, how = scan_logs(request, settings, plan, show, notice)
    evidence = _of_selected(evidence, request.selected, settings) if request.selected else evidence
    if fetched and fetched.incomplete:
        evidence = replace(evidence, unsearched=tuple(signature.name for signature in settings.signatures))
    gaps = (*missing, *(_gap(file) for file in evidence.files if file.problem), *_window_gaps(shown, request, cut))
    headline = _headline(evidence, how) + (_window_words(request.window, cut) if cut else "")
    reported = (request.selected.words if request.selected else "", fetched.words if fetched else "")
    headline = "; ".join(filter(None, [headline, *reported]))
    if _tells_nothing(evidence) and not any(gap.requested for gap in gaps):
        nothing = _no_log_lines(shown, evidence)
        return BesideRead(Gaps(()), (*gaps, nothing), sources, headline, absent=(LogEvidence, nothing))
    return BesideRead(evidence, (*gaps, *_empty(evidence.files)), sources, headline)


def _signatures(rules: Sequence[Rule]) -> tuple[Signature, ...]:
    """Those of the rules. What no rule wants shows only where all of them are searched for, and the known lines."""
    if any(_UNEXPLAINED in rule.checks for rule in rules):
        rules = open_rulebook().rules
    return (*(signature for rule in rules for signature in rule.signatures), *known_lines())


def planned_logs(request: LogRequest) -> tuple[ReadPlan, Narrowed | None]:
    """What is to be read, without what lies outside of the window; and what the window left out, if there is one.

    What was fetched has no lines but those of the window.
    """
    plan = discover(request.paths, request.zones, request.servers, request.names)
    fetched = request.fetched.series if request.fetched else {}
    series = {**request.series, **fetched}
    parts = [replace(part, series=series.get(part.path, part.series)) for part in plan.files]
    own = ReadPlan(tuple(part for part in parts if part.path not in fetched), plan.text)
    cut = narrowed(own, request.window) if request.window and own.files else None
    files = (*(cut.plan if cut else own).files, *(part for part in parts if part.path in fetched))
    return ReadPlan(files, sum(part.weight for part in files)), cut


def _of_selected(evidence: LogEvidence, selected: Selected, settings: ScanSettings) -> LogEvidence:
    """The evidence with the lines that were searched and not kept, and the signatures whose absence shows nothing."""
    return replace(
        evidence,
        files=tuple(_with_unkept(file, selected.unkept.get(file.path, 0)) for file in evidence.files),
        unsearched=unsearched(selected.signatures, settings.signatures, selected.incomplete),
    )


def _with_unkept(file: LogFile, lines: int) -> LogFile:
    """Lines that were not kept count as those that were: as a server's, or as a client's where no server's is known."""
    if file.server_lines:
        return replace(file, server_lines=file.server_lines + lines)
    return replace(file, client_lines=file.client_lines + lines) if file.client_lines else file


def _gap(file: LogFile) -> Gap:
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


def _tells_nothing(evidence: LogEvidence) -> bool:
    """Whether no line is a server's or matches a rule: rules would then pass without evidence.

    Many lines with times may be the log of a client without a problem. A date makes no log of a few.
    """
    is_log = evidence.has_client_logs and sum(file.lines for file in evidence.files) >= SHORT_LOG_LINES
    return not (evidence.has_server_logs or is_log or evidence.totals)


def _no_log_lines(paths: Sequence[str], evidence: LogEvidence) -> Gap:
    """The gap for inputs without any line to judge: that is no evidence of health, so no rule judges it."""
    names = listed([STDIN if path in STREAMS else path for path in paths], 3)
    if any(map(_has_text, evidence.files)):
        why = "no line of it is known as one of a NATS server, and no rule knows one of them"
    else:
        why = "it is empty"
    return Gap(
        kind="log",
        subject=Subject(kind="file", name=names),
        reason=f"{names}: {why}, so nothing was judged",
        how_to_get="give the log as the server or client wrote it; for stdin, check the command before the pipe",
    )


def _empty(files: Sequence[LogFile]) -> Iterator[Gap]:
    """Gaps for empty files that the user named. In directories, rotation leaves empty files."""
    for file in files:
        if file.named and not file.problem and not _has_text(file):
            yield Gap(
                kind="log",
                subject=Subject(kind="file", name=file.path),
                reason=f"{file.path} is empty",
                how_to_get="leave it out, or give a log that has lines",
            )


def _window_words(window: Window | None, cut: Narrowed) -> str:
    """The window and what it left out, as text; uncut files are named, because their lines outside of it count, too."""
    window = window or Window()
    left = f", {counted(cut.outside, 'file')} outside of it" if cut.outside else ""
    whole = f"; read whole, lines outside of it count, too: {listed(cut.whole, 3)}" if cut.whole else ""
    return f"; only {window.words}, log times without a zone taken as {window.local_zone}{left}{whole}"


def _window_gaps(shown: Sequence[str], request: LogRequest, cut: Narrowed | None) -> Iterator[Gap]:
    """A window without any line is no evidence of health."""
    if cut is not None and not cut.plan.files and request.window is not None:
        yield Gap(
            kind="log",
            subject=Subject(kind="file", name=shown[0]),
            reason=f"no log line lies in the time window, {request.window.words}",
            how_to_get="widen --since and --until; --timezone sets the zone of log times without one",
        )


def _headline(evidence: LogEvidence, how: str) -> str:
    lines, text = sum(file.lines for file in evidence.files), sum(file.read for file in evidence.files)
    parts = [counted(len(evidence.files), "file"), counted(lines, "line"), quantity(text, "bytes")]
    if evidence.servers:
        parts.append(f"of {counted(len(evidence.servers), 'server')}")
    return f"{', '.join(parts)} of logs; {how}".replace(", of ", " of ")
