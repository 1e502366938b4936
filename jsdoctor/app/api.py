"""The Python interface: the commands `check`, `audit`, `diagnose`, `preflight` and `fix` as functions.

`jsdoctor` exports the public names. docs/api.md documents them and states which are stable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from jsdoctor.app.collecting import collect
from jsdoctor.app.diagnose.consult import consult
from jsdoctor.app.diagnose.given import given_texts
from jsdoctor.app.diagnose.request import DiagnoseRequest
from jsdoctor.app.fix.evidence import FixCollector
from jsdoctor.app.fix.plan import make_plan
from jsdoctor.app.fix.request import FixRequest, parse_remedies
from jsdoctor.app.judging import open_judging
from jsdoctor.app.pieces import files_and_options
from jsdoctor.app.preflight import PreflightRequest, run_preflight
from jsdoctor.app.request import JudgeRequest
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.configuration.file import ConfigurationError, RuleSetting
from jsdoctor.engine.select import SelectionError
from jsdoctor.model.diagnosis import Cause
from jsdoctor.model.finding import Severity
from jsdoctor.model.gap import Gap
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.option import option_fields, request_from
from jsdoctor.model.plan import Plan, Step
from jsdoctor.model.preflight import GoNoGo, Obstacle, PreflightReport
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.model.report import Incident, Report, Result
from jsdoctor.model.typed import decode_as
from jsdoctor.pages.front_matter import PageError
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.remedy.journal import shareable
from jsdoctor.render.diagnosis import Consultation, render_diagnosis
from jsdoctor.render.diagnosis_json import render_diagnosis_json
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.plan_text import render_plan
from jsdoctor.render.preflight import render_preflight
from jsdoctor.render.preflight_json import render_preflight_json
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connection import resolve_logins
from jsdoctor.sources.request import REQUESTS, EvidenceRequest, evidence_request

StrPath = str | Path
Deployment = ConnectionOptions | str | None
"""Where to connect: the options of the command line, the URL of a server, or None for the selected context."""

_T = TypeVar("_T")
_WIDTH = 100
_WITHOUT_COLOR = RenderOptions(width=_WIDTH, color=False, ascii_only=False)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The selection of rules and their parameters.

    The defaults are those of the command line without a configuration file. `select`, `extend_select` and `ignore` take
    codes, slugs and prefixes of codes. `parameters` sets values of rules by code and name, as in a configuration file:
    `{"JSD401": {"max_pending": 50_000}}`. `rules` are directories with rule pages of your own. `config` is a
    configuration file; no other is read. `baseline` is a file of accepted findings.
    """

    select: Sequence[str] = ()
    extend_select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    parameters: Mapping[str, Mapping[str, object]] | None = None
    rules: Sequence[StrPath] = ()
    config: StrPath | None = None
    baseline: StrPath | None = None

    def request(self, codes: Sequence[str] = ()) -> JudgeRequest:
        """The request of the application. `codes` are selected if `select` is empty."""
        settings = [
            RuleSetting(code, name, value, 0)
            for code, values in (self.parameters or {}).items()
            for name, value in values.items()
        ]
        return JudgeRequest(
            select=tuple(self.select or codes),
            extend_select=tuple(self.extend_select),
            ignore=tuple(self.ignore),
            rule_settings=tuple(settings),
            rules=tuple(map(Path, self.rules)),
            config=Path(self.config) if self.config else None,
            isolated=self.config is None,
            baseline=Path(self.baseline) if self.baseline else None,
            quiet=True,
        )


@dataclass(frozen=True, repr=False)
class CheckResult:
    """The findings of the rules on a deployment or on files.

    `problem` is why a deployment could not be reached; the rules that need one are then *not evaluated*.
    """

    report: Report
    problem: Problem | None = None

    def __repr__(self) -> str:
        return f"CheckResult(findings={len(self.findings)}, incidents={len(self.incidents)}, gaps={len(self.gaps)})"

    @property
    def findings(self) -> tuple[Result, ...]:
        """The findings that count: failed, and neither waived nor accepted."""
        return self.report.failures()

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """The findings grouped by their cause, the worst impact first."""
        return self.report.incidents

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Missing evidence: what was requested, and what no option requested."""
        return self.report.gaps

    @property
    def conclusive(self) -> bool:
        """Whether all evidence that was requested was there."""
        return not any(gap.requested for gap in self.report.gaps)

    def at_least(self, severity: Severity | str) -> tuple[Result, ...]:
        """The findings of that severity and of more severe ones."""
        least = Severity(severity)
        return tuple(result for result in self.findings if result.severity.rank >= least.rank)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON report as a dictionary: docs/schema/report-v1.json."""
        return _document(self.render("json"))

    def render(self, format_: str = "text") -> str:
        """The report in a format of `jsdoctor check --format`. Raises `UsageProblem` for another one."""
        if format_ not in FORMATS:
            raise UsageProblem(f"there is no format {format_!r}", f"it is one of {', '.join(FORMATS)}")
        return FORMATS[format_](self.report, _WITHOUT_COLOR)


@dataclass(frozen=True, repr=False)
class DiagnosisResult:
    """The causes of a symptom with their verdicts. `causes` is empty if the symptom is not recognised."""

    consultation: Consultation

    def __repr__(self) -> str:
        return f"DiagnosisResult(symptom={self.symptom!r}, causes={len(self.causes)})"

    @property
    def symptom(self) -> str:
        """Its slug; empty where it is not recognised."""
        symptom = self.consultation.recognition.symptom
        return symptom.slug if symptom else ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Every documented cause with its verdict: confirmed, ruled out or undecided."""
        diagnosis = self.consultation.diagnosis
        return diagnosis.causes if diagnosis else ()

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON document as a dictionary: docs/schema/diagnosis-v1.json."""
        return _document(render_diagnosis_json(self.consultation, _WITHOUT_COLOR))

    def render(self) -> str:
        """The text of `jsdoctor diagnose`."""
        return render_diagnosis(self.consultation, _WITHOUT_COLOR)


@dataclass(frozen=True, repr=False)
class PreflightResult:
    """Whether servers can be stopped, or run another release. `verdict` is `go`, `no_go` or `unknown`."""

    report: PreflightReport

    def __repr__(self) -> str:
        return f"PreflightResult(verdict={self.verdict.value!r}, obstacles={len(self.obstacles)})"

    @property
    def verdict(self) -> GoNoGo:
        """The worst of all results."""
        return self.report.verdict

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """What stands in the way and was not accepted."""
        return tuple(obstacle for result in self.report.results for obstacle in result.standing)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON document as a dictionary: docs/schema/preflight-v1.json."""
        return _document(render_preflight_json(self.report, _WITHOUT_COLOR))

    def render(self) -> str:
        """The text of `jsdoctor preflight`."""
        return render_preflight(self.report, _WITHOUT_COLOR)


@dataclass(frozen=True, repr=False)
class FixPlan:
    """The steps that fix the findings. Nothing was changed; `jsdoctor fix --plan FILE --apply` applies them."""

    plan: Plan

    def __repr__(self) -> str:
        return f"FixPlan(steps={len(self.steps)})"

    @property
    def steps(self) -> tuple[Step, ...]:
        """In the order in which they are to be taken."""
        return self.plan.steps

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON document as a dictionary: docs/schema/plan-v1.json."""
        return _document(dumps(msgspec.to_builtins(self.plan)))

    def render(self) -> str:
        """The text of `jsdoctor fix`."""
        return render_plan(self.plan, _WITHOUT_COLOR)

    def write(self, path: StrPath) -> None:
        """Write it for `jsdoctor fix --plan`. Raises OSError."""
        Path(path).write_text(dumps(msgspec.to_builtins(self.plan)), "utf-8")


def check(
    deployment: Deployment = None, *, files: Sequence[StrPath] = (), judgement: Judgement | None = None, **options: Any
) -> CheckResult:
    """Check a deployment, files, or both, as `jsdoctor check` does.

    Without `deployment` and without files, the selected context and the `NATS_*` variables name it. `files` are
    recognised by their content. `options` are those of the command: `logs=["n1.log"]`, `manifest="deploy/"`,
    `kube=True, namespace="nats"`, `samples=3, interval=10`, `since="2h"`; docs/api.md lists them. Raises `UsageProblem`
    for those that cannot be used. A deployment that cannot be reached is no exception: it is the result's `problem`.
    """
    return _judged(_wanted(deployment, options), judgement, files)


def audit(logs: Sequence[StrPath] | StrPath, *, judgement: Judgement | None = None, **options: Any) -> CheckResult:
    """Judge logs of servers and clients, any amount of them, as `jsdoctor audit` does. Raises `UsageProblem`.

    `logs` are files, directories and patterns. `options` are those of the command: `engine="local"`, `since="2h"`.
    """
    return _judged(_wanted(None, {**options, "logs": logs}), judgement)


def diagnose(
    text: str = "",
    *,
    code: int | None = None,
    symptom: str = "",
    deployment: Deployment = None,
    offline: bool = False,
    files: Sequence[StrPath] = (),
    stream: str = "",
    consumer: str = "",
    expected_seq: int | None = None,
    msg_id: str = "",
    config: StrPath | None = None,
    **options: Any,
) -> DiagnosisResult:
    """Decide which documented causes of a symptom apply, as `jsdoctor diagnose` does.

    The symptom is a `text` (an error, lines of a log, a phrase), the `code` of an error of the JetStream API, the slug
    of a `symptom`, or is derived from `files`. `offline` opens no connection. `options` are those of `check`. Raises
    `UsageProblem` for arguments that cannot be used or contradict each other, and `Problem` for what ends a run early.
    """

    def work() -> DiagnosisResult:
        if missing := [str(path) for path in files if not Path(path).exists()]:
            raise UsageProblem(f"there is no file {missing[0]}", "give an existing file, or its text as `text`")
        given = given_texts(_texts(files), (), open_rulebook().rules) if files else None
        wanted = _wanted(deployment, options)
        request = DiagnoseRequest(
            text=text or (given.words if given else ""),
            problem_lines=given.problem_lines if given else "",
            code=code,
            symptom=symptom,
            stream=stream,
            consumer=consumer,
            expected_seq=expected_seq,
            msg_id=msg_id,
            offline=offline,
            wanted=given.added_to(wanted) if given else wanted,
            quiet=True,
            config=Path(config) if config else None,
            isolated=config is None,
        )
        return DiagnosisResult(scrubbed(consult(request)))

    return _run(work)


def plan_fix(
    deployment: Deployment = None,
    *,
    remedies: Iterable[str] = (),
    judgement: Judgement | None = None,
    **options: Any,
) -> FixPlan:
    """Plan the fixes for the findings of a check, as `jsdoctor fix` does without `--apply`. Nothing is written.

    `remedies` are choices as `--remedy` takes them: `JSD303=stream.set_max_age,max_age=10m`. `options` are those of a
    live deployment, as `check` takes them. Raises `UsageProblem`, and `Problem` if no stream could be collected.
    """

    def work() -> FixPlan:
        judge = (judgement or Judgement()).request()
        wanted = _wanted(deployment, options)
        request = FixRequest(judge=judge, wanted=wanted, remedies=parse_remedies(tuple(remedies)))
        judging = open_judging(judge)
        logins = resolve_logins(wanted.connection, judging.config)
        sample = FixCollector(judging, wanted, logins, judging.values, lambda _: None)
        return FixPlan(shareable(make_plan(request, sample)))

    return _run(work)


def preflight(
    deployment: Deployment = None,
    *,
    without: Sequence[str] = (),
    each: bool = False,
    target: str = "",
    accept: Sequence[str] = (),
    files: Sequence[StrPath] = (),
    **options: Any,
) -> PreflightResult:
    """Find out whether servers can be stopped now, or run another release, as `jsdoctor preflight` does.

    `without` names servers that stop together, `each` judges every one in turn, `target` is a release. `accept` takes
    `unavailable`, `loss` and `defects`. `options` are those of `check`. Raises `UsageProblem`.
    """

    def work() -> PreflightResult:
        wanted = _wanted(deployment, options)
        given = {"without": list(without), "each": each, "target": target, "quiet": True, "isolated": True}
        try:
            request = request_from(PreflightRequest, {**given, "accept": list(accept)})
        except ValueError as error:
            raise UsageProblem(str(error), "jsdoctor preflight --help lists the options") from None
        extended = files_and_options(_texts(files), wanted) if files else wanted
        return PreflightResult(scrubbed(run_preflight(replace(request, wanted=extended))))

    return _run(work)


def _judged(wanted: EvidenceRequest, judgement: Judgement | None, files: Sequence[StrPath] = ()) -> CheckResult:
    def work() -> CheckResult:
        extended = files_and_options(_texts(files), wanted) if files else wanted
        collected = collect(extended, open_judging((judgement or Judgement()).request()))
        return CheckResult(scrubbed(collected.report()), collected.problem)

    return _run(work)


def _wanted(deployment: Deployment, options: Mapping[str, Any]) -> EvidenceRequest:
    """The request of these options. Raises `UsageProblem`."""
    known = {field.option.key for kind in REQUESTS if kind is not ConnectionOptions for field in option_fields(kind)}
    for name in options:
        if name not in known:
            raise UsageProblem(f"there is no option {name!r}{did_you_mean(name, known)}", "docs/api.md lists them")
    return msgspec.structs.replace(evidence_request(options), connection=_connection(deployment))


def _connection(deployment: Deployment) -> ConnectionOptions:
    if isinstance(deployment, str):
        return ConnectionOptions(server=deployment)
    return replace(deployment) if deployment else ConnectionOptions()


def _texts(paths: Iterable[StrPath]) -> tuple[str, ...]:
    return tuple(map(str, paths))


def _document(text: str) -> dict[str, Any]:
    return decode_as(text, dict[str, Any])


def _run(work: Callable[[], _T]) -> _T:
    """Run `work`, in another thread if this one runs an event loop, as in a notebook. Raises `Problem`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _as_problems(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_as_problems, work).result()


def _as_problems(work: Callable[[], _T]) -> _T:
    """Run `work`. Mistakes in rules and configuration are raised as `UsageProblem`, which is a `Problem`."""
    try:
        return work()
    except SelectionError as error:
        raise UsageProblem(str(error), "jsdoctor rules list shows every code and slug") from None
    except (ConfigurationError, PageError) as error:
        raise UsageProblem("\n".join(error.problems)) from None
