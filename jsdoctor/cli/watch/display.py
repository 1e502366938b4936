"""Where a watch shows what it knows: a full screen on a terminal, one line for each change elsewhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from jsdoctor.engine.watch import FindingChange
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.watch.lines import change_line
from jsdoctor.render.watch.screen import screen
from jsdoctor.render.watch.view import ScreenView

OptionsFor = Callable[[], RenderOptions]
"""The options of the terminal as it is now: its width changes."""


class Display(Protocol):
    """Shows a watch until the block ends."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the terminal as it was."""

    def show(self, view: ScreenView) -> None:
        """The present state."""

    def changed(self, changes: tuple[FindingChange, ...]) -> None:
        """What a check changed."""


class FullScreen:
    """The whole terminal, redrawn when it changes."""

    def __init__(self, options: OptionsFor) -> None:
        self._options, self._shown = options, ""
        console = Console(highlight=False, markup=False, emoji=False, no_color=not options().color)
        self._live = Live(console=console, screen=True, auto_refresh=False)

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
        """Only that checks come to no report, or do so again."""
        if view.problem != self._problem:
            self._problem = view.problem
            sys.stderr.write(f"jsdoctor: {view.problem or 'checks come to a report again'}\n")

    def changed(self, changes: tuple[FindingChange, ...]) -> None:
        """Print them."""
        for change in changes:
            sys.stdout.write(change_line(change, self._options()))
        sys.stdout.flush()
