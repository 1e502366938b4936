"""Steps that change the configuration of a stream, and the actions that only a person's choice can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.commands.stream import stream_edit
from jsdoctor.remedy.planning import CannotPlanError, Target, number
from jsdoctor.remedy.preconditions import LED, PEERS_CURRENT, UNSEALED, keeps_all
from jsdoctor.remedy.settings import changed, is_set, restored, told

_NS = 1_000_000_000
_SYNC_S = 600


@action("stream.set_max_age", Risk.MANUAL)
def _set_max_age(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `max_age_s`, and `duplicate_window_s` where it has to follow: a window may not be longer than the age."""
    flags = [f"--max-age={values['max_age_s']}s"] if "max_age_s" in values else []
    if window := values.get("duplicate_window_s"):
        flags.append(f"--dupe-window={window}s")
    return (stream_edit(subject, values, *flags),) if flags else (command("nats", "stream", "info", subject.name),)


@action("stream.set_discard", Risk.MANUAL)
def _set_discard(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `discard`, `old` or `new`: whether a full stream deletes what is oldest or refuses what is new."""
    flags = [f"--discard={values['discard']}"] if "discard" in values else []
    return (stream_edit(subject, values, *flags),) if flags else (command("nats", "stream", "info", subject.name),)


def config_step(
    target: Target,
    name: str,
    *changes: Change,
    risk: Risk,
    effect: str,
    preconditions: tuple[Precondition, ...] = (),
    patience_s: int = 30,
) -> tuple[Step, ...]:
    """One update of a stream. Raises CannotPlanError where it would change nothing, or the stream takes no updates."""
    if not target.config:
        raise CannotPlanError("its configuration was not seen")
    if target.config.get("sealed"):
        raise CannotPlanError("the stream is sealed: nothing of it can be changed")
    if is_set(target.config, changes):
        raise CannotPlanError(f"it is so already ({told(changes)})")
    subject = f"STREAM.UPDATE.{target.subject.name}"
    after = changed(target.config, changes)
    step = Step(
        action=name,
        operation="stream.update",
        subject=target.subject,
        risk=risk,
        effect=effect,
        changes=changes,
        base={"config": target.config},
        preconditions=(LED, UNSEALED, *preconditions),
        requests=(Request(subject, after),),
        inverse=f"the same update with {', '.join(change.key for change in changes)} as before",
        undo=(Request(subject, restored(after, changes, target.config)),),
        patience_s=patience_s,
    )
    return (step,)


def change(target: Target, key: str, after: Any) -> Change:
    """A key from what it is to what it shall be."""
    return Change(key, target.config.get(key), after)


@plans("stream.raise_limits")
def raise_limits(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """More room. Nothing is deleted by it."""
    changes = [change(target, key, number(values, key)) for key in ("max_msgs", "max_bytes") if key in values]
    for one in changes:
        if 0 < one.after < (one.before or 0) or (one.before or 0) <= 0:
            raise CannotPlanError(f"{told([one])} would be no higher limit")
    effect = "the stream may hold more before it is full; it needs that much storage"
    return config_step(target, "stream.raise_limits", *changes, risk=Risk.SAFE, effect=effect)


@plans("stream.bound")
def bound(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """A limit where there is none: refused where anything that is stored now would be deleted by it."""
    changes = [change(target, key, number(values, key)) for key in ("max_msgs", "max_bytes") if key in values]
    effect = "from this limit on the stream deletes its oldest messages, or refuses new ones (discard policy)"
    fits = keeps_all({one.key: one.after for one in changes})
    return config_step(target, "stream.bound", *changes, risk=Risk.DISRUPTIVE, effect=effect, preconditions=(fits,))


@plans("stream.set_max_age")
def set_max_age(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Both keys in one update: the server refuses a window that is longer than the age."""
    keys = {"max_age_s": "max_age", "duplicate_window_s": "duplicate_window"}
    changes = [change(target, key, number(values, name) * _NS) for name, key in keys.items() if name in values]
    if not changes:
        raise CannotPlanError("it needs max_age, for example max_age=10m")
    fits = keeps_all({one.key: one.after for one in changes})
    return config_step(
        target,
        "stream.set_max_age",
        *changes,
        risk=Risk.DISRUPTIVE,
        effect="messages are kept for that long",
        preconditions=(fits,),
    )


@plans("stream.set_discard")
def set_discard(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
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
    return config_step(target, "stream.set_discard", *changes, risk=Risk.DISRUPTIVE, effect=effect)


@plans("stream.set_replicas")
def set_replicas(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Done when the new replicas have everything."""
    wanted = number(values, "replicas")
    return config_step(
        target,
        "stream.set_replicas",
        change(target, "num_replicas", wanted),
        risk=Risk.DISRUPTIVE,
        effect=f"the whole stream is copied until {wanted} servers hold it",
        preconditions=(PEERS_CURRENT,),
        patience_s=_SYNC_S,
    )


@plans("stream.acknowledge")
def acknowledge(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Turns acknowledgements on."""
    del values
    effect = "whoever publishes with a reply subject gets the stream's answer on it"
    off = change(target, "no_ack", False)
    return config_step(target, "stream.acknowledge", off, risk=Risk.DISRUPTIVE, effect=effect)


@plans("stream.limit_message_size")
def limit_message_size(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """What could never be kept is refused with an error instead."""
    size = change(target, "max_msg_size", number(values, "max_msg_size"))
    effect = "larger messages, which are dropped silently now, are refused with error 10054"
    return config_step(target, "stream.limit_message_size", size, risk=Risk.SAFE, effect=effect)


def _window(target: Target, values: Mapping[str, Any], name: str, risk: Risk, effect: str) -> tuple[Step, ...]:
    window = change(target, "duplicate_window", number(values, "duplicate_window_s") * _NS)
    age = target.config.get("max_age") or 0
    if 0 < age < window.after:
        raise CannotPlanError(f"a window may not be longer than max_age ({age / _NS:g} s)")
    return config_step(target, name, window, risk=risk, effect=effect)


@plans("stream.raise_duplicate_window")
def raise_duplicate_window(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Ids are remembered for longer, which takes memory on every replica."""
    effect = "ids are remembered for longer: some 0.2 KB each, on every replica"
    return _window(target, values, "stream.raise_duplicate_window", Risk.SAFE, effect)


@plans("stream.lower_duplicate_window")
def lower_duplicate_window(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Ids that are older are forgotten at once."""
    effect = "ids that are older than the window are forgotten at once; a retry later than that is stored again"
    return _window(target, values, "stream.lower_duplicate_window", Risk.DISRUPTIVE, effect)


@plans("stream.enable_deduplication")
def enable_deduplication(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Sourced messages that share an id are dropped then, too."""
    effect = "messages with an id that was seen within the window are dropped, sourced ones too"
    return _window(target, values, "stream.enable_deduplication", Risk.DISRUPTIVE, effect)
