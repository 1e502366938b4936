"""The report as SARIF 2.1.0 (OASIS, errata 01): what code scanning and editors read. Complete, never cut.

Findings are results; what could not be judged or seen is a notification of the run, never a result and never dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jsdoctor.engine.verdict import exit_code
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject
from jsdoctor.model.report import Incident, Report, Result
from jsdoctor.model.rule import Rule
from jsdoctor.render.escape import printable
from jsdoctor.render.findings import numbers
from jsdoctor.render.incidents import Membership, first_command, incidents_of, memberships, summary
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order, with_outcome
from jsdoctor.render.places import Place, file_uri, places
from jsdoctor.render.site import rule_url
from jsdoctor.render.unseen import undecided
from jsdoctor.render.wording import rfc3339

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "jsdoctor/v1"
_LEVELS = {Severity.CRITICAL: "error", Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_NOTIFICATIONS = {
    "gap": "Evidence that was requested and could not be collected",
    "not-offered": "Evidence that this kind of access never offers",
    "not-evaluated": "Rules that could not be judged",
    "check-failed": "A check that failed itself, a defect of the rule",
}

Json = dict[str, object]


def render(report: Report, options: RenderOptions) -> str:
    """One SARIF log with one run."""
    known = {result.rule.code: result.rule for result in report.results}
    known |= {verdict.rule.code: verdict.rule for verdict in report.verdicts}
    rules = [known[code] for code in sorted(known)]
    index = {rule.code: number for number, rule in enumerate(rules)}
    incidents = memberships(report)
    results = [_result(r, index, incidents.get(id(r))) for r in with_outcome(report.results, Outcome.FAIL)]
    run = {
        "tool": {
            "driver": {
                "name": "jsdoctor",
                "version": report.version,
                "rules": [_rule(rule, options.docs_url) for rule in rules],
                "notifications": [
                    {"id": name, "shortDescription": _text(notice)} for name, notice in _NOTIFICATIONS.items()
                ],
            }
        },
        "invocations": [_invocation(report, options, index)],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {
            "headline": report.headline,
            "incidents": [_incident(number, incident) for number, incident in enumerate(incidents_of(report), 1)],
            "sources": [{"kind": source.kind, "name": source.name} for source in report.sources],
        },
    }
    return dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, options.ascii_only)


def _rule(rule: Rule, docs_url: str) -> Json:
    described: Json = {
        "id": rule.code,
        "name": rule.slug,
        "shortDescription": _text(rule.slug.replace("-", " ")),
        "fullDescription": _text(f"Healthy: {rule.title}."),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "help": {"text": rule.body.strip() or f"jsdoctor explain {rule.code}"},
        "properties": {"tags": [tag for tag in (rule.failure_mode, rule.status.value) if tag]},
    }
    if rule.body.strip():
        described["help"] = {"text": rule.body.strip(), "markdown": rule.body.strip()}
    if address := rule_url(docs_url, rule.code):
        described["helpUri"] = address
    return described


def _incident(number: int, incident: Incident) -> Json:
    return {
        "number": number,
        "severity": incident.severity.value,
        "impact": incident.impact.value,
        "summary": printable(summary(incident)),
        "firstCommand": first_command(incident),
        "causes": [result.fingerprint for result in incident.causes],
        "consequences": [consequence.result.fingerprint for consequence in incident.consequences],
    }


def _result(result: Result, index: dict[str, int], member: Membership | None) -> Json:
    finding, remedy = result.finding, result.remedy
    seen = places(finding)
    measured = numbers(finding)
    properties: Json = {"severity": result.severity.value, "confidence": finding.confidence.value}
    optional = {
        "measured": finding.measured,
        "threshold": finding.threshold,
        "uncertainty": finding.uncertainty,
        "unit": finding.unit,
        "firstSeen": finding.first_seen and rfc3339(finding.first_seen),
        "lastSeen": finding.last_seen and rfc3339(finding.last_seen),
        "remedy": remedy
        and {"action": remedy.action, "risk": remedy.risk, "commands": list(remedy.commands), "logins": remedy.logins},
    }
    properties |= {name: value for name, value in optional.items() if value is not None}
    if member is not None:
        properties |= {"incident": member.number, "impact": result.impact.value}
    what = ": ".join(part for part in (finding.subject.label, finding.message) if part)
    written: Json = {
        "ruleId": result.rule.code,
        "ruleIndex": index[result.rule.code],
        "kind": "fail",
        "level": _LEVELS[result.severity],
        "message": _message(f"{what} ({measured})" if measured else what),
        "locations": [_location(finding.subject, seen[0] if seen else None)],
        "partialFingerprints": {FINGERPRINT: result.fingerprint},
        "properties": properties,
    }
    if result.suppressed is not None:
        why = printable(result.suppressed.words)
        accepted: Json = {"kind": "external", "status": "accepted"}
        written["suppressions"] = [accepted | ({"justification": why} if why else {})]
    related: list[Json] = [{"physicalLocation": _physical(place)} for place in seen[1:]]
    if member is not None and member.consequence is not None:
        cause = member.consequence.explained_by.finding
        seen = places(cause)
        words = _message(f"explained by {member.explanation}")
        related.append(_location(cause.subject, seen[0] if seen else None) | {"message": words})
    if related:
        written["relatedLocations"] = _distinct(related)
    return written


def _invocation(report: Report, options: RenderOptions, index: dict[str, int]) -> Json:
    """The invocation is successful if no check crashed and no requested evidence is missing."""
    gaps = not options.allow_gaps and any(gap.requested for gap in report.gaps)
    crashed = any(verdict.subjects.get(Outcome.ERROR) for verdict in report.verdicts)
    return {
        "executionSuccessful": not (gaps or crashed),
        "exitCode": int(exit_code(report, options.fail_on, options.exit_zero, options.allow_gaps)),
        "startTimeUtc": rfc3339(report.started),
        "endTimeUtc": rfc3339(report.finished),
        "toolExecutionNotifications": [
            *(_crash(result, index) for result in with_outcome(report.results, Outcome.ERROR)),
            *(
                _notice(
                    ("not-offered", "gap")[gap.requested],
                    ("note", "warning")[gap.requested],
                    f"{gap.subject.label}: {gap.reason}",
                    gap.how_to_get,
                    [gap.subject],
                )
                for gap in gaps_in_order(report.gaps)
            ),
            *(
                _notice(
                    "not-evaluated",
                    "note",
                    f"{', '.join(sorted(group.codes))}: {group.reason}",
                    group.how_to_get,
                    group.subjects,
                )
                for group in undecided(report)
            ),
        ],
    }


def _crash(result: Result, index: dict[str, int]) -> Json:
    notice = _notice("check-failed", "error", f"{result.rule.code}: {result.finding.message}", "", [])
    return notice | {"associatedRule": {"id": result.rule.code, "index": index[result.rule.code]}}


def _notice(kind: str, level: str, text: str, how_to_get: str, what: Sequence[Subject]) -> Json:
    notice: Json = {
        "descriptor": {"id": kind, "index": list(_NOTIFICATIONS).index(kind)},
        "level": level,
        "message": _message(f"{text} → {how_to_get}" if how_to_get else text),
    }
    if what:
        notice["locations"] = _distinct(_location(subject, None) for subject in what)
    return notice


def _location(subject: Subject, place: Place | None) -> Json:
    named: Json = {"kind": subject.kind, "fullyQualifiedName": subject.label}
    if own := subject.name or subject.stream or subject.account:
        named["name"] = own
    where: Json = {"logicalLocations": [named]}
    if place is None:
        place = next(iter(places(Finding(subject=subject))), None)
    return where if place is None else where | {"physicalLocation": _physical(place)}


def _physical(place: Place) -> Json:
    where: Json = {"artifactLocation": {"uri": file_uri(place.file)}}
    if place.line:
        region: Json = {"startLine": place.line, "snippet": _text(place.text)}
        where["region"] = region | ({"startColumn": place.column} if place.column else {})
    return where


def _distinct(locations: Iterable[Json]) -> list[Json]:
    """Each location once: the schema wants these arrays to be sets."""
    return list({dumps(location): location for location in locations}.values())


def _message(text: str) -> Json:
    """A message for people, with nothing in it that a viewer takes for a link (SARIF 2.1.0, 3.11.6)."""
    return _text(printable(text).replace("](", "] ("))


def _text(text: str) -> Json:
    return {"text": text}
