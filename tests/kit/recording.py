"""Recording rules: one name for a figure, whichever exporter shows it and with which prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

OF_CONSUMER = {
    "pending": "num_pending",
    "ack_pending": "num_ack_pending",
    "waiting": "num_waiting",
    "delivered": "delivered_consumer_seq",
    "delivered_stream_seq": "delivered_stream_seq",
    "acked": "ack_floor_consumer_seq",
}
OF_STREAM = {
    "messages": "total_messages",
    "bytes": "total_bytes",
    "last_seq": "last_seq",
    "subjects": "subject_count",
    "consumers": "consumer_count",
}
_NAMED = (("deployment", "cluster", "cluster_name"), ("stream", "stream_name", "stream"))
_OF_SERVER = "max by (job, instance, server)"


def records() -> Iterator[dict[str, Any]]:
    """Every recording rule. The highest value counts: followers show less, or nothing."""
    for name, metric in OF_CONSUMER.items():
        yield _asset("consumer", name, metric, (*_NAMED, ("consumer", "consumer_name")))
    for name, metric in OF_STREAM.items():
        yield _asset("stream", name, metric, _NAMED)
    yield _server(
        "storage_used_ratio", f"({_varz('jetstream_stats_storage')}) / ({_varz('jetstream_config_max_storage')})"
    )
    yield _server("slow_consumers", _varz("slow_consumers"))
    yield _server("connections_total", _varz("total_connections"))
    yield _server("start_ms", _varz("start"))
    yield _server("memory_bytes", _varz("mem"))
    yield _server("unhealthy", _named(r'{__name__=~"(gnatsd|nats)_healthz_status"}'))


def _asset(kind: str, name: str, metric: str, labels: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    """Exporters name a label differently, and each series has one of the names: joined, they are its value."""
    value = f'{{__name__=~"(jetstream|nats)_{kind}_{metric}",is_{kind}_leader!="false"}}'
    for target, *sources in labels:
        value = f'label_join({value}, "{target}", "", {", ".join(f"{source!r}" for source in sources)})'.replace(
            "'", '"'
        )
    by = ", ".join(("job", *(target for target, *_ in labels), "account_name"))
    return {"record": f"jsdoctor:{kind}_{name}", "expr": f"max by ({by}) ({value})"}


def _server(name: str, value: str) -> dict[str, Any]:
    return {"record": f"jsdoctor:server_{name}", "expr": value}


def _varz(name: str) -> str:
    return _named(f'{{__name__=~"(gnatsd|nats)_varz_{name}"}}')


def _named(value: str) -> str:
    return f'{_OF_SERVER} (label_replace({value}, "server", "$1", "server_id", "(.*)"))'
