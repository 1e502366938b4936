"""Alerts on what metrics can prove, with the thresholds of the rule pages, and series that prove each of them.

A rule has an alert only where its metrics can tell the fault from a healthy state without the asset's settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from jsdoctor.model.rule import Rule
from jsdoctor.render.site import rule_url
from tests.support.ruleset import rules

SITE = "https://OWNER.github.io/jsdoctor"
"""Where the documentation site is published from the repository of OWNER."""
_CONSUMER = '{job="nats",deployment="C1",stream="ORDERS",account_name="APP",consumer="worker"}'
_STREAM = '{job="nats",deployment="C1",stream="ORDERS",account_name="APP"}'
_SERVER = '{job="nats",instance="h:7777",server="n1"}'

Values = dict[str, str]
"""Recorded series by name without its prefix, in promtool's notation, one value a minute."""


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert. `expr` has the rule's parameters in braces; `fires` and `silent` are series for promtool."""

    code: str
    name: str
    severity: str
    expr: str
    wait: str
    description: str
    fires: Values
    silent: Sequence[Values]


ALERTS = (
    Alert(
        code="JSD401",
        name="ConsumerLagHigh",
        severity="warning",
        expr="jsdoctor:consumer_pending > {warn_pending} and rate(jsdoctor:consumer_acked[5m]) > 0"
        " and jsdoctor:consumer_pending / rate(jsdoctor:consumer_acked[5m]) > {min_wait}"
        " and deriv(jsdoctor:consumer_pending[10m]) >= 0",
        wait="5m",
        description="{{ $value | humanize }} messages wait for consumer {{ $labels.stream }} > {{ $labels.consumer }},"
        " and they do not become fewer",
        fires={"consumer_pending": "20000+0x30", "consumer_acked": "0+60x30"},
        silent=(
            {"consumer_pending": "9000+0x30", "consumer_acked": "0+60x30"},
            {"consumer_pending": "20000-500x30", "consumer_acked": "0+600x30"},
            {"consumer_pending": "20000+0x30", "consumer_acked": "0+60000x30"},
        ),
    ),
    Alert(
        code="JSD402",
        name="ConsumerLagGrowing",
        severity="warning",
        expr="jsdoctor:consumer_pending > {min_pending} and rate(jsdoctor:consumer_acked[15m]) > 0"
        " and jsdoctor:consumer_pending / rate(jsdoctor:consumer_acked[15m]) > {min_wait}"
        " and deriv(jsdoctor:consumer_pending[15m]) > 0.05 * rate(jsdoctor:consumer_acked[15m])",
        wait="15m",
        description="{{ $value | humanize }} messages wait for consumer {{ $labels.stream }} > {{ $labels.consumer }},"
        " and more arrive than are acknowledged",
        fires={"consumer_pending": "2000+600x60", "consumer_acked": "0+60x60"},
        silent=(
            {"consumer_pending": "0+10x60", "consumer_acked": "0+60x60"},
            {"consumer_pending": "2000+0x60", "consumer_acked": "0+60x60"},
        ),
    ),
    Alert(
        code="JSD404",
        name="ConsumerNoProgress",
        severity="warning",
        expr="jsdoctor:consumer_pending > 0 and min_over_time(jsdoctor:consumer_waiting[5m]) > 0"
        " and changes(jsdoctor:consumer_delivered[5m]) == 0 and min_over_time(jsdoctor:consumer_pending[5m]) > 0",
        wait="5m",
        description="clients of {{ $labels.stream }} > {{ $labels.consumer }} wait, {{ $value | humanize }} messages"
        " are there, and none is delivered; a paused consumer looks the same",
        fires={"consumer_pending": "5+0x30", "consumer_waiting": "1+0x30", "consumer_delivered": "7+0x30"},
        silent=(
            {"consumer_pending": "0+0x30", "consumer_waiting": "1+0x30", "consumer_delivered": "7+0x30"},
            {"consumer_pending": "5+0x30", "consumer_waiting": "1+0x30", "consumer_delivered": "7+1x30"},
        ),
    ),
    Alert(
        code="JSD408",
        name="ConsumerRedeliveriesHigh",
        severity="warning",
        expr="(increase(jsdoctor:consumer_delivered[10m]) - increase(jsdoctor:consumer_delivered_stream_seq[10m]))"
        " / increase(jsdoctor:consumer_delivered[10m]) > {warn_share}"
        " and increase(jsdoctor:consumer_delivered[10m]) > {min_deliveries}"
        " and increase(jsdoctor:consumer_acked[10m]) > 0",
        wait="5m",
        description="{{ $value | humanizePercentage }} of the deliveries of {{ $labels.stream }}"
        " > {{ $labels.consumer }} are repeats",
        fires={
            "consumer_delivered": "0+100x30",
            "consumer_delivered_stream_seq": "0+50x30",
            "consumer_acked": "0+50x30",
        },
        silent=(
            {
                "consumer_delivered": "0+100x30",
                "consumer_delivered_stream_seq": "0+100x30",
                "consumer_acked": "0+100x30",
            },
        ),
    ),
    Alert(
        code="JSD606",
        name="StreamHighCardinality",
        severity="warning",
        expr="jsdoctor:stream_subjects > {warn_subjects}",
        wait="10m",
        description="stream {{ $labels.stream }} has {{ $value | humanize }} subjects",
        fires={"stream_subjects": "1000001+0x30"},
        silent=({"stream_subjects": "1000000+0x30"},),
    ),
    Alert(
        code="JSD616",
        name="StreamManyConsumers",
        severity="warning",
        expr="jsdoctor:stream_consumers > {many}",
        wait="10m",
        description="stream {{ $labels.stream }} has {{ $value | humanize }} consumers",
        fires={"stream_consumers": "10001+0x30"},
        silent=({"stream_consumers": "10000+0x30"},),
    ),
    Alert(
        code="JSD801",
        name="ServerUnhealthy",
        severity="critical",
        expr="jsdoctor:server_unhealthy == 1",
        wait="{start_up}s",
        description="the health check of server {{ $labels.server }} fails",
        fires={"server_unhealthy": "1+0x30"},
        silent=({"server_unhealthy": "0+0x30"}, {"server_unhealthy": "0x14 1 0x14"}),
    ),
    Alert(
        code="JSD802",
        name="StorageNearLimit",
        severity="warning",
        expr="jsdoctor:server_storage_used_ratio > {warn_fraction}",
        wait="5m",
        description="server {{ $labels.server }} uses {{ $value | humanizePercentage }} of its JetStream storage",
        fires={"server_storage_used_ratio": "0.85+0x30"},
        silent=({"server_storage_used_ratio": "0.79+0x30"},),
    ),
    Alert(
        code="JSD802",
        name="StorageAtLimit",
        severity="critical",
        expr="jsdoctor:server_storage_used_ratio > {max_fraction}",
        wait="5m",
        description="server {{ $labels.server }} uses {{ $value | humanizePercentage }} of its JetStream storage",
        fires={"server_storage_used_ratio": "0.91+0x30"},
        silent=({"server_storage_used_ratio": "0.89+0x30"},),
    ),
    Alert(
        code="JSD805",
        name="ServerRestarted",
        severity="warning",
        expr="changes(jsdoctor:server_start_ms[10m]) > 0",
        wait="0s",
        description="server {{ $labels.server }} was started anew {{ $value }} times in ten minutes",
        fires={"server_start_ms": "1000x24 2000x5"},
        silent=({"server_start_ms": "1000+0x30"},),
    ),
    Alert(
        code="JSD806",
        name="SlowConsumers",
        severity="warning",
        expr="increase(jsdoctor:server_slow_consumers[{recent}s]) > 0",
        wait="0s",
        description="server {{ $labels.server }} dropped {{ $value | humanize }} connections that read too slowly",
        fires={"server_slow_consumers": "3x24 4x5"},
        silent=({"server_slow_consumers": "3+0x30"},),
    ),
    Alert(
        code="JSD808",
        name="ConnectionFlood",
        severity="warning",
        expr="rate(jsdoctor:server_connections_total[5m]) > {warn_rate}",
        wait="5m",
        description="server {{ $labels.server }} gets {{ $value | humanize }} new connections a second",
        fires={"server_connections_total": "0+900x30"},
        silent=({"server_connections_total": "0+540x30"},),
    ),
)


def alert_rules() -> Iterator[dict[str, Any]]:
    """Every alert as Prometheus reads it."""
    book = {rule.code: rule for rule in rules()}
    for alert in ALERTS:
        rule = book[alert.code]
        yield {
            "alert": f"Jsdoctor{alert.name}",
            "expr": _filled(alert.expr, rule),
            "for": _filled(alert.wait, rule),
            "labels": {"severity": alert.severity, "code": alert.code},
            "annotations": {
                "summary": f"{alert.code} {rule.slug}",
                "description": alert.description,
                "runbook_url": link(rule),
            },
        }


def link(rule: Rule) -> str:
    """The rule's page."""
    return rule_url(SITE, rule.code)


def _filled(text: str, rule: Rule) -> str:
    """Parameters in Prometheus's units: durations are seconds."""
    for name, param in rule.params.items():
        if f"{{{name}}}" in text and param.default is not None:
            value = param.default / 1e9 if param.unit == "duration" else param.default
            text = text.replace(f"{{{name}}}", f"{value:.10g}")
    return text


def unit_tests() -> Iterator[dict[str, Any]]:
    """For promtool: each alert fires on its series, and is silent on every healthy one."""
    for alert in ALERTS:
        for number, values in enumerate((alert.fires, *alert.silent)):
            series = [{"series": f"jsdoctor:{name}{_labels(name)}", "values": value} for name, value in values.items()]
            yield {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="Jsdoctor{alert.name}",alertstate="firing"}}) or vector(0)',
                        "eval_time": "60m" if alert.wait == "15m" else "29m",
                        "exp_samples": [{"labels": "{}", "value": 0 if number else 1}],
                    }
                ],
            }


def record_tests() -> Iterator[dict[str, Any]]:
    """For promtool: both exporters, with either prefix, come out under one name; a follower's value does not count."""
    exporter = 'job="nats",instance="h:7777",server_id="n1",cluster="C1",account_name="APP",stream_name="ORDERS"'
    surveyor = 'job="nats",instance="h:7777",cluster_name="C1",account_name="APP",stream="ORDERS"'
    leads, follows = (
        'consumer_name="worker",is_consumer_leader="' + leader_flag + '"' for leader_flag in ("true", "false")
    )
    for prefix in ("jetstream", "nats"):
        yield _recorded(
            f"jsdoctor:consumer_pending{_CONSUMER}",
            {
                f"{prefix}_consumer_num_pending{{{exporter},{leads}}}": 5,
                f"{prefix}_consumer_num_pending{{{exporter},{follows}}}": 9,
            },
            5,
        )
    yield _recorded(
        f"jsdoctor:consumer_pending{_CONSUMER}",
        {f'nats_consumer_num_pending{{{surveyor},consumer_name="worker"}}': 5},
        5,
    )
    yield _recorded(
        f"jsdoctor:server_storage_used_ratio{_SERVER}",
        {
            'gnatsd_varz_jetstream_stats_storage{job="nats",instance="h:7777",server_id="n1"}': 3,
            'gnatsd_varz_jetstream_config_max_storage{job="nats",instance="h:7777",server_id="n1"}': 4,
        },
        0.75,
    )


def _recorded(sample: str, series: dict[str, int], value: float) -> dict[str, Any]:
    name = sample.partition("{")[0]
    return {
        "interval": "1m",
        "input_series": [{"series": selector, "values": f"{number}+0x5"} for selector, number in series.items()],
        "promql_expr_test": [{"expr": name, "eval_time": "3m", "exp_samples": [{"labels": sample, "value": value}]}],
    }


def _labels(name: str) -> str:
    return _CONSUMER if name.startswith("consumer") else _STREAM if name.startswith("stream") else _SERVER
