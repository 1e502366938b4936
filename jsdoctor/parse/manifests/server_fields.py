"""Fields of the large blocks of a configuration of nats-server, and the type of value that each takes.

Derived from opts.go and from `nats-server -t` of 2.10.26, 2.12.8 and 2.15.1, which a test asks again about every field
with every kind of value. `server_blocks` has the blocks within these, and how they are nested.
"""

from __future__ import annotations

INTEGER, SMALL, TEXT, BOOLEAN, MAPPING, DURATION = "integer", "small", "text", "boolean", "mapping", "duration"
TEXTS, SIZE, ADDRESS, LISTED, ANY = "texts", "size", "address", "listed", "any"
SWITCH, COUNT, LIMITED, PARTS, PERIOD = "switch", "count", "limited", "parts", "period"
TIMEOUT, TEXT_LIST, URLS, WRITE_POLICY, COMPRESSION = "timeout", "text_list", "urls", "write_policy", "compression"
CIPHER = "cipher"
FILE, CURVES, PINS, TLS_VERSION, HANDSHAKE = "file", "curves", "pins", "tls_version", "handshake"
CIPHERS, SECURE_CIPHERS, OLD_CIPHERS = "ciphers", "secure_ciphers", "old_ciphers"
SUBJECTS, QUEUE_SUBJECTS, RULES, QUEUE_RULES = "subjects", "queue_subjects", "rules", "queue_rules"
USER_KEY, ACCOUNT_KEY, CURVE_KEY, PUBLIC_KEY, USER_SEED = "user_key", "account_key", "curve_key", "public_key", "seed"
CONNECTIONS, RESPONSE, WEIGHT, BLOCK_OR_BOOLEAN = "connections", "response", "weight", "block_or_boolean"
NO_USERS, NO_TOKEN, PEERS_ONLY = "no_users", "no_token", "peers_only"
URL, URL_LIST, PROXY_URL, DURATIONS, NAMES = "url", "url_list", "proxy_url", "durations", "names"
MAPPED = "mapped"


def fields(kind: str, names: str) -> dict[str, str]:
    """These names, separated by blanks, as fields of that kind."""
    return dict.fromkeys(names.split(), kind)


_NET = fields(TEXT, "host net advertise") | fields(INTEGER, "port") | fields(ADDRESS, "listen")

TOP = {
    **fields(
        INTEGER,
        "connect_error_reports http_port https_port log_max_num log_size_limit logfile_max_num logfile_size_limit"
        " max_closed_clients max_conn max_connections max_pending max_subs max_subscriptions max_traced_msg_len"
        " monitor_port ping_max port prof_block_rate prof_port reconnect_error_reports",
    ),
    **fields(SMALL, "max_control_line max_payload"),
    **fields(COUNT, "max_sub_tokens max_subscription_tokens"),
    **fields(ADDRESS, "listen http https"),
    **fields(
        TEXT,
        "client_advertise host http_base_path log_file logfile net no_auth_user pid_file pidfile ports_file_dir"
        " remote_syslog server_name store_dir storedir system system_account default_sentinel",
    ),
    **fields(
        BOOLEAN,
        "allow_non_tls debug disable_sublist_cache logtime logtime_utc no_fast_producer_stall no_header_support"
        " no_sublist_cache no_sys_acc no_system no_system_account syslog trace trace_verbose proxy_protocol"
        " trace_headers",
    ),
    **fields(
        MAPPING,
        "authorization cluster gateway leaf leafnodes mqtt resolver_preload resolver_tls tls websocket ws"
        " default_js_domain mappings maps proxies server_metadata feature_flags",
    ),
    **fields(DURATION, "ping_interval write_deadline"),
    **fields(TEXTS, "resolver_pinned_accounts server_tags"),
    **fields(SWITCH, "jetstream"),
    **fields(PARTS, "ocsp ocsp_cache"),
    **fields(
        ANY,
        "account_resolver accounts_resolver accounts lame_duck_duration lame_duck_grace_period operator operators"
        " resolver root root_operator root_operators roots trusted trusted_keys",
    ),
    **fields(WRITE_POLICY, "write_timeout"),
}
JETSTREAM = {
    **fields(INTEGER, "request_queue_limit info_queue_limit max_buffered_msgs"),
    **fields(
        SIZE,
        "max_file max_file_store max_mem max_mem_store max_memory_store max_outstanding_catchup max_buffered_size",
    ),
    **fields(
        TEXT,
        "domain ek encryption_key extension_hint key prev_ek prev_encryption_key prev_key store store_dir storedir"
        " unique_tag",
    ),
    **fields(BOOLEAN, "enable enabled meta_compact_sync strict"),
    **fields(MAPPING, "limits tpm"),
    **fields(DURATION, "sync_interval"),
    **fields(ANY, "sync meta_compact meta_compact_size max_concurrent_io"),
    **fields(CIPHER, "cipher"),
}
CLUSTER = {
    **_NET,
    **fields(INTEGER, "connect_retries ping_max pool_size"),
    **fields(TEXT, "cluster_advertise name"),
    **fields(BOOLEAN, "no_advertise connect_backoff"),
    **fields(MAPPING, "authorization permissions tls"),
    **fields(DURATION, "ping_interval write_deadline"),
    **fields(URL_LIST, "routes"),
    **fields(TEXTS, "accounts"),
    **fields(COMPRESSION, "compression"),
    **fields(WRITE_POLICY, "write_timeout"),
}
GATEWAY = {
    **_NET,
    **fields(INTEGER, "connect_retries"),
    **fields(TEXT, "name"),
    **fields(BOOLEAN, "reject_unknown reject_unknown_cluster connect_backoff"),
    **fields(MAPPING, "authorization tls"),
    **fields(DURATION, "write_deadline"),
    **fields(LISTED, "gateways"),
    **fields(WRITE_POLICY, "write_timeout"),
}
LEAFNODES = {
    **_NET,
    **fields(TEXT, "leafnode_advertise"),
    **fields(BOOLEAN, "no_advertise isolate isolate_leafnode_interest"),
    **fields(MAPPING, "authorization tls"),
    **fields(DURATION, "reconnect reconnect_delay reconnect_interval write_deadline dial_timeout"),
    **fields(LISTED, "remotes"),
    **fields(COMPRESSION, "compression"),
    **fields(WRITE_POLICY, "write_timeout"),
    **fields(ANY, "min_version minimum_version"),
}
WEBSOCKET = {
    **_NET,
    **fields(TEXT, "jwt_cookie no_auth_user pass_cookie token_cookie user_cookie"),
    **fields(BOOLEAN, "compress compression no_tls same_origin"),
    **fields(MAPPING, "authentication authorization tls headers"),
    **fields(DURATION, "ping_interval"),
    **fields(TEXTS, "allow_origin allow_origins allowed_origin allowed_origins origin origins"),
    **fields(ANY, "handshake_timeout"),
}
MQTT = {
    **{name: kind for name, kind in _NET.items() if name != "advertise"},
    **fields(INTEGER, "stream_replicas"),
    **fields(LIMITED, "max_ack_pending max_inflight max_pending"),
    **fields(TEXT, "js_domain no_auth_user"),
    **fields(BOOLEAN, "consumer_memory_storage downgrade_qos2_subscribe reject_qos2_publish"),
    **fields(MAPPING, "authentication authorization tls"),
    **fields(DURATION, "ack_wait ackwait consumer_auto_cleanup consumer_inactive_threshold api_timeout js_api_timeout"),
    **fields(ANY, "consumer_replicas"),
}
LIMITS = {
    **fields(INTEGER, "max_ack_pending max_ha_assets max_request_batch"),
    **fields(PERIOD, "duplicate_window"),
    **fields(MAPPING, "batch"),
}
ACCOUNT = {
    **fields(
        INTEGER,
        "consumers disk disk_max_stream_bytes max_ack_pending max_consumers max_disk max_file max_mem max_memory"
        " max_store max_streams mem mem_max_stream_bytes memory memory_max_stream_bytes store store_max_stream_bytes"
        " streams",
    ),
    **fields(BOOLEAN, "max_bytes max_bytes_required max_stream_bytes"),
    **fields(ANY, "cluster_traffic"),
}
