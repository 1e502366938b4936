"""Settings that all servers of a cluster should share, how servers report them, and what a difference does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from jsdoctor.model.finding import Severity
from jsdoctor.model.server import JetStreamConfig, Server, Varz
from jsdoctor.model.wording import span

Word = Callable[[Server], str | None]
"""The value of a setting in words; None if the server does not report it, or has no use for it."""


class ComparedSetting(msgspec.Struct, frozen=True):
    """One setting. `path` is where it is read, `effect` what follows when servers differ."""

    name: str
    path: str
    word: Word
    severity: Severity
    effect: str


def _of_varz(read: Callable[[Varz], object]) -> Word:
    return lambda server: _worded(read(server.varz)) if server.varz else None


def _of_jetstream(read: Callable[[JetStreamConfig], object]) -> Word:
    def word(server: Server) -> str | None:
        stats = server.jetstream
        return _worded(read(stats.config)) if stats and stats.config and not stats.disabled else None

    return word


def _jetstream_accounts(server: Server) -> str | None:
    """The number of accounts; None in operator mode, where servers load accounts on demand and it means nothing."""
    stats = server.jetstream
    if stats is None or stats.disabled or server.varz is None or server.varz.trusted_operators_jwt:
        return None
    return _worded(stats.accounts)


def _worded(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _gateways(varz: Varz) -> str:
    remotes = varz.gateway.gateways if varz.gateway else ()
    return ", ".join(sorted(remote.name for remote in remotes))


SETTINGS = (
    ComparedSetting(
        "max_payload",
        "max_payload",
        _of_varz(lambda varz: varz.max_payload),
        Severity.WARNING,
        "whether a large message is taken depends on the server that the client is connected to",
    ),
    ComparedSetting(
        "authentication",
        "auth_required",
        _of_varz(lambda varz: varz.auth_required),
        Severity.WARNING,
        "some servers let in who others keep out",
    ),
    ComparedSetting(
        "TLS for clients",
        "tls_required",
        _of_varz(lambda varz: varz.tls_required),
        Severity.WARNING,
        "clients that are moved to another server cannot connect, or go on in clear text",
    ),
    ComparedSetting(
        "verification of client certificates",
        "tls_verify",
        _of_varz(lambda varz: varz.tls_verify),
        Severity.WARNING,
        "clients that are moved to another server cannot connect, or need no certificate any more",
    ),
    ComparedSetting(
        "the system account",
        "system_account",
        lambda server: server.varz.system_account or None if server.varz else None,  # 2.10 does not report it
        Severity.WARNING,
        "servers with another system account take no part in JetStream of the cluster",
    ),
    ComparedSetting(
        "gateways",
        "gateway.gateways",
        _of_varz(_gateways),
        Severity.WARNING,
        "clients reach other clusters through some servers and not through others",
    ),
    ComparedSetting(
        "the JetStream domain",
        "jetstream.config.domain",
        _of_jetstream(lambda config: config.domain),
        Severity.WARNING,
        "requests that name the domain get a response from some servers and not from others",
    ),
    ComparedSetting(
        "unique_tag",
        "jetstream.config.unique_tag",
        _of_jetstream(lambda config: config.unique_tag),
        Severity.WARNING,
        "which streams can be placed, and where, depends on the server that leads the meta group",
    ),
    ComparedSetting(
        "the number of accounts with JetStream",
        "jetstream.accounts",
        _jetstream_accounts,
        Severity.WARNING,
        "an account without JetStream in the configuration of one server cannot store there, and gets no stream while"
        " that server leads the meta group",
    ),
    ComparedSetting(
        "sync_always",
        "jetstream.config.sync_always",
        _of_jetstream(lambda config: config.sync_always),
        Severity.INFO,
        "how much a power cut can take depends on where a stream is placed",
    ),
    ComparedSetting(
        "sync_interval",
        "jetstream.config.sync_interval",
        _of_jetstream(lambda config: span(config.sync_interval_ns)),
        Severity.INFO,
        "how much a power cut can take depends on where a stream is placed",
    ),
    ComparedSetting(
        "max_connections",
        "max_connections",
        _of_varz(lambda varz: varz.max_connections),
        Severity.INFO,
        "when a server is lost, its clients may find no room on the others",
    ),
    ComparedSetting(
        "max_pending",
        "max_pending",
        _of_varz(lambda varz: varz.max_pending),
        Severity.INFO,
        "some servers cut off a slow consumer earlier than others",
    ),
    ComparedSetting(
        "write_deadline",
        "write_deadline",
        _of_varz(lambda varz: span(varz.write_deadline_ns)),
        Severity.INFO,
        "some servers cut off a slow consumer earlier than others",
    ),
    ComparedSetting(
        "max_control_line",
        "max_control_line",
        _of_varz(lambda varz: varz.max_control_line),
        Severity.INFO,
        "long subjects pass some servers and not others",
    ),
)


def storage_limits(server: Server) -> Iterator[tuple[str, int]]:
    """The JetStream limits of a server by name; none where it has no JetStream."""
    stats = server.jetstream
    if stats and not stats.disabled and stats.config:
        yield "max_file_store", stats.config.max_storage
        yield "max_memory_store", stats.config.max_memory
