"""The formats that a report can be written in: every module here is one, under its own name.

Its `render` is pure and total: it takes any report and returns what is to be written, newline included. A file whose
suffix is the format's name has this format, and so have those with one of its `SUFFIXES`, lower case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from jsdoctor.model.report import Report
    from jsdoctor.render.options import RenderOptions

    class ReportFormat(StrEnum):
        """What `--format` takes."""

else:
    ReportFormat = StrEnum("ReportFormat", [(module.name.upper(), module.name) for module in iter_modules(__path__)])

Render = Callable[["Report", "RenderOptions"], str]


def _module(name: str) -> ModuleType:
    """A format, imported when it is first wanted: a run writes one or two of them."""
    return import_module(f"{__name__}.{name}")


def _render(name: str) -> Render:
    return lambda report, options: cast("str", _module(name).render(report, options))


FORMATS: Mapping[str, Render] = {format_.value: _render(format_.value) for format_ in ReportFormat}


def format_of(suffix: str) -> str | None:
    """The format that the suffix of a file stands for, such as `.md`; None: it stands for none."""
    name = suffix.lower().removeprefix(".")
    if name in FORMATS:
        return name
    return next((name for name in FORMATS if suffix.lower() in getattr(_module(name), "SUFFIXES", ())), None)
