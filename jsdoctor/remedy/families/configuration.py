"""Changing keys of the configuration of a stream or consumer, and putting them back.

There is no compare-and-swap in the API: the whole configuration is read, a key is changed, the whole is sent, and what
the server then has is compared with what it should have. Keys that we know nothing of survive.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from jsdoctor.model.plan import Change, Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.setting import FieldKind, FieldRow
from jsdoctor.remedy.operation import Operation, Standing, StepContext, StepRefusedError
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.preconditions import LED
from jsdoctor.remedy.replies import changed, differences, is_set, restored, told

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000


class ConfigurationUpdate(Operation):
    """What streams and consumers have in common. `step.base` holds their `config`."""

    @abstractmethod
    def update(self, step: Step, config: Json) -> Request:
        """The request that makes the server take this whole configuration."""

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """The whole configuration, with the changed keys."""
        return (self.update(step, changed(state["config"], step.changes)),)

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        """The whole configuration, with the changed keys as they were."""
        return (self.update(step, restored(state["config"], step.changes, before["config"])),)

    def expected(self, step: Step, state: Json) -> Json:
        """The configuration with the changed keys."""
        return {**state, "config": changed(state["config"], step.changes)}

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
        now = (await self.read_state(run.step, run.api))["config"]
        if is_set(now, run.step.changes):
            return {}
        if meanwhile := differences(before["config"], now):
            raise StepRefusedError(f"another client is changing it: {told(meanwhile)}")
        return await run.send(self.requests(run.step, {"config": now}))

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
        state = await self.read_state(run.step, run.api)
        if not self.not_undone(run.step, before, state):
            return
        if not is_set(state["config"], run.step.changes):
            ours = {change.key for change in run.step.changes}
            changed_fields = [c for c in differences(before["config"], state["config"]) if c.key in ours]
            raise StepRefusedError(f"another client has changed it since: {told(changed_fields)}")
        self.refuse_loss(restored(state["config"], run.step.changes, before["config"]), state)
        await run.send(self.undo_requests(run.step, before, state))

    def refuse_loss(self, target: Json, state: Json) -> None:
        """Raises StepRefusedError if the former configuration would delete messages that are stored now."""

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


def update_step(
    target: Target,
    operation: ConfigurationUpdate,
    action: str,
    *changes: Change,
    risk: Risk,
    effect: str,
    preconditions: tuple[Precondition, ...] = (),
    patience_s: int = 30,
) -> tuple[Step, ...]:
    """One update. Raises CannotPlanError where it would change nothing."""
    if not target.config:
        raise CannotPlanError("its configuration was not seen")
    if is_set(target.config, changes):
        raise CannotPlanError(f"it is so already ({told(changes)})")
    step = Step(
        action=action,
        operation=operation.name,
        subject=target.subject,
        risk=risk,
        effect=effect,
        changes=changes,
        base={"config": target.config},
        preconditions=(LED, *preconditions),
        inverse=f"the same update with {', '.join(change.key for change in changes)} as before",
        patience_s=patience_s,
    )
    return (step,)


def change(target: Target, key: str, after: Any) -> Change:
    """A key from what it is to what it shall be."""
    return Change(key, target.config.get(key), after)


def key_of(name: str) -> str:
    """The key of the configuration that a value of a finding or of a person sets; `_s` are seconds."""
    return "num_replicas" if name == "replicas" else name.removesuffix("_s")


def settings(values: Mapping[str, Any], names: Iterable[str]) -> Json:
    """What these of the values set, by key of the configuration: the server takes nanoseconds."""
    return {
        key_of(name): values[name] * NS_PER_S if name.endswith("_s") else values[name]
        for name in names
        if name in values
    }


def flag(field: FieldRow, after: Any) -> str:
    """The flag of `nats stream edit` or `nats consumer edit` that sets a field."""
    named = field.setting.flag
    if isinstance(named, tuple):
        return named[0] if after else named[1]
    return f"{named}={duration(after) if field.kind is FieldKind.DURATION else after}"


def duration(ns: int) -> str:
    """Nanoseconds as the `nats` command takes them: `90s`, `100ms`."""
    return f"{ns // NS_PER_S}s" if ns % NS_PER_S == 0 else f"{ns // NS_PER_MS}ms"
