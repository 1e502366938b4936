"""Ways in: options, variables, contexts, configuration, manifests, logs, plans and journals that have a text in them.

Each is a file system to be, an environment and a command line. None needs a server: what cannot be reached is told,
and the text that was given may be in what is told.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from jsdoctor.render.formats import FORMATS

Files = dict[str, str]
OUTPUTS = tuple(word for name in FORMATS for word in ("-o", f"{name}=out.{name}"))
_NOWHERE = "127.0.0.1:1"
_FAST = ("--timeout", "1s", "--samples", "1")


@dataclass(frozen=True)
class Input:
    """What one run is given."""

    words: tuple[str, ...]
    files: Files = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    writes_reports: bool = False


def _option(command: str, name: str, *more: str) -> Callable[[str], Input]:
    return lambda text: Input((command, "--isolated", *more, name, text))


def _variable(name: str) -> Callable[[str], Input]:
    words = ("check", "--isolated", "--no-context", *_FAST)
    server = {} if name == "NATS_URL" else {"NATS_URL": _NOWHERE}
    return lambda text: Input(words, variables={**server, name: text.replace("\0", "")})


def _context(key: str) -> Callable[[str], Input]:
    def given(text: str) -> Input:
        context = {"url": _NOWHERE, "description": "x", key: text}
        files = {"config/nats/context/shop.json": json.dumps(context)}
        return Input(("check", "--isolated", "--context", "shop", *_FAST), files)

    return given


def _configuration(key: str) -> Callable[[str], Input]:
    return lambda text: Input(
        ("check", "--no-context", *_FAST), {"jsdoctor.toml": f"{key} = {json.dumps(text)}\n"}, {"NATS_URL": _NOWHERE}
    )


def _manifest(name: str, content: Callable[[str], str]) -> Callable[[str], Input]:
    return lambda text: Input(
        ("check", "--isolated", "--manifest", name, "-vv", *OUTPUTS), {name: content(text)}, writes_reports=True
    )


def _stream_manifest(text: str) -> str:
    spec = {
        "name": "ORDERS",
        "subjects": ["orders.>", "orders.*"],
        "description": text,
        "metadata": {"note": text, "password": text},
        "servers": [text],
        "creds": text,
        "nkey": text,
        "tls": {"clientCert": text, "clientKey": text},
        "maxMsgs": 10,
        "discard": "old",
        "storage": text,
        "mirror": {"name": "OTHER", "externalApiPrefix": text},
    }
    meta = {"name": "orders", "annotations": {"note": text}}
    return json.dumps({"apiVersion": "jetstream.nats.io/v1beta2", "kind": "Stream", "metadata": meta, "spec": spec})


def _terraform(text: str) -> str:
    quoted = json.dumps(text.replace("${", "$${"))
    return f"""\
provider "jetstream" {{
  servers     = {quoted}
  credentials = {quoted}
}}
resource "jetstream_stream" "ORDERS" {{
  name        = "ORDERS"
  subjects    = ["orders.>", "orders.*"]
  description = {quoted}
  metadata    = {{ note = {quoted} }}
  storage     = {quoted}
}}
"""


def _server_configuration(text: str) -> str:
    quoted = json.dumps(text)
    return (
        f"server_name: {quoted}\njetstream {{ store_dir: {quoted}, max_file: {quoted}, key: {quoted} }}\n"
        f"authorization {{ user: app, password: {quoted} }}\ncluster {{ name: {quoted}, routes: [ {quoted} ] }}\n"
        f"leafnodes {{ remotes: [ {{ url: {quoted}, credentials: {quoted} }} ] }}\n"
    )


def _logs(text: str) -> Input:
    head = "[7] 2026/11/21 10:00:0{}.000000 "
    flat = text.replace("\n", " ")
    lines = (
        "[INF] Starting nats-server",
        "[INF]   Version:  2.15.1",
        f"[INF]   Name:     {flat}",
        f"[ERR] Error recovering stream '{flat} > ORDERS': {flat}",
        f"[WRN] JetStream resource limits exceeded for account: {json.dumps(flat)}",
        f"[ERR] 10.0.0.9:4711 - cid:8 - authentication error - User {json.dumps(flat)}",
        f"[FTL] Can't start: {flat}",
        f'[WRN] Consumer "{flat}" error: {flat}',
    )
    content = "".join(head.format(number % 10) + line + "\n" for number, line in enumerate(lines))
    content += "".join(f"2026-11-21T10:00:00Z ERROR client: nats: {flat}: timeout\n" for _ in range(3))
    words = ("check", "--isolated", "--logs", "n1.log", "-vv", *OUTPUTS)
    return Input(words, {"n1.log": content}, writes_reports=True)


def _step(text: str) -> dict[str, object]:
    return {
        "id": "1",
        "action": "stream.update",
        "operation": "stream.update",
        "subject": {"kind": "stream", "name": text, "account": text},
        "risk": "safe",
        "effect": text,
        "base": {"config": {"name": text, "description": text, "metadata": {"a": text}}, "created": text},
        "changes": [{"key": text, "before": text, "after": text}],
        "values": {"x": text},
    }


def _plan(text: str) -> Input:
    plan = {"schema": "jsdoctor.plan/v1", "version": text, "created": "2026-01-01T00:00:00Z", "steps": [_step(text)]}
    words = ("fix", "--isolated", "--no-context", "--plan", "plan.json", "--server", _NOWHERE, "--timeout", "1s")
    return Input(words, {"plan.json": json.dumps(plan)})


def _applied_plan(text: str) -> Input:
    given = _plan(text)
    return Input((*given.words, "--apply", "--yes", "--journal", "j.jsonl"), given.files)


def _journal(text: str) -> Input:
    plan = {"schema": "jsdoctor.plan/v1", "version": "0", "created": "2026-01-01T00:00:00Z", "steps": [_step(text)]}
    lines = ({"at": "2026-01-01T00:00:00Z", "event": "plan", "text": text, "plan": plan}, {"event": text, "data": text})
    words = ("rollback", "--isolated", "--no-context", "--yes", "j.jsonl", "--server", _NOWHERE, "--timeout", "1s")
    return Input(words, {"j.jsonl": "".join(json.dumps(line) + "\n" for line in lines)})


_LOGINS = ("--server", "--user", "--password", "--token", "--creds", "--nkey", "--tlscert", "--tlskey", "--tlsca")
_OTHERS = ("--context", "--monitor", "--js-domain", "--js-api-prefix", "--timeout", "--ntp", "--scan", "--interval")
_CHOICES = ("--select", "--ignore", "--set", "--rules", "--fail-on", "--baseline", "--format", "--config", "--since")
_FILES = ("--bundle", "--logs", "--manifest", "--pcap", "--history", "--server-name", "--timezone")
_SERVED = ("-s", _NOWHERE, "--no-context", "--samples", "1", "--timeout", "1s")
_VARIABLES = ("URL", "USER", "PASSWORD", "TOKEN", "CREDS", "NKEY", "CONTEXT", "CERT", "KEY", "CA", "TIMEOUT")
_CONTEXT_KEYS = (
    *("url", "description", "user", "password", "token", "creds", "nkey", "cert", "key", "ca", "nsc", "user_jwt"),
    *("user_seed", "jetstream_domain", "jetstream_api_prefix", "jetstream_event_prefix", "inbox_prefix", "socks_proxy"),
)

INPUTS: dict[str, Callable[[str], Input]] = {
    **{f"check {name}": _option("check", name, *(_SERVED if name != "--server" else _FAST)) for name in _LOGINS},
    **{f"check {name}": _option("check", name, *_SERVED) for name in (*_OTHERS, *_CHOICES)},
    **{f"check {name}": _option("check", name) for name in _FILES},
    **{
        f"check {name}": _option("check", name, "--prometheus", "http://127.0.0.1:1")
        for name in ("--prometheus-match",)
    },
    **{
        f"check {name}": _option("check", name, "--loki", "http://127.0.0.1:1", "--loki-query", '{app="nats"}')
        for name in ("--loki-token", "--loki-header", "--loki-label")
    },
    "check --loki": _option("check", "--loki", "--loki-query", '{app="nats"}'),
    "check --loki-query": _option("check", "--loki-query", "--loki", "http://127.0.0.1:1"),
    "check --prometheus": _option("check", "--prometheus"),
    "check --prometheus-token": _option("check", "--prometheus-token", "http://127.0.0.1:1", "--prometheus", _NOWHERE),
    "check --format nagios": lambda text: Input(
        ("check", "--isolated", "--no-context", "--format", "nagios", "--server", text, *_FAST)
    ),
    "fix --remedy": _option("fix", "--remedy", *_SERVED),
    "fix --plan": _option("fix", "--plan", *_SERVED[:3]),
    "rollback": lambda text: Input(("rollback", "--isolated", text)),
    "explain": lambda text: Input(("explain", text)),
    "no command": lambda text: Input((text,)),
    "diagnose": lambda text: Input(("diagnose", "--isolated", "--offline", "--", f"nats: timeout {text}")),
    "diagnose --symptom": lambda text: Input(("diagnose", "--isolated", "--offline", "--symptom", text)),
    "diagnose --stream": lambda text: Input(
        ("diagnose", "--isolated", "--offline", "--stream", text, "--", "nats: timeout")
    ),
    **{f"NATS_{name}": _variable(f"NATS_{name}") for name in _VARIABLES},
    **{f"context {key}": _context(key) for key in _CONTEXT_KEYS},
    "context file": lambda text: Input(
        ("check", "--isolated", "--context", "shop", *_FAST), {"config/nats/context/shop.json": text}
    ),
    **{f"configuration {key}": _configuration(key) for key in ("server", "timeout", "monitor", "select", "nonsense")},
    "configuration file": lambda text: Input(("check",), {"jsdoctor.toml": text}),
    "config show": lambda text: Input(("config", "show"), {"jsdoctor.toml": f"server = {json.dumps(text)}\n"}),
    "stream manifest": _manifest("stream.json", _stream_manifest),
    "Terraform": _manifest("main.tf", _terraform),
    "server configuration": _manifest("nats.conf", _server_configuration),
    "broken manifest": _manifest("broken.yaml", lambda text: f"kind: Stream\nspec: {{a: b: {text}\n  - {text}"),
    "logs": _logs,
    "plan": _plan,
    "plan, applied": _applied_plan,
    "journal": _journal,
}
