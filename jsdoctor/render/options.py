"""Options of a report: everything that a renderer may know of the destination of its output."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from jsdoctor.model.finding import Severity


class RenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for every format; each format takes what it can use. Renderers never look at the environment.

    `width` is in columns. `ascii_only` is for outputs that cannot show Unicode. `verbose` 1 adds the evidence and what
    became of each rule, 2 all of the evidence and what passed. `quiet` leaves nothing but one line per finding.
    `max_examples` bounds every list of a person's report; 0 means no bound. Formats for machines are never cut.
    `fail_on`, `exit_zero` and `allow_gaps` are what `engine.verdict` takes, for formats that say what failed the run.
    `docs_url` is the address of the documentation site, for links to its pages; empty: no links.
    `source_line` reads a line of a file that people write, without secrets; empty where it cannot be shown.
    """

    width: int = 80
    color: bool = False
    ascii_only: bool = False
    verbose: int = 0
    quiet: bool = False
    max_examples: int = 5
    fail_on: Severity = Severity.ERROR
    exit_zero: bool = False
    allow_gaps: bool = False
    docs_url: str = ""
    source_line: Callable[[str, int], str] = lambda _file, _number: ""
