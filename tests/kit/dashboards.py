"""Grafana dashboards on the recorded series: the deployment, a stream, a consumer."""

from __future__ import annotations

from typing import Any

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 12, 8

Panel = tuple[str, str, str, str]
"""Title, query, legend, unit."""

_PICKED = 'stream=~"$stream"'
_ONE = 'stream=~"$stream",consumer=~"$consumer"'
_REPEATED = (
    f"rate(jsdoctor:consumer_delivered{{{_ONE}}}[5m]) - rate(jsdoctor:consumer_delivered_stream_seq{{{_ONE}}}[5m])"
)
DASHBOARDS: dict[str, tuple[str, tuple[str, ...], tuple[Panel, ...]]] = {
    "deployment": (
        "NATS JetStream: deployment",
        (),
        (
            (
                "Alerts",
                'sum by (alertname) (ALERTS{alertname=~"Jsdoctor.+",alertstate="firing"})',
                "{{alertname}}",
                "short",
            ),
            ("Failing health checks", "jsdoctor:server_unhealthy", "{{server}}", "short"),
            ("JetStream storage used", "jsdoctor:server_storage_used_ratio", "{{server}}", "percentunit"),
            ("Memory", "jsdoctor:server_memory_bytes", "{{server}}", "bytes"),
            ("New connections", "rate(jsdoctor:server_connections_total[5m])", "{{server}}", "cps"),
            ("Slow consumers", "increase(jsdoctor:server_slow_consumers[15m])", "{{server}}", "short"),
            ("Starts", "changes(jsdoctor:server_start_ms[1h])", "{{server}}", "short"),
            ("Largest lags", "topk(10, jsdoctor:consumer_pending)", "{{stream}} > {{consumer}}", "short"),
        ),
    ),
    "stream": (
        "NATS JetStream: stream",
        ("stream",),
        (
            ("Messages", f"jsdoctor:stream_messages{{{_PICKED}}}", "{{stream}}", "short"),
            ("Bytes", f"jsdoctor:stream_bytes{{{_PICKED}}}", "{{stream}}", "bytes"),
            ("Stored per second", f"rate(jsdoctor:stream_last_seq{{{_PICKED}}}[5m])", "{{stream}}", "cps"),
            ("Subjects", f"jsdoctor:stream_subjects{{{_PICKED}}}", "{{stream}}", "short"),
            ("Consumers", f"jsdoctor:stream_consumers{{{_PICKED}}}", "{{stream}}", "short"),
            ("Lag", f"jsdoctor:consumer_pending{{{_PICKED}}}", "{{consumer}}", "short"),
        ),
    ),
    "consumer": (
        "NATS JetStream: consumer",
        ("stream", "consumer"),
        (
            ("Pending", f"jsdoctor:consumer_pending{{{_ONE}}}", "{{stream}} > {{consumer}}", "short"),
            ("Growth", f"deriv(jsdoctor:consumer_pending{{{_ONE}}}[15m])", "{{stream}} > {{consumer}}", "cps"),
            ("Not acknowledged", f"jsdoctor:consumer_ack_pending{{{_ONE}}}", "{{stream}} > {{consumer}}", "short"),
            ("Waiting pull requests", f"jsdoctor:consumer_waiting{{{_ONE}}}", "{{stream}} > {{consumer}}", "short"),
            (
                "Acknowledged per second",
                f"rate(jsdoctor:consumer_acked{{{_ONE}}}[5m])",
                "{{stream}} > {{consumer}}",
                "cps",
            ),
            (
                "Repeated deliveries per second",
                _REPEATED,
                "{{stream}} > {{consumer}}",
                "cps",
            ),
        ),
    ),
}


def dashboard(name: str) -> dict[str, Any]:
    """One dashboard as Grafana imports it."""
    title, variables, panels = DASHBOARDS[name]
    return {
        "uid": f"jsdoctor-{name}",
        "title": title,
        "tags": ["nats", "jetstream", "jsdoctor"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_datasource(), *(_variable(one) for one in variables)]},
        "panels": [_panel(number, panel) for number, panel in enumerate(panels)],
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}


def _variable(label: str) -> dict[str, Any]:
    metric = "jsdoctor:consumer_pending" + ('{stream=~"$stream"}' if label == "consumer" else "")
    query = f"label_values({metric if label == 'consumer' else 'jsdoctor:stream_messages'}, {label})"
    return {
        "name": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    title, query, legend, unit = panel
    row, column = divmod(number, 2)
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [{"refId": "A", "expr": query, "legendFormat": legend, "datasource": _SOURCE}],
    }
