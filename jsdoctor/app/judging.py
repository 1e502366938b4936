"""The part that all judging commands share: the rules, their parameters, and the output of the report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from jsdoctor import __version__
from jsdoctor.app.baseline_file import load_baseline
from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.outputs import writes_nagios
from jsdoctor.app.request import JudgeRequest
from jsdoctor.app.rulebook import Rulebook, open_rulebook
from jsdoctor.configuration.file import Configuration
from jsdoctor.engine.change import without_existing
from jsdoctor.engine.incidents import incidents
from jsdoctor.engine.manifest_change import drift_gaps, manifest_change
from jsdoctor.engine.overrides import overrides, severities_of, with_severities
from jsdoctor.engine.runner import Evaluation, evaluate
from jsdoctor.engine.select import Selection, select_rules
from jsdoctor.engine.suppression import resolve_waivers, suppress, waiver_uses
from jsdoctor.engine.verdict import ExitCode, NagiosState, exit_code, nagios_state
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Severity
from jsdoctor.model.logins import NO_LOGINS, Logins
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.report import EvidenceOrigin, Report
from jsdoctor.model.suppression import Baseline, Suppressions, Waiver
from jsdoctor.model.topology import Topology
from jsdoctor.model.traffic_summary import TrafficSummary, traffic_summaries
from jsdoctor.remedy.offer import flagged, with_offers
from jsdoctor.sources.rule_pages import known_defects

ParameterValues = dict[str, dict[str, float | int | None]]
"""By rule code and parameter name, in the parameter's unit."""


class Judging(msgspec.Struct, frozen=True):
    """The rules and settings of one run. They are read before anything is collected, so mistakes end a run at once."""

    request: JudgeRequest
    config: Configuration
    rulebook: Rulebook
    selection: Selection
    values: ParameterValues
    waivers: tuple[Waiver, ...] = ()
    baseline: Baseline | None = None
    severities: Mapping[str, Severity] = msgspec.field(default_factory=dict)

    def report(
        self, evidence: EvidenceSet, sources: tuple[EvidenceOrigin, ...], headline: str, logins: Logins = NO_LOGINS
    ) -> Report:
        """Evaluate the selected rules on the evidence. Commands in the report get the flags of these logins."""
        evidence = evidence.joined(Suppressions())  # an empty one is no gap
        evidence = evidence.joined(known_defects())
        evaluation = self._evaluated(evidence)
        judged = with_severities(evaluation.results, self.severities)
        offered = with_offers(judged, self.rulebook.actions, evidence, logins)
        results = suppress(offered, self.waivers, self.baseline, self.today)
        report = Report(
            version=__version__,
            started=self.request.started,
            finished=datetime.now(UTC),
            sources=sources,
            verdicts=tuple(flagged(verdict, CLUSTER, logins) for verdict in evaluation.verdicts),
            results=results if self.request.all_findings else without_existing(results, evidence, self.rulebook.checks),
            gaps=tuple(
                flagged(gap, gap.subject, logins) for gap in (*evidence.gaps_for(evaluation.kinds), *evaluation.gaps)
            ),
            headline=headline,
            traffic=_traffic(evidence),
            topology=_topology(evidence),
        )
        seen_at = max((source.collected_at for source in sources), default=report.started)
        change = manifest_change(evidence, report.results, report.verdicts, report.gaps)
        unseen = drift_gaps(change) if self.request.drift else ()
        report = replace(report, change=change, gaps=(*report.gaps, *unseen))
        report = replace(report, incidents=incidents(report.failures(), evidence, seen_at))
        if not any(target.format == "html" for target in self.request.outputs):
            return report
        from jsdoctor.engine.picture.draw import picture

        return replace(report, picture=picture(report, evidence))

    @property
    def today(self) -> date:
        """The day of this run, in UTC: waivers end alike everywhere."""
        return self.request.started.astimezone(UTC).date()

    def _evaluated(self, evidence: EvidenceSet) -> Evaluation:
        """Evaluate the rules; those about waivers come last, because they depend on the results of all others."""
        checks, all_rules = self.rulebook.checks, self.selection.rules
        last = [rule for rule in all_rules if any(Suppressions in checks[name].kinds for name in rule.checks)]
        passes = self.request.verbose > 1
        first = Selection(tuple(rule for rule in all_rules if rule not in last), self.selection.named)
        evaluation = evaluate(first, checks, evidence, self.values, keep_passes=passes)
        if not last:
            return evaluation
        evidence = evidence.joined(waiver_uses(self.waivers, evaluation.results, evaluation.verdicts, self.today))
        after = evaluate(Selection(tuple(last), self.selection.named), checks, evidence, self.values, passes)
        return Evaluation(
            (*evaluation.verdicts, *after.verdicts),
            (*evaluation.results, *after.results),
            (*evaluation.gaps, *after.gaps),
            evaluation.kinds | after.kinds,
        )

    @property
    def fail_on(self) -> Severity:
        """The mildest severity that fails a run."""
        return self.request.fail_on or self.config.fail_on or Severity.ERROR

    def exit_code(self, report: Report) -> ExitCode | NagiosState:
        """The exit code of the process. Nagios has codes of its own."""
        judge = nagios_state if writes_nagios(self.request.outputs, None) else exit_code
        code = judge(report, self.fail_on, self.request.exit_zero, self.request.allow_gaps)
        differs = self.request.drift and not self.request.exit_zero and report.change and report.change.differs
        if not differs or code is ExitCode.INTERNAL:
            return code
        return NagiosState.CRITICAL if isinstance(code, NagiosState) else ExitCode.FINDINGS


def _topology(evidence: EvidenceSet) -> Topology | None:
    topology = evidence.get(Topology)
    return topology if topology is not None and topology.domains else None


def open_judging(request: JudgeRequest) -> Judging:
    """Read configuration and rules. Raises `Problem`."""
    _ = request.outputs  # those that cannot be written end the run before it begins
    config = load_configuration(request)
    directories = request.rules or config.rule_paths
    rulebook = open_rulebook(directories, config.policies)
    selection = select_rules(
        rulebook.rules,
        request.select or config.select or (),
        (*(config.extend_select or ()), *request.extend_select),
        (*(config.ignore or ()), *request.ignore),
    )
    waivers = resolve_waivers(config.waivers, rulebook.rules)
    file = request.baseline or (Path(config.baseline) if config.baseline else None)
    baseline = load_baseline(file) if file else None
    values = _parameter_values(request, config, rulebook)
    severities = severities_of(config.severities, rulebook.rules, config.origin)
    return Judging(request, config, rulebook, selection, values, waivers, baseline, severities)


def _parameter_values(request: JudgeRequest, config: Configuration, rulebook: Rulebook) -> ParameterValues:
    """What the configuration sets, and over it what the command line sets."""
    values = overrides(rulebook.rules, config.rule_settings, config.origin)
    for code, params in overrides(rulebook.rules, request.rule_settings, "--set").items():
        values.setdefault(code, {}).update(params)
    return values


def _traffic(evidence: EvidenceSet) -> tuple[TrafficSummary, ...]:
    packets = evidence.get(PacketEvidence)
    return traffic_summaries(packets) if packets is not None else ()
