"""Fields of a configuration of nats-server by block: the type of value that each takes, and since when it is known.

Derived from opts.go and from `nats-server -t` of 2.10.26, 2.12.8 and 2.15.1, which a test asks again about every field
with every kind of value. Lists and mappings that have fields of their own are only known by name here, but for the
blocks in `BLOCKS`.
"""

from __future__ import annotations

INTEGER, SMALL, TEXT, BOOLEAN, MAPPING, DURATION = "integer", "small", "text", "boolean", "mapping", "duration"
TEXTS, SIZE, ADDRESS, LISTED, ANY = "texts", "size", "address", "listed", "any"
SWITCH, COUNT, LIMITED, PARTS, PERIOD = "switch", "count", "limited", "parts", "period"


def _fields(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


_NET = _fields(TEXT, "host net advertise") | _fields(INTEGER, "port") | _fields(ADDRESS, "listen")

TOP = {
    **_fields(
        INTEGER,
        "connect_error_reports http_port https_port log_max_num log_size_limit logfile_max_num logfile_size_limit"
        " max_closed_clients max_conn max_connections max_pending max_subs max_subscriptions max_traced_msg_len"
        " monitor_port ping_max port prof_block_rate prof_port reconnect_error_reports",
    ),
    **_fields(SMALL, "max_control_line max_payload"),
    **_fields(COUNT, "max_sub_tokens max_subscription_tokens"),
    **_fields(ADDRESS, "listen http https"),
    **_fields(
        TEXT,
        "client_advertise host http_base_path log_file logfile net no_auth_user pid_file pidfile ports_file_dir"
        " remote_syslog server_name store_dir storedir system system_account default_sentinel",
    ),
    **_fields(
        BOOLEAN,
        "allow_non_tls debug disable_sublist_cache logtime logtime_utc no_fast_producer_stall no_header_support"
        " no_sublist_cache no_sys_acc no_system no_system_account syslog trace trace_verbose proxy_protocol"
        " trace_headers",
    ),
    **_fields(
        MAPPING,
        "authorization cluster gateway leaf leafnodes mqtt resolver_preload resolver_tls tls websocket ws"
        " default_js_domain mappings maps proxies server_metadata feature_flags",
    ),
    **_fields(DURATION, "ping_interval write_deadline"),
    **_fields(TEXTS, "resolver_pinned_accounts server_tags"),
    **_fields(SWITCH, "jetstream"),
    **_fields(PARTS, "ocsp ocsp_cache"),
    **_fields(
        ANY,
        "account_resolver accounts_resolver accounts lame_duck_duration lame_duck_grace_period operator operators"
        " resolver root root_operator root_operators roots trusted trusted_keys write_timeout",
    ),
}
JETSTREAM = {
    **_fields(INTEGER, "request_queue_limit info_queue_limit max_buffered_msgs"),
    **_fields(
        SIZE,
        "max_file max_file_store max_mem max_mem_store max_memory_store max_outstanding_catchup max_buffered_size",
    ),
    **_fields(
        TEXT,
        "domain ek encryption_key extension_hint key prev_ek prev_encryption_key prev_key store store_dir storedir"
        " unique_tag",
    ),
    **_fields(BOOLEAN, "enable enabled meta_compact_sync strict"),
    **_fields(MAPPING, "limits tpm"),
    **_fields(DURATION, "sync_interval"),
    **_fields(ANY, "sync cipher meta_compact meta_compact_size max_concurrent_io"),
}
CLUSTER = {
    **_NET,
    **_fields(INTEGER, "connect_retries ping_max pool_size"),
    **_fields(TEXT, "cluster_advertise name"),
    **_fields(BOOLEAN, "no_advertise connect_backoff"),
    **_fields(MAPPING, "authorization permissions tls"),
    **_fields(DURATION, "ping_interval write_deadline"),
    **_fields(LISTED, "routes"),
    **_fields(TEXTS, "accounts"),
    **_fields(ANY, "compression write_timeout"),
}
GATEWAY = {
    **_NET,
    **_fields(INTEGER, "connect_retries"),
    **_fields(TEXT, "name"),
    **_fields(BOOLEAN, "reject_unknown reject_unknown_cluster connect_backoff"),
    **_fields(MAPPING, "authorization tls"),
    **_fields(DURATION, "write_deadline"),
    **_fields(ANY, "gateways write_timeout"),
}
LEAFNODES = {
    **_NET,
    **_fields(TEXT, "leafnode_advertise"),
    **_fields(BOOLEAN, "no_advertise isolate isolate_leafnode_interest"),
    **_fields(MAPPING, "authorization tls"),
    **_fields(DURATION, "reconnect reconnect_delay reconnect_interval write_deadline dial_timeout"),
    **_fields(ANY, "remotes compression min_version minimum_version write_timeout"),
}
WEBSOCKET = {
    **_NET,
    **_fields(TEXT, "jwt_cookie no_auth_user pass_cookie token_cookie user_cookie"),
    **_fields(BOOLEAN, "compress compression no_tls same_origin"),
    **_fields(MAPPING, "authentication authorization tls headers"),
    **_fields(DURATION, "ping_interval"),
    **_fields(TEXTS, "allow_origin allow_origins allowed_origin allowed_origins origin origins"),
    **_fields(ANY, "handshake_timeout"),
}
MQTT = {
    **{name: kind for name, kind in _NET.items() if name != "advertise"},
    **_fields(INTEGER, "stream_replicas"),
    **_fields(LIMITED, "max_ack_pending max_inflight max_pending"),
    **_fields(TEXT, "js_domain no_auth_user"),
    **_fields(BOOLEAN, "consumer_memory_storage downgrade_qos2_subscribe reject_qos2_publish"),
    **_fields(MAPPING, "authentication authorization tls"),
    **_fields(
        DURATION, "ack_wait ackwait consumer_auto_cleanup consumer_inactive_threshold api_timeout js_api_timeout"
    ),
    **_fields(ANY, "consumer_replicas"),
}
AUTHORIZATION = {
    **_fields(TEXT, "pass password token user username"),
    **_fields(MAPPING, "default_permission default_permissions permissions"),
    **_fields(BOOLEAN, "proxy_required"),
    **_fields(ANY, "timeout users auth_callout auth_hook"),
}
LIMITS = {
    **_fields(INTEGER, "max_ack_pending max_ha_assets max_request_batch"),
    **_fields(PERIOD, "duplicate_window"),
    **_fields(MAPPING, "batch"),
}
ACCOUNT = {
    **_fields(
        INTEGER,
        "consumers disk disk_max_stream_bytes max_ack_pending max_consumers max_disk max_file max_mem max_memory"
        " max_store max_streams mem mem_max_stream_bytes memory memory_max_stream_bytes store store_max_stream_bytes"
        " streams",
    ),
    **_fields(BOOLEAN, "max_bytes max_bytes_required max_stream_bytes"),
    **_fields(ANY, "cluster_traffic"),
}
BLOCKS: dict[str, dict[str, str]] = {
    "jetstream": JETSTREAM,
    "cluster": CLUSTER,
    "gateway": GATEWAY,
    "leaf": LEAFNODES,
    "leafnodes": LEAFNODES,
    "websocket": WEBSOCKET,
    "ws": WEBSOCKET,
    "mqtt": MQTT,
    "authorization": AUTHORIZATION,
    "jetstream.limits": LIMITS,
}
"""Fields of a block, by its path. `ACCOUNT` is `jetstream` of an account."""

_2_11, _2_12, _2_14, _2_15 = (2, 11), (2, 12), (2, 14), (2, 15)
SINCE: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("proxy_protocol", "proxies", "server_metadata", "write_timeout"), _2_12),
    **dict.fromkeys(("trace_headers", "default_sentinel", "jetstream.strict", "jetstream.tpm"), _2_11),
    **dict.fromkeys(("jetstream.max_buffered_msgs", "jetstream.max_buffered_size"), _2_11),
    **dict.fromkeys(("jetstream.meta_compact", "jetstream.meta_compact_size", "jetstream.meta_compact_sync"), _2_12),
    **dict.fromkeys(("feature_flags", "jetstream.info_queue_limit"), _2_14),
    **dict.fromkeys(("jetstream.max_concurrent_io", "leafnodes.dial_timeout"), _2_15),
    **{f"{block}.connect_backoff": _2_12 for block in ("cluster", "gateway")},
    **{f"{block}.{name}": _2_12 for block in ("cluster", "gateway", "leafnodes") for name in ("write_timeout",)},
    **{f"{block}.write_deadline": _2_12 for block in ("cluster", "gateway", "leafnodes")},
    **dict.fromkeys(("leafnodes.isolate", "leafnodes.isolate_leafnode_interest"), _2_12),
    **dict.fromkeys(("authorization.proxy_required", "jetstream.limits.batch"), _2_12),
    **{f"websocket.{name}": _2_11 for name in ("pass_cookie", "token_cookie", "user_cookie", "headers")},
    "websocket.ping_interval": _2_12,
    **dict.fromkeys(("mqtt.api_timeout", "mqtt.js_api_timeout"), _2_11),
}
"""First minor release that knows a field; all others are known since before 2.10. Two of 2.11 and 2.12 came with a
later patch of it.
"""
