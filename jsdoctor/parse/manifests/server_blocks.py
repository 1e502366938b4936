"""Blocks of a configuration of nats-server: which fields each has, which blocks stand in them, and since when.

Derived like `server_fields`, from opts.go and from `nats-server -t`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jsdoctor.parse.manifests.server_fields import (
    ACCOUNT,
    ACCOUNT_KEY,
    ANY,
    BLOCK_OR_BOOLEAN,
    BOOLEAN,
    CIPHER,
    CIPHERS,
    CLUSTER,
    COMPRESSION,
    CONNECTIONS,
    CURVE_KEY,
    CURVES,
    DURATION,
    DURATIONS,
    FILE,
    GATEWAY,
    HANDSHAKE,
    INTEGER,
    JETSTREAM,
    LEAFNODES,
    LIMITS,
    LISTED,
    MAPPED,
    MAPPING,
    MQTT,
    NAMES,
    NO_TOKEN,
    NO_USERS,
    OLD_CIPHERS,
    PEERS_ONLY,
    PERIOD,
    PINS,
    PROXY_URL,
    PUBLIC_KEY,
    QUEUE_RULES,
    QUEUE_SUBJECTS,
    RESPONSE,
    RULES,
    SECURE_CIPHERS,
    SUBJECTS,
    SWITCH,
    TEXT,
    TEXT_LIST,
    TIMEOUT,
    TLS_VERSION,
    TOP,
    URL,
    URL_LIST,
    URLS,
    USER_KEY,
    USER_SEED,
    WEBSOCKET,
    WEIGHT,
    fields,
)


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


_LOGIN = fields(TEXT, "pass password user username")
_PERMISSIONS = dict.fromkeys(("default_permission", "default_permissions", "permissions"), "permissions")
_TLS = {
    **fields(PEERS_ONLY, "verify_cert_and_check_known_urls"),
    **fields(FILE, "cert_file key_file ca_file"),
    **fields(
        BOOLEAN,
        "insecure verify verify_and_map allow_insecure_cipher_suites cert_match_skip_invalid",
    ),
    **fields(TIMEOUT, "timeout"),
    **fields(INTEGER, "connection_rate_limit"),
    **fields(SECURE_CIPHERS, "cipher_suites"),
    **fields(CURVES, "curve_preferences"),
    **fields(PINS, "pinned_certs"),
    **fields(TLS_VERSION, "min_version"),
    **fields(HANDSHAKE, "handshake_first first immediate"),
    **fields(LISTED, "certs certificates"),
    **fields(BLOCK_OR_BOOLEAN, "ocsp_peer"),
    **fields(ANY, "cert_store cert_match_by cert_match ca_certs_match"),
}
_AUTHORIZATION = {
    **_LOGIN,
    **fields(TEXT, "token"),
    **fields(MAPPING, "default_permission default_permissions permissions auth_callout auth_hook"),
    **fields(BOOLEAN, "proxy_required"),
    **fields(TIMEOUT, "timeout"),
    **fields(LISTED, "users"),
}
_IN_AUTHORIZATION = {**_PERMISSIONS, "users": "user", "auth_callout": "callout", "auth_hook": "callout"}
_SIMPLE = dict.fromkeys(("authorization", "authentication"), "simple authorization")

BLOCKS: dict[str, Block] = {
    "": Block(
        TOP,
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
    "jetstream": Block(JETSTREAM, {"limits": "jetstream limits", "tpm": "tpm"}),
    "jetstream limits": Block(LIMITS, {"batch": "batch"}),
    "batch": Block(
        {**fields(INTEGER, "max_inflight_per_stream max_inflight_total max_msgs"), **fields(PERIOD, "timeout")}
    ),
    "tpm": Block(
        {
            **fields(TEXT, "keys_file encryption_password srk_password"),
            **fields(INTEGER, "pcr"),
            **fields(CIPHER, "cipher"),
        }
    ),
    "cluster": Block(
        CLUSTER,
        {
            "authorization": "peer authorization",
            "permissions": "permissions",
            "tls": "peer tls",
            "compression": "compression",
        },
    ),
    "gateway": Block(GATEWAY, {"authorization": "peer authorization", "tls": "peer tls", "gateways": "remote gateway"}),
    "leafnodes": Block(
        LEAFNODES,
        {"authorization": "leaf authorization", "tls": "tls", "remotes": "remote", "compression": "compression"},
    ),
    "websocket": Block(WEBSOCKET, {**_SIMPLE, "tls": "tls"}),
    "mqtt": Block(MQTT, {**_SIMPLE, "tls": "tls"}),
    "authorization": Block(_AUTHORIZATION, _IN_AUTHORIZATION),
    "peer authorization": Block(
        {**_AUTHORIZATION, "users": NO_USERS, "token": NO_TOKEN}, {**_IN_AUTHORIZATION, "users": ""}
    ),
    "simple authorization": Block({**_LOGIN, **fields(TEXT, "token"), **fields(ANY, "timeout")}),
    "leaf authorization": Block(
        {
            **_LOGIN,
            **fields(TEXT, "account"),
            **fields(USER_KEY, "nkey"),
            **fields(TIMEOUT, "timeout"),
            **fields(LISTED, "users"),
            **fields(BOOLEAN, "proxy_required"),
        },
        {"users": "leaf user"},
    ),
    "leaf user": Block({**_LOGIN, **fields(TEXT, "account"), **fields(BOOLEAN, "proxy_required")}),
    "user": Block(
        {
            **_LOGIN,
            **fields(USER_KEY, "nkey"),
            **fields(MAPPING, "permission permissions authorization"),
            **fields(CONNECTIONS, "allowed_connection_types connection_types clients"),
            **fields(BOOLEAN, "proxy_required"),
        },
        dict.fromkeys(("permission", "permissions", "authorization"), "permissions"),
        required=(("user", "username", "nkey"),),
        exclusive=((("nkey",), ("user", "username", "pass", "password")),),
    ),
    "permissions": Block(
        {
            **fields(RULES, "pub publish import"),
            **fields(QUEUE_RULES, "sub subscribe export"),
            **fields(BLOCK_OR_BOOLEAN, "publish_allow_responses allow_responses"),
        },
        {
            **dict.fromkeys(("pub", "publish", "import"), "publish rules"),
            **dict.fromkeys(("sub", "subscribe", "export"), "subscribe rules"),
            **dict.fromkeys(("publish_allow_responses", "allow_responses"), "responses"),
        },
    ),
    "publish rules": Block(fields(SUBJECTS, "allow deny")),
    "subscribe rules": Block(fields(QUEUE_SUBJECTS, "allow deny")),
    "responses": Block(
        {
            **fields(INTEGER, "max max_msgs max_messages max_responses"),
            **fields(PERIOD, "expires expiration ttl"),
        }
    ),
    "callout": Block(
        {
            **fields(ACCOUNT_KEY, "issuer"),
            **fields(CURVE_KEY, "xkey key"),
            **fields(TEXT, "account acc"),
            **fields(TEXT_LIST, "auth_users users"),
            **fields(NAMES, "allowed_accounts"),
        },
        required=(("issuer",), ("auth_users", "users")),
    ),
    "tls": Block(
        _TLS,
        {"certs": "certificate", "certificates": "certificate", "ocsp_peer": "ocsp peer"},
        exclusive=((("cert_file",), ("certs", "certificates")),),
        relaxed={"cipher_suites": ("allow_insecure_cipher_suites", CIPHERS)},
        paired=("cert_file", "key_file"),
        strict=True,
    ),
    "ocsp peer": Block(
        {
            **fields(BOOLEAN, "verify warn_only unknown_is_good allow_when_ca_unreachable"),
            **fields(TIMEOUT, "allowed_clockskew ca_timeout cache_ttl_when_next_update_unset"),
        },
        strict=True,
    ),
    "compression": Block({**fields(TEXT, "mode"), **fields(DURATIONS, "rtt_thresholds thresholds rtts rtt")}),
    "certificate": Block(fields(FILE, "cert_file key_file"), required=(("cert_file",), ("key_file",)), strict=True),
    "remote": Block(
        {
            **fields(URLS, "url urls"),
            **fields(TEXT, "account local"),
            **fields(FILE, "creds credentials"),
            **fields(USER_SEED, "nkey seed"),
            **fields(
                BOOLEAN,
                "no_randomize dont_randomize hub ws_compress ws_compression websocket_compress websocket_compression"
                " ws_no_masking websocket_no_masking isolate_leafnode_interest isolate request_isolation disabled"
                " ignore_discovered_servers",
            ),
            **fields(SUBJECTS, "deny_imports deny_import deny_exports deny_export"),
            **fields(BLOCK_OR_BOOLEAN, "jetstream_cluster_migrate js_cluster_migrate"),
            **fields(MAPPING, "tls proxy"),
            **fields(COMPRESSION, "compression"),
            **fields(DURATION, "first_info_timeout dial_timeout"),
        },
        {"tls": "tls", "proxy": "proxy", "compression": "compression"},
        exclusive=((("creds", "credentials"), ("nkey", "seed")),),
    ),
    "proxy": Block(
        {**fields(PROXY_URL, "url"), **fields(TEXT, "username password"), **fields(DURATION, "timeout")},
        paired=("username", "password"),
    ),
    "remote gateway": Block(
        {**fields(TEXT, "name"), **fields(URL, "url"), **fields(URL_LIST, "urls"), **fields(MAPPING, "tls")},
        {"tls": "peer tls"},
    ),
    "proxies": Block(fields(LISTED, "trusted"), {"trusted": "trusted proxy"}),
    "trusted proxy": Block(fields(PUBLIC_KEY, "key public_key")),
    "accounts": Block(named="account", values=MAPPING),
    "account": Block(
        {
            **fields(ACCOUNT_KEY, "nkey"),
            **fields(LISTED, "imports exports users"),
            **fields(SWITCH, "jetstream"),
            **fields(MAPPING, "default_permissions mappings maps limits"),
            **fields(ANY, "msg_trace trace_dest"),
        },
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
    "account jetstream": Block(ACCOUNT),
    "account limits": Block(
        fields(
            INTEGER,
            "max_connections max_conn max_subscriptions max_subs max_payload max_pay max_leafnodes max_leafs",
        )
    ),
    "export": Block(
        {
            **fields(TEXT, "stream service"),
            **fields(RESPONSE, "response response_type"),
            **fields(PERIOD, "threshold response_threshold response_max_time response_time"),
            **fields(NAMES, "accounts"),
            **fields(INTEGER, "account_token_position"),
            **fields(BOOLEAN, "allow_trace"),
            **fields(ANY, "latency"),
        },
        exclusive=(
            (("stream",), ("service",)),
            (("stream",), ("response", "response_type", "threshold", "latency", "allow_trace")),
        ),
    ),
    "import": Block(
        {**fields(MAPPING, "stream service"), **fields(TEXT, "prefix to"), **fields(BOOLEAN, "share allow_trace")},
        {"stream": "imported", "service": "imported"},
        exclusive=((("stream",), ("service",)), (("service",), ("allow_trace",))),
    ),
    "imported": Block(fields(TEXT, "account subject"), required=(("account",), ("subject",))),
    "mappings": Block(named="mapping", values=MAPPED),
    "mapping": Block(
        {**fields(TEXT, "dest destination cluster"), **fields(WEIGHT, "weight")},
        required=(("weight",),),
        strict=True,
    ),
}
_CLIENT_TLS = BLOCKS["tls"]
BLOCKS["peer tls"] = replace(
    _CLIENT_TLS, fields={**_CLIENT_TLS.fields, **fields(BOOLEAN, "verify_cert_and_check_known_urls")}
)
"""By kind. The key is also what texts call them; the empty one is the whole configuration."""

_2_11, _2_12, _2_14, _2_15 = (2, 11), (2, 12), (2, 14), (2, 15)
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
}
"""First minor release that knows a field, by block and name; all others are known since before 2.10. Two of 2.11 and
2.12 came with a later patch of it.
"""

STRICTER: dict[str, Stricter] = {
    **{f"{block}authorization.timeout": Stricter(_2_12, ANY) for block in ("", "peer ", "leaf ")},
    **dict.fromkeys(("remote.jetstream_cluster_migrate", "remote.js_cluster_migrate"), Stricter(_2_12, ANY)),
    **{f"{block}.cipher_suites": Stricter(_2_11, OLD_CIPHERS) for block in ("tls", "peer tls")},
    **{f"permissions.{name}": Stricter(_2_15, QUEUE_RULES) for name in ("pub", "publish", "import")},
    **{f"publish rules.{name}": Stricter(_2_15, QUEUE_SUBJECTS) for name in ("allow", "deny")},
    **{
        f"remote.{name}": Stricter(_2_15, QUEUE_SUBJECTS)
        for name in ("deny_import", "deny_imports", "deny_export", "deny_exports")
    },
}
"""Fields of which older servers take more."""
