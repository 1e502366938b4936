"""The outputs of a run: which format goes to which file, by `FORMAT=FILE`, by suffix, or by `--format`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from jsdoctor.model.problems import UsageProblem
from jsdoctor.render.formats import FORMATS, format_of


class Color(StrEnum):
    """When to use colours."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class OutputTarget(NamedTuple):
    """One output. `path` None is stdout. An empty `format` is not decided yet: only before `resolve`."""

    format: str
    path: Path | None


def parse_target(text: str) -> OutputTarget:
    """An output as given: `FILE`, `-`, or either with `FORMAT=` before it. Raises ValueError."""
    format_, equals, name = text.partition("=")
    if not (equals and format_ in FORMATS):
        format_, name = "", text
    if not name:
        raise ValueError("write it as FILE, FORMAT=FILE or -")
    if name in FORMATS and not format_:
        raise ValueError(f"that is a file; for the format write --format {name}, or -o ./{name} for such a file")
    if name != "-" and Path(name).is_dir():
        raise ValueError(f"{name} is a directory")
    return OutputTarget(format_, None if name == "-" else Path(name))


def parse_file(text: str) -> Path:
    """A file to write. Raises ValueError."""
    if Path(text).is_dir():
        raise ValueError(f"{text} is a directory")
    return Path(text)


def resolve(given: Sequence[OutputTarget], format_: str | None, offered: type[StrEnum]) -> tuple[OutputTarget, ...]:
    """The outputs, each with its format. `format_` is the value of `--format`, `offered` are those of the command.

    A single output has the format of `--format`, whatever its suffix. Of several, the suffix decides for each file, and
    `--format` for stdout and for other suffixes. Raises `UsageProblem` for outputs that go to the same place or cannot
    be written.
    """
    if not given:
        return (OutputTarget(format_ or "text", None),)
    targets = tuple(
        target if target.format else OutputTarget(_format_for(target, format_, len(given)), target.path)
        for target in given
    )
    for target in targets:
        if target.format not in (known := [known.value for known in offered]):
            name = target.path or "-"
            raise UsageProblem(f"this command cannot write {name} as {target.format}", f"it writes {', '.join(known)}")
        if target.path is not None and not target.path.parent.is_dir():
            raise UsageProblem(
                f"cannot write {target.path}: its directory does not exist", "choose another place with -o"
            )
    places = [target.path.absolute() if target.path else None for target in targets]
    for place in places:
        if places.count(place) > 1:
            raise UsageProblem(f"two outputs go to {place or 'stdout'}", "name another file for one of them")
    return targets


def writes_nagios(given: Sequence[OutputTarget] | None, format_: str | None) -> bool:
    """Whether an output is for Nagios, whose exit codes then apply."""
    return format_ == "nagios" or any(target.format == "nagios" for target in given or ())


def _format_for(target: OutputTarget, format_: str | None, outputs: int) -> str:
    if target.path is None or (outputs == 1 and format_):
        return format_ or "text"
    if target.path.name.lower().endswith(".sarif.json"):
        return "sarif"
    return format_of(target.path.suffix) or format_ or "text"
