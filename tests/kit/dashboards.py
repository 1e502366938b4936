"""Grafana dashboards: the deployment, a stream and a consumer on the recorded series, an incident on the exporter's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.kit.alerts import SITE

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 24, 8


class Panel(msgspec.Struct, frozen=True):
    """One query. A panel with `columns` is a table of its labels, in this order; else it is a graph."""

    title: str
    expr: str
    legend: str = ""
    unit: str = "short"
    columns: tuple[str, ...] = ()
    width: int = 12


class Dashboard(msgspec.Struct, frozen=True):
    """`variables`: name to the series that has its values."""

    title: str
    panels: tuple[Panel, ...]
    variables: dict[str, str] = {}


_PICKED = 'stream=~"$stream"'
_ONE = 'stream=~"$stream",consumer=~"$consumer"'
_BOTH = "{{stream}} > {{consumer}}"
_STREAM = {"stream": "jsdoctor:stream_messages"}
_CONSUMER = {"stream": "jsdoctor:consumer_pending", "consumer": 'jsdoctor:consumer_pending{stream=~"$stream"}'}
_RUN = 'job=~"$job"'
_MEANS = ("severity", "code", "slug", "kind", "account", "stream", "name")
_REPEATED = (
    f"rate(jsdoctor:consumer_delivered{{{_ONE}}}[5m]) - rate(jsdoctor:consumer_delivered_stream_seq{{{_ONE}}}[5m])"
)
_ALERTS = Panel("Alerts", 'sum by (alertname) (ALERTS{alertname=~"Jsdoctor.+",alertstate="firing"})', "{{alertname}}")
_HEALTH = Panel("Failing health checks", "jsdoctor:server_unhealthy", "{{server}}")
_LAGS = Panel("Largest lags", "topk(10, jsdoctor:consumer_pending)", _BOTH)
DASHBOARDS = {
    "deployment": Dashboard(
        "NATS JetStream: deployment",
        (
            _ALERTS,
            _HEALTH,
            Panel("JetStream storage used", "jsdoctor:server_storage_used_ratio", "{{server}}", "percentunit"),
            Panel("Memory", "jsdoctor:server_memory_bytes", "{{server}}", "bytes"),
            Panel("New connections", "rate(jsdoctor:server_connections_total[5m])", "{{server}}", "cps"),
            Panel("Slow consumers", "increase(jsdoctor:server_slow_consumers[15m])", "{{server}}"),
            Panel("Starts", "changes(jsdoctor:server_start_ms[1h])", "{{server}}"),
            _LAGS,
        ),
    ),
    "stream": Dashboard(
        "NATS JetStream: stream",
        (
            Panel("Messages", f"jsdoctor:stream_messages{{{_PICKED}}}", "{{stream}}"),
            Panel("Bytes", f"jsdoctor:stream_bytes{{{_PICKED}}}", "{{stream}}", "bytes"),
            Panel("Stored per second", f"rate(jsdoctor:stream_last_seq{{{_PICKED}}}[5m])", "{{stream}}", "cps"),
            Panel("Subjects", f"jsdoctor:stream_subjects{{{_PICKED}}}", "{{stream}}"),
            Panel("Consumers", f"jsdoctor:stream_consumers{{{_PICKED}}}", "{{stream}}"),
            Panel("Lag", f"jsdoctor:consumer_pending{{{_PICKED}}}", "{{consumer}}"),
        ),
        _STREAM,
    ),
    "consumer": Dashboard(
        "NATS JetStream: consumer",
        (
            Panel("Pending", f"jsdoctor:consumer_pending{{{_ONE}}}", _BOTH),
            Panel("Growth", f"deriv(jsdoctor:consumer_pending{{{_ONE}}}[15m])", _BOTH, "cps"),
            Panel("Not acknowledged", f"jsdoctor:consumer_ack_pending{{{_ONE}}}", _BOTH),
            Panel("Waiting pull requests", f"jsdoctor:consumer_waiting{{{_ONE}}}", _BOTH),
            Panel("Acknowledged per second", f"rate(jsdoctor:consumer_acked{{{_ONE}}}[5m])", _BOTH, "cps"),
            Panel("Repeated deliveries per second", _REPEATED, _BOTH, "cps"),
        ),
        _CONSUMER,
    ),
    "incident": Dashboard(
        "NATS JetStream: incident",
        (
            Panel(
                "Most urgent incidents, with the number of their findings",
                f"sort_desc(max by (impact, {', '.join(_MEANS)}) (jsdoctor_incident{{{_RUN}}}))",
                columns=("impact", *_MEANS),
                width=24,
            ),
            Panel("Incidents", f"sum by (impact) (jsdoctor_incidents{{{_RUN}}}) > 0", "{{impact}}"),
            Panel("Findings", f"sum by (severity) (jsdoctor_findings_by_severity{{{_RUN}}})", "{{severity}}"),
            Panel(
                "Subjects with findings",
                f"max by ({', '.join(_MEANS)}) (jsdoctor_finding{{{_RUN}}})",
                columns=_MEANS,
                width=24,
            ),
            _ALERTS,
            _HEALTH,
            _LAGS,
            Panel(
                "Age of the report", f"max by (instance) (jsdoctor_report_age_seconds{{{_RUN}}})", "{{instance}}", "s"
            ),
            Panel("Checks without a report", f"increase(jsdoctor_checks_failed_total{{{_RUN}}}[15m])", "{{instance}}"),
            Panel("Rules", f"sum by (outcome) (jsdoctor_rules{{{_RUN}}})", "{{outcome}}"),
            Panel(
                "Evidence that was not collected",
                f"sum by (requested) (jsdoctor_gaps{{{_RUN}}})",
                "requested: {{requested}}",
            ),
        ),
        {"job": "jsdoctor_run_exit_code"},
    ),
}


def dashboard(name: str) -> dict[str, Any]:
    """One dashboard as Grafana imports it."""
    made = DASHBOARDS[name]
    return {
        "uid": f"jsdoctor-{name}",
        "title": made.title,
        "tags": ["nats", "jetstream", "jsdoctor"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_datasource(), *(_variable(*variable) for variable in made.variables.items())]},
        "panels": list(_panels(made.panels)),
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}


def _variable(label: str, series: str) -> dict[str, Any]:
    return {
        "name": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": f"label_values({series}, {label})",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
    }


def _panels(panels: tuple[Panel, ...]) -> Iterator[dict[str, Any]]:
    """In rows, from left to right."""
    x = y = 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > _WIDTH:
            x, y = 0, y + _HEIGHT
        yield {
            "id": number,
            "title": panel.title,
            "datasource": _SOURCE,
            "gridPos": {"x": x, "y": y, "w": panel.width, "h": _HEIGHT},
            **(_table(panel) if panel.columns else _graph(panel)),
        }
        x += panel.width


def _graph(panel: Panel) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{"refId": "A", "expr": panel.expr, "legendFormat": panel.legend, "datasource": _SOURCE}],
    }


def _table(panel: Panel) -> dict[str, Any]:
    """The values of now. A rule's code is a link to its page."""
    page = {"title": "Rule", "url": f"{SITE}/rules/${{__value.text}}/", "targetBlank": True}
    target = {"refId": "A", "expr": panel.expr, "instant": True, "format": "table", "datasource": _SOURCE}
    order = {name: index for index, name in enumerate((*panel.columns, "Value"))}
    return {
        "type": "table",
        "fieldConfig": {
            "defaults": {"unit": panel.unit},
            "overrides": [
                {"matcher": {"id": "byName", "options": "code"}, "properties": [{"id": "links", "value": [page]}]}
            ],
        },
        "transformations": [
            {"id": "organize", "options": {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": {}}}
        ],
        "targets": [target],
    }
