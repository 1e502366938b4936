"""The bodies that a watch posts: `jsdoctor.watch/v1`, a message for Slack, alerts for Alertmanager."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from jsdoctor import __version__
from jsdoctor.engine.watch import ChangeKind, FindingChange
from jsdoctor.model.report import Result
from jsdoctor.model.wording import counted, span
from jsdoctor.render.escape import printable, shortened
from jsdoctor.render.formats.json import result_document
from jsdoctor.render.json_text import dumps
from jsdoctor.render.watch.notification_format import NotificationFormat
from jsdoctor.render.wording import rfc3339

SCHEMA = "jsdoctor.watch/v1"
_SLACK_LINES = 20
_SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_CHECKS_TO_EXPIRE = 4
_MIN_ALERT_LIFE = timedelta(minutes=5)


class Notification(msgspec.Struct, frozen=True):
    """The content of a notification after one check: the changes, and every open finding, with its beginning.

    `problem`: why the check came to no report; empty if it did.
    """

    deployment: str
    at: datetime
    every_s: float
    changes: tuple[FindingChange, ...]
    open: tuple[tuple[Result, datetime], ...]
    problem: str = ""


def body(notification: Notification, format_: NotificationFormat) -> str:
    """The body of one request, as JSON. Empty where there is nothing to send in that format."""
    if format_ is NotificationFormat.ALERTMANAGER:
        alerts = [*_alerts(notification)]
        return dumps(alerts) if alerts else ""
    if not notification.changes:
        return ""
    return dumps(_document(notification) if format_ is NotificationFormat.JSON else {"text": _slack(notification)})


def _document(notification: Notification) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "jsdoctor": __version__,
        "deployment": notification.deployment,
        "at": rfc3339(notification.at),
        "changes": [
            {"change": change.kind.value, "since": rfc3339(change.appeared), "result": result_document(change.result)}
            for change in notification.changes
        ],
        "open": len(notification.open),
    }


def _slack(notification: Notification) -> str:
    """A text of Slack's: `&`, `<` and `>` are its markup."""
    heading = f"*jsdoctor* {notification.deployment}: {counted(len(notification.open), 'finding')} open"
    lines = [_line(change) for change in notification.changes[:_SLACK_LINES]]
    if len(notification.changes) > _SLACK_LINES:
        lines.append(f"and {len(notification.changes) - _SLACK_LINES:,} more")
    return "\n".join([heading.translate(_SLACK_ESCAPES), *(line.translate(_SLACK_ESCAPES) for line in lines)])


def _line(change: FindingChange) -> str:
    result, lasted = change.result, span((change.at - change.appeared).total_seconds() * 1e9)
    what = f"{change.kind.value} {result.severity.value} {result.rule.code} {result.finding.subject.label}"
    rest = f"after {lasted}" if change.kind is ChangeKind.RESOLVED else result.finding.message or result.rule.title
    return printable(shortened(f"{what}: {rest}"))


def _alerts(notification: Notification) -> list[dict[str, object]]:
    """Alerts for Alertmanager.

    Alertmanager drops alerts that are not repeated: open findings are sent after each check, and expire four checks
    later.
    """
    until = notification.at + max(timedelta(seconds=_CHECKS_TO_EXPIRE * notification.every_s), _MIN_ALERT_LIFE)
    alerts = [_alert(notification, result, began, until) for result, began in notification.open]
    if notification.problem:
        alerts.append(_alert_without_report(notification, until))
    resolved = [change for change in notification.changes if change.kind is ChangeKind.RESOLVED]
    return alerts + [_alert(notification, change.result, change.appeared, change.at) for change in resolved]


def _alert_without_report(notification: Notification, ends: datetime) -> dict[str, object]:
    """An alert that checks come to no report: what is open may be so still, and what is new does not show."""
    labels = {"alertname": "jsdoctor_no_report", "deployment": notification.deployment}
    return {
        "labels": {name: printable(value) for name, value in labels.items() if value},
        "annotations": {
            "severity": "error",
            "summary": printable(shortened(f"no report: {notification.problem}")),
            "runbook": "jsdoctor check",
        },
        "startsAt": rfc3339(notification.at),
        "endsAt": rfc3339(ends),
    }


def _alert(notification: Notification, result: Result, began: datetime, ends: datetime) -> dict[str, object]:
    subject = result.finding.subject
    labels = {
        "alertname": f"jsdoctor_{result.rule.slug}",
        "code": result.rule.code,
        "deployment": notification.deployment,
        "kind": subject.kind,
        "account": subject.account,
        "stream": subject.stream or (subject.name if subject.kind == "stream" else ""),
        "name": subject.name,
    }
    return {
        "labels": {name: printable(value) for name, value in labels.items() if value},
        "annotations": {
            "severity": result.severity.value,
            "summary": printable(shortened(f"{subject.label}: {result.finding.message or result.rule.title}")),
            "runbook": f"jsdoctor explain {result.rule.code}",
        },
        "startsAt": rfc3339(began),
        "endsAt": rfc3339(ends),
    }
