"""Settings of streams: one STREAM.UPDATE with the changed keys, which is `nats stream edit` with their flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.plan import MANUAL, Change, Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.setting import rows
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.families.configuration import (
    NS_PER_S,
    ConfigurationUpdate,
    change,
    flag,
    settings,
    update_step,
)
from jsdoctor.remedy.family import Action, Commands, Family, command
from jsdoctor.remedy.offer import SeenState
from jsdoctor.remedy.operation import StepRefusedError
from jsdoctor.remedy.planning import CannotPlanError, Target, number
from jsdoctor.remedy.preconditions import PEERS_CURRENT, UNSEALED, keeps_all, would_delete
from jsdoctor.remedy.proof import COPIES, TAKES_PUBLISHES
from jsdoctor.remedy.replies import told

_SYNC_S = 600
_MIN_WINDOW_NS = 100_000_000
_COPIES_REPEATED_IDS = (2, 12, 8)

BUCKET_FLAGS = {"max_bytes": "--max-bucket-size", "num_replicas": "--replicas"}
"""The flags of `nats kv edit` and `nats object edit`. A bucket has no setting for its number of messages."""


class StreamUpdate(ConfigurationUpdate):
    """Keys of a stream (`$JS.API.STREAM.UPDATE`)."""

    name: ClassVar[str] = "stream.update"

    async def read_state(self, step: Step, api: Api) -> Json:
        """STREAM.INFO."""
        return await api.ask(f"STREAM.INFO.{step.subject.name}")

    def update(self, step: Step, config: Json) -> Request:
        """STREAM.UPDATE."""
        return Request(f"STREAM.UPDATE.{step.subject.name}", config)

    def commands(self, step: Step) -> tuple[str, ...]:
        """One edit with a flag for each changed key."""
        wanted = {change.key: change.after for change in step.changes}
        return edits(step.subject, wanted, no_ack=bool(step.base["config"].get("no_ack")))

    def refuse_loss(self, target: Json, state: Json) -> None:
        """Raises StepRefusedError if the configuration would delete messages that are stored now."""
        if loss := would_delete(target, state):
            raise StepRefusedError(f"left as it is, because {loss}")


_UPDATE = StreamUpdate()


def edits(subject: Subject, wanted: Json, *flags: str, no_ack: bool = False) -> tuple[str, ...]:
    """The edit that sets these keys, without prompts; empty if no command can set them.

    Unless `--no-ack` is given, the CLI turns acknowledgements on with any edit, so a stream that has them off
    (`no_ack`) needs it. Without a terminal, the CLI refuses to edit a key-value bucket as a stream.
    """
    for prefix, kind in (("KV_", "kv"), ("OBJ_", "object")):
        if subject.name.startswith(prefix) and not flags and wanted.keys() <= {"max_msgs", *BUCKET_FLAGS}:
            known = [f"{name}={wanted[key]}" for key, name in BUCKET_FLAGS.items() if key in wanted]
            return (command("nats", kind, "edit", subject.name.removeprefix(prefix), *known),) if known else ()
    keep = ("--no-ack",) if no_ack and "no_ack" not in wanted else ()
    given = [flag(row, wanted[row.name]) for row in rows(StreamConfig) if row.name in wanted and row.setting.flag]
    return (command("nats", "stream", "edit", subject.name, *given, *flags, *keep, "-f"),)


def _inspect(subject: Subject) -> str:
    return command("nats", "stream", "info", subject.name)


def _edit(*names: str) -> Commands:
    """Commands that set these values where they are given, or look at the stream where none is."""

    def commands(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
        wanted = settings(values, names)
        return edits(subject, wanted, no_ack=bool(values.get("no_ack"))) if wanted else (_inspect(subject),)

    return commands


def _preview_bound(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """How much may be deleted is for a person to decide: show the stream, and preview the edit."""
    if subject.name.startswith(("KV_", "OBJ_")):
        return (_inspect(subject),)
    wanted = settings(values, ["max_bytes"])
    return (_inspect(subject), *edits(subject, wanted, "--dry-run", no_ack=bool(values.get("no_ack"))))


def _step(
    target: Target,
    action: str,
    *changes: Change,
    risk: Risk,
    effect: str,
    preconditions: tuple[Precondition, ...] = (),
    patience_s: int = 30,
) -> tuple[Step, ...]:
    """One update of a stream. Raises CannotPlanError where the stream takes no updates."""
    if target.config.get("sealed"):
        raise CannotPlanError("the stream is sealed: nothing of it can be changed")
    conditions = (UNSEALED, *preconditions)
    return update_step(
        target,
        _UPDATE,
        action,
        *changes,
        risk=risk,
        effect=effect,
        preconditions=conditions,
        patience_s=patience_s,
    )


def _changes(target: Target, values: Mapping[str, Any], *names: str) -> list[Change]:
    """The keys that these values set, those that are given. Raises CannotPlanError if there is no storage for them."""
    _, refusal = SeenState(target.evidence).possible(target.subject, values)
    if refusal and target.stream and target.stream.has_leader:
        raise CannotPlanError(refusal)
    wanted = settings({name: number(values, name) for name in names if name in values}, names)
    return [change(target, key, after) for key, after in wanted.items()]


def _plan_raise_limits(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """More room. Nothing is deleted by it."""
    changes = _changes(target, values, "max_msgs", "max_bytes")
    for setting in changes:
        if 0 < setting.after < (setting.before or 0) or (setting.before or 0) <= 0:
            raise CannotPlanError(f"{told([setting])} would be no higher limit")
    effect = "the stream may hold more before it is full; it needs that much storage"
    return _step(target, "stream.raise_limits", *changes, risk=Risk.SAFE, effect=effect)


def _plan_bound(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """A limit where there is none: refused where anything that is stored now would be deleted by it."""
    changes = _changes(target, values, "max_msgs", "max_bytes")
    effect = "from this limit on the stream deletes its oldest messages, or refuses new ones (discard policy)"
    fits = keeps_all({change.key: change.after for change in changes})
    return _step(target, "stream.bound", *changes, risk=Risk.DISRUPTIVE, effect=effect, preconditions=(fits,))


def _plan_set_max_age(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Both keys in one update: the server refuses a window that is longer than the age."""
    changes = _changes(target, values, "max_age_s", "duplicate_window_s")
    if not changes:
        raise CannotPlanError("it needs max_age, for example max_age=10m")
    fits = keeps_all({change.key: change.after for change in changes})
    return _step(
        target,
        "stream.set_max_age",
        *changes,
        risk=Risk.DISRUPTIVE,
        effect="messages are kept for that long",
        preconditions=(fits,),
    )


def _plan_set_discard(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """What happens when the stream is full."""
    wanted = values.get("discard")
    if wanted not in ("old", "new"):
        raise CannotPlanError("it needs discard=old or discard=new")
    effect = (
        "a full stream deletes its oldest messages, processed or not"
        if wanted == "old"
        else "a full stream refuses new messages: publishers get an error"
    )
    changes = [change(target, "discard", wanted)]
    if wanted == "old" and target.config.get("discard_new_per_subject"):
        changes.append(change(target, "discard_new_per_subject", False))  # the server takes it with `new` only
    fits = (keeps_all({change.key: change.after for change in changes}),) if wanted == "old" else ()
    return _step(target, "stream.set_discard", *changes, risk=Risk.DISRUPTIVE, effect=effect, preconditions=fits)


def _plan_set_replicas(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Done when the new replicas have everything."""
    wanted = number(values, "replicas")
    return _step(
        target,
        "stream.set_replicas",
        change(target, "num_replicas", wanted),
        risk=Risk.DISRUPTIVE,
        effect=f"the whole stream is copied until {wanted} servers hold it",
        preconditions=(PEERS_CURRENT,),
        patience_s=_SYNC_S,
    )


def _plan_acknowledge(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Turns acknowledgements on."""
    del values
    effect = "publishers that give a reply subject receive the stream's acknowledgement on it"
    off = change(target, "no_ack", False)
    return _step(target, "stream.acknowledge", off, risk=Risk.DISRUPTIVE, effect=effect)


def _plan_limit_message_size(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """What could never be kept is refused with an error instead."""
    size = change(target, "max_msg_size", number(values, "max_msg_size"))
    effect = "larger messages, which are dropped silently now, are refused with error 10054"
    return _step(target, "stream.limit_message_size", size, risk=Risk.SAFE, effect=effect)


def _plan_window(target: Target, values: Mapping[str, Any], name: str, risk: Risk, effect: str) -> tuple[Step, ...]:
    window = change(target, "duplicate_window", number(values, "duplicate_window_s") * NS_PER_S)
    age = target.config.get("max_age") or 0
    if 0 < age < window.after:
        raise CannotPlanError(f"a window may not be longer than max_age ({age / NS_PER_S:g} s)")
    return _step(target, name, window, risk=risk, effect=effect)


def _plan_raise_duplicate_window(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Ids are remembered for longer, which takes memory on every replica."""
    effect = "ids are remembered for longer: some 0.2 KB each, on every replica"
    return _plan_window(target, values, "stream.raise_duplicate_window", Risk.SAFE, effect)


def _plan_lower_duplicate_window(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Ids that are older are forgotten at once."""
    effect = "ids that are older than the window are forgotten at once; a retry later than that is stored again"
    return _plan_window(target, values, "stream.lower_duplicate_window", Risk.DISRUPTIVE, effect)


def _plan_enable_deduplication(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Sourced messages that share an id are dropped then, too."""
    effect = "messages with an id that was seen within the window are dropped, sourced ones too"
    return _plan_window(target, values, "stream.enable_deduplication", Risk.DISRUPTIVE, effect)


def _plan_unfreeze_sources(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of a stream with sources: ids are forgotten, and it goes on. A mirror has no window that would help."""
    del values
    config = target.config
    if target.version >= _COPIES_REPEATED_IDS:
        raise CannotPlanError("from 2.12.8 on a repeated id stops no copying: the reason is another one")
    if config.get("mirror"):
        inspect = _inspect(target.subject)
        step = Step(
            action="stream.unfreeze_sources",
            operation=MANUAL,
            subject=target.subject,
            risk=Risk.MANUAL,
            effect=(
                "a mirror that stopped at a repeated id goes on for good on servers from 2.12.8 on: upgrade the server "
                "that leads it; a restart only takes it past one such message"
            ),
            commands=(inspect, command("nats", "server", "list")),
        )
        return (step,)
    if not config.get("sources"):
        raise CannotPlanError("it has no sources")
    return _step(
        target,
        "stream.unfreeze_sources",
        change(target, "duplicate_window", _MIN_WINDOW_NS),
        risk=Risk.DISRUPTIVE,
        effect=(
            "ids are forgotten after 100 ms: messages whose id came before are copied, and a publisher's late retry is "
            "stored twice"
        ),
    )


def _acknowledge(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """From then on publishers that give a reply subject receive the stream's acknowledgement on it."""
    del values
    return edits(subject, {"no_ack": False})


def _unfreeze_sources(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The shortest window that a server takes: an id that it still knows stops the copying before 2.12.8."""
    return edits(subject, {"duplicate_window": _MIN_WINDOW_NS}, no_ack=bool(values.get("no_ack")))


_WINDOW = _edit("duplicate_window_s")
_AGE = _edit("max_age_s", "duplicate_window_s")

FAMILY = Family(
    "stream settings",
    actions=(
        Action("stream.raise_limits", Risk.SAFE, _edit("max_msgs", "max_bytes"), _plan_raise_limits, TAKES_PUBLISHES),
        Action("stream.bound", Risk.MANUAL, _preview_bound, _plan_bound),
        Action("stream.set_max_age", Risk.MANUAL, _AGE, _plan_set_max_age, TAKES_PUBLISHES),
        Action("stream.set_discard", Risk.MANUAL, _edit("discard"), _plan_set_discard, TAKES_PUBLISHES),
        Action("stream.set_replicas", Risk.DISRUPTIVE, _edit("replicas"), _plan_set_replicas),
        Action("stream.acknowledge", Risk.DISRUPTIVE, _acknowledge, _plan_acknowledge),
        Action("stream.limit_message_size", Risk.SAFE, _edit("max_msg_size"), _plan_limit_message_size),
        Action("stream.raise_duplicate_window", Risk.SAFE, _WINDOW, _plan_raise_duplicate_window),
        Action("stream.lower_duplicate_window", Risk.DISRUPTIVE, _WINDOW, _plan_lower_duplicate_window),
        Action("stream.enable_deduplication", Risk.DISRUPTIVE, _WINDOW, _plan_enable_deduplication),
        Action("stream.unfreeze_sources", Risk.MANUAL, _unfreeze_sources, _plan_unfreeze_sources, COPIES),
    ),
    operations=(_UPDATE,),
)
