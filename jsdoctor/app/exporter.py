"""`jsdoctor serve`: repeats the check and serves its report and the report's age to Prometheus."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jsdoctor.app.collecting import collect
from jsdoctor.app.judging import Judging, open_judging
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.request import Address, JudgeRequest, ListenRequest
from jsdoctor.configuration.file import ConfigurationError
from jsdoctor.engine.select import SelectionError
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.model.report import Report
from jsdoctor.pages.front_matter import PageError
from jsdoctor.render.formats.prometheus import CONTENT_TYPE
from jsdoctor.sources.request import EvidenceRequest

EXPOSED = OutputTarget("prometheus", None)
_MAX_REQUEST_S = 10


Rendered = Callable[[Judging, Report], str]
"""Formats a report for Prometheus."""


class Exposition:
    """The newest report as text, and its time. Shared by the checking thread and the serving ones."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._report, self._at, self._failed = "", 0.0, 0

    def put(self, report: str) -> None:
        """Replace the report after a check."""
        with self._lock:
            self._report, self._at = report, self._clock()

    def failed(self) -> None:
        """Record a check without a report: the last report stays, and its age grows."""
        with self._lock:
            self._failed += 1

    def text(self) -> str:
        """The text for Prometheus. Before the first report, it only states that there is none."""
        with self._lock:
            age = self._clock() - self._at
            lines = [
                "# HELP jsdoctor_checks_failed_total Checks that ended without a report.",
                "# TYPE jsdoctor_checks_failed_total counter",
                f"jsdoctor_checks_failed_total {self._failed}",
            ]
            if self._report:
                lines += [
                    "# HELP jsdoctor_report_age_seconds How long ago the check ended whose report this is.",
                    "# TYPE jsdoctor_report_age_seconds gauge",
                    f"jsdoctor_report_age_seconds {age:.3f}",
                ]
            return self._report + "\n".join(lines) + "\n"


def serve(
    judge: JudgeRequest, wanted: EvidenceRequest, listen: ListenRequest, rendered: Rendered, messages: Messages = LOGGED
) -> None:
    """Check and serve until stopped. Raises what the first check raises before it looks at anything."""
    judge = replace(judge, output=(EXPOSED,))
    open_judging(judge)  # mistakes in rules or configuration end it now, not in the background
    exposition = Exposition()
    with _http_server(listen.address, exposition) as server:
        threading.Thread(target=server.serve_forever, name="exporter", daemon=True).start()
        host, port = server.server_address[0], server.server_address[1]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        messages.notice(f"metrics are at http://{shown}:{port}/metrics; Ctrl-C ends", "")
        try:
            while True:
                began = time.monotonic()
                _check_once(replace(judge, started=datetime.now(UTC)), wanted, exposition, rendered, messages)
                time.sleep(max(0.0, listen.every_s - (time.monotonic() - began)))
        finally:
            server.shutdown()


def _check_once(
    judge: JudgeRequest, wanted: EvidenceRequest, exposition: Exposition, rendered: Rendered, messages: Messages
) -> None:
    try:
        collected = collect(wanted, open_judging(replace(judge, quiet=True)), messages)
        report = collected.report()
    except Problem as problem:
        exposition.failed()
        messages.notice(problem.message, problem.hint)
        return
    except (ConfigurationError, PageError, SelectionError) as error:  # a file that is being edited
        exposition.failed()
        messages.notice(str(error), "")
        return
    if collected.problem is not None:
        messages.notice(collected.problem.message, collected.problem.hint)
    if collected.saw_nothing:
        exposition.failed()
        return
    exposition.put(rendered(collected.judging, report))


def _http_server(listen: Address, exposition: Exposition) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        """Serves GET /metrics, and nothing else."""

        timeout = _MAX_REQUEST_S
        server_version, sys_version = "jsdoctor", ""

        def do_GET(self) -> None:
            known_path = self.path.partition("?")[0] == "/metrics"
            body = exposition.text().encode() if known_path else b"see /metrics\n"
            self.send_response(HTTPStatus.OK if known_path else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", CONTENT_TYPE if known_path else "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: Prometheus sends requests all the time."""

    class MetricsServer(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET

    try:
        return MetricsServer((listen.host, listen.port), Handler)
    except OSError as error:
        where = f"{listen.host}:{listen.port}"
        raise UsageProblem(f"cannot listen on {where}: {error.strerror or error}", "choose another address") from error
