"""Leaders of a stream, of a consumer and of the meta group, and servers that lead too many streams.

Leadership is no configuration: there is nothing to restore.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.plan import Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import Stream
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.family import Action, Family, command
from jsdoctor.remedy.operation import Operation, Standing
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.preconditions import CLUSTERED
from jsdoctor.remedy.proof import SERVED

META_LEADER = "$SYS.REQ.SERVER.PING.JSZ"
_PREFERS = (2, 11)
_EFFECT = "another server takes over: nothing is delivered or stored for a moment, and some messages come twice"


def leader_of(state: Json) -> str:
    """The leader as INFO names it; empty when there is none."""
    return str((state.get("cluster") or {}).get("leader") or "")


class _StepDown(Operation):
    """`step.base` has the leader at the time of planning; `step.values["preferred"]` the preferred new one, if any."""

    reversible: ClassVar[bool] = False
    request: ClassVar[str]

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """Servers since 2.11 support placement; older ones refuse any payload."""
        del state
        preferred = step.values.get("preferred")
        payload = {"placement": {"preferred": preferred}} if preferred else None
        return (Request(self.request.format(stream=step.subject.stream, name=step.subject.name), payload),)

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Already done if the leader is not the one that was to step down."""
        now, planned = leader_of(state), leader_of(step.base)
        if now and now != planned:
            return Standing.DONE, f"{now} leads, no longer {planned}"
        return Standing.AS_PLANNED, ""

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Wait for a leader that is another server, or the preferred one."""
        now, wanted = leader_of(state), step.values.get("preferred")
        if not now:
            return "no leader is elected yet"
        if wanted and now != wanted:
            return f"{now} leads, not yet {wanted}"
        return f"{now} still leads" if now == leader_of(before) else ""


class StreamStepDown(_StepDown):
    """The leader of a stream."""

    name: ClassVar[str] = "stream.step_down"
    request: ClassVar[str] = "STREAM.LEADER.STEPDOWN.{name}"

    def commands(self, step: Step) -> tuple[str, ...]:
        """The same with the CLI."""
        return _stream(step.subject, step.values.get("preferred"))

    async def read_state(self, step: Step, api: Api) -> Json:
        """STREAM.INFO."""
        return await api.ask(f"STREAM.INFO.{step.subject.name}")


class ConsumerStepDown(_StepDown):
    """The leader of a consumer."""

    name: ClassVar[str] = "consumer.step_down"
    request: ClassVar[str] = "CONSUMER.LEADER.STEPDOWN.{stream}.{name}"

    def commands(self, step: Step) -> tuple[str, ...]:
        """The same with the CLI, after a look."""
        return _consumer(step.subject)

    async def read_state(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO."""
        return await api.ask(f"CONSUMER.INFO.{step.subject.stream}.{step.subject.name}")


class MetaStepDown(_StepDown):
    """The leader of the meta group, read and changed with the system account."""

    name: ClassVar[str] = "meta.step_down"
    request: ClassVar[str] = "META.LEADER.STEPDOWN"

    def commands(self, step: Step) -> tuple[str, ...]:
        """The same with the CLI, with a login of the system account."""
        del step
        return _meta()

    async def read_state(self, step: Step, api: Api) -> Json:
        """The meta group as reported by the first server that responds."""
        del step
        reply = await api.request(META_LEADER)
        return {"cluster": (reply.get("data") or {}).get("meta_cluster") or {}}


def _stream(subject: Subject, preferred: object = None) -> tuple[str, ...]:
    to = (f"--preferred={preferred}",) if preferred else ()
    return (command("nats", "stream", "cluster", "step-down", subject.name, *to),)


def _consumer(subject: Subject) -> tuple[str, ...]:
    """Another server becomes leader of the consumer; deliveries pause for about a second, some are repeated."""
    return (
        command("nats", "consumer", "info", subject.stream, subject.name),
        command("nats", "consumer", "cluster", "step-down", subject.stream, subject.name),
    )


def _meta() -> tuple[str, ...]:
    return (command("nats", "server", "cluster", "step-down"),)


def _offer_stream(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `to`, the server that shall lead (2.11+)."""
    return _stream(subject, values.get("to"))


def _offer_consumer(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del values
    return _consumer(subject)


def _offer_meta(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del subject, values
    return _meta()


def _offer_balance(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Each stream whose leader is moved is without one for a moment. It moves leaders, not data, of the account."""
    del subject, values
    return (command("nats", "server", "report", "jetstream"), command("nats", "stream", "cluster", "balance"))


def _plan_stream_step_down(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of one stream."""
    if target.stream is None:
        raise CannotPlanError("the stream was not seen")
    return (_of_stream(target.stream, target, str(values.get("to") or "")),)


def _plan_consumer_step_down(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of one consumer."""
    del values
    if target.consumer is None:
        raise CannotPlanError("the consumer was not seen")
    leader = _leader(target.consumer.cluster)
    step = Step(
        action="consumer.step_down",
        operation="consumer.step_down",
        subject=target.subject,
        risk=Risk.DISRUPTIVE,
        effect=_EFFECT,
        base={"cluster": {"leader": leader}},
        preconditions=(CLUSTERED,),
    )
    return (step,)


def _plan_meta_step_down(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of the meta group; the leader at the time of planning comes from the servers' reports."""
    del values
    servers = target.evidence.get(Servers)
    seen = servers.servers if servers is not None else ()
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
    )
    return (step,)


def _plan_balance(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
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
    )


def _leader(cluster: Cluster | None, wanted: str = "") -> str:
    if cluster is None or not cluster.replicas:
        raise CannotPlanError("it has one replica: no other replica can lead it")
    if not cluster.leader:
        raise CannotPlanError("it has no leader that could step down")
    peers = {peer.name for peer in cluster.replicas}
    if wanted and wanted not in peers:
        raise CannotPlanError(f"{wanted} holds no replica of it (those are {', '.join(sorted(peers))})")
    return cluster.leader


FAMILY = Family(
    "leader",
    actions=(
        Action("stream.step_down", Risk.MANUAL, _offer_stream, _plan_stream_step_down),
        Action("consumer.step_down", Risk.DISRUPTIVE, _offer_consumer, _plan_consumer_step_down, SERVED),
        Action("cluster.step_down_meta", Risk.MANUAL, _offer_meta, _plan_meta_step_down),
        Action("cluster.balance", Risk.DISRUPTIVE, _offer_balance, _plan_balance),
    ),
    operations=(StreamStepDown(), ConsumerStepDown(), MetaStepDown()),
)
