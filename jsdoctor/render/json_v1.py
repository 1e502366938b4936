"""The report for machines: `jsdoctor.report/v1`, described by `docs/schema/report-v1.json`. Complete, never cut."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from datetime import datetime

import msgspec

from jsdoctor.model.change import ManifestChange
from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import SCHEMA, Incident, Report, Result, RuleVerdict, Source
from jsdoctor.model.suppression import Suppression
from jsdoctor.model.topology import Topology
from jsdoctor.render.closing import findings_by_severity
from jsdoctor.render.incidents import first_command, summary
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order
from jsdoctor.render.plain import plain
from jsdoctor.render.wording import rfc3339

_UNUSUAL = re.compile(r"[^\x20-\x7e]")


def render_json(report: Report, options: RenderOptions) -> str:
    """One JSON object and a newline. Order: worst severity first, then code, then subject."""

    def raw(value: object) -> msgspec.Raw:
        return _raw(value, options.ascii_only)

    # Piece by piece: the objects of tens of thousands of results need never exist at the same time.
    return _laid_out(
        {
            "schema": SCHEMA,
            "jsdoctor": raw(report.version),
            "started": rfc3339(report.started),
            "finished": rfc3339(report.finished),
            "sources": [raw(source_document(source)) for source in report.sources],
            "deployment": raw(_deployment(report.topology)),
            "change": raw(_change(report.change)),
            "incidents": [raw(incident_document(incident)) for incident in report.incidents],
            "results": [raw(result_document(result)) for result in by_urgency(report.results)],
            "rules": [
                raw(_rule(verdict)) for verdict in sorted(report.verdicts, key=lambda verdict: verdict.rule.code)
            ],
            "gaps": [raw(gap_document(gap)) for gap in gaps_in_order(report.gaps)],
            "summary": raw(_summary(report)),
            "traffic": [raw(msgspec.to_builtins(one)) for one in report.traffic],
        }
    )


def dumps(document: object, ascii_only: bool = False) -> str:
    """Indented JSON and a newline. What does not print, or with `ascii_only` is not ASCII, is escaped as JSON does."""
    return _laid_out(_raw(document, ascii_only))


def compact(document: object) -> str:
    """JSON on one line, in ASCII: for scripts of a page."""
    return msgspec.json.format(msgspec.json.encode(_raw(document, ascii_only=True)), indent=-1).decode()


def _laid_out(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _raw(value: object, ascii_only: bool) -> msgspec.Raw:
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    return msgspec.Raw(_UNUSUAL.sub(lambda found: _escaped(found[0], ascii_only), text).encode())


def _escaped(character: str, ascii_only: bool) -> str:
    if character.isprintable() and not ascii_only:
        return character
    return "".join(f"\\u{unit:04x}" for (unit,) in struct.iter_unpack(">H", character.encode("utf-16-be")))


def _change(change: ManifestChange | None) -> dict[str, object] | None:
    if change is None:
        return None
    steps = [msgspec.structs.asdict(step) | {"subject": _subject(step.subject)} for step in change.steps]
    return {
        "steps": msgspec.to_builtins(steps),
        "unchanged": change.unchanged,
        "undeclared": [_subject(subject) for subject in change.undeclared],
        "incomplete": change.incomplete,
    }


def _deployment(topology: Topology | None) -> dict[str, object] | None:
    if topology is None:
        return None
    return {
        "summary": topology.words(),
        "domains": [
            {
                "label": domain.label,
                "name": domain.name,
                "clusters": list(domain.clusters),
                "servers": list(domain.servers),
                "meta_size": domain.meta_size,
                "is_site": domain.is_site,
            }
            for domain in topology.domains
        ],
        "uses": [{"name": use, "count": count} for use, count in topology.roles.items()],
        "leaf_connections": topology.leafs,
        "servers_without_jetstream": topology.without_jetstream,
        "mqtt": topology.mqtt,
        "websocket": topology.websocket,
    }


def source_document(source: Source) -> dict[str, object]:
    """A source as machines read it."""
    return {"kind": source.kind, "name": source.name, "collected_at": rfc3339(source.collected_at)}


def gap_document(gap: Gap) -> dict[str, object]:
    """A gap as machines read it."""
    return {
        "kind": gap.kind,
        "subject": _subject(gap.subject),
        "reason": gap.reason,
        "how_to_get": gap.how_to_get,
        "requested": gap.requested,
    }


def result_document(result: Result) -> dict[str, object]:
    """A finding as machines read it."""
    finding, remedy = result.finding, result.remedy
    return {
        "code": result.rule.code,
        "slug": result.rule.slug,
        "outcome": finding.outcome.value,
        "severity": result.severity.value,
        "confidence": finding.confidence.value,
        "subject": _subject(finding.subject),
        "message": finding.message,
        "how_to_get": finding.how_to_get,
        "measured": finding.measured,
        "threshold": finding.threshold,
        "unit": finding.unit,
        "uncertainty": finding.uncertainty,
        "evidence": [
            {"source": one.source, "path": one.path, "value": one.value, "at": _moment(one.at)}
            for one in finding.evidence
        ],
        "remedy": remedy and {"action": remedy.action, "risk": remedy.risk, "commands": list(remedy.commands)},
        "first_seen": _moment(finding.first_seen),
        "last_seen": _moment(finding.last_seen),
        "suppressed": _suppressed(result.suppressed),
        "fingerprint": result.fingerprint,
    }


def incident_document(incident: Incident) -> dict[str, object]:
    """An incident as machines read it. Its findings are named by code, subject and fingerprint; `results` has them."""
    return {
        "severity": incident.severity.value,
        "impact": incident.impact.value,
        "summary": summary(incident),
        "first_command": first_command(incident),
        "causes": [_reference(result) for result in incident.causes],
        "consequences": [
            {
                **_reference(one.result),
                "explained_by": one.explained_by.fingerprint,
                "link": one.link.value,
                "evidence": one.evidence,
            }
            for one in incident.consequences
        ],
    }


def _reference(result: Result) -> dict[str, object]:
    return {
        "code": result.rule.code,
        "slug": result.rule.slug,
        "severity": result.severity.value,
        "impact": result.impact.value,
        "subject": _subject(result.finding.subject),
        "fingerprint": result.fingerprint,
    }


def _suppressed(why: Suppression | None) -> dict[str, object] | None:
    if why is None:
        return None
    return {"kind": why.kind, "reason": why.reason, "expires": why.expires and why.expires.isoformat()}


def _rule(verdict: RuleVerdict) -> dict[str, object]:
    return {
        "code": verdict.rule.code,
        "slug": verdict.rule.slug,
        "outcome": verdict.outcome.value,
        "subjects": _per_outcome(Counter(verdict.subjects)),
        "reason": verdict.reason,
        "how_to_get": verdict.how_to_get,
    }


def _summary(report: Report) -> dict[str, object]:
    subjects: Counter[Outcome] = Counter()
    for verdict in report.verdicts:
        subjects.update(verdict.subjects)
    return {
        "headline": report.headline,
        "rules": _per_outcome(Counter(verdict.outcome for verdict in report.verdicts)),
        "subjects": _per_outcome(subjects),
        "findings": {severity.value: number for severity, number in findings_by_severity(report).items()},
        "suppressed": len(report.suppressed()),
    }


def _per_outcome(counts: Counter[Outcome]) -> dict[str, int]:
    return {outcome.value: counts[outcome] for outcome in Outcome}


def _subject(subject: Subject) -> dict[str, str]:
    return {"kind": subject.kind, "name": subject.name, "account": subject.account, "stream": subject.stream}


def _moment(moment: datetime | None) -> str | None:
    return rfc3339(moment) if moment else None
