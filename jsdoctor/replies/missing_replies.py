"""Gaps of the replies of a sample: members without a reply, replies that cannot be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from jsdoctor.model.exchange import Exchange
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.snapshot import MAX_UNRESPONSIVE, ClusterSnapshot, Consumer, Stream, UnresponsiveAsset
from jsdoctor.replies.decoding import ApiRefusedError, JszReply, ReplyError
from jsdoctor.replies.peers import UNKNOWN_PEER, peer_id
from jsdoctor.replies.torn import is_new

_SHOWN = 5
_REFUSALS = {
    10008: (
        "JetStream has no meta leader here (error 10008: temporarily unavailable)",
        "bring back enough servers for a quorum, wait some seconds for an election, and run again",
    ),
    10039: (
        "JetStream is not enabled for this account (error 10039)",
        "use a login of an account with JetStream, or add 'jetstream: enabled' to this one",
    ),
    10076: (
        "JetStream is not enabled on this server (error 10076)",
        "add a jetstream block to the server's configuration; if it has one, its log shows why JetStream went off",
    ),
}


def silent_members(answered: Collection[tuple[str, str]], replies: Iterable[tuple[str, str, JszReply]]) -> list[Gap]:
    """Members of the meta group that did not respond to a request: one gap each, one for those without a name."""
    names, nameless = _unheard_members(answered, replies)
    gaps = [
        Gap(
            kind="server",
            subject=Subject(kind="server", name=name),
            reason=f"server {name} is a member of the meta group and did not respond",
            how_to_get="start the server or repair its routes; logins of accounts name streams that live only there",
        )
        for name in names
    ]
    return [*gaps, _unnamed(nameless)] if nameless else gaps


def members_without_reply(
    answered: Collection[tuple[str, str]], replies: Iterable[tuple[str, str, JszReply]]
) -> list[Gap]:
    """The gap for members of the meta group without a reply, where servers are queried one by one."""
    names, nameless = _unheard_members(answered, replies)
    count = len(names) + nameless
    if not count:
        return []
    shown = f" ({', '.join(names[:_SHOWN])}{', …' if count > _SHOWN or nameless else ''})" if names else ""
    member = "1 more server is a member" if count == 1 else f"{count} more servers are members"
    return [
        Gap(
            kind="server",
            subject=CLUSTER,
            reason=f"{member} of the meta group and gave no reply{shown}: what only they know is not judged",
            how_to_get="give the monitoring URL of each (--monitor), or use a login of the system account",
            requested=False,
        )
    ]


def _unheard_members(
    answered: Collection[tuple[str, str]], replies: Iterable[tuple[str, str, JszReply]]
) -> tuple[list[str], int]:
    """Members of the meta group that did not respond: names, as far as a reply has them, and how many more.

    `answered` are the servers that responded, by label of their domain and configured name, `replies` their replies.
    There is one meta group per domain.
    On 2.10 only the meta leader names its peers: if it is dead, only `cluster_size` shows that a member is missing.
    """
    received = {(domain, peer_id(name)) for domain, name in answered}
    names: dict[str, str] = {}
    known: dict[str, set[str]] = defaultdict(set)
    sizes: dict[str, int] = defaultdict(int)
    for domain, server, jsz in replies:
        if (meta := jsz.meta_cluster) is None:
            continue
        known[domain].add(peer_id(server))
        sizes[domain] = max(sizes[domain], meta.cluster_size)
        if meta.leader:
            names[peer_id(meta.leader)] = meta.leader
        for peer in meta.replicas:
            if not peer.name.startswith(UNKNOWN_PEER):
                names[peer.peer or peer_id(peer.name)] = peer.name
        known[domain] |= {peer.peer or peer_id(peer.name) for peer in meta.replicas}
        known[domain] |= {peer_id(meta.leader)} if meta.leader else set()
    silent = [peer for domain, peers in known.items() for peer in peers if (domain, peer) not in received]
    nameless = sum(max(0, size - len(known[domain])) for domain, size in sizes.items())
    nameless += len([peer for peer in silent if peer not in names])
    return sorted(names[peer] for peer in silent if peer in names), nameless


def _unnamed(count: int) -> Gap:
    return Gap(
        kind="server",
        subject=CLUSTER,
        reason=f"{count} of the meta group's members did not respond, and no reply lists its members by name",
        how_to_get="start the servers that are down; remove those that will not come back"
        " (nats server cluster peer-remove)",
    )


def missing_leader_gaps(stream: Stream, responders: Collection[str], asked_all: bool) -> list[Gap]:
    """Gaps for a stream, or for consumers of it, whose leader is known and did not report it.

    `responders`: names of the servers that responded; `asked_all`: whether the request went to all servers.
    """
    if stream.has_leader and not stream.from_leader:
        return [_unreported(stream.subject, stream.cluster, responders, asked_all)]
    return [
        _unreported(consumer.subject, consumer.cluster, responders, asked_all)
        for consumer in stream.consumers
        if stream.from_leader and consumer.has_leader and not consumer.from_leader
    ]


def leaderless(snapshot: ClusterSnapshot) -> list[Gap]:
    """Gaps for assets without a leader: their content is unknown, so no rule may call them healthy.

    The rule on leaders alone reports what has an election for a known reason: what was created moments ago, and
    consumers whose members are being exchanged.
    """
    return [
        Gap(
            kind=asset.subject.kind,
            subject=asset.subject,
            reason="it has no leader, so its state cannot be judged",
            how_to_get="bring back the servers that hold it; during an election, run again in ten seconds",
        )
        for stream in snapshot.streams
        for asset in ((stream,) if not stream.has_leader else stream.consumers)
        if not (
            asset.has_leader or is_new(asset) or (isinstance(asset, Consumer) and _exchanges_members(asset, stream))
        )
    ]


def _exchanges_members(consumer: Consumer, stream: Stream) -> bool:
    """Whether it has more members than it is to have: a stream that is moved takes its consumers along.

    The old and the new member of one elected a leader in six seconds, while the stream had one (measured on 2.12.8).
    """
    peers = consumer.cluster.replicas if consumer.cluster and stream.cluster else ()
    members = {consumer.answered_by, *(peer.name for peer in peers)} - {""}
    return len(members) > consumer.config.replicas_on(stream.config)


def _unreported(subject: Subject, cluster: Cluster | None, responders: Collection[str], asked_all: bool) -> Gap:
    leader = cluster.leader if cluster else ""
    if leader in responders:
        reason = f"other servers report {leader} as its leader, and {leader} does not confirm it"
        how_to_get = "run again in some seconds: a server may learn late of a deletion or an election"
    else:
        reason = f"its leader {leader} did not respond"
        how_to_get = (
            f"run again in some seconds: the others elect a new leader if {leader} is gone"
            if asked_all
            else f"add the monitoring URL of {leader} (--monitor), or use a login of the system account"
        )
    return Gap(kind=subject.kind, subject=subject, reason=reason, how_to_get=how_to_get)


def unresponsive_gaps(assets: Sequence[UnresponsiveAsset]) -> Iterator[Gap]:
    """Gaps for assets of which only the names are known; one for all beyond `MAX_UNRESPONSIVE`."""
    for asset in assets[:MAX_UNRESPONSIVE]:
        yield Gap(
            kind=asset.subject.kind,
            subject=asset.subject,
            reason=f"{asset.subject.label} exists but {asset.reason}",
            how_to_get="bring back the servers that hold it",
        )
    if (more := len(assets) - MAX_UNRESPONSIVE) > 0:
        yield Gap(
            kind="stream",
            subject=CLUSTER,
            reason=f"{more} more streams and consumers exist but did not respond",
            how_to_get="bring back the servers that hold them",
        )


def unreadable(exchange: Exchange, error: ReplyError, server: str = "", account: str = "") -> Gap:
    """The gap for a reply that could not be used. `server` is its sender, `account` its account, where known."""
    if isinstance(error, ApiRefusedError) and error.err_code in _REFUSALS:
        reason, how_to_get = _REFUSALS[error.err_code]
        return Gap(kind="access", subject=Subject(kind="account", name=account), reason=reason, how_to_get=how_to_get)
    sender = f" of {server}" if server else ""
    return Gap(
        kind="reply",
        subject=Subject(kind="cluster", name=f"{exchange.target}{sender}"),
        reason=f"the reply{sender} to {exchange.target} could not be used: {error}",
        how_to_get="repeat the run; if it stays, report the server version and this text",
    )
