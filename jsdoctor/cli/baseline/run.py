"""`jsdoctor baseline write` and `jsdoctor baseline prune`: accepts current findings, and removes fixed ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.app.baseline_file import load_baseline
from jsdoctor.app.collecting import collect
from jsdoctor.app.judging import open_judging
from jsdoctor.app.request import JudgeRequest
from jsdoctor.cli.console import MESSAGES, say
from jsdoctor.cli.output import write_output
from jsdoctor.configuration.baseline import encode_baseline
from jsdoctor.engine.suppression import fully_judged
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.report import Report
from jsdoctor.model.suppression import Accepted, Baseline
from jsdoctor.model.wording import counted
from jsdoctor.sources.request import EvidenceRequest


def run_write(path: Path, force: bool, judge: JudgeRequest, wanted: EvidenceRequest) -> ExitCode:
    """Accept every finding that counts today. Raises `UsageProblem` for a file that is there already."""
    if path.exists() and not force:
        raise UsageProblem(f"{path} is there already", "prune it, or give --force to accept everything again")
    report = _report(judge, wanted, None)
    accepted = [
        Accepted(result.fingerprint, result.rule.code, result.finding.subject.label, result.severity)
        for result in report.failures()
    ]
    save_baseline(path, accepted)
    say(f"{counted(len(accepted), 'finding')} accepted in {path}", f"jsdoctor check --baseline {path}")
    return _exit_code(report)


def run_prune(path: Path, judge: JudgeRequest, wanted: EvidenceRequest) -> ExitCode:
    """Remove the findings that no longer exist. Those of rules that could not be evaluated stay."""
    baseline = load_baseline(path)
    report = _report(judge, wanted, baseline)
    kept = list(_still_there(baseline, report))
    save_baseline(path, kept)
    gone = len(baseline.accepted) - len(kept)
    say(f"{counted(gone, 'finding')} of {path} forgotten, {len(kept):,} kept")
    return _exit_code(report)


def _report(judge: JudgeRequest, wanted: EvidenceRequest, baseline: Baseline | None) -> Report:
    collected = collect(wanted, replace(open_judging(judge), baseline=baseline), MESSAGES)
    if collected.problem is not None and collected.saw_nothing:
        raise collected.problem
    return collected.report()


def _still_there(baseline: Baseline, report: Report) -> Iterable[Accepted]:
    fingerprints = {result.fingerprint for result in (*report.failures(), *report.suppressed())}
    judged = fully_judged(report.verdicts)
    for accepted in baseline.accepted.values():
        if accepted.fingerprint in fingerprints or accepted.code not in judged:
            yield accepted


def _exit_code(report: Report) -> ExitCode:
    """The exit code. Warns on stderr if evidence is missing."""
    missing = sum(gap.requested for gap in report.gaps)
    if missing:
        say(f"{counted(missing, 'gap')}: what could not be seen was not judged", "jsdoctor check lists them")
    return ExitCode.INCONCLUSIVE if missing else ExitCode.OK


def save_baseline(path: Path, accepted: Iterable[Accepted]) -> None:
    """Write a baseline file."""
    write_output(encode_baseline(accepted).decode(), path)
