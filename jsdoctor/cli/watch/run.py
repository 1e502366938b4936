"""`jsdoctor watch`, end to end: check, show, notify, obey keys, until it is stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from msgspec.structs import replace
from rich.console import Console
from rich.live import Live
from rich.text import Text

from jsdoctor.app.judging import open_judging
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.watch.notify import Notifier
from jsdoctor.app.watch.request import WatchRequest
from jsdoctor.app.watch.session import BackgroundCheck, Session
from jsdoctor.cli.console import MESSAGES, say
from jsdoctor.cli.report_output import render_options
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.engine.watch import ChangeKind, FindingChange
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.model.report import Incident, Report
from jsdoctor.model.rule import Rule
from jsdoctor.model.wording import span
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.drawn import drawn
from jsdoctor.render.explain import page_markdown
from jsdoctor.render.formats.text import write_incident
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page
from jsdoctor.render.watch.screen import CHANGE_STYLES, HELP, screen, text_height
from jsdoctor.render.watch.view import Order, ScreenView
from jsdoctor.render.wording import to_the_second
from jsdoctor.sources.base import Role
from jsdoctor.sources.listing import sources_of

_TICK_S = 0.5
_MAX_NOTIFY_S = 10.0


def run_watch(request: WatchRequest) -> ExitCode | NagiosState:
    """Watch until stopped. The exit code is that of the newest check; 0 at the first healthy one if requested."""
    judging = open_judging(dataclasses.replace(request.judge, quiet=True))
    if not any(source.role is Role.DEPLOYMENT and source.connects for source in sources_of(request.wanted)):
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
    """The state of a watch: when checks are due, the keys, and what the screen shows."""

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
        self._notice = self._filter = ""
        self._typing = False
        self._order = Order.IMPACT

    def run(self) -> None:
        """Check, show and handle keys until the watch is over."""
        while not self._over:
            now = time.monotonic()
            if not self._background.is_running and not self._paused and now >= self._due:
                self._due = now + self._request.every_s
                self._background.start()
            self._take_result()
            # A slow deployment must not end a short watch without a result: the timeouts of the check bound the wait.
            is_answered = self._session.has_begun or self._paused
            if self._request.for_s is not None and now - self._began >= self._request.for_s and is_answered:
                self._over = True
            self._display.show(self._view())
            self._handle_keys(self._keys.read(_TICK_S))
        self._notifier.finish(_MAX_NOTIFY_S)

    def _take_result(self) -> None:
        result = self._background.take()
        if result is None:
            return
        changes = self._session.take(result)
        if result.report is not None:
            if self._session.watch.reports == 1:
                self._display.baseline(result.report)
            else:
                self._display.changed(changes)
        self._notifier.send(self._session.notification(changes))
        if self._request.once_healthy and self._session.exit_code() is ExitCode.OK:
            self._over = True

    def _view(self) -> ScreenView:
        next_check_s = None if self._background.is_running else max(self._due - time.monotonic(), 0.0)
        view = replace(self._session.view(next_check_s, self._paused), filter=self._filter, order=self._order)
        self._selected = min(self._selected, max(len(view.incidents) - 1, 0))
        return replace(
            view,
            selected=self._selected,
            text=self._text,
            offset=self._offset,
            notice=self._notice or self._notifier.problem,
            keys=self._keys.available,
            typing=self._typing,
        )

    def _handle_keys(self, pressed: bytes) -> None:
        """Handle keys, of which several may have come at once, or typed text of the filter. Other bytes are skipped."""
        while pressed:
            key, length = first_key(pressed)
            if key is Key.FILTER and not self._typing:
                self._typing = self._text is None
            elif not self._typing:
                self._handle_key(key)
            elif pressed[0] in _BACKSPACES:
                self._filter = self._filter[:-1]
            elif key in (Key.ENTER, Key.ESCAPE) and not pressed[:1].isalpha():
                self._typing, self._filter = False, self._filter if key is Key.ENTER else ""
            elif length == 1 and pressed[:1].decode("ascii", "replace").isprintable():
                self._filter += pressed[:1].decode("ascii", "ignore")
            pressed = pressed[length:]

    def _handle_key(self, key: Key | None) -> None:
        self._notice = ""
        match key:
            case Key.QUIT:
                self._over = True
            case Key.PAUSE:
                self._paused = not self._paused
            case Key.REFRESH:
                self._due = 0.0
            case Key.UP | Key.DOWN:
                self._move(1 if key is Key.DOWN else -1)
            case Key.ESCAPE:
                self._filter = "" if self._text is None else self._filter
                self._text = None
            case Key.SAVE:
                self._save()
            case Key.ORDER:
                self._order, self._selected = self._order.following, 0
            case Key.HELP:
                self._offset, self._text = 0, HELP
            case Key.ENTER | Key.EXPLAIN:
                self._show_selected(key)

    def _move(self, lines: int) -> None:
        if self._text is None:
            self._selected = max(self._selected + lines, 0)
            return
        last = max(len(self._text.splitlines()) - text_height(self._view(), shutil.get_terminal_size().lines), 0)
        self._offset = min(max(self._offset + lines, 0), last)

    def _show_selected(self, key: Key) -> None:
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

        path = Path(f"jsdoctor-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
        asked = CaptureRequest(
            wanted=self._request.wanted,
            output=path,
            **vars(self._request.judge.configuration),
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


def incident_text(incident: Incident, number: int, options: RenderOptions) -> str:
    """The incident as a report shows it with -v, without colours."""
    page = Page(replace(options, color=False, verbose=1))
    write_incident(page, number, incident, replace(options, color=False, verbose=1))
    return page.text().lstrip("\n")


def rule_text(incident: Incident, options: RenderOptions) -> str:
    """The page of the rule that found the cause, without colours."""
    return page_rendered(incident.causes[0].rule, replace(options, color=False))


def page_rendered(rule: Rule, options: RenderOptions) -> str:
    """A page drawn for a terminal of that width. Links show their address; nothing is clickable."""
    return drawn(page_markdown(rule, options), options)


OptionsFor = Callable[[], RenderOptions]
"""The options of the terminal as it is now: its width changes."""


class Display(Protocol):
    """Shows a watch until the block ends."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the terminal as it was."""

    def show(self, view: ScreenView) -> None:
        """The present state."""

    def baseline(self, report: Report) -> None:
        """The first report, with which later ones are compared."""

    def changed(self, changes: tuple[FindingChange, ...]) -> None:
        """What a check changed."""


class FullScreen:
    """The whole terminal, redrawn when it changes."""

    def __init__(self, options: OptionsFor) -> None:
        self._options, self._shown = options, ""
        console = Console(highlight=False, markup=False, emoji=False, no_color=not options().color)
        self._live = Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.__exit__(kind, error, at)

    def show(self, view: ScreenView) -> None:
        """Draw, if anything differs from what is there."""
        size = shutil.get_terminal_size()
        written = screen(view, size.lines, self._options())
        if written != self._shown:
            self._shown = written
            self._live.update(Text.from_ansi(written, no_wrap=True, end=""), refresh=True)

    def baseline(self, report: Report) -> None:
        """Nothing: the screen shows it."""

    def changed(self, changes: tuple[FindingChange, ...]) -> None:
        """Nothing: the screen shows them."""


class Lines:
    """One line for each change, for files and pipes."""

    def __init__(self, options: OptionsFor) -> None:
        self._options, self._problem = options, ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to leave."""

    def show(self, view: ScreenView) -> None:
        """Print a problem that keeps checks from a report, and its end."""
        if view.problem != self._problem:
            self._problem = view.problem
            sys.stderr.write(f"jsdoctor: {view.problem or 'checks come to a report again'}\n")

    def baseline(self, report: Report) -> None:
        """Print its verdict."""
        page = Page(self._options())
        page.unwrapped(f"{to_the_second(report.finished)} {verdict_sentence(report)}")
        sys.stdout.write(page.text())
        sys.stdout.flush()

    def changed(self, changes: tuple[FindingChange, ...]) -> None:
        """Print them."""
        for change in changes:
            sys.stdout.write(change_line(change, self._options()))
        sys.stdout.flush()


def change_line(change: FindingChange, options: RenderOptions) -> str:
    """`2025-03-09 03:04:05Z appeared error JSD403 APP > ORDERS > billing: …`, with its line end."""
    finding, severity = change.result.finding, change.result.severity
    page = Page(options)
    lasted = span(max((change.at - change.appeared).total_seconds(), 0) * 1e9, 0)
    resolved = change.kind is ChangeKind.RESOLVED
    page.unwrapped(
        f"{to_the_second(change.at)} ",
        (change.kind.value, CHANGE_STYLES[change.kind]),
        " ",
        (severity.value, "" if resolved else SEVERITY_STYLES[severity]),
        f" {change.result.rule.code} {finding.subject.label}: ",
        f"after {lasted}" if resolved else finding.message or change.result.rule.title,
    )
    return page.text()


class Key(Enum):
    """The actions that a key can trigger."""

    QUIT = "quit"
    PAUSE = "pause"
    REFRESH = "refresh"
    UP = "up"
    DOWN = "down"
    ENTER = "enter"
    ESCAPE = "escape"
    EXPLAIN = "explain"
    SAVE = "save"
    ORDER = "order"
    HELP = "help"
    FILTER = "filter"


_KEYS = {
    b"q": Key.QUIT,
    b"p": Key.PAUSE,
    b" ": Key.PAUSE,
    b"r": Key.REFRESH,
    b"\x1b[A": Key.UP,
    b"\x1bOA": Key.UP,
    b"k": Key.UP,
    b"\x1b[B": Key.DOWN,
    b"\x1bOB": Key.DOWN,
    b"j": Key.DOWN,
    b"\r": Key.ENTER,
    b"\n": Key.ENTER,
    b"d": Key.ENTER,
    b"\x1b": Key.ESCAPE,
    b"\x7f": Key.ESCAPE,
    b"e": Key.EXPLAIN,
    b"s": Key.SAVE,
    b"o": Key.ORDER,
    b"?": Key.HELP,
    b"/": Key.FILTER,
}
_MAX_KEY_LENGTH = 3
_BACKSPACES = b"\x7f\x08"


class Keyboard:
    """Keys as they are pressed. `available` is False where none can be read."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @property
    def available(self) -> bool:
        """Whether keys can be read here."""
        return self._descriptor is not None

    def read(self, timeout_s: float) -> bytes:
        """Wait for keys, at most this long, and return them."""
        if self._descriptor is None:
            time.sleep(timeout_s)
            return b""
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        pressed = os.read(self._descriptor, 64) if ready else b""
        if ready and not pressed:
            self._descriptor = None  # the terminal is gone
        return pressed


@contextlib.contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Keys of stdin while the block runs; the terminal is as before after it."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield Keyboard(None)
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def first_key(pressed: bytes) -> tuple[Key | None, int]:
    """The first of the keys and how many bytes it takes; None for a byte that is no key of ours."""
    for length in range(min(_MAX_KEY_LENGTH, len(pressed)), 0, -1):
        if key := _KEYS.get(pressed[:length]):
            return key, length
    return None, 1
