"""Changing keys of the configuration of a stream or consumer, and putting them back.

There is no compare-and-swap in the API: the whole configuration is read, a key is changed, the whole is sent, and what
the server then has is compared with what it should have. Keys that we know nothing of survive.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.operation import Api, Operation, Standing, StepContext, StepRefusedError, register
from jsdoctor.remedy.settings import changed, differences, is_set, restored, told, would_delete


class _Configuration(Operation):
    """What streams and consumers have in common. `step.base` holds their `config`."""

    @abstractmethod
    async def send(self, step: Step, config: Json, api: Api) -> Json:
        """Have the server take this whole configuration."""

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Drift is any key that is not as planned, but for what other steps of the plan may have changed."""
        config = state["config"]
        ours = {change.key for change in step.changes}
        others = [
            change
            for change in differences(step.base["config"], config)
            if change.key not in ours and change.after not in step.tolerates.get(change.key, ())
        ]
        if others:
            return Standing.DRIFTED, f"changed since the plan was made: {told(others)}"
        if is_set(config, step.changes):
            return Standing.DONE, "the configuration is so already"
        drifted = [c for c in differences(step.base["config"], config) if c.key in ours]
        if drifted:
            return Standing.DRIFTED, f"changed since the plan was made: {told(drifted)}"
        return Standing.AS_PLANNED, ""

    async def write(self, run: StepContext, before: Json) -> Json:
        """One update, of what is there at this very moment: an update sends everything, so it would undo others'."""
        now = (await self.look(run.step, run.api))["config"]
        if is_set(now, run.step.changes):
            return {}
        if meanwhile := differences(before["config"], now):
            raise StepRefusedError(f"somebody else is changing it: {told(meanwhile)}")
        return await self.send(run.step, changed(now, run.step.changes), run.api)

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The change shows, and where replicas are added all of them have caught up."""
        del before
        if not is_set(state["config"], step.changes):
            return "the configuration does not show the change yet"
        return _copying(step, state)

    def broken(self, step: Step, before: Json, state: Json) -> str:
        """Any other key that the update has changed."""
        ours = {change.key for change in step.changes}
        more = [change for change in differences(before["config"], state["config"]) if change.key not in ours]
        return f"the update has changed more than it should: {told(more)}" if more else ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Put our keys back, and no others: what somebody else has changed meanwhile is theirs."""
        state = await self.look(run.step, run.api)
        if not self.not_undone(run.step, before, state):
            return
        if not is_set(state["config"], run.step.changes):
            ours = {change.key for change in run.step.changes}
            found = [c for c in differences(before["config"], state["config"]) if c.key in ours]
            raise StepRefusedError(f"somebody else has changed it since: {told(found)}")
        target = restored(state["config"], run.step.changes, before["config"])
        self.refuse_loss(target, state)
        await self.send(run.step, target, run.api)

    def refuse_loss(self, target: Json, state: Json) -> None:
        """Raises RefusedError where the former configuration would delete messages that are there now."""

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """Our keys as they were before."""
        ours = {change.key for change in step.changes}
        left = [change for change in differences(before["config"], state["config"]) if change.key in ours]
        return told(left)


def _copying(step: Step, state: Json) -> str:
    """What a change of replicas waits for (INFO lists the leader's peers, without itself)."""
    wanted = next((change.after for change in step.changes if change.key == "num_replicas"), None)
    if wanted is None:
        return ""
    cluster = state.get("cluster") or {}
    peers = cluster.get("replicas") or ()
    if not cluster.get("leader"):
        return "there is no leader yet"
    if len(peers) + 1 != wanted:
        return f"{len(peers) + 1} of {wanted} replicas are there"
    behind = [str(peer.get("name")) for peer in peers if peer.get("offline") or not peer.get("current")]
    return f"still copying to {', '.join(behind)}" if behind else ""


class StreamConfiguration(_Configuration):
    """Keys of a stream (`$JS.API.STREAM.UPDATE`)."""

    name: ClassVar[str] = "stream.update"

    async def look(self, step: Step, api: Api) -> Json:
        """STREAM.INFO."""
        return await api.ask(f"STREAM.INFO.{step.subject.name}")

    async def send(self, step: Step, config: Json, api: Api) -> Json:
        """STREAM.UPDATE."""
        return await api.ask(f"STREAM.UPDATE.{step.subject.name}", config)

    def refuse_loss(self, target: Json, state: Json) -> None:
        """What came since may not fit any more."""
        if loss := would_delete(target, state):
            raise StepRefusedError(f"left as it is, because {loss}")


class ConsumerConfiguration(_Configuration):
    """Keys of a consumer (`$JS.API.CONSUMER.CREATE` with the action `update`, nats-server 2.10+)."""

    name: ClassVar[str] = "consumer.update"

    async def look(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO."""
        return await api.ask(f"CONSUMER.INFO.{step.subject.stream}.{step.subject.name}")

    async def send(self, step: Step, config: Json, api: Api) -> Json:
        """CONSUMER.CREATE, which never creates: with that action a missing consumer is an error."""
        payload = {"stream_name": step.subject.stream, "config": config, "action": "update"}
        return await api.ask(f"CONSUMER.CREATE.{step.subject.stream}.{step.subject.name}", payload)


register(StreamConfiguration())
register(ConsumerConfiguration())
