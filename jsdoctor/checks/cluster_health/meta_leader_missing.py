"""JSD701: the meta group has no leader, or several, or a leader without a majority behind it.

From logs: servers that saw no meta leader, and for how long.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from jsdoctor.checks.cluster_health.links import Down, clusters, gateways_down
from jsdoctor.checks.cluster_health.raft import MetaSamples, is_late, leader_of, meta_groups, quorum
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding, findings_by_subject
from jsdoctor.checks.logs.log_incidents import YOUNG_US, LogIncident, log_incidents
from jsdoctor.checks.logs.words import cluster_of
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.model.api_refusals import NO_META_LEADER, ApiRefusals
from jsdoctor.model.finding import (
    CLUSTER,
    Confidence,
    Finding,
    Observation,
    Severity,
    failed,
    passed,
    suspected,
    unknown,
)
from jsdoctor.model.links import Links
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.partial import shown_or
from jsdoctor.model.server import Servers

_AGAIN = "run again in some seconds"


@check("cluster_health.meta_leader_missing")
def meta_leader_missing(servers: Servers, links: Links | None, params: Params) -> Iterator[Finding]:
    """Without a meta leader nothing can be created, changed, deleted or listed (server: jetstream_cluster.go)."""
    silence_ns, start_ns = params.integer("silence"), params.integer("start_up")
    for group in meta_groups(servers):
        named = group.named()
        if not any(named):
            yield _missing(group, start_ns, _unreached(servers, links, group.domain))
        elif len(named[-1]) > 1:
            yield _several_leaders(group, set.intersection(*named))
        elif not named[-1]:
            yield unknown(
                group.subject, "the meta leader was lost between two samples: an election is going on", _AGAIN
            )
        elif leader_of(group.last) is None and servers.complete:
            name = next(iter(named[-1]))
            responded = name in {server.name for server in group.last}
            how = "does not call itself that: an election may be going on" if responded else "did not respond"
            yield suspected(group.subject, f"{name} is named as meta leader and {how}", _AGAIN)
        elif not group.size:
            yield unknown(group.subject, "no server reports how many members the meta group has", _AGAIN)
        else:
            yield _with_leader(group, silence_ns)


def _unreached(servers: Servers, links: Links | None, domain: str) -> tuple[str, ...]:
    """Clusters of this domain's super-cluster to which no gateway connection is up."""
    ours = msgspec.structs.replace(servers, servers=tuple(s for s in servers.servers if s.domain == domain))
    not_shown: tuple[Down, ...] = ()
    down = (shown_or(partial(gateways_down, group, links), not_shown) for group in clusters(ours))
    return tuple(sorted({item.remote for of_group in down for item in of_group}))


def _missing(group: MetaSamples, start_ns: int, unreached: tuple[str, ...]) -> Finding:
    if all((uptime := uptime_ns(server)) is not None and uptime < start_ns for server in group.last):
        return unknown(group.subject, "no meta leader yet: every server that responded has just started", _AGAIN)
    return failed(
        group.subject,
        f"no meta leader: of {group.size} members {len(group.last)} can be reached, {quorum(group.size)} are"
        " needed to elect one; until then no stream or consumer can be created, changed, listed or moved"
        + (f". The gateway to {', '.join(unreached)} is down, and servers there may be members" if unreached else ""),
        *group.observed(),
        confidence=Confidence.HIGH if len(group.samples) > 1 else Confidence.MEDIUM,
        measured=(len(group.last), quorum(group.size), "count"),
    )


def _several_leaders(group: MetaSamples, named_in_every_sample: set[str]) -> Finding:
    """Servers name different meta leaders: a failure if they do so in every sample, else possibly an election."""
    if len(group.samples) == 1 or len(named_in_every_sample) < 2:
        return suspected(group.subject, "servers name different meta leaders: one may have changed just then", _AGAIN)
    return failed(
        group.subject,
        f"servers name different meta leaders ({', '.join(sorted(named_in_every_sample))}): the cluster is split, and"
        " only a side with a majority can change anything",
        *group.observed(),
        measured=(len(named_in_every_sample), 1, "count"),
    )


def _with_leader(group: MetaSamples, silence_ns: int) -> Finding:
    silent, leader = group.silent(silence_ns), leader_of(group.last)
    received = group.size - len(silent or ())
    late = sum(is_late(peer, silence_ns) for peer in group.peers)
    if received - late >= quorum(group.size):
        return passed(group.subject)
    if leader and leader.meta and leader.meta.rescue:
        needed = leader.meta.quorum_needed
        return failed(
            group.subject,
            f"the meta group was rescued: {needed} of its {group.size} members elect a leader for some minutes (unsafe)"
            f": {_THEREFORE}",
            leader.observed("meta_cluster.quorum_needed", needed),
            severity=Severity.ERROR,
            measured=(needed, quorum(group.size), "count"),
        )
    if silent is None or received >= quorum(group.size):
        return unknown(
            group.subject, f"the meta leader has had no contact with {late} of its members for some seconds", _AGAIN
        )
    return failed(
        group.subject,
        f"the meta leader reaches only {received - 1} of {group.size - 1} other members: without a majority"
        " nothing can be created or changed, and it steps down if they stay away",
        *group.observed(),
        measured=(received, quorum(group.size), "count"),
    )


@check("cluster_health.meta_leader_missing_refused")
def meta_leader_missing_refused(refusals: ApiRefusals, servers: Servers | None) -> Iterator[Finding]:
    """What a plain account sees of it, where no server reports its meta group: every request is refused (10008)."""
    if servers and meta_groups(servers):
        return
    refused = [{one.account: one for one in of if one.err_code == NO_META_LEADER} for of in refusals.readings]
    for account, last in refused[-1].items():
        times = [of[account].at for of in refused if account in of]
        if len(times) < max(len(refused), _SURE_READINGS):
            yield suspected(CLUSTER, "JetStream refused a request as it has no meta leader: maybe an election", _AGAIN)
            continue
        yield failed(
            CLUSTER,
            "no meta leader: JetStream refuses every request of this account as temporarily unavailable (error "
            "10008): no stream or consumer can be created, changed, listed or moved, and what has lost its majority, "
            "too, takes and delivers nothing",
            Observation(f"account {account}", "STREAM.LIST error.err_code", last.err_code, last.at),
            confidence=Confidence.MEDIUM,
            measured=(len(times), _SURE_READINGS, "count"),
            advice="Start the servers that are down, until more than half of them run; a login of the system account "
            "names them.",
        )


_SURE_READINGS = 2
_THEN = "meanwhile no stream or consumer could be created, changed, deleted, listed or moved"
_CUT_OFF = "the logs of other servers go on without such a loss: requests of its own clients may have failed meanwhile"
_THEREFORE = "what the absent servers stored may be lost; bring them back"
_RESCUED = f"set to a lower quorum (unsafe): {_THEREFORE}"


@check("cluster_health.meta_leader_lost_logged", lines_of="servers")
def meta_leader_lost_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Every server that has no meta leader logs an INF line (server: jetstream_cluster.go)."""
    for incident in log_incidents(logs, "meta-no-leader", "meta-no-contact", subjects=cluster_of):
        if not incident.notable:
            yield passed(CLUSTER)
            continue
        cut_off = incident.unresolved and _others_go_on(logs, incident)
        severity = Severity.ERROR if cut_off else incident.severity()
        what, then = "no meta leader", _THEN
        if cut_off:
            what, then = f"{incident.servers} lost contact with the meta leader", _CUT_OFF
        yield detailed_finding(incident, what, then, severity)
    yield from findings_by_subject(
        log_incidents(logs, "meta-rescue-applied", subjects=cluster_of),
        "the meta group was rescued",
        _RESCUED,
        unresolved=Severity.ERROR,
    )
    for burst in bursts(logs, "meta-transfer-timeout", subjects=cluster_of):
        yield detailed_finding(
            burst, "a meta leader could not hand over", "an election of some seconds followed", Severity.INFO
        )


def _others_go_on(logs: LogEvidence, incident: LogIncident) -> bool:
    """Whether servers that do not miss a leader logged on while these did."""
    missing = {interval.logged_by for interval in incident.unresolved}
    since = min(interval.began.us for interval in incident.unresolved) + YOUNG_US
    return any(server.last and server.last.us > since for server in logs.servers if server.name not in missing)
