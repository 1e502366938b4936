"""What every command that judges shares: which rules, with which parameters, and what becomes of the report."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from jsdoctor import __version__
from jsdoctor.cli import options as opt
from jsdoctor.cli.configuration import load_configuration
from jsdoctor.cli.console import Color, ascii_only, use_color, width_of
from jsdoctor.cli.output import append_step_summary, write_output
from jsdoctor.cli.rulebook import Rulebook, open_rulebook
from jsdoctor.engine.overrides import overrides
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import Selection, select_rules
from jsdoctor.engine.verdict import ExitCode, NagiosState, exit_code, nagios_state
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Severity
from jsdoctor.model.report import Report, Source
from jsdoctor.parse.configuration import Configuration, RuleSetting
from jsdoctor.remedy.offer import with_offers
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions

DEFAULT_MAX_EXAMPLES = 5

_AS_GIVEN = (
    *("fail_on", "exit_zero", "allow_gaps", "output", "max_examples"),
    *("quiet", "verbose", "color", "config", "isolated"),
)

ParameterValues = dict[str, dict[str, float | int | None]]
"""By rule code and parameter name, in the parameter's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """What the command line asked for. None: not given there."""

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rule_settings: tuple[RuleSetting, ...] = ()
    rules: tuple[Path, ...] = ()
    fail_on: Severity | None = None
    exit_zero: bool = False
    allow_gaps: bool = False
    format: str = "text"
    output: Path | None = None
    max_examples: int | None = None
    quiet: bool = False
    verbose: int = 0
    color: Color = Color.AUTO
    config: Path | None = None
    isolated: bool = False
    started: datetime = field(default_factory=lambda: datetime.now(UTC))


def judge_options(given: Mapping[str, Any]) -> JudgeRequest:
    """From what was given for the groups of options about rules, the report and the configuration."""
    return JudgeRequest(
        select=opt.split(given["select"]),
        extend_select=opt.split(given["extend_select"]),
        ignore=opt.split(given["ignore"]),
        rule_settings=tuple(given["set_"] or ()),
        rules=tuple(given["rules"] or ()),
        format=given["format_"].value,
        **{name: given[name] for name in _AS_GIVEN},
    )


@dataclass(frozen=True, slots=True)
class Judging:
    """The rules of one run, opened before anything is collected: mistakes in them end it at once."""

    request: JudgeRequest
    config: Configuration
    rulebook: Rulebook
    selection: Selection
    values: ParameterValues

    def report(self, evidence: EvidenceSet, sources: tuple[Source, ...], headline: str) -> Report:
        """Evaluate the selected rules on the evidence."""
        checks = self.rulebook.checks
        evaluation = evaluate(self.selection, checks, evidence, self.values, keep_passes=self.request.verbose > 1)
        return Report(
            version=__version__,
            started=self.request.started,
            finished=datetime.now(UTC),
            sources=sources,
            verdicts=evaluation.verdicts,
            results=with_offers(evaluation.results, self.rulebook.actions),
            gaps=(*evidence.gaps_for(evaluation.kinds), *evaluation.gaps),
            headline=headline,
        )

    def write(self, report: Report) -> None:
        """Write the report where and how it was asked for."""
        request = self.request
        options = _render_options(request, self.config)
        write_output(FORMATS[request.format](report, options), request.output)
        if request.format == "github":
            append_step_summary(FORMATS["markdown"](report, replace(options, ascii_only=False)))

    def exit_code(self, report: Report) -> ExitCode | NagiosState:
        """What the process returns: the same for every format but that of Nagios."""
        judge = nagios_state if self.request.format == "nagios" else exit_code
        return judge(report, _fail_on(self.request, self.config), self.request.exit_zero, self.request.allow_gaps)


def open_judging(request: JudgeRequest) -> Judging:
    """Read configuration and rules. Raises the problems that `cli.errors` can say."""
    config = load_configuration(request.config, request.isolated)
    directories = request.rules or tuple(Path(directory) for directory in config.rule_directories or ())
    rulebook = open_rulebook(directories)
    selection = select_rules(
        rulebook.rules,
        request.select or config.select or (),
        (*(config.extend_select or ()), *request.extend_select),
        (*(config.ignore or ()), *request.ignore),
    )
    return Judging(request, config, rulebook, selection, _parameter_values(request, config, rulebook))


def _parameter_values(request: JudgeRequest, config: Configuration, rulebook: Rulebook) -> ParameterValues:
    """What the configuration sets, and over it what the command line sets."""
    values = overrides(rulebook.rules, config.rule_settings, config.origin)
    for code, params in overrides(rulebook.rules, request.rule_settings, "--set").items():
        values.setdefault(code, {}).update(params)
    return values


def _fail_on(request: JudgeRequest, config: Configuration) -> Severity:
    return request.fail_on or config.fail_on or Severity.ERROR


def _render_options(request: JudgeRequest, config: Configuration) -> RenderOptions:
    to_stdout = request.output is None
    examples = request.max_examples if request.max_examples is not None else config.max_examples
    return RenderOptions(
        width=width_of(sys.stdout) if to_stdout else 100,
        color=request.color is Color.ALWAYS or (to_stdout and use_color(request.color, sys.stdout)),
        ascii_only=to_stdout and ascii_only(sys.stdout),
        verbose=request.verbose,
        quiet=request.quiet,
        max_examples=DEFAULT_MAX_EXAMPLES if examples is None else examples,
        fail_on=_fail_on(request, config),
        exit_zero=request.exit_zero,
        allow_gaps=request.allow_gaps,
    )
