"""Leaders of a stream, of a consumer and of the meta group, and servers that lead too many streams.

Leadership is no configuration: there is nothing to restore.
"""

from __future__ import annotations

from collections import Counter

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.plan import Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import Stream
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.operation import Action, CannotPlanError, Operation, Standing, Target, Values, shell_commands
from jsdoctor.remedy.preconditions import CLUSTERED
from jsdoctor.remedy.proof import SERVED

META_LEADER = "$SYS.REQ.SERVER.PING.JSZ"
_PLACEMENT_VERSION = (2, 11)


def _leader_of(state: Json) -> str:
    """The leader as INFO names it; empty when there is none."""
    return str((state.get("cluster") or {}).get("leader") or "")


class _StepDown(Operation):
    """`step.base` has the leader at the time of planning; `step.values["preferred"]` the preferred new one, if any."""

    step_risk = Risk.DISRUPTIVE
    effect = "another server takes over: nothing is delivered or stored for a moment, and some messages come twice"
    preconditions: tuple[Precondition, ...] = (CLUSTERED,)
    reversible = False
    request: str

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """Servers since 2.11 support placement; older ones refuse any payload."""
        preferred = step.values.get("preferred")
        payload = {"placement": {"preferred": preferred}} if preferred else None
        return (Request(self.request.format(stream=step.subject.stream, name=step.subject.name), payload),)

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Already done if the leader is not the one that was to step down."""
        now, planned = _leader_of(state), _leader_of(step.base)
        if now and now != planned:
            return Standing.DONE, f"{now} leads, no longer {planned}"
        return Standing.AS_PLANNED, ""

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Wait for a leader that is another server, or the preferred one."""
        now, wanted = _leader_of(state), step.values.get("preferred")
        if not now:
            return "no leader is elected yet"
        if wanted and now != wanted:
            return f"{now} leads, not yet {wanted}"
        return f"{now} still leads" if now == _leader_of(before) else ""


class StreamStepDown(_StepDown):
    """The leader of a stream. Values: `to`, the server that shall lead (2.11+)."""

    name, risk, operation = "stream.step_down", Risk.DISRUPTIVE, "stream.step_down"
    request = "STREAM.LEADER.STEPDOWN.{name}"

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        to = values.get("preferred") or values.get("to")
        return shell_commands(subject, "nats stream cluster step-down {name}" + " --preferred={to}" * bool(to), to=to)

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        if target.stream is None:
            raise CannotPlanError("the stream was not seen")
        return (self.of_stream(target.stream, target, str(values.get("to") or "")),)

    def of_stream(self, stream: Stream, target: Target, to: str) -> Step:
        """The step for one stream."""
        wanted = to if target.version[:2] >= _PLACEMENT_VERSION else ""
        any_server = f"{self.effect}; which one, servers before 2.11 decide: it may be another than {to}"
        return self.step(
            target,
            action="stream.step_down",
            effect=any_server if to and not wanted else self.effect,
            subject=Subject(kind="stream", name=stream.name, account=stream.account),
            values={"preferred": wanted} if wanted else {},
            base=_base_with_leader(stream.cluster, wanted),
        )


class Balance(StreamStepDown):
    """Streams of the server that leads too many, each to the one of its replicas that leads the fewest.

    Each stream whose leader is moved is without one for a moment. It moves leaders, not data.
    """

    name, risk = "cluster.balance", Risk.DISRUPTIVE

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return shell_commands(subject, "nats server report jetstream", "nats stream cluster balance")

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        name, steps = target.subject.name, []
        placed = [s for s in target.streams if s.cluster and s.cluster.leader and s.cluster.replicas]
        counts = Counter({peer.name: 0 for s in placed for peer in (s.cluster.replicas if s.cluster else ())})
        counts.update(s.cluster.leader for s in placed if s.cluster)
        for stream in placed:
            if stream.cluster is None or stream.cluster.leader != name:
                continue
            able = [peer.name for peer in stream.cluster.replicas if peer.current and not peer.offline]
            to = min(able, key=lambda peer: (counts[peer], peer), default="")
            if to and counts[to] + 1 < counts[name]:
                counts[to] += 1
                counts[name] -= 1
                steps.append(self.of_stream(stream, target, to))
        if not steps:
            raise CannotPlanError("no stream that it leads has a replica that leads fewer")
        return tuple(steps)


class ConsumerStepDown(_StepDown):
    """The leader of a consumer. Deliveries pause for about a second, some are repeated."""

    name, risk, improvement = "consumer.step_down", Risk.DISRUPTIVE, SERVED
    request = "CONSUMER.LEADER.STEPDOWN.{stream}.{name}"

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return shell_commands(
            subject, "nats consumer info {stream} {name}", "nats consumer cluster step-down {stream} {name}"
        )

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        if target.consumer is None:
            raise CannotPlanError("the consumer was not seen")
        return (self.step(target, base=_base_with_leader(target.consumer.cluster)),)


class MetaStepDown(_StepDown):
    """The leader of the meta group, read and changed with a login of the system account."""

    name, operation = "cluster.step_down_meta", "meta.step_down"
    effect = "another server leads the meta group: streams and consumers cannot be created for a moment"
    preconditions = ()
    request = "META.LEADER.STEPDOWN"

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return shell_commands(subject, "nats server cluster step-down")

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        """The leader at the time of planning comes from the servers' reports."""
        servers = target.evidence.get(Servers)
        leaders = {
            server.jetstream.meta_cluster.leader
            for server in (servers.servers if servers is not None else ())
            if server.jetstream and server.jetstream.meta_cluster and server.jetstream.meta_cluster.leader
        }
        if len(leaders) != 1:
            raise CannotPlanError(
                "it takes a login of the system account and one meta leader on which all servers agree"
            )
        return (self.step(target, base={"cluster": {"leader": leaders.pop()}}),)

    async def read_state(self, step: Step, api: Api) -> Json:
        """The meta group as reported by the first server that responds."""
        reply = await api.request(META_LEADER)
        return {"cluster": (reply.get("data") or {}).get("meta_cluster") or {}}


def _base_with_leader(cluster: Cluster | None, wanted: str = "") -> Json:
    """The present leader as INFO names it. Raises CannotPlanError if no other replica can lead, or not `wanted`."""
    if cluster is None or not cluster.replicas:
        raise CannotPlanError("it has one replica: no other replica can lead it")
    if not cluster.leader:
        raise CannotPlanError("it has no leader that could step down")
    peers = {peer.name for peer in cluster.replicas}
    if wanted and wanted not in peers:
        raise CannotPlanError(f"{wanted} holds no replica of it (those are {', '.join(sorted(peers))})")
    return {"cluster": {"leader": cluster.leader}}


ACTIONS: tuple[Action, ...] = (StreamStepDown(), ConsumerStepDown(), MetaStepDown(), Balance())
