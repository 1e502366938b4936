"""`jsdoctor capture`: what is said of a capture, and the page in it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from jsdoctor.app.capture import REPORT, CaptureRequest, capture_to_file
from jsdoctor.app.judging import Judging
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.cli.console import MESSAGES, progress, say
from jsdoctor.cli.report_output import rendered
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Report
from jsdoctor.redaction.redact import MIN_GIVEN

_GAPS_SHOWN = 5


def report_page(judging: Judging, report: Report) -> str:
    """The report as the page that a bundle keeps."""
    return rendered(judging, report, OutputTarget("html", Path(REPORT)))


def run_capture(request: CaptureRequest, quiet: bool) -> ExitCode:
    """Capture what a default check would collect, and all else that it could. Raises what `cli.errors` can say."""
    with progress(quiet) as show:
        captured = capture_to_file(request, show, MESSAGES)
        if captured.problem is not None:
            say(captured.problem.message, captured.problem.hint)
    if not captured.summary:
        if captured.problem is None:
            say("no server responded, so nothing was captured", "see the message about the connection, and run again")
        return ExitCode.INCONCLUSIVE
    if captured.too_short:
        _warn_of_short(captured.too_short)
    if not quiet:
        _say_what_is_missing(captured.missing)
    sys.stdout.write(f"{captured.summary}\n")
    return ExitCode.INCONCLUSIVE if captured.missing else ExitCode.OK


def _warn_of_short(kinds: tuple[str, ...]) -> None:
    say(
        f"the {' and the '.join(kinds)} of this login is shorter than {MIN_GIVEN} characters: copies of it inside"
        " replies were not looked for",
        "a word that short may be a name as well; look through the bundle before you hand it on",
    )


def _say_what_is_missing(gaps: Sequence[Gap]) -> None:
    for gap in gaps[:_GAPS_SHOWN]:
        say(f"not captured: {gap.subject.label}: {gap.reason}", gap.how_to_get)
    if len(gaps) > _GAPS_SHOWN:
        say(f"not captured: {len(gaps) - _GAPS_SHOWN} more; jsdoctor check --bundle lists them")
