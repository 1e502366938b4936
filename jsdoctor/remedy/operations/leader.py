"""Moving leaders: of a stream, of a consumer, of the meta group. Leadership is no configuration: nothing to restore."""

from __future__ import annotations

from typing import ClassVar

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.operation import Api, Operation, Standing, StepContext, register

META_LEADER = "$SYS.REQ.SERVER.PING.JSZ"


def leader_of(state: Json) -> str:
    """The leader as INFO names it; empty when there is none."""
    return str((state.get("cluster") or {}).get("leader") or "")


class _StepDown(Operation):
    """`step.base` has the leader at the time of planning; `step.values["preferred"]` who shall lead, if anybody."""

    reversible: ClassVar[bool] = False
    request: ClassVar[str]

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Another leader than the one that was to step down: there is nothing left to do."""
        now, planned = leader_of(state), leader_of(step.base)
        if now and now != planned:
            return Standing.DONE, f"{now} leads, no longer {planned}"
        return Standing.AS_PLANNED, ""

    async def write(self, run: StepContext, before: Json) -> Json:
        """Placement is understood by servers since 2.11; older ones refuse any payload."""
        del before
        preferred = run.step.values.get("preferred")
        payload = {"placement": {"preferred": preferred}} if preferred else None
        return await run.api.ask(
            self.request.format(stream=run.step.subject.stream, name=run.step.subject.name), payload
        )

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Somebody leads, and it is another server, or the one that was preferred."""
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

    async def look(self, step: Step, api: Api) -> Json:
        """STREAM.INFO."""
        return await api.ask(f"STREAM.INFO.{step.subject.name}")


class ConsumerStepDown(_StepDown):
    """The leader of a consumer."""

    name: ClassVar[str] = "consumer.step_down"
    request: ClassVar[str] = "CONSUMER.LEADER.STEPDOWN.{stream}.{name}"

    async def look(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO."""
        return await api.ask(f"CONSUMER.INFO.{step.subject.stream}.{step.subject.name}")


class MetaStepDown(_StepDown):
    """The leader of the meta group: asked of and told to the system account."""

    name: ClassVar[str] = "meta.step_down"
    request: ClassVar[str] = "META.LEADER.STEPDOWN"

    async def look(self, step: Step, api: Api) -> Json:
        """What the first server to answer says of the meta group."""
        del step
        reply = await api.request(META_LEADER)
        return {"cluster": (reply.get("data") or {}).get("meta_cluster") or {}}


register(StreamStepDown())
register(ConsumerStepDown())
register(MetaStepDown())
