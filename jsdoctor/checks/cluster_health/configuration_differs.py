"""JSD710: servers of one cluster whose settings differ where they should be alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from jsdoctor.checks.cluster_health.links import Members, clusters, configured_gateways, in_roll_out, value_list
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed, unknown
from jsdoctor.model.links import Links
from jsdoctor.model.params import Params
from jsdoctor.model.server import UNLIMITED, JetStreamConfig, Server, Servers, Varz
from jsdoctor.model.wording import span


class Difference(msgspec.Struct, frozen=True):
    """One setting in which servers differ: the text of the finding, its severity, and the value of each server."""

    text: str
    severity: Severity
    evidence: tuple[Observation, ...]


@check("cluster_health.configuration_differs")
def configuration_differs(servers: Servers, links: Links | None, params: Params) -> Iterator[Finding]:
    """Compare single settings: the config_digest differs between servers, as their files have names and ports."""
    for group in clusters(servers):
        if len(group.servers) < 2:
            continue
        known = [server for server in group.servers if server.varz]
        differences = [
            *_settings(known),
            *_limits(group.servers, params.number("limit_ratio")),
            *_gateway_links(known, links),
        ]
        if differences:
            yield _finding(group, differences, in_roll_out(known, params.integer("roll_out"), params.integer("apart")))
        elif len(known) < len(group.servers):
            silent = ", ".join(server.name for server in group.servers if not server.varz)
            yield unknown(group.subject, f"the settings of {silent} were not read", "see the gaps of this run")
        else:
            yield passed(group.subject)


def _settings(servers: Sequence[Server]) -> Iterator[Difference]:
    for setting in SETTINGS:
        stated = {server.name: word for server in servers if (word := setting.word(server)) is not None}
        if len(set(stated.values())) > 1:
            yield Difference(
                f"{setting.name} differs ({value_list(_by_value(stated))}): {setting.effect}",
                setting.severity,
                tuple(s.observed(setting.path or setting.name, stated[s.name]) for s in servers if s.name in stated),
            )


def _limits(servers: Sequence[Server], ratio: float) -> Iterator[Difference]:
    """Limits that are not configured come from each host's own disk and memory: small differences are no finding."""
    by_limit: dict[str, list[tuple[Server, int]]] = defaultdict(list)
    for server in servers:
        for name, limit in storage_limits(server):
            if 0 < limit < UNLIMITED:
                by_limit[name].append((server, limit))
    for name, limits in by_limit.items():
        sizes = [limit for _, limit in limits]
        if min(sizes) < ratio * max(sizes):
            shown = {server.name: f"{limit:,}" for server, limit in limits}
            yield Difference(
                f"{name} differs ({value_list(_by_value(shown))}): the smallest one fills up while the others have"
                " room, and streams whose replicas are there stop with it",
                Severity.INFO,
                tuple(server.observed(name, limit) for server, limit in limits),
            )


def _gateway_links(servers: Sequence[Server], links: Links | None) -> Iterator[Difference]:
    """Gateways that every server has in its configuration, while some servers have no connection through them."""
    server_links = {server.server: server for server in links.servers} if links else {}
    configured = {configured_gateways(server) for server in servers}
    if len(configured) != 1:
        return
    for remote in sorted(configured.pop()):
        connected = {
            s.name: any(g.cluster == remote and g.outbound for g in server_links[s.name].gateways or ())
            for s in servers
            if s.name in server_links and server_links[s.name].gateways is not None
        }
        if len(set(connected.values())) > 1:
            down = [name for name, is_connected in connected.items() if not is_connected]
            verb = "has" if len(down) == 1 else "have"
            yield Difference(
                f"{', '.join(down)} {verb} no connection to the cluster {remote}, which other servers reach: clients"
                " there cannot",
                Severity.WARNING,
                tuple(
                    s.observed(f"outbound_gateways.{remote}", connected[s.name]) for s in servers if s.name in connected
                ),
            )


def _by_value(stated: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, word in stated.items():
        groups[word].append(name)
    return groups


def _finding(group: Members, differences: Sequence[Difference], rolling: bool) -> Finding:
    worst = Severity.INFO if rolling else max((d.severity for d in differences), key=lambda severity: severity.rank)
    servers_text = f"of the servers of {group.name}, " if group.subject.name else ""
    late = "; a change seems to be under way, as some servers were started or reloaded lately" if rolling else ""
    return failed(
        group.subject,
        servers_text + "; ".join(difference.text for difference in differences) + late,
        *(observation for difference in differences for observation in difference.evidence),
        severity=worst,
        measured=(len(differences), 0, "count"),
    )


Word = Callable[[Server], str | None]
"""The value of a setting in words; None if the server does not report it, or has no use for it."""


class ComparedSetting(msgspec.Struct, frozen=True):
    """One setting. `effect` is what follows when servers differ, `path` where it is read, if not under its name."""

    name: str
    word: Word
    effect: str
    path: str = ""
    severity: Severity = Severity.WARNING


def _read_varz(read: Callable[[Varz], object]) -> Word:
    return lambda server: _worded(read(server.varz)) if server.varz else None


def _read_jetstream(read: Callable[[JetStreamConfig], object]) -> Word:
    return lambda server: (
        _worded(read(stats.config)) if (stats := server.jetstream) and stats.config and not stats.disabled else None
    )


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


SETTINGS = (
    ComparedSetting(
        "max_payload",
        _read_varz(lambda varz: varz.max_payload),
        "whether a large message is taken depends on the server that the client is connected to",
    ),
    ComparedSetting(
        "authentication",
        _read_varz(lambda varz: varz.auth_required),
        "some servers let in who others keep out",
        path="auth_required",
    ),
    ComparedSetting(
        "TLS for clients",
        _read_varz(lambda varz: varz.tls_required),
        "clients that are moved to another server cannot connect, or go on in clear text",
        path="tls_required",
    ),
    ComparedSetting(
        "verification of client certificates",
        _read_varz(lambda varz: varz.tls_verify),
        "clients that are moved to another server cannot connect, or need no certificate any more",
        path="tls_verify",
    ),
    ComparedSetting(
        "the system account",
        lambda server: server.varz.system_account or None if server.varz else None,
        "servers with another system account take no part in JetStream of the cluster",
        path="system_account",
    ),
    ComparedSetting(
        "gateways",
        _read_varz(lambda varz: ", ".join(sorted(r.name for r in varz.gateway.gateways)) if varz.gateway else ""),
        "clients reach other clusters through some servers and not through others",
        path="gateway.gateways",
    ),
    ComparedSetting(
        "the JetStream domain",
        _read_jetstream(lambda config: config.domain),
        "requests that name the domain get a response from some servers and not from others",
        path="jetstream.config.domain",
    ),
    ComparedSetting(
        "unique_tag",
        _read_jetstream(lambda config: config.unique_tag),
        "which streams can be placed, and where, depends on the server that leads the meta group",
        path="jetstream.config.unique_tag",
    ),
    ComparedSetting(
        "the number of accounts with JetStream",
        _jetstream_accounts,
        "an account without JetStream in the configuration of one server cannot store there, and gets no stream while"
        " that server leads the meta group",
        path="jetstream.accounts",
    ),
    ComparedSetting(
        "sync_always",
        _read_jetstream(lambda config: config.sync_always),
        "how much a power cut can take depends on where a stream is placed",
        path="jetstream.config.sync_always",
        severity=Severity.INFO,
    ),
    ComparedSetting(
        "sync_interval",
        _read_jetstream(lambda config: span(config.sync_interval_ns)),
        "how much a power cut can take depends on where a stream is placed",
        path="jetstream.config.sync_interval",
        severity=Severity.INFO,
    ),
    ComparedSetting(
        "max_connections",
        _read_varz(lambda varz: varz.max_connections),
        "when a server is lost, its clients may find no room on the others",
        severity=Severity.INFO,
    ),
    ComparedSetting(
        "max_pending",
        _read_varz(lambda varz: varz.max_pending),
        "some servers cut off a slow consumer earlier than others",
        severity=Severity.INFO,
    ),
    ComparedSetting(
        "write_deadline",
        _read_varz(lambda varz: span(varz.write_deadline_ns)),
        "some servers cut off a slow consumer earlier than others",
        severity=Severity.INFO,
    ),
    ComparedSetting(
        "max_control_line",
        _read_varz(lambda varz: varz.max_control_line),
        "long subjects pass some servers and not others",
        severity=Severity.INFO,
    ),
)


def storage_limits(server: Server) -> Iterator[tuple[str, int]]:
    """The JetStream limits of a server by name; none where it has no JetStream."""
    stats = server.jetstream
    if stats and not stats.disabled and stats.config:
        yield "max_file_store", stats.config.max_storage
        yield "max_memory_store", stats.config.max_memory
