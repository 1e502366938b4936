"""Remedy actions on consumers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command


def consumer_edit(subject: Subject, *flags: str) -> str:
    """An edit of a durable consumer without questions."""
    return command("nats", "consumer", "edit", subject.stream, subject.name, *flags, "-f")


@action("consumer.raise_max_ack_pending", Risk.SAFE)
def _raise_max_ack_pending(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return (consumer_edit(subject, f"--max-pending={values['max_ack_pending']}"),)


@action("consumer.inspect", Risk.MANUAL)
def _inspect(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look at the consumer and its stream: what to do next is for a person to decide."""
    del values
    return (
        command("nats", "consumer", "info", subject.stream, subject.name),
        command("nats", "stream", "info", subject.stream),
    )


@action("consumer.raise_ack_wait", Risk.SAFE)
def _raise_ack_wait(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The CLI refuses `--wait` where there is a backoff: its first step is the wait, so the steps are raised."""
    wait = f"{values['ack_wait_s']}s"
    if steps := values.get("backoff_steps"):
        longest = f"{values['backoff_max_s']}s"
        flags = ("--backoff=linear", f"--backoff-steps={steps}", f"--backoff-min={wait}", f"--backoff-max={longest}")
        return (consumer_edit(subject, *flags),)
    return (consumer_edit(subject, f"--wait={wait}"),)


@action("consumer.raise_inactive_threshold", Risk.SAFE)
def _raise_inactive_threshold(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return (consumer_edit(subject, f"--inactive-threshold={values['inactive_threshold_s']}s"),)


@action("consumer.resume", Risk.MANUAL)
def _resume(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Somebody paused it: ask why before resuming."""
    del values
    return (
        command("nats", "consumer", "info", subject.stream, subject.name),
        command("nats", "consumer", "resume", subject.stream, subject.name, "-f"),
    )


@action("consumer.step_down", Risk.DISRUPTIVE)
def _step_down(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Another server takes the consumer over; deliveries pause for a second or so, some messages come twice."""
    del values
    return (
        command("nats", "consumer", "info", subject.stream, subject.name),
        command("nats", "consumer", "cluster", "step-down", subject.stream, subject.name),
    )


@action("consumer.look_for", Risk.MANUAL)
def _look_for(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """It is gone: look at its stream and the consumers that are there. Where to start a new one is for a person."""
    del values
    return (
        command("nats", "consumer", "report", subject.stream),
        command("nats", "stream", "info", subject.stream),
    )
