"""Blocks of a configuration of nats-server: which fields each has, which blocks stand in them, and since when.

Derived from opts.go and from `nats-server -t` of 2.10.26, 2.12.8 and 2.15.1, which a test repeats for every field with
every kind of value. `server_field_types` has the kinds of values; `any` is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Block:
    """The fields of one kind of block.

    `inner` names the block that stands in a field, or in each element of its list. `named`: the keys are names that
    the user chose (accounts, mapped subjects), and each value, of the kind `values`, is a block of this name.
    `relaxed` are fields that take values of another kind where a switch in the same block is on.
    `required` are groups of fields of which one must be there; `exclusive` are pairs of groups that cannot be together;
    `paired` are fields that need each other. `strict`: an unknown field is a mistake even where it is a variable.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    inner: Mapping[str, str] = field(default_factory=dict)
    named: str = ""
    values: str = ""
    relaxed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    required: tuple[tuple[str, ...], ...] = ()
    exclusive: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    paired: tuple[str, ...] = ()
    strict: bool = False


@dataclass(frozen=True)
class Stricter:
    """A field of which servers before a minor release take values of another kind."""

    since: tuple[int, ...]
    before: str


def fields(**names: str) -> dict[str, str]:
    """The kind of value of each field: `names`, by kind, has those of one kind, separated by blanks."""
    return {name: kind for kind, listed in names.items() for name in listed.split()}


_NET = fields(text="host net advertise", integer="port", address="listen")

_TOP = fields(
    integer=(
        "connect_error_reports http_port https_port log_max_num log_size_limit logfile_max_num logfile_size_limit"
        " max_closed_clients max_conn max_connections max_pending max_subs max_subscriptions max_traced_msg_len"
        " monitor_port ping_max port prof_block_rate prof_port reconnect_error_reports"
    ),
    small="max_control_line max_payload",
    count="max_sub_tokens max_subscription_tokens",
    address="listen http https",
    text=(
        "client_advertise host http_base_path log_file logfile net no_auth_user pid_file pidfile ports_file_dir"
        " remote_syslog server_name store_dir storedir system system_account default_sentinel"
    ),
    boolean=(
        "allow_non_tls debug disable_sublist_cache logtime logtime_utc no_fast_producer_stall no_header_support"
        " no_sublist_cache no_sys_acc no_system no_system_account syslog trace trace_verbose proxy_protocol"
        " trace_headers"
    ),
    mapping=(
        "authorization cluster gateway leaf leafnodes mqtt resolver_preload resolver_tls tls websocket ws"
        " default_js_domain mappings maps proxies server_metadata feature_flags"
    ),
    duration="ping_interval write_deadline",
    texts="resolver_pinned_accounts server_tags",
    switch="jetstream",
    parts="ocsp ocsp_cache",
    any=(
        "account_resolver accounts_resolver accounts lame_duck_duration lame_duck_grace_period operator operators"
        " resolver root root_operator root_operators roots trusted trusted_keys"
    ),
    write_policy="write_timeout",
)
_JETSTREAM = fields(
    integer="request_queue_limit info_queue_limit max_buffered_msgs",
    size="max_file max_file_store max_mem max_mem_store max_memory_store max_outstanding_catchup max_buffered_size",
    text=(
        "domain ek encryption_key extension_hint key prev_ek prev_encryption_key prev_key store store_dir storedir"
        " unique_tag"
    ),
    boolean="enable enabled meta_compact_sync strict",
    mapping="limits tpm",
    duration="sync_interval",
    any="sync meta_compact meta_compact_size max_concurrent_io",
    cipher="cipher",
)
_CLUSTER = _NET | fields(
    integer="connect_retries ping_max pool_size",
    text="cluster_advertise name",
    boolean="no_advertise connect_backoff",
    mapping="authorization permissions tls",
    duration="ping_interval write_deadline",
    url_list="routes",
    texts="accounts",
    compression="compression",
    write_policy="write_timeout",
)
_GATEWAY = _NET | fields(
    integer="connect_retries ping_max",
    text="name",
    boolean="reject_unknown reject_unknown_cluster connect_backoff",
    mapping="authorization tls",
    duration="ping_interval write_deadline",
    listed="gateways",
    write_policy="write_timeout",
)
_LEAFNODES = _NET | fields(
    integer="ping_max",
    text="leafnode_advertise",
    boolean="no_advertise isolate isolate_leafnode_interest",
    mapping="authorization tls",
    duration="reconnect reconnect_delay reconnect_interval ping_interval write_deadline dial_timeout",
    listed="remotes",
    compression="compression",
    write_policy="write_timeout",
    any="min_version minimum_version",
)
_WEBSOCKET = _NET | fields(
    text="jwt_cookie no_auth_user pass_cookie token_cookie user_cookie",
    boolean="compress compression no_tls same_origin",
    mapping="authentication authorization tls headers",
    duration="ping_interval",
    texts="allow_origin allow_origins allowed_origin allowed_origins origin origins",
    any="handshake_timeout",
)
_MQTT = {name: kind for name, kind in _NET.items() if name != "advertise"} | fields(
    integer="stream_replicas",
    limited="max_ack_pending max_inflight max_pending",
    text="js_domain no_auth_user",
    boolean="consumer_memory_storage downgrade_qos2_subscribe reject_qos2_publish",
    mapping="authentication authorization tls",
    duration="ack_wait ackwait consumer_auto_cleanup consumer_inactive_threshold api_timeout js_api_timeout",
    any="consumer_replicas",
)
_LIMITS = fields(integer="max_ack_pending max_ha_assets max_request_batch", period="duplicate_window", mapping="batch")
_ACCOUNT = fields(
    integer=(
        "consumers disk disk_max_stream_bytes max_ack_pending max_consumers max_disk max_file max_mem max_memory"
        " max_store max_streams mem mem_max_stream_bytes memory memory_max_stream_bytes store store_max_stream_bytes"
        " streams"
    ),
    boolean="max_bytes max_bytes_required max_stream_bytes",
    any="cluster_traffic",
)
_LOGIN = fields(text="pass password user username")
_PERMISSIONS = dict.fromkeys(("default_permission", "default_permissions", "permissions"), "permissions")
_TLS = fields(
    peers_only="verify_cert_and_check_known_urls",
    file="cert_file key_file ca_file",
    verify="verify",
    boolean="insecure verify_and_map allow_insecure_cipher_suites cert_match_skip_invalid",
    timeout="timeout",
    integer="connection_rate_limit",
    secure_ciphers="cipher_suites",
    curves="curve_preferences",
    pins="pinned_certs",
    tls_version="min_version",
    handshake="handshake_first first immediate",
    listed="certs certificates",
    block_or_boolean="ocsp_peer",
    any="cert_store cert_match_by cert_match ca_certs_match",
)
_AUTHORIZATION = _LOGIN | fields(
    text="token",
    mapping="default_permission default_permissions permissions auth_callout auth_hook",
    boolean="proxy_required",
    timeout="timeout",
    listed="users",
)
_IN_AUTHORIZATION = {**_PERMISSIONS, "users": "user", "auth_callout": "callout", "auth_hook": "callout"}
_SIMPLE = dict.fromkeys(("authorization", "authentication"), "simple authorization")

BLOCKS: dict[str, Block] = {
    "": Block(
        _TOP,
        {
            **{name: name for name in ("jetstream", "cluster", "gateway", "leafnodes", "websocket", "mqtt")},
            "leaf": "leafnodes",
            "ws": "websocket",
            "authorization": "authorization",
            "tls": "tls",
            "accounts": "accounts",
            "mappings": "mappings",
            "maps": "mappings",
            "proxies": "proxies",
            "resolver_tls": "tls",
        },
    ),
    "jetstream": Block(_JETSTREAM, {"limits": "jetstream limits", "tpm": "tpm"}),
    "jetstream limits": Block(_LIMITS, {"batch": "batch"}),
    "batch": Block(fields(integer="max_inflight_per_stream max_inflight_total max_msgs", period="timeout")),
    "tpm": Block(fields(text="keys_file encryption_password srk_password", integer="pcr", cipher="cipher")),
    "cluster": Block(
        _CLUSTER,
        {
            "authorization": "peer authorization",
            "permissions": "permissions",
            "tls": "peer tls",
            "compression": "compression",
        },
    ),
    "gateway": Block(
        _GATEWAY, {"authorization": "peer authorization", "tls": "peer tls", "gateways": "remote gateway"}
    ),
    "leafnodes": Block(
        _LEAFNODES,
        {"authorization": "leaf authorization", "tls": "tls", "remotes": "remote", "compression": "compression"},
    ),
    "websocket": Block(_WEBSOCKET, {**_SIMPLE, "tls": "tls"}),
    "mqtt": Block(_MQTT, {**_SIMPLE, "tls": "tls"}),
    "authorization": Block(_AUTHORIZATION, _IN_AUTHORIZATION),
    "peer authorization": Block(
        {**_AUTHORIZATION, "users": "no_users", "token": "no_token"}, {**_IN_AUTHORIZATION, "users": ""}
    ),
    "simple authorization": Block(_LOGIN | fields(text="token", any="timeout")),
    "leaf authorization": Block(
        _LOGIN | fields(text="account", user_key="nkey", timeout="timeout", listed="users", boolean="proxy_required"),
        {"users": "leaf user"},
    ),
    "leaf user": Block(_LOGIN | fields(text="account", boolean="proxy_required")),
    "user": Block(
        _LOGIN
        | fields(
            user_key="nkey",
            mapping="permission permissions authorization",
            connections="allowed_connection_types connection_types clients",
            boolean="proxy_required",
        ),
        dict.fromkeys(("permission", "permissions", "authorization"), "permissions"),
        required=(("user", "username", "nkey"),),
        exclusive=((("nkey",), ("user", "username", "pass", "password")),),
    ),
    "permissions": Block(
        fields(
            rules="pub publish import",
            queue_rules="sub subscribe export",
            block_or_boolean="publish_allow_responses allow_responses",
        ),
        {
            **dict.fromkeys(("pub", "publish", "import"), "publish rules"),
            **dict.fromkeys(("sub", "subscribe", "export"), "subscribe rules"),
            **dict.fromkeys(("publish_allow_responses", "allow_responses"), "responses"),
        },
    ),
    "publish rules": Block(fields(subjects="allow deny")),
    "subscribe rules": Block(fields(queue_subjects="allow deny")),
    "responses": Block(fields(integer="max max_msgs max_messages max_responses", period="expires expiration ttl")),
    "callout": Block(
        fields(
            account_key="issuer",
            curve_key="xkey key",
            text="account acc",
            text_list="auth_users users",
            names="allowed_accounts",
        ),
        required=(("issuer",), ("auth_users", "users")),
    ),
    "tls": Block(
        _TLS,
        {"certs": "certificate", "certificates": "certificate", "ocsp_peer": "ocsp peer"},
        exclusive=((("cert_file",), ("certs", "certificates")),),
        relaxed={"cipher_suites": ("allow_insecure_cipher_suites", "ciphers")},
        paired=("cert_file", "key_file"),
        strict=True,
    ),
    "ocsp peer": Block(
        fields(
            boolean="verify warn_only unknown_is_good allow_when_ca_unreachable",
            timeout="allowed_clockskew ca_timeout cache_ttl_when_next_update_unset",
        ),
        strict=True,
    ),
    "compression": Block(fields(text="mode", durations="rtt_thresholds thresholds rtts rtt")),
    "certificate": Block(fields(file="cert_file key_file"), required=(("cert_file",), ("key_file",)), strict=True),
    "remote": Block(
        fields(
            urls="url urls",
            text="account local",
            file="creds credentials",
            user_seed="nkey seed",
            boolean=(
                "no_randomize dont_randomize hub ws_compress ws_compression websocket_compress websocket_compression"
                " ws_no_masking websocket_no_masking isolate_leafnode_interest isolate request_isolation disabled"
                " ignore_discovered_servers"
            ),
            subjects="deny_imports deny_import deny_exports deny_export",
            block_or_boolean="jetstream_cluster_migrate js_cluster_migrate",
            mapping="tls proxy",
            compression="compression",
            duration="first_info_timeout dial_timeout",
        ),
        {"tls": "tls", "proxy": "proxy", "compression": "compression"},
        exclusive=((("creds", "credentials"), ("nkey", "seed")),),
    ),
    "proxy": Block(
        fields(proxy_url="url", text="username password", duration="timeout"),
        paired=("username", "password"),
    ),
    "remote gateway": Block(
        fields(text="name", url="url", url_list="urls", mapping="tls"),
        {"tls": "peer tls"},
    ),
    "proxies": Block(fields(listed="trusted"), {"trusted": "trusted proxy"}),
    "trusted proxy": Block(fields(public_key="key public_key")),
    "accounts": Block(named="account", values="mapping"),
    "account": Block(
        fields(
            account_key="nkey",
            listed="imports exports users",
            switch="jetstream",
            mapping="default_permissions mappings maps limits",
            any="msg_trace trace_dest",
        ),
        {
            "jetstream": "account jetstream",
            "users": "user",
            "default_permissions": "permissions",
            "limits": "account limits",
            "mappings": "mappings",
            "maps": "mappings",
            "imports": "import",
            "exports": "export",
        },
    ),
    "account jetstream": Block(_ACCOUNT),
    "account limits": Block(
        fields(
            integer="max_connections max_conn max_subscriptions max_subs max_payload max_pay max_leafnodes max_leafs"
        )
    ),
    "export": Block(
        fields(
            text="stream service",
            response="response response_type",
            period="threshold response_threshold response_max_time response_time",
            names="accounts",
            integer="account_token_position",
            boolean="allow_trace",
            any="latency",
        ),
        exclusive=(
            (("stream",), ("service",)),
            (("stream",), ("response", "response_type", "threshold", "latency", "allow_trace")),
        ),
    ),
    "import": Block(
        fields(mapping="stream service", text="prefix to", boolean="share allow_trace"),
        {"stream": "imported", "service": "imported"},
        exclusive=((("stream",), ("service",)), (("service",), ("allow_trace",))),
    ),
    "imported": Block(fields(text="account subject"), required=(("account",), ("subject",))),
    "mappings": Block(named="mapping", values="mapped"),
    "mapping": Block(
        fields(text="dest destination cluster", weight="weight"),
        required=(("weight",),),
        strict=True,
    ),
}
BLOCKS["peer tls"] = replace(BLOCKS["tls"], fields=_TLS | fields(boolean="verify_cert_and_check_known_urls"))
"""By kind. The key is also what texts call them; the empty one is the whole configuration."""

_2_11, _2_12, _2_14, _2_15, _2_15_3 = (2, 11), (2, 12), (2, 14), (2, 15), (2, 15, 3)
SINCE: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("proxy_protocol", "proxies", "server_metadata", "write_timeout"), _2_12),
    **dict.fromkeys(("trace_headers", "default_sentinel", "jetstream.strict", "jetstream.tpm"), _2_11),
    **dict.fromkeys(("jetstream.max_buffered_msgs", "jetstream.max_buffered_size"), _2_11),
    **dict.fromkeys(("jetstream.meta_compact", "jetstream.meta_compact_size", "jetstream.meta_compact_sync"), _2_12),
    **dict.fromkeys(("feature_flags", "jetstream.info_queue_limit"), _2_14),
    **dict.fromkeys(("jetstream.max_concurrent_io", "leafnodes.dial_timeout"), _2_15),
    **{f"{block}.connect_backoff": _2_12 for block in ("cluster", "gateway")},
    **{f"{block}.write_timeout": _2_12 for block in ("cluster", "gateway", "leafnodes")},
    **{f"{block}.write_deadline": _2_12 for block in ("cluster", "gateway", "leafnodes")},
    **dict.fromkeys(("leafnodes.isolate", "leafnodes.isolate_leafnode_interest"), _2_12),
    **dict.fromkeys(("authorization.proxy_required", "jetstream limits.batch"), _2_12),
    **{f"websocket.{name}": _2_11 for name in ("pass_cookie", "token_cookie", "user_cookie", "headers")},
    "websocket.ping_interval": _2_12,
    **dict.fromkeys(("mqtt.api_timeout", "mqtt.js_api_timeout"), _2_11),
    **{f"{block}.allow_trace": _2_11 for block in ("export", "import")},
    **{f"{block}.allow_insecure_cipher_suites": _2_11 for block in ("tls", "peer tls")},
    **{f"{block}.proxy_required": _2_12 for block in ("peer authorization", "leaf authorization", "leaf user", "user")},
    **{f"remote.{name}": _2_12 for name in ("isolate", "isolate_leafnode_interest", "request_isolation")},
    **dict.fromkeys(("remote.disabled", "remote.proxy"), _2_12),
    "remote.ignore_discovered_servers": _2_14,
    "remote.dial_timeout": _2_15,
    **{f"{block}.{name}": _2_15_3 for block in ("gateway", "leafnodes") for name in ("ping_interval", "ping_max")},
}
"""First minor release that knows a field, by block and name; all others are known since before 2.10. Two of 2.11 and
2.12 came with a later patch of it. What is of 2.15.3 is in 2.14.10, too.
"""

STRICTER: dict[str, Stricter] = {
    **{f"{block}authorization.timeout": Stricter(_2_12, "any") for block in ("", "peer ", "leaf ")},
    **dict.fromkeys(("remote.jetstream_cluster_migrate", "remote.js_cluster_migrate"), Stricter(_2_12, "any")),
    **{f"{block}.cipher_suites": Stricter(_2_11, "old_ciphers") for block in ("tls", "peer tls")},
    **{f"permissions.{name}": Stricter(_2_15, "queue_rules") for name in ("pub", "publish", "import")},
    **{f"publish rules.{name}": Stricter(_2_15, "queue_subjects") for name in ("allow", "deny")},
    **{
        f"remote.{name}": Stricter(_2_15, "queue_subjects")
        for name in ("deny_import", "deny_imports", "deny_export", "deny_exports")
    },
}
"""Fields of which older servers take more."""
