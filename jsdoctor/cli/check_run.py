"""`jsdoctor check`, end to end: rules, collection, evaluation, report, exit code."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path

from jsdoctor import __version__
from jsdoctor.cli.configuration import load_configuration
from jsdoctor.cli.connection import resolve_connection
from jsdoctor.cli.console import Color, ascii_only, progress, say, use_color, width_of
from jsdoctor.cli.evidence import Gathered, gather_bundle, gather_live
from jsdoctor.cli.headline import headline
from jsdoctor.cli.output import write_output
from jsdoctor.cli.pace import pace
from jsdoctor.cli.rulebook import Rulebook, open_rulebook
from jsdoctor.collect.connect.settings import ConnectionOptions
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.engine.overrides import overrides
from jsdoctor.engine.planner import plan_collection
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import Selection, select_rules
from jsdoctor.engine.verdict import ExitCode, exit_code
from jsdoctor.model.finding import Severity
from jsdoctor.model.report import Report
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.configuration import Configuration
from jsdoctor.remedy.offer import with_offers
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions

DEFAULT_MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """What the command line asked for. None: not given there. Times are seconds."""

    connection: ConnectionOptions
    bundle: Path | None = None
    monitor: tuple[str, ...] = ()
    samples: int | None = None
    interval_s: float | None = None
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
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


def run_check(request: CheckRequest) -> ExitCode:
    """Check a deployment, live or captured, and write the report. Raises the problems that `cli.errors` can say."""
    config = load_configuration(request.config, request.isolated)
    directories = request.rules or tuple(Path(directory) for directory in config.rule_directories or ())
    rulebook = open_rulebook(directories)
    selection = select_rules(
        rulebook.rules,
        request.select or config.select or (),
        (*(config.extend_select or ()), *request.extend_select),
        (*(config.ignore or ()), *request.ignore),
    )
    values = overrides(rulebook.rules, config.rule_settings, config.origin)
    gathered = _gather(request, config, rulebook, selection)
    report = _report(request, rulebook, selection, values, gathered)
    saw_nothing = not any(sample.exchanges for sample in gathered.samples)
    if gathered.problem is not None and saw_nothing:
        say(gathered.problem.message, gathered.problem.hint)
    # A person who could not connect wants one sentence, not a report on nothing; a machine always gets its document.
    if gathered.problem is None or request.format != "text" or not saw_nothing:
        write_output(FORMATS[request.format](report, _render_options(request, config)), request.output)
    fail_on = request.fail_on or config.fail_on or Severity.ERROR
    return exit_code(report, fail_on, request.exit_zero, request.allow_gaps)


def _gather(request: CheckRequest, config: Configuration, rulebook: Rulebook, selection: Selection) -> Gathered:
    if request.bundle is not None:
        _refuse_live_options(request)
        with progress(request.quiet) as show:
            show(f"reading {request.bundle}")
            return gather_bundle(request.bundle)
    settings = resolve_connection(request.connection, config)
    needed = (rulebook.checks[rule.check] for rule in selection.rules)
    plan = plan_collection(needed, *pace(request.samples, request.interval_s, config), settings.timeout_s)
    with progress(request.quiet) as show:
        return gather_live(settings, request.monitor or config.monitor or (), plan, show)


def _refuse_live_options(request: CheckRequest) -> None:
    """What is said of a connection beside a bundle would be ignored, which nobody who says it wants."""
    given = [f.name for f in fields(request.connection) if getattr(request.connection, f.name) not in (None, False)]
    given += [name for name in ("monitor", "samples") if getattr(request, name)]
    given += ["interval"] if request.interval_s is not None else []
    if given:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageProblem(
            f"--bundle judges what was captured and connects to nothing: {names} cannot be given with it",
            "leave one of them away",
        )


def _report(
    request: CheckRequest,
    rulebook: Rulebook,
    selection: Selection,
    values: dict[str, dict[str, float | int | None]],
    gathered: Gathered,
) -> Report:
    evidence = assemble(gathered.samples)
    kinds = {kind for rule in selection.rules for kind in rulebook.checks[rule.check].kinds}
    evaluation = evaluate(selection, rulebook.checks, evidence, values, keep_passes=request.verbose > 1)
    return Report(
        version=__version__,
        started=request.started,
        finished=datetime.now(UTC),
        sources=gathered.sources,
        verdicts=evaluation.verdicts,
        results=with_offers(evaluation.results, rulebook.actions),
        gaps=(*evidence.gaps_for(kinds), *evaluation.gaps),
        headline=headline(evidence, gathered.samples, gathered.captured_at),
    )


def _render_options(request: CheckRequest, config: Configuration) -> RenderOptions:
    to_stdout = request.output is None
    examples = request.max_examples if request.max_examples is not None else config.max_examples
    return RenderOptions(
        width=width_of(sys.stdout) if to_stdout else 100,
        color=request.color is Color.ALWAYS or (to_stdout and use_color(request.color, sys.stdout)),
        ascii_only=to_stdout and ascii_only(sys.stdout),
        verbose=request.verbose,
        quiet=request.quiet,
        max_examples=DEFAULT_MAX_EXAMPLES if examples is None else examples,
    )
