"""Signatures that every scan has: who a server is, when it starts and stops, who leads, what was restored."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.rule import LineOrigin, Signature

START, READY, NAME, VERSION, CLUSTER, ID = "@start", "@ready", "@name", "@version", "@cluster", "@id"
STOPPING, EXIT, LAME_DUCK, SIGNAL, JETSTREAM_STOP = "@stopping", "@exit", "@lame-duck", "@signal", "@jetstream-stop"
RELOADED = "@reloaded"
BOOTSTRAP, RECOVER, PANIC, FATAL, ROTATED = "@bootstrap", "@recover", "@panic", "@fatal", "@rotated"
RESTORED, META_LEADER, META_SELF = "@restored", "@meta-leader", "@meta-self"
STREAM_LEADER, CONSUMER_LEADER = "@stream-leader", "@consumer-leader"
UNEXPLAINED, UNEXPLAINED_WARNING, KNOWN = "@unexplained", "@unexplained-warning", "@known"

_STREAM = r"'([^']*?) > ([^']*?)'"
_CONSUMER = r"'([^']*?) > ([^']*?) > ([^']*?)'"


def _server(name: str, contains: str, pattern: str, *fields: str) -> Signature:
    return Signature(name=name, contains=contains, pattern=pattern, fields=fields)


BUILTIN: tuple[Signature, ...] = (
    _server(START, "Starting nats-server", r"^Starting nats-server"),
    _server(NAME, "  Name:     ", r"^  Name:     (\S+)", "name"),
    _server(VERSION, "  Version:  ", r"^  Version:  (\S+)", "version"),
    _server(CLUSTER, "  Cluster:  ", r"^  Cluster:  (\S+)", "cluster"),
    _server(ID, "  ID:       ", r"^  ID:       (\S+)", "id"),
    _server(READY, "Server is ready", r"^Server is ready"),
    _server(STOPPING, "Initiating Shutdown...", r"^Initiating Shutdown\.\.\."),
    _server(EXIT, "Server Exiting..", r"^Server Exiting\.\."),
    _server(LAME_DUCK, "Entering lame duck mode", r"^Entering lame duck mode"),
    _server(SIGNAL, "Trapped ", r'^Trapped "([^"]*)" signal', "signal"),
    _server(JETSTREAM_STOP, "Initiating JetStream Shutdown", r"^Initiating JetStream Shutdown"),
    _server(RELOADED, "Reloaded server configuration", r"^Reloaded server configuration"),
    _server(BOOTSTRAP, "JetStream cluster bootstrapping", r"^JetStream cluster bootstrapping"),
    _server(RECOVER, "JetStream cluster recovering state", r"^JetStream cluster recovering state"),
    _server(ROTATED, "Rotated log, backup saved", r"^Rotated log, backup saved"),
    _server(ROTATED, "Purged log file", r"^Purged log file"),
    _server(
        RESTORED,
        " messages for stream '",
        rf"^ *Restored ([\d,]+) messages for stream {_STREAM}",
        *("messages", "account", "stream"),
    ),
    _server(META_LEADER, "new metadata leader: ", r"^JetStream cluster new metadata leader: ([^/\s]+)", "leader"),
    _server(META_SELF, "Self is new JetStream cluster metadata", r"^Self is new JetStream cluster metadata leader"),
    _server(
        STREAM_LEADER,
        "cluster new stream leader for '",
        rf"^JetStream cluster new stream leader for {_STREAM}",
        *("account", "stream"),
    ),
    _server(
        CONSUMER_LEADER,
        "cluster new consumer leader for '",
        rf"^JetStream cluster new consumer leader for {_CONSUMER}",
        *("account", "stream", "consumer"),
    ),
    Signature(name=PANIC, contains="panic: ", pattern=r"^(panic: .*)", fields=("text",), source=LineOrigin.CLIENT),
    Signature(
        name=PANIC, contains="fatal error: ", pattern=r"^(fatal error: .*)", fields=("text",), source=LineOrigin.CLIENT
    ),
    Signature(name=FATAL, contains="[FTL]", pattern=r"(.*)", fields=("text",), levels=("FTL",)),
)
"""Their names start with `@`, which no rule page may use for its own; `resolved_by` may name them."""

_ERROR_WORDS = (
    r"(.*(?:rror|ERR|FATAL|ailed|ailure|navailable|ot enabled|xceeded|nsufficient|imeout|imed out|efused|enied|iolation"
    r"|orrupt|annot|ould not|nable to|nvalid|anic).*)"
)


def _client_line(contains: str, pattern: str, name: str = UNEXPLAINED) -> Signature:
    return Signature(name=name, contains=contains, pattern=pattern, fields=("reason",), source=LineOrigin.CLIENT)


def _advisory(name: str, kinds: str) -> Signature:
    return _client_line("io.nats.jetstream.advisory.", rf"(io\.nats\.jetstream\.advisory\.v\d+\.(?:{kinds}))\b", name)


_ROUTINE = r"api_audit|\w+_action|\w+_leader_elected|consumer_pause|consumer_group_\w+|snapshot_\w+|restore_\w+"
"""Advisories of requests, elections, pauses and backups. They follow normal work as well."""

FALLBACKS: tuple[Signature, ...] = (
    Signature(name=UNEXPLAINED, contains="[ERR]", pattern=r"(.*)", fields=("reason",), levels=("ERR", "FTL")),
    Signature(name=UNEXPLAINED_WARNING, contains="[WRN]", pattern=r"(.*)", fields=("reason",), levels=("WRN",)),
    _advisory(KNOWN, _ROUTINE),
    _advisory(UNEXPLAINED_WARNING, "nak|terminated"),  # of messages that an application refused
    _advisory(UNEXPLAINED, r"\w+"),
    _client_line("nats: ", r"(nats: (?:timeout|[a-z']+[ -].*))"),
    _client_line("JetStream", _ERROR_WORDS),
    _client_line("panic: ", r"^(panic: .*)"),
)
"""Signatures of lines that match no other one: the first that fits counts. They are errors and warnings of servers,
errors of clients, and advisories.
"""

SHOWN = frozenset({UNEXPLAINED, UNEXPLAINED_WARNING})
"""Built-in signatures whose occurrences checks read."""

AGGREGATED = frozenset({START, READY, META_LEADER, META_SELF, STREAM_LEADER, CONSUMER_LEADER})
"""Built-in signatures that are counted like those of rule pages."""

MARKED = frozenset(signature.name for signature in BUILTIN) - {STREAM_LEADER, CONSUMER_LEADER}
"""Built-in signatures whose lines are each passed on to aggregation."""

_SEARCHED_AS: dict[bytes, tuple[bytes, ...]] = {
    b"panic: ": (b"\npanic: ", b" panic: ", b'":"panic: ', b'": "panic: '),
    b"fatal error: ": (b"\nfatal error: ", b" fatal error: ", b'":"fatal error: ', b'": "fatal error: '),
    b"[FTL]": (b"[FTL]", b"mFTL\x1b"),
    b"[ERR]": (b"[ERR]", b"mERR\x1b"),
    b"[WRN]": (b"[WRN]", b"mWRN\x1b"),
}
BEGINNINGS = (b"panic: ", b"fatal error: ")
"""Literals that are searched at the start of a line; a block may begin with one."""


def searched(literals: Iterable[bytes]) -> tuple[bytes, ...]:
    """What to search for in blocks, so that texts that only quote a literal do not match: panics begin a line."""
    return tuple(odd for literal in literals for odd in _SEARCHED_AS.get(literal, (literal,)))
