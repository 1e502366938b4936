"""Settings of streams and consumers: one update with the changed keys, which is one edit of `nats` with their flags.

There is no compare-and-swap in the API: the whole configuration is read, a key is changed, the whole is sent, and what
the server then has is compared with what it should have. Keys that we know nothing of survive.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.plan import Change, Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.setting import FieldKind, rows
from jsdoctor.remedy.offer import SeenState
from jsdoctor.remedy.operation import (
    Action,
    CannotPlanError,
    Operation,
    Standing,
    StepContext,
    StepRefusedError,
    Target,
    Values,
    command,
    path_of,
    shell_commands,
    show_command,
    whole_number,
)
from jsdoctor.remedy.preconditions import LED, PEERS_CURRENT, UNSEALED, keeps_all, would_delete
from jsdoctor.remedy.proof import COPIES, DELIVERED_ONCE, SERVED, TAKES_PUBLISHES
from jsdoctor.remedy.replies import behind, changed, changes_text, differences, is_set, restored

_NS_PER_S = 1_000_000_000
_NS_PER_MS = 1_000_000
_MIN_WINDOW_NS = 100_000_000
_COPIES_REPEATED_IDS = (2, 12, 8)
_SHARE_OF_ROOM = 0.5
"""Least share of max_bytes that max_msg_size may be set to: a smaller one refuses what the stream can hold."""

BUCKET_FLAGS = {"max_bytes": "--max-bucket-size", "num_replicas": "--replicas"}
"""The flags of `nats kv edit` and `nats object edit`. A bucket has no setting for its number of messages."""


class ConfigurationUpdate(Operation):
    """An update of one configuration. `names` are the values that it sets, and `step.base` holds the `config`."""

    names: tuple[str, ...] = ()

    @abstractmethod
    def edit(self, subject: Subject, wanted: Json, *, no_ack: bool) -> tuple[str, ...]:
        """The command that sets these keys. `no_ack`: the stream sends no acknowledgements."""

    @abstractmethod
    def update(self, step: Step, config: Json) -> Request:
        """The request that makes the server take this whole configuration."""

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """The edit where values are given, or a look where none is."""
        wanted = _settings(values, self.names)
        return self.edit(subject, wanted, no_ack=bool(values.get("no_ack"))) if wanted else show_command(subject)

    def commands_of(self, step: Step) -> tuple[str, ...]:
        wanted = {change.key: change.after for change in step.changes}
        return self.edit(step.subject, wanted, no_ack=bool(step.base["config"].get("no_ack")))

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        return self.update_step(target, self.changes(target, values))

    def changes(self, target: Target, values: Values) -> list[Change]:
        """The keys that the values set, all of which it needs. Raises CannotPlanError."""
        wanted = _settings({name: whole_number(values, name) for name in self.names}, self.names)
        return [_change(target, key, after) for key, after in wanted.items()]

    def update_step(self, target: Target, changes: Sequence[Change], **more: Any) -> tuple[Step, ...]:
        """One update. Raises CannotPlanError where it would change nothing."""
        if not target.config:
            raise CannotPlanError("its configuration was not seen")
        if is_set(target.config, changes):
            raise CannotPlanError(f"it is so already ({changes_text(changes)})")
        inverse = f"the same update with {', '.join(change.key for change in changes)} as before"
        base = {"config": target.config}
        return (self.step(target, changes=tuple(changes), base=base, inverse=inverse, **more),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        return (self.update(step, changed(state["config"], step.changes)),)

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        """The whole configuration, with the changed keys as they were."""
        return (self.update(step, restored(state["config"], step.changes, before["config"])),)

    def expected(self, step: Step, state: Json) -> Json:
        return {**state, "config": changed(state["config"], step.changes)}

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Drift is any key that is not as planned, but for what other steps of the plan may have changed."""
        ours, others = _own_and_other_differences(step, step.base, state)
        drifted = [change for change in others if change.after not in step.tolerates.get(change.key, ())]
        if not drifted and is_set(state["config"], step.changes):
            return Standing.DONE, "the configuration is so already"
        if drifted := drifted or ours:
            return Standing.DRIFTED, f"changed since the plan was made: {changes_text(drifted)}"
        return Standing.AS_PLANNED, ""

    async def write(self, run: StepContext, before: Json) -> Json:
        """Update the configuration as read right now: an update sends all keys, so an older one would undo others'."""
        now = (await self.read_state(run.step, run.api))["config"]
        if is_set(now, run.step.changes):
            return {}
        if meanwhile := differences(before["config"], now):
            raise StepRefusedError(f"another client is changing it: {changes_text(meanwhile)}")
        return await run.send(self.requests(run.step, {"config": now}))

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The change shows, and where replicas are added all of them have caught up (INFO lists the leader's peers)."""
        if not is_set(state["config"], step.changes):
            return "the configuration does not show the change yet"
        wanted = next((change.after for change in step.changes if change.key == "num_replicas"), None)
        return "" if wanted is None else _incomplete(wanted, state)

    def broken(self, step: Step, before: Json, state: Json) -> str:
        _, others = _own_and_other_differences(step, before, state)
        return f"the update has changed more than it should: {changes_text(others)}" if others else ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Put our keys back, and no others: what somebody else has changed meanwhile is theirs."""
        state = await self.read_state(run.step, run.api)
        if not (differing := _own_and_other_differences(run.step, before, state)[0]):
            return
        if not is_set(state["config"], run.step.changes):
            raise StepRefusedError(f"another client has changed it since: {changes_text(differing)}")
        if loss := self.loss(restored(state["config"], run.step.changes, before["config"]), state):
            raise StepRefusedError(f"left as it is, because {loss}")
        await run.send(self.undo_requests(run.step, before, state))

    def loss(self, target: Json, state: Json) -> str:
        """What the former configuration would delete of what is stored now, as text; empty if nothing."""
        return ""

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """How the keys of the step differ from before, or which replicas are not there again."""
        if differing := _own_and_other_differences(step, before, state)[0]:
            return changes_text(differing)
        replicas = any(change.key == "num_replicas" for change in step.changes)
        return _incomplete(before["config"].get("num_replicas") or 1, state) if replicas else ""


def _incomplete(replicas: int, state: Json) -> str:
    """Which of so many replicas are not there or have not caught up (INFO lists the leader's peers); empty if none."""
    cluster = state.get("cluster") or {}
    peers = cluster.get("replicas") or ()
    if not cluster.get("leader"):
        return "there is no leader yet"
    if len(peers) + 1 != replicas:
        return f"{len(peers) + 1} of {replicas} replicas are there"
    return f"still copying to {', '.join(late)}" if (late := behind(peers)) else ""


def _require_higher(changes: Iterable[Change]) -> None:
    """Raise CannotPlanError for a value that is no higher than the present one. Zero and less are no limit."""
    for change in changes:
        if (change.before or 0) <= 0 or change.after <= (change.before or 0):
            raise CannotPlanError(f"{changes_text([change])} would be no higher limit")


def _own_and_other_differences(step: Step, before: Json, state: Json) -> tuple[list[Change], list[Change]]:
    """What differs between two states: in the keys of the step, and in others."""
    keys = {change.key for change in step.changes}
    found = differences(before["config"], state["config"])
    return [change for change in found if change.key in keys], [change for change in found if change.key not in keys]


def _change(target: Target, key: str, after: Any) -> Change:
    """A key from what it is to what it shall be."""
    return Change(key, target.config.get(key), after)


def _settings(values: Values, names: Iterable[str]) -> Json:
    """What these of the values set, by key of the configuration: `_s` are seconds, and the server takes nanoseconds."""
    wanted = {}
    for name in names:
        if name in values:
            key = "num_replicas" if name == "replicas" else name.removesuffix("_s")
            wanted[key] = values[name] * _NS_PER_S if name.endswith("_s") else values[name]
    return wanted


def _flags(kind: type[StreamConfig | ConsumerConfig], wanted: Json) -> list[str]:
    """The flags of `nats stream edit` or `nats consumer edit` that set these keys."""
    flags = []
    for row in rows(kind):
        if (named := row.setting.flag) and row.name in wanted:
            after = wanted[row.name]
            if isinstance(named, tuple):
                flags.append(named[0] if after else named[1])
            else:
                flags.append(f"{named}={_duration(after) if row.kind is FieldKind.DURATION else after}")
    return flags


def _duration(ns: int) -> str:
    """Nanoseconds as the `nats` command takes them: `90s`, `100ms`."""
    return f"{ns // _NS_PER_S}s" if ns % _NS_PER_S == 0 else f"{ns // _NS_PER_MS}ms"


def edit_stream(subject: Subject, wanted: Json, *flags: str, no_ack: bool = False) -> tuple[str, ...]:
    """The edit that sets these keys, without prompts; empty if no command can set them.

    Unless `--no-ack` is given, the CLI turns acknowledgements on with any edit, so a stream that has them off
    (`no_ack`) needs it. Without a terminal, the CLI refuses to edit a key-value bucket as a stream.
    """
    for prefix, kind in (("KV_", "kv"), ("OBJ_", "object")):
        if subject.name.startswith(prefix) and not flags and wanted.keys() <= {"max_msgs", *BUCKET_FLAGS}:
            known = [f"{name}={wanted[key]}" for key, name in BUCKET_FLAGS.items() if key in wanted]
            return (command("nats", kind, "edit", subject.name.removeprefix(prefix), *known),) if known else ()
    keep = ("--no-ack",) if no_ack and "no_ack" not in wanted else ()
    given = _flags(StreamConfig, wanted)
    return (command("nats", "stream", "edit", subject.name, *given, *flags, *keep, "-f"),)


class StreamUpdate(ConfigurationUpdate):
    """Keys of a stream (`$JS.API.STREAM.UPDATE`)."""

    operation = "stream.update"
    preconditions: tuple[Precondition, ...] = (LED, UNSEALED)

    def edit(self, subject: Subject, wanted: Json, *, no_ack: bool) -> tuple[str, ...]:
        return edit_stream(subject, wanted, no_ack=no_ack)

    def update(self, step: Step, config: Json) -> Request:
        return Request(f"STREAM.UPDATE.{step.subject.name}", config)

    def update_step(self, target: Target, changes: Sequence[Change], **more: Any) -> tuple[Step, ...]:
        if target.config.get("sealed"):
            raise CannotPlanError("the stream is sealed: nothing of it can be changed")
        return super().update_step(target, changes, **more)

    def loss(self, target: Json, state: Json) -> str:
        return would_delete(target, state)


class _Limits(StreamUpdate):
    """Limits of which at least one is given (`needed` says which), and for which there must be storage."""

    needed = "max_msgs or max_bytes"

    def changes(self, target: Target, values: Values) -> list[Change]:
        given = {name: whole_number(values, name) for name in self.names if name in values}
        if not given:
            raise CannotPlanError(f"it needs {self.needed}")
        _, refusal = SeenState(target.evidence).possible(target.subject, given)
        if refusal and target.stream and target.stream.has_leader:
            raise CannotPlanError(refusal)
        wanted = _settings(given, self.names)
        return [_change(target, key, after) for key, after in wanted.items()]


class _LowersLimit(_Limits):
    """Limits that are refused if they would delete a stored message."""

    def update_step(self, target: Target, changes: Sequence[Change], **more: Any) -> tuple[Step, ...]:
        return super().update_step(target, changes, preconditions=(LED, UNSEALED, keeps_all(changes)), **more)


class RaiseLimits(_Limits):
    """Raises limits that the stream has. Deletes nothing."""

    name, names = "stream.raise_limits", ("max_msgs", "max_bytes")
    risk = step_risk = Risk.SAFE
    effect = "the stream may hold more before it is full; it needs that much storage"
    improvement = TAKES_PUBLISHES

    def changes(self, target: Target, values: Values) -> list[Change]:
        changes = super().changes(target, values)
        _require_higher(changes)
        return changes


class Bound(_LowersLimit):
    """Sets a limit that the stream lacks."""

    name, names = "stream.bound", ("max_msgs", "max_bytes")
    step_risk = Risk.DISRUPTIVE
    effect = "from this limit on the stream deletes its oldest messages, or refuses new ones (discard policy)"

    def changes(self, target: Target, values: Values) -> list[Change]:
        changes = super().changes(target, values)
        for change in changes:
            if (change.before or 0) > 0 or change.after <= 0:
                raise CannotPlanError(f"{changes_text([change])} would set no limit where there was none")
        return changes

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """How much may be deleted is for a person to decide: show the stream, and preview the edit."""
        if subject.name.startswith(("KV_", "OBJ_")):
            return show_command(subject)
        wanted = _settings(values, ["max_bytes"])
        return (*show_command(subject), *edit_stream(subject, wanted, "--dry-run", no_ack=bool(values.get("no_ack"))))


class SetMaxAge(_LowersLimit):
    """Sets max_age and the duplicate window in one update: the server refuses a window longer than max_age."""

    name, names = "stream.set_max_age", ("max_age_s", "duplicate_window_s")
    step_risk = Risk.DISRUPTIVE
    effect = "messages are kept for that long"
    improvement = TAKES_PUBLISHES
    needed = "max_age, for example max_age=10m"


class SetDiscard(StreamUpdate):
    """Sets the discard policy: what a full stream does."""

    name, names = "stream.set_discard", ("discard",)
    step_risk = Risk.DISRUPTIVE
    improvement = TAKES_PUBLISHES

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        wanted = values.get("discard")
        if wanted not in ("old", "new"):
            raise CannotPlanError("it needs discard=old or discard=new")
        changes = [_change(target, "discard", wanted)]
        if wanted == "new":
            effect = "a full stream refuses new messages: publishers get an error"
            return self.update_step(target, changes, effect=effect)
        if target.config.get("discard_new_per_subject"):
            changes.append(_change(target, "discard_new_per_subject", False))  # the server takes it with `new` only
        effect = "a full stream deletes its oldest messages, processed or not"
        fits = (*self.preconditions, keeps_all(changes))
        return self.update_step(target, changes, effect=effect, preconditions=fits)


class SetReplicas(StreamUpdate):
    """Sets the number of replicas; done when all of them have caught up."""

    name, names = "stream.set_replicas", ("replicas",)
    risk = step_risk = Risk.DISRUPTIVE
    preconditions = (LED, UNSEALED, PEERS_CURRENT)
    patience_s = 600

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        (replicas,) = changes = self.changes(target, values)
        effect = f"the whole stream is copied until {replicas.after} servers hold it"
        if replicas.after < (replicas.before or 1):
            effect = f"it stays on {replicas.after} of {replicas.before} servers, the others delete their copies"
        return self.update_step(target, changes, effect=effect)


class Acknowledge(StreamUpdate):
    """Turns acknowledgements on."""

    name = "stream.acknowledge"
    risk = step_risk = Risk.DISRUPTIVE
    effect = "publishers that give a reply subject receive the stream's acknowledgement on it"

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return edit_stream(subject, {"no_ack": False})

    def changes(self, target: Target, values: Values) -> list[Change]:
        return [_change(target, "no_ack", False)]


class LimitMessageSize(StreamUpdate):
    """Sets max_msg_size, so that messages larger than the stream can hold are refused with an error."""

    name, names = "stream.limit_message_size", ("max_msg_size",)
    risk = step_risk = Risk.SAFE
    effect = "larger messages, which are dropped silently now, are refused with error 10054"

    def changes(self, target: Target, values: Values) -> list[Change]:
        (size,) = super().changes(target, values)
        room = target.config.get("max_bytes") or 0
        if room <= 0 or size.after < _SHARE_OF_ROOM * room:
            raise CannotPlanError(f"{changes_text([size])} would refuse messages for which the stream has room")
        return [size]


class _WindowUpdate(StreamUpdate):
    names = ("duplicate_window_s",)

    def changes(self, target: Target, values: Values) -> list[Change]:
        (window,) = super().changes(target, values)
        age = target.config.get("max_age") or 0
        if 0 < age < window.after:
            raise CannotPlanError(f"a window may not be longer than max_age ({age / _NS_PER_S:g} s)")
        return [window]


class RaiseWindow(_WindowUpdate):
    """Raises the duplicate window, which takes memory on every replica."""

    name = "stream.raise_duplicate_window"
    risk = step_risk = Risk.SAFE
    effect = "ids are remembered for longer: some 0.2 KB each, on every replica"

    def changes(self, target: Target, values: Values) -> list[Change]:
        (window,) = super().changes(target, values)
        if window.after <= (window.before or 0):
            raise CannotPlanError(f"the window is {(window.before or 0) / _NS_PER_S:g} s: that would be no higher one")
        return [window]


class LowerWindow(_WindowUpdate):
    """Lowers the duplicate window; older ids are forgotten at once."""

    name = "stream.lower_duplicate_window"
    risk = step_risk = Risk.DISRUPTIVE
    effect = "ids that are older than the window are forgotten at once; a retry later than that is stored again"

    def changes(self, target: Target, values: Values) -> list[Change]:
        (window,) = super().changes(target, values)
        if window.after >= (window.before or 0):
            raise CannotPlanError(f"the window is {(window.before or 0) / _NS_PER_S:g} s: that would be no lower one")
        return [window]


class EnableDeduplication(_WindowUpdate):
    """Sets a duplicate window; it also drops sourced messages that share an id."""

    name = "stream.enable_deduplication"
    risk = step_risk = Risk.DISRUPTIVE
    effect = "messages with an id that was seen within the window are dropped, sourced ones too"


class UnfreezeSources(StreamUpdate):
    """Sets the shortest duplicate window of a stream with sources: before 2.12.8 a known id stops the copying.
    For a mirror, no window helps: a person has to upgrade its server.
    """

    name = "stream.unfreeze_sources"
    step_risk = Risk.DISRUPTIVE
    effect = (
        "ids are forgotten after 100 ms: messages whose id came before are copied, and a publisher's late retry is "
        "stored twice"
    )
    improvement = COPIES

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return edit_stream(subject, {"duplicate_window": _MIN_WINDOW_NS}, no_ack=bool(values.get("no_ack")))

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        if target.version >= _COPIES_REPEATED_IDS:
            raise CannotPlanError("from 2.12.8 on a repeated id stops no copying: the reason is another one")
        if target.config.get("mirror"):
            effect = (
                "a mirror that stopped at a repeated id goes on for good on servers from 2.12.8 on: upgrade the server "
                "that leads it; a restart only takes it past one such message"
            )
            seen = shell_commands(target.subject, "nats stream info {name}", "nats server list")
            return (self.by_hand(target.subject, effect, seen),)
        if not target.config.get("sources"):
            raise CannotPlanError("it has no sources")
        return self.update_step(target, [_change(target, "duplicate_window", _MIN_WINDOW_NS)])


class ConsumerUpdate(ConfigurationUpdate):
    """Keys of a consumer (`$JS.API.CONSUMER.CREATE` with the action `update`, nats-server 2.10+)."""

    operation = "consumer.update"

    def edit(self, subject: Subject, wanted: Json, *, no_ack: bool) -> tuple[str, ...]:
        """The edit without questions. The CLI edits durable consumers only.

        It refuses `--wait` where there is a backoff, whose first step is the wait, and takes a linear backoff by its
        ends: its steps end one before its longest wait.
        """
        backoff = wanted.get("backoff")
        own = {key: after for key, after in wanted.items() if key != "backoff" and not (key == "ack_wait" and backoff)}
        flags = _flags(ConsumerConfig, own)
        if backoff:
            first, last, steps = backoff[0], backoff[-1], len(backoff)
            longest = first + (last - first) * steps // (steps - 1) if steps > 1 else 2 * first
            flags += [
                "--backoff=linear",
                f"--backoff-steps={steps}",
                f"--backoff-min={_duration(first)}",
                f"--backoff-max={(longest + _NS_PER_S // 2) // _NS_PER_S}s",
            ]
        return (command("nats", "consumer", "edit", subject.stream, subject.name, *flags, "-f"),)

    def update(self, step: Step, config: Json) -> Request:
        """With that action it never creates: a missing consumer is an error."""
        body = {"stream_name": step.subject.stream, "config": config, "action": "update"}
        return Request(f"CONSUMER.CREATE.{path_of(step.subject)}", body)


class RaiseMaxAckPending(ConsumerUpdate):
    """Raises max_ack_pending: more messages are processed in parallel."""

    name, names = "consumer.raise_max_ack_pending", ("max_ack_pending",)
    risk = step_risk = Risk.SAFE
    effect = "more messages may be unacknowledged at the same time; after a crash as many more come twice"
    improvement = SERVED

    def changes(self, target: Target, values: Values) -> list[Change]:
        changes = super().changes(target, values)
        _require_higher(changes)
        return changes


class RaiseAckWait(ConsumerUpdate):
    """Raises ack_wait, and the steps of a backoff, of which the server uses the first instead of `ack_wait`.

    The steps are those of the `nats` CLI (jsm.go LinearBackoffPeriods, to the millisecond), so that both do the same.
    """

    name = "consumer.raise_ack_wait"
    risk = step_risk = Risk.SAFE
    effect = "a message that is not acknowledged is sent again later; after a worker's crash, too"
    improvement = DELIVERED_ONCE

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return self.edit(subject, self._waits(values), no_ack=False)

    def changes(self, target: Target, values: Values) -> list[Change]:
        changes = [_change(target, key, after) for key, after in self._waits(values).items()]
        _require_higher(change for change in changes if change.key == "ack_wait")
        if target.config.get("backoff") and not values.get("backoff_steps"):
            raise CannotPlanError("the first step of its backoff takes the place of ack_wait: raise the steps")
        return changes

    @staticmethod
    def _waits(values: Values) -> Json:
        wait = whole_number(values, "ack_wait_s") * _NS_PER_S
        steps = values.get("backoff_steps")
        if not steps:
            return {"ack_wait": wait}
        increment = (whole_number(values, "backoff_max_s") * _NS_PER_S - wait) // int(steps)
        backoff = [wait + (n * increment + _NS_PER_MS // 2) // _NS_PER_MS * _NS_PER_MS for n in range(int(steps))]
        return {"ack_wait": wait, "backoff": backoff}


class RaiseInactiveThreshold(ConsumerUpdate):
    """Raises inactive_threshold: the consumer survives longer absences of its application."""

    name, names = "consumer.raise_inactive_threshold", ("inactive_threshold_s",)
    risk = step_risk = Risk.SAFE
    effect = "the consumer and its position stay longer while its application is away"

    def changes(self, target: Target, values: Values) -> list[Change]:
        changes = super().changes(target, values)
        _require_higher(changes)
        return changes


class SetMaxDeliver(ConsumerUpdate):
    """Sets max_deliver, which ends the delivery of messages that always fail."""

    name, names = "consumer.set_max_deliver", ("max_deliver",)
    step_risk = Risk.DISRUPTIVE
    effect = "messages that fail are tried that often; those that reached the former limit are not delivered again"


ACTIONS: tuple[Action, ...] = (
    *(RaiseLimits(), Bound(), SetMaxAge(), SetDiscard(), SetReplicas(), Acknowledge(), LimitMessageSize()),
    *(RaiseWindow(), LowerWindow(), EnableDeduplication(), UnfreezeSources()),
    *(RaiseMaxAckPending(), RaiseAckWait(), RaiseInactiveThreshold(), SetMaxDeliver()),
)
