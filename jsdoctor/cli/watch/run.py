"""`jsdoctor watch`, end to end: check, show, notify, obey keys, until it is stopped."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.app.judging import open_judging
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.watch.checking import BackgroundCheck
from jsdoctor.app.watch.notify import Notifier
from jsdoctor.app.watch.request import WatchRequest
from jsdoctor.app.watch.session import Session
from jsdoctor.cli.console import MESSAGES, say
from jsdoctor.cli.report_output import render_options
from jsdoctor.cli.watch.display import Display, FullScreen, Lines
from jsdoctor.cli.watch.keyboard import Key, Keyboard, keyboard
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.watch.detail import incident_text, rule_text
from jsdoctor.render.watch.screen import text_height
from jsdoctor.render.watch.view import ScreenView

_TICK_S = 0.5
_SAY_FAREWELL_S = 10.0


def run_watch(request: WatchRequest) -> ExitCode | NagiosState:
    """Watch until stopped. The exit code is that of the newest check; 0 at the first healthy one if requested."""
    judging = open_judging(replace(request.judge, quiet=True))
    if not request.wanted.names_a_deployment or request.wanted.bundle is not None:
        raise UsageProblem("watch needs a live deployment", "name one: jsdoctor watch -s URL")

    def options() -> RenderOptions:
        return render_options(judging, OutputTarget("text", None))

    session = Session(request, judging)
    with keyboard() as keys:
        display: Display = FullScreen(options) if sys.stdout.isatty() else Lines(options)
        with display:
            loop = _Loop(request, session, keys, display, BackgroundCheck(request.wanted, judging, MESSAGES), options())
            loop.run()
    if session.report is not None:
        sys.stdout.write(f"{verdict_sentence(session.report)}\n")
    if session.problem:
        say(session.problem)
    return session.exit_code()


class _Loop:
    """Time, keys and checks. `run` returns when the watch is over."""

    def __init__(
        self,
        request: WatchRequest,
        session: Session,
        keys: Keyboard,
        display: Display,
        background: BackgroundCheck,
        options: RenderOptions,
    ) -> None:
        self._request, self._session, self._keys = request, session, keys
        self._display, self._background, self._options = display, background, options
        self._notifier = Notifier(request.receivers)
        self._began = self._due = time.monotonic()
        self._paused = self._over = False
        self._selected = self._offset = 0
        self._text: str | None = None
        self._notice = ""

    def run(self) -> None:
        """Check again and again."""
        while not self._over:
            now = time.monotonic()
            if not self._background.is_running and not self._paused and now >= self._due:
                self._due = now + self._request.every_s
                self._background.start()
            self._take()
            # A slow deployment must not end a short watch without a result: the timeouts of the check bound the wait.
            is_answered = self._session.has_begun or self._paused
            if self._request.for_s is not None and now - self._began >= self._request.for_s and is_answered:
                self._over = True
            self._display.show(self._view())
            for key in self._keys.read(_TICK_S):
                self._obey(key)
        self._notifier.finish(_SAY_FAREWELL_S)

    def _take(self) -> None:
        result = self._background.take()
        if result is None:
            return
        changes = self._session.take(result)
        if result.report is not None:
            self._display.changed(changes)
            self._notifier.send(self._session.notification(changes))
        if self._request.once_healthy and self._session.exit_code() is ExitCode.OK:
            self._over = True

    def _view(self) -> ScreenView:
        next_check_s = None if self._background.is_running else max(self._due - time.monotonic(), 0.0)
        view = self._session.view(next_check_s, self._paused)
        self._selected = min(self._selected, max(len(view.incidents) - 1, 0))
        return replace(
            view,
            selected=self._selected,
            text=self._text,
            offset=self._offset,
            notice=self._notice or self._notifier.problem,
            keys=self._keys.available,
        )

    def _obey(self, key: Key) -> None:
        self._notice = ""
        match key:
            case Key.QUIT:
                self._over = True
            case Key.PAUSE:
                self._paused = not self._paused
            case Key.REFRESH:
                self._due = 0.0
            case Key.UP:
                self._move(-1)
            case Key.DOWN:
                self._move(1)
            case Key.ESCAPE:
                self._text = None
            case Key.SAVE:
                self._save()
            case Key.ENTER | Key.EXPLAIN:
                self._read(key)

    def _move(self, lines: int) -> None:
        if self._text is None:
            self._selected = max(self._selected + lines, 0)
            return
        last = max(len(self._text.splitlines()) - text_height(shutil.get_terminal_size().lines), 0)
        self._offset = min(max(self._offset + lines, 0), last)

    def _read(self, key: Key) -> None:
        """Show the selected incident, or the page of its rule."""
        incident = self._view().selected_incident
        if incident is None:
            self._notice = "there is no incident"
            return
        self._offset = 0
        if key is Key.ENTER:
            self._text = incident_text(incident, self._selected + 1, self._options)
        else:
            self._text = rule_text(incident, self._options)

    def _save(self) -> None:
        """Capture a bundle in the background; the last line of the screen says what became of it."""
        from jsdoctor.app.capture import CaptureRequest, capture_to_file

        judge = self._request.judge
        path = Path(f"jsdoctor-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
        asked = CaptureRequest(
            wanted=self._request.wanted,
            output=path,
            config=judge.config,
            isolated=judge.isolated,
            environment=judge.environment,
        )

        def work() -> None:
            try:
                captured = capture_to_file(asked, lambda _: None)
            except Problem as problem:
                self._notice = problem.message
                return
            self._notice = captured.summary or (captured.problem.message if captured.problem else "no server responded")

        self._notice = f"capturing {path}"
        threading.Thread(target=work, name="capture", daemon=True).start()
