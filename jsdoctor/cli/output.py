"""Writing a report: to stdout, or to a file that appears whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jsdoctor.app.outputs import Color
from jsdoctor.app.request import OutputRequest
from jsdoctor.cli.console import ascii_only, say, use_color, width_of
from jsdoctor.model.problems import UsageProblem
from jsdoctor.render.options import RenderOptions

Renderer = Callable[[Any, RenderOptions], str]
"""Writes a result in one format."""

_FILE_WIDTH = 100

_SUMMARY_LIMIT_BYTES = 1_000_000
"""GitHub takes 1 MiB of summary from a step, and refuses all of a longer one."""


def options_for(path: Path | None, color: Color, **more: Any) -> RenderOptions:
    """How an output may look: a file never depends on the terminal, and has colours only if they are requested."""
    to_stdout = path is None
    return RenderOptions(
        width=width_of(sys.stdout) if to_stdout else _FILE_WIDTH,
        color=color is Color.ALWAYS or (to_stdout and use_color(color, sys.stdout)),
        ascii_only=to_stdout and ascii_only(sys.stdout),
        **more,
    )


def write_results(request: OutputRequest, renderers: Mapping[str, Renderer], result: Any) -> None:
    """Write a result to every output of a request, each in its format. Raises `UsageProblem`."""
    for target in request.outputs:
        options = options_for(target.path, request.color, verbose=request.verbose, quiet=request.quiet)
        write_output(renderers[target.format](result, options), target.path)


def write_output(text: str, path: Path | None) -> None:
    """Write the report. Raises `UsageProblem` when the file cannot be written."""
    if path is None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader is gone (`jsdoctor … | head`): the exit code stays that of the report.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    import tempfile

    path = path.resolve()
    if path.exists() and not path.is_file():  # a pipe or a device, which a new file would replace
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageProblem(f"cannot write {path}: {error.strerror}", "choose another place with -o") from error
        return
    try:
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageProblem(f"cannot write {path}: {error.strerror}", "choose another place with -o") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(unfinished).chmod(_mode_of(path))
        Path(unfinished).replace(path)
    except OSError as error:
        Path(unfinished).unlink(missing_ok=True)
        raise UsageProblem(f"cannot write {path}: {error.strerror}", "choose another place with -o") from error
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _mode_of(path: Path) -> int:
    """The permissions of a file that is replaced, else those of a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def append_step_summary(markdown: str) -> None:
    """Add to the summary of a step of GitHub Actions, where there is one; other steps' text in the file is kept."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        return
    text = markdown.encode()
    if len(text) > _SUMMARY_LIMIT_BYTES:
        text = text[:_SUMMARY_LIMIT_BYTES].rpartition(b"\n")[0] + b"\n\ncut here; --max-examples shortens the lists\n"
    try:
        with Path(place).open("ab") as file:
            file.write(text)
    except OSError as error:
        say(f"cannot write the step summary {place}: {error.strerror}")
