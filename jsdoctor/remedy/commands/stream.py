"""Remedy actions on streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command


def stream_edit(subject: Subject, values: Mapping[str, Any], *flags: str) -> str:
    """An edit of a stream without questions.

    The CLI turns acknowledgements on with any edit unless told otherwise, so a stream that has them off
    (`values["no_ack"]`) needs `--no-ack` to stay as it is.
    """
    keep = ("--no-ack",) if values.get("no_ack") else ()
    return command("nats", "stream", "edit", subject.name, *flags, *keep, "-f")


def bucket_edit(subject: Subject, *flags: str) -> str | None:
    """An edit of the key-value or object-store bucket behind a stream; None when it is a plain stream.

    The CLI refuses to edit a key-value bucket as a stream without a terminal to ask at.
    """
    for prefix, kind in (("KV_", "kv"), ("OBJ_", "object")):
        if subject.name.startswith(prefix):
            return command("nats", kind, "edit", subject.name.removeprefix(prefix), *flags)
    return None


@action("stream.raise_limits", Risk.SAFE)
def _raise_limits(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `max_bytes` and/or `max_msgs`, the new limits. A bucket has no setting for its number of messages."""
    if size := values.get("max_bytes"):
        bucket = bucket_edit(subject, f"--max-bucket-size={size}")
        if bucket:
            return (bucket,)
    elif bucket_edit(subject):
        return ()
    flags = [f"--{key.replace('_', '-')}={values[key]}" for key in ("max_msgs", "max_bytes") if key in values]
    return (stream_edit(subject, values, *flags),)


@action("stream.bound", Risk.MANUAL)
def _bound(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """How much may be deleted is a person's decision: look, and see what an edit would change."""
    look = command("nats", "stream", "info", subject.name)
    if bucket_edit(subject):
        return (look,)
    return (look, stream_edit(subject, values, f"--max-bytes={values['max_bytes']}", "--dry-run"))


@action("stream.look_at_consumers", Risk.MANUAL)
def _look_at_consumers(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del values
    return (
        command("nats", "consumer", "report", subject.name),
        command("nats", "stream", "subjects", subject.name),
    )


@action("stream.look_at_replicas", Risk.MANUAL)
def _look_at_replicas(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del values
    return (command("nats", "stream", "info", subject.name), command("nats", "stream", "report"))


@action("stream.set_replicas", Risk.DISRUPTIVE)
def _set_replicas(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Copies the whole stream to further servers."""
    flag = f"--replicas={values['replicas']}"
    return (bucket_edit(subject, flag) or stream_edit(subject, values, flag),)


@action("stream.acknowledge", Risk.DISRUPTIVE)
def _acknowledge(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """From then on whoever publishes with a reply subject gets the stream's answer on it."""
    del values
    return (stream_edit(subject, {}, "--ack"),)


@action("stream.limit_message_size", Risk.SAFE)
def _limit_message_size(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return (stream_edit(subject, values, f"--max-msg-size={values['max_msg_size']}"),)


@action("stream.look_at_head", Risk.MANUAL)
def _look_at_head(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        command("nats", "stream", "info", subject.name),
        command("nats", "stream", "get", subject.name, str(values["first_seq"])),
    )


def _window(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return (stream_edit(subject, values, f"--dupe-window={values['duplicate_window_s']}s"),)


@action("stream.raise_duplicate_window", Risk.SAFE)
def _raise_duplicate_window(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return _window(subject, values)


@action("stream.lower_duplicate_window", Risk.DISRUPTIVE)
def _lower_duplicate_window(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Ids that are older than the new window are forgotten at once."""
    return _window(subject, values)


@action("stream.enable_deduplication", Risk.DISRUPTIVE)
def _enable_deduplication(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """From then on sourced messages that share an id are dropped, too."""
    return _window(subject, values)


@action("stream.delete_first_message", Risk.DESTRUCTIVE)
def _delete_first_message(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The message is lost: read it first."""
    first = str(values["first_seq"])
    return (
        command("nats", "stream", "get", subject.name, first),
        command("nats", "stream", "rmm", subject.name, first, "-f"),
    )


@action("stream.inspect", Risk.MANUAL)
def _inspect(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look at the stream: what to do next is for a person to decide."""
    del values
    return (command("nats", "stream", "info", subject.name),)


@action("stream.look_at_subjects", Risk.MANUAL)
def _look_at_subjects(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Which part of the subjects varies, and which may go, is for a person to see. The full list may be very long."""
    del values
    return (command("nats", "stream", "info", subject.name), command("nats", "stream", "report"))


@action("stream.look_at_origins", Risk.MANUAL)
def _look_at_origins(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `origins`, streams of the account that do not arrive. `some_are_missing`: others do not exist."""
    names = dict.fromkeys((subject.name, *values.get("origins", ())))
    listed = (command("nats", "stream", "ls"),) if values.get("some_are_missing") else ()
    return (*(command("nats", "stream", "info", name) for name in names), *listed)


@action("stream.look_at_dates", Risk.MANUAL)
def _look_at_dates(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the messages of `values["sequences"]`, which show when they were stored. No stored date can be changed."""
    messages = (command("nats", "stream", "get", subject.name, str(seq)) for seq in values.get("sequences", ()))
    return (*messages, command("nats", "stream", "info", subject.name))
