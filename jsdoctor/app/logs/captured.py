"""Logs and bundles: what a capture keeps of logs, and how a check reads them from the bundle again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jsdoctor.app.logs.options import LogRequest, Selected
from jsdoctor.app.logs.progress import LogProgress
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.app.window import window_of
from jsdoctor.collect.logs.discover import discover
from jsdoctor.collect.logs.selected import SelectedLog, selected_logs
from jsdoctor.collect.logs.window import narrowed
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.log_scan import ScanSettings
from jsdoctor.model.rule import Signature
from jsdoctor.model.window import Window
from jsdoctor.parse.bundle import CapturedLog, LogNote, captured_log
from jsdoctor.parse.logs.selection import signature_identity

_NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class LogSelection:
    """Which logs a capture reads, and of which time."""

    paths: tuple[str, ...]
    window: Window | None = None


def log_selection(given: Mapping[str, Any]) -> LogSelection | None:
    """From the options of `capture`; None where no logs are given. Raises `UsageProblem` for a window without logs."""
    if not given.get("logs"):
        if given.get("since") or given.get("until"):
            raise UsageProblem("--since and --until narrow logs, and none are given", "add --logs PATH")
        return None
    return LogSelection(tuple(given["logs"]), window_of(given.get("since"), given.get("until")))


def select_logs(wanted: LogSelection, show: Callable[[str], None]) -> list[SelectedLog]:
    """Read them and keep the lines that rules can use."""
    show("looking for logs")
    plan = discover(wanted.paths)
    plan = narrowed(plan, wanted.window).plan if wanted.window else plan
    settings = ScanSettings(signatures=_signatures())
    return selected_logs(settings, plan, LogProgress(show, sum(part.size for part in plan.files)))


def searched_for() -> tuple[str, ...]:
    """The identities of all signatures: a reader with others knows that their absence shows nothing."""
    return tuple(map(signature_identity, _signatures()))


def _signatures() -> tuple[Signature, ...]:
    return tuple(signature for rule in open_rulebook().rules for signature in rule.signatures)


def log_members(selected: Sequence[SelectedLog], texts: Sequence[bytes]) -> list[CapturedLog]:
    """As members of a bundle. `texts` are theirs, without secrets."""
    members = []
    for number, (log, text) in enumerate(zip(selected, texts, strict=True), 1):
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
        )
        members.append(captured_log(number, text, note))
    return members


def log_gaps(notes: Sequence[LogNote]) -> Iterator[Gap]:
    """What a bundle does not have of the logs that it was asked to keep."""
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
    request: LogRequest | None, logs: Sequence[CapturedLog], bundle: str, searched: Sequence[str] = ()
) -> Iterator[LogRequest | None]:
    """The request with the logs of a bundle added to it. They are files while the context lasts."""
    if not logs:
        yield request
        return
    with TemporaryDirectory(prefix="jsdoctor-logs-") as directory:
        names: dict[str, str] = {}
        unkept: dict[str, int] = {}
        for number, log in enumerate(logs, 1):
            path = Path(directory) / f"{number:05}.log"  # never a name that the bundle gives
            path.write_bytes(log.text)
            written_ns = min(log.note.written_us, 1 << 52) * _NS_PER_US
            os.utime(path, ns=(written_ns, written_ns))
            names[str(path)] = f"{bundle}!{log.note.path[:200].lstrip('/')}"
            unkept[names[str(path)]] = max(log.note.lines - log.note.kept, 0)
        given = request or LogRequest(paths=())
        gaps = tuple(log_gaps([log.note for log in logs]))
        selected = Selected(tuple(searched), any(log.note.left_out or not log.text for log in logs), unkept)
        yield replace(given, paths=(*given.paths, *names), names=names, gaps=gaps, selected=selected)
