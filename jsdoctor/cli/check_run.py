"""`jsdoctor check`, end to end: rules, collection, evaluation, report, exit code."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from jsdoctor.cli.connection import resolve_connection
from jsdoctor.cli.console import progress, say
from jsdoctor.cli.evidence import Gathered, gather_bundle, gather_live
from jsdoctor.cli.headline import headline
from jsdoctor.cli.judging import JudgeRequest, Judging, open_judging
from jsdoctor.cli.pace import pace
from jsdoctor.collect.connect.settings import ConnectionOptions
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.engine.planner import plan_collection, plan_scan
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.model.report import Report
from jsdoctor.model.stored import ScanTarget
from jsdoctor.parse.assemble import assemble

if TYPE_CHECKING:
    from jsdoctor.cli.log_options import LogRequest
    from jsdoctor.cli.log_reading import LogsRead


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest(JudgeRequest):
    """What the command line asked for. None: not given there. Times are seconds."""

    connection: ConnectionOptions
    bundle: Path | None = None
    monitor: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    scan: tuple[ScanTarget, ...] = ()
    samples: int | None = None
    interval_s: float | None = None
    logs: LogRequest | None = None


def run_check(request: CheckRequest) -> ExitCode | NagiosState:
    """Check a deployment, live or captured, and its logs. Raises the problems that `cli.errors` can say."""
    judging = open_judging(request)
    if request.logs is not None and not _names_a_deployment(request):
        from jsdoctor.cli.audit_run import judge_logs

        return judge_logs(judging, request.logs)
    gathered = _gather(request, judging)
    logs = _read_logs(request, judging)
    report = _report(judging, gathered, logs)
    saw_nothing = logs is None and not any(sample.exchanges for sample in gathered.samples)
    if gathered.problem is not None and saw_nothing:
        say(gathered.problem.message, gathered.problem.hint)
    # A person who could not connect wants one sentence, not a report on nothing; a machine always gets its document.
    if gathered.problem is None or request.format != "text" or not saw_nothing:
        judging.write(report)
    return judging.exit_code(report)


def _gather(request: CheckRequest, judging: Judging) -> Gathered:
    if request.bundle is not None:
        _refuse_live_options(request)
        with progress(request.quiet) as show:
            show(f"reading {request.bundle}")
            return gather_bundle(request.bundle)
    config = judging.config
    settings = resolve_connection(request.connection, config)
    needed = [judging.rulebook.checks[name] for rule in judging.selection.rules for name in rule.checks]
    paced = pace(request.samples, request.interval_s, config)
    plan = plan_collection(needed, *paced, settings.timeout_s, request.ntp or config.ntp or ())
    plan = plan_scan(plan, needed, request.scan)
    with progress(request.quiet) as show:
        return gather_live(settings, request.monitor or config.monitor or (), plan, show)


def _names_a_deployment(request: CheckRequest) -> bool:
    """Whether the command line says what to look at beside logs. A selected context or a variable alone does not."""
    return bool(request.bundle or request.connection.server or request.connection.context or request.monitor)


def _read_logs(request: CheckRequest, judging: Judging) -> LogsRead | None:
    if request.logs is None:
        return None
    from jsdoctor.cli.log_reading import read_logs

    with progress(request.quiet) as show:
        return read_logs(request.logs, judging.rulebook.rules, show)


def _refuse_live_options(request: CheckRequest) -> None:
    """What is said of a connection beside a bundle would be ignored, which nobody who says it wants."""
    given = [f.name for f in fields(request.connection) if getattr(request.connection, f.name) not in (None, False)]
    given += [name for name in ("monitor", "ntp", "scan", "samples") if getattr(request, name)]
    given += ["interval"] if request.interval_s is not None else []
    if given:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageProblem(
            f"--bundle judges what was captured and connects to nothing: {names} cannot be given with it",
            "leave one of them away",
        )


def _report(judging: Judging, gathered: Gathered, logs: LogsRead | None) -> Report:
    evidence = assemble(gathered.samples)
    seen = headline(evidence, gathered.samples, gathered.captured_at)
    if logs is None:
        return judging.report(evidence, gathered.sources, seen)
    told = "; ".join(filter(None, [seen, logs.headline]))
    return judging.report(evidence.joined(logs.evidence, logs.gaps), (*gathered.sources, *logs.sources), told)
