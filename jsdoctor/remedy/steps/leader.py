"""Steps that move leaders: of a stream, a consumer, the meta group, and streams of which one server leads too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.plan import Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import Stream
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.preconditions import CLUSTERED

_PREFERS = (2, 11)
_EFFECT = "another server takes over: nothing is delivered or stored for a moment, and some messages come twice"


def _preferred(values: Mapping[str, Any]) -> tuple[str, ...]:
    return (f"--preferred={values['to']}",) if values.get("to") else ()


@action("stream.step_down", Risk.MANUAL)
def _stream_step_down(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `to`, the server that shall lead (2.11+)."""
    return (command("nats", "stream", "cluster", "step-down", subject.name, *_preferred(values)),)


@action("cluster.step_down_meta", Risk.MANUAL)
def _meta_step_down(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """With a login of the system account."""
    del subject, values
    return (command("nats", "server", "cluster", "step-down"),)


@plans("stream.step_down")
def stream_step_down(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of one stream."""
    if target.stream is None:
        raise CannotPlanError("the stream was not seen")
    return (_of_stream(target.stream, target, str(values.get("to") or "")),)


@plans("consumer.step_down")
def consumer_step_down(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of one consumer."""
    del values
    if target.consumer is None:
        raise CannotPlanError("the consumer was not seen")
    leader = _leader(target.consumer.cluster)
    subject = target.subject
    step = Step(
        action="consumer.step_down",
        operation="consumer.step_down",
        subject=subject,
        risk=Risk.DISRUPTIVE,
        effect=_EFFECT,
        base={"cluster": {"leader": leader}},
        preconditions=(CLUSTERED,),
        requests=(Request(f"CONSUMER.LEADER.STEPDOWN.{subject.stream}.{subject.name}"),),
    )
    return (step,)


@plans("cluster.step_down_meta")
def meta_step_down(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of the meta group; the leader at the time of planning is read from what the servers say of it."""
    del values
    servers = target.evidence.get(Servers)
    seen = servers.servers if isinstance(servers, Servers) else ()
    leaders = {
        server.jetstream.meta_cluster.leader
        for server in seen
        if server.jetstream and server.jetstream.meta_cluster and server.jetstream.meta_cluster.leader
    }
    if len(leaders) != 1:
        raise CannotPlanError("it takes a login of the system account and one meta leader on which all servers agree")
    step = Step(
        action="cluster.step_down_meta",
        operation="meta.step_down",
        subject=target.subject,
        risk=Risk.DISRUPTIVE,
        effect="another server leads the meta group: streams and consumers cannot be created for a moment",
        base={"cluster": {"leader": leaders.pop()}},
        requests=(Request("META.LEADER.STEPDOWN"),),
    )
    return (step,)


@plans("cluster.balance")
def balance(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Streams of the server that leads too many, each to the one of its replicas that leads the fewest."""
    del values
    moves = tuple(_moves(target))
    if not moves:
        raise CannotPlanError("no stream that it leads has a replica that leads fewer")
    return tuple(_of_stream(stream, target, to) for stream, to in moves)


def _moves(target: Target) -> Iterator[tuple[Stream, str]]:
    name = target.subject.name
    placed = [s for s in target.streams if s.cluster and s.cluster.leader and s.cluster.replicas]
    counts = Counter({peer.name: 0 for s in placed for peer in (s.cluster.replicas if s.cluster else ())})
    counts.update(s.cluster.leader for s in placed if s.cluster)
    for stream in placed:
        cluster = stream.cluster
        if cluster is None or cluster.leader != name:
            continue
        able = [peer.name for peer in cluster.replicas if peer.current and not peer.offline]
        to = min(able, key=lambda peer: (counts[peer], peer), default="")
        if to and counts[to] + 1 < counts[name]:
            counts[to] += 1
            counts[name] -= 1
            yield stream, to


def _of_stream(stream: Stream, target: Target, to: str) -> Step:
    wanted = to if target.version[:2] >= _PREFERS else ""
    leader = _leader(stream.cluster, wanted)
    subject = Subject(kind="stream", name=stream.name, account=stream.account)
    return Step(
        action="stream.step_down",
        operation="stream.step_down",
        subject=subject,
        risk=Risk.DISRUPTIVE,
        effect=_EFFECT,
        values={"preferred": wanted} if wanted else {},
        base={"cluster": {"leader": leader}},
        preconditions=(CLUSTERED,),
        commands=_stream_step_down(subject, {"to": wanted}),
        requests=(
            Request(f"STREAM.LEADER.STEPDOWN.{stream.name}", {"placement": {"preferred": wanted}} if wanted else None),
        ),
    )


def _leader(cluster: Cluster | None, wanted: str = "") -> str:
    if cluster is None or not cluster.replicas:
        raise CannotPlanError("it has one replica: there is nobody else to lead it")
    if not cluster.leader:
        raise CannotPlanError("it has no leader that could step down")
    peers = {peer.name for peer in cluster.replicas}
    if wanted and wanted not in peers:
        raise CannotPlanError(f"{wanted} holds no replica of it (those are {', '.join(sorted(peers))})")
    return cluster.leader
