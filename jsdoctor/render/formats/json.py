"""The report for machines: `jsdoctor.report/v1`, whose types are in `report_document`. Complete, never cut."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from msgspec.structs import asdict

from jsdoctor.model.change import ManifestChange
from jsdoctor.model.finding import Observation, Outcome, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import SCHEMA, EvidenceOrigin, Incident, Report, Result, RuleVerdict
from jsdoctor.model.suppression import Suppression
from jsdoctor.model.topology import Topology
from jsdoctor.model.traffic_summary import NamedCount
from jsdoctor.render import report_document as documents
from jsdoctor.render.closing import findings_by_severity
from jsdoctor.render.incidents import first_command, summary
from jsdoctor.render.json_text import indented, raw_json, raw_struct
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order
from jsdoctor.render.plain import plain
from jsdoctor.render.site import rule_url
from jsdoctor.render.wording import rfc3339


def render(report: Report, options: RenderOptions) -> str:
    """One JSON object and a newline. Order: worst severity first, then code, then subject."""
    ascii_only = options.ascii_only
    verdicts = sorted(report.verdicts, key=lambda verdict: verdict.rule.code)
    # Piece by piece: the objects of tens of thousands of results need never exist at the same time.
    return indented(
        {
            "schema": SCHEMA,
            "jsdoctor": raw_json(report.version, ascii_only),
            "started": rfc3339(report.started),
            "finished": rfc3339(report.finished),
            "sources": [raw_json(source_document(source), ascii_only) for source in report.sources],
            "deployment": raw_json(_deployment(report.topology), ascii_only),
            "change": raw_json(_change(report.change), ascii_only),
            "incidents": [raw_struct(_incident(incident), ascii_only) for incident in report.incidents],
            "results": [raw_struct(result_document(result), ascii_only) for result in by_urgency(report.results)],
            "rules": [raw_json(_rule(verdict, options.docs_url), ascii_only) for verdict in verdicts],
            "gaps": [raw_json(gap_document(gap), ascii_only) for gap in gaps_in_order(report.gaps)],
            "summary": raw_json(_summary(report), ascii_only),
            "traffic": [raw_json(traffic, ascii_only) for traffic in report.traffic],
        }
    )


def source_document(source: EvidenceOrigin) -> documents.SourceDocument:
    """A source as machines read it."""
    return documents.SourceDocument(kind=source.kind, name=source.name, collected_at=rfc3339(source.collected_at))


def gap_document(gap: Gap) -> documents.GapDocument:
    """A gap as machines read it."""
    return documents.GapDocument(
        kind=gap.kind,
        subject=_subject(gap.subject),
        reason=gap.reason,
        how_to_get=gap.how_to_get,
        requested=gap.requested,
    )


def observation_document(observation: Observation) -> documents.ObservationDocument:
    """A value that was read, as machines read it."""
    return documents.ObservationDocument(
        source=observation.source, path=observation.path, value=plain(observation.value), at=_moment(observation.at)
    )


def result_document(result: Result) -> documents.ResultDocument:
    """A finding as machines read it."""
    finding = result.finding
    return documents.ResultDocument(
        code=result.rule.code,
        slug=result.rule.slug,
        outcome=finding.outcome,
        severity=result.severity,
        confidence=finding.confidence,
        subject=_subject(finding.subject),
        message=finding.message,
        advice=finding.advice,
        how_to_get=finding.how_to_get,
        seen=finding.seen,
        measured=finding.measured,
        threshold=finding.threshold,
        unit=finding.unit,
        uncertainty=finding.uncertainty,
        evidence=tuple(map(observation_document, finding.evidence)),
        remedy=_remedy(result),
        first_seen=_moment(finding.first_seen),
        last_seen=_moment(finding.last_seen),
        suppressed=_suppressed(result.suppressed),
        fingerprint=result.fingerprint,
    )


def _remedy(result: Result) -> documents.RemedyDocument | None:
    offer = result.remedy
    if offer is None:
        return None
    return documents.RemedyDocument(action=offer.action, risk=offer.risk, commands=offer.commands, logins=offer.logins)


def _change(change: ManifestChange | None) -> documents.ChangeDocument | None:
    if change is None:
        return None
    return documents.ChangeDocument(
        steps=tuple(
            documents.ChangeStepDocument(
                subject=_subject(step.subject),
                action=step.action,
                file=step.file,
                line=step.line,
                fields=step.fields,
                messages=step.messages,
                at_stake=step.at_stake,
                reason=step.reason,
            )
            for step in change.steps
        ),
        unchanged=change.unchanged,
        undeclared=tuple(map(_subject, change.undeclared)),
        incomplete=change.incomplete,
    )


def _deployment(topology: Topology | None) -> documents.DeploymentDocument | None:
    if topology is None:
        return None
    return documents.DeploymentDocument(
        summary=topology.words(),
        domains=topology.domains,
        uses=tuple(NamedCount(use, count) for use, count in topology.roles.items()),
        leaf_connections=topology.leafs,
        servers_without_jetstream=topology.without_jetstream,
        mqtt=topology.mqtt,
        websocket=topology.websocket,
    )


def _incident(incident: Incident) -> documents.IncidentDocument:
    """Its findings are named by code, subject and fingerprint; `results` has them in full."""
    return documents.IncidentDocument(
        severity=incident.severity,
        impact=incident.impact,
        summary=summary(incident),
        first_command=first_command(incident),
        causes=tuple(map(_reference, incident.causes)),
        consequences=tuple(
            documents.ConsequenceDocument(
                **asdict(_reference(consequence.result)),
                explained_by=consequence.explained_by.fingerprint,
                link=consequence.link,
                evidence=consequence.evidence,
            )
            for consequence in incident.consequences
        ),
    )


def _reference(result: Result) -> documents.ReferenceDocument:
    return documents.ReferenceDocument(
        code=result.rule.code,
        slug=result.rule.slug,
        severity=result.severity,
        impact=result.impact,
        subject=_subject(result.finding.subject),
        fingerprint=result.fingerprint,
    )


def _suppressed(why: Suppression | None) -> documents.SuppressionDocument | None:
    if why is None:
        return None
    expires = why.expires.isoformat() if why.expires else None
    return documents.SuppressionDocument(kind=why.kind, reason=why.reason, expires=expires)


def _rule(verdict: RuleVerdict, docs_url: str) -> documents.RuleDocument:
    return documents.RuleDocument(
        code=verdict.rule.code,
        slug=verdict.rule.slug,
        outcome=verdict.outcome,
        subjects=_per_outcome(Counter(verdict.subjects)),
        reason=verdict.reason,
        how_to_get=verdict.how_to_get,
        page=rule_url(docs_url, verdict.rule.code),
    )


def _summary(report: Report) -> documents.SummaryDocument:
    subjects: Counter[Outcome] = Counter()
    for verdict in report.verdicts:
        subjects.update(verdict.subjects)
    findings = findings_by_severity(report)
    return documents.SummaryDocument(
        headline=report.headline,
        rules=_per_outcome(Counter(verdict.outcome for verdict in report.verdicts)),
        subjects=_per_outcome(subjects),
        findings=documents.SeverityCounts(**{severity.value: number for severity, number in findings.items()}),
        suppressed=len(report.suppressed()),
    )


def _per_outcome(counts: Counter[Outcome]) -> documents.OutcomeCounts:
    return documents.OutcomeCounts(
        passed=counts[Outcome.PASS],
        fail=counts[Outcome.FAIL],
        not_applicable=counts[Outcome.NOT_APPLICABLE],
        not_evaluated=counts[Outcome.NOT_EVALUATED],
        error=counts[Outcome.ERROR],
    )


def _subject(subject: Subject) -> documents.SubjectDocument:
    return documents.SubjectDocument(
        kind=subject.kind, name=subject.name, account=subject.account, stream=subject.stream
    )


def _moment(moment: datetime | None) -> str | None:
    return rfc3339(moment) if moment else None
