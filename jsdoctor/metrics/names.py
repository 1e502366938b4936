"""Which metric is which field: by the end of its name, as exporters put prefixes of the user's choice before it.

Sources: prometheus-nats-exporter collector/jsz.go, collector/collector.go; nats-surveyor surveyor/collector_statz.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

Path = tuple[str, ...]

OF_CONSUMER: Mapping[str, Path] = {
    "consumer_num_pending": ("num_pending",),
    "consumer_num_ack_pending": ("num_ack_pending",),
    "consumer_num_redelivered": ("num_redelivered",),
    "consumer_num_waiting": ("num_waiting",),
    "consumer_delivered_consumer_seq": ("delivered", "consumer_seq"),
    "consumer_delivered_stream_seq": ("delivered", "stream_seq"),
    "consumer_ack_floor_consumer_seq": ("ack_floor", "consumer_seq"),
    "consumer_ack_floor_stream_seq": ("ack_floor", "stream_seq"),
}
AGES_OF_CONSUMER: Mapping[str, Path] = {
    "consumer_last_delivery_seconds": ("delivered", "last_active"),
    "consumer_last_ack_seconds": ("ack_floor", "last_active"),
}
"""Ages: seconds between the last delivery or acknowledgement and the scrape."""

OF_STREAM: Mapping[str, Path] = {
    "stream_total_messages": ("state", "messages"),
    "stream_total_bytes": ("state", "bytes"),
    "stream_first_seq": ("state", "first_seq"),
    "stream_last_seq": ("state", "last_seq"),
    "stream_consumer_count": ("state", "consumer_count"),
    "stream_subject_count": ("state", "num_subjects"),
    "stream_limit_bytes": ("config", "max_bytes"),
    "stream_limit_messages": ("config", "max_msgs"),
}
OF_ACCOUNT: Mapping[str, Path] = {
    "account_max_memory": ("reserved_memory",),
    "account_max_storage": ("reserved_storage",),
    "account_memory_used": ("memory",),
    "account_storage_used": ("storage",),
}
OF_JETSTREAM: Mapping[str, Path] = {
    "server_jetstream_disabled": ("disabled",),
    "server_total_streams": ("streams",),
    "server_total_consumers": ("consumers",),
    "server_total_messages": ("messages",),
    "server_total_message_bytes": ("bytes",),
    "server_max_memory": ("config", "max_memory"),
    "server_max_storage": ("config", "max_storage"),
    "varz_jetstream_meta_cluster_size": ("meta_cluster", "cluster_size"),
    "varz_jetstream_stats_memory": ("memory",),
    "varz_jetstream_stats_storage": ("storage",),
    "varz_jetstream_stats_reserved_memory": ("reserved_memory",),
    "varz_jetstream_stats_reserved_storage": ("reserved_storage",),
    "varz_jetstream_stats_accounts": ("accounts",),
    "varz_jetstream_stats_ha_assets": ("ha_assets",),
    "varz_jetstream_stats_api_total": ("api", "total"),
    "varz_jetstream_stats_api_errors": ("api", "errors"),
    "core_jetstream_memstore_used_bytes": ("memory",),
    "core_jetstream_filestore_used_bytes": ("storage",),
    "core_jetstream_memstore_reserved_bytes": ("reserved_memory",),
    "core_jetstream_filestore_reserved_bytes": ("reserved_storage",),
    "core_jetstream_accounts": ("accounts",),
    "core_jetstream_ha_assets": ("ha_assets",),
    "core_jetstream_api_requests": ("api", "total"),
    "core_jetstream_api_errors": ("api", "errors"),
}
OF_VARZ: Mapping[str, Path] = {
    **{
        f"varz_{name}": (name,)
        for name in (
            *("mem", "cpu", "cores", "gomaxprocs", "gomemlimit", "connections", "total_connections", "subscriptions"),
            *("max_connections", "max_payload", "max_subscriptions", "max_pending", "max_control_line"),
            *("slow_consumers", "ping_interval", "write_deadline"),
        )
    },
    **{
        f"varz_slow_consumer_stats_{name}": ("slow_consumer_stats", name)
        for name in ("clients", "routes", "gateways", "leafs")
    },
    "core_mem_bytes": ("mem",),
    "core_cpu_percentage": ("cpu",),
    "core_core_count": ("cores",),
    "core_connection_count": ("connections",),
    "core_total_connection_count": ("total_connections",),
    "core_subs_count": ("subscriptions",),
    "core_slow_consumer_count": ("slow_consumers",),
}
OF_LINKS = frozenset(
    {
        "gatewayz_outbound_gateway_configured",
        "gatewayz_inbound_gateway_configured",
        "leafz_info",
        "leafz_conn_nodes_total",
        "routez_num_routes",
        "varz_routes",
        "core_route_count",
        "core_route_pending_bytes",
    }
)
"""Metrics of gateways, leaf nodes and routes. Their labels name the other side."""

TIMES_OF_VARZ: Mapping[str, tuple[str, float]] = {
    "varz_start": ("start", 1e-3),
    "varz_config_load_time": ("config_load_time", 1e-3),
    "core_start_time": ("start", 1e-9),
}
"""Times of the server: the field, and the seconds of one unit of the metric."""

VERSIONS = {"varz_version": "value", "core_info": "server_version"}
"""Metrics whose label names the server's version, and that label."""

HEALTH = "healthz_status_value"
HEALTH_OLD = "healthz_status"

KNOWN = frozenset(
    {
        *OF_CONSUMER,
        *AGES_OF_CONSUMER,
        *OF_STREAM,
        *OF_ACCOUNT,
        *OF_JETSTREAM,
        *OF_VARZ,
        *OF_LINKS,
        *TIMES_OF_VARZ,
        *VERSIONS,
        HEALTH,
        HEALTH_OLD,
    }
)
OVER_TIME = frozenset(
    {
        *OF_CONSUMER,
        *OF_STREAM,
        *OF_LINKS,
        *TIMES_OF_VARZ,
        *(name for name in OF_VARZ if "slow_consumer" in name),
        "server_total_streams",
        HEALTH,
    }
)
"""Metrics whose past is read, too. `server_total_streams` and the health show which servers there were."""

_KNOWN = re.compile("(?:^|_)(" + "|".join(sorted(KNOWN, key=len, reverse=True)) + ")$")


def known_name(name: str) -> str:
    """The name of a metric without the prefix of its exporter; empty if the metric is not read."""
    match = _KNOWN.search(name)
    return match[1] if match else ""


def names_of_links(present: Iterable[str]) -> frozenset[str]:
    """The full names that metrics of links have beside those present. They are queried even of links that are gone."""
    of_servers = OF_VARZ.keys() | TIMES_OF_VARZ.keys() | OF_LINKS
    known_names = [(name, known) for name in present if (known := known_name(name)) in of_servers]
    prefixes = {name.removesuffix(known) for name, known in known_names}
    # nats-surveyor calls its metrics of servers `core_…`, and puts `core_` before those of gateways too.
    prefixes |= {name.removesuffix(known) + "core_" for name, known in known_names if known.startswith("core_")}
    return frozenset(f"{prefix}{known}" for prefix in prefixes for known in OF_LINKS)
