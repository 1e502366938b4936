"""`jsdoctor serve`: the exporter until a signal ends it."""

from __future__ import annotations

import signal
import sys

from jsdoctor.app.exporter import EXPOSED, serve
from jsdoctor.app.judging import Judging
from jsdoctor.app.request import JudgeRequest, ListenRequest
from jsdoctor.cli.console import MESSAGES
from jsdoctor.cli.report_output import rendered
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.report import Report
from jsdoctor.sources.request import EvidenceRequest


def run_exporter(judge: JudgeRequest, wanted: EvidenceRequest, listen: ListenRequest) -> ExitCode:
    """Check and serve until stopped. Raises what the first check raises before it looks at anything."""
    # Process 1 of a container does not end at a signal that it does not handle, and a pod is ended with SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ExitCode.OK))
    serve(judge, wanted, listen, _exposed, MESSAGES)
    return ExitCode.OK


def _exposed(judging: Judging, report: Report) -> str:
    return rendered(judging, report, EXPOSED)
