"""Looking at streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.family import Action, command


def _inspect_consumers(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del values
    return (
        command("nats", "consumer", "report", subject.name),
        command("nats", "stream", "subjects", subject.name),
    )


def _inspect_replicas(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del values
    return (command("nats", "stream", "info", subject.name), command("nats", "stream", "report"))


def _inspect_head(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        command("nats", "stream", "info", subject.name),
        command("nats", "stream", "get", subject.name, str(values["first_seq"])),
    )


def _inspect(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look at the stream: what to do next is for a person to decide."""
    del values
    return (command("nats", "stream", "info", subject.name),)


def _inspect_subjects(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Which part of the subjects varies, and which may go, is for a person to see. The full list may be very long."""
    del values
    return (command("nats", "stream", "info", subject.name), command("nats", "stream", "report"))


def _inspect_origins(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `origins`, streams of the account that do not arrive. `some_are_missing`: others do not exist."""
    names = dict.fromkeys((subject.name, *values.get("origins", ())))
    listed = (command("nats", "stream", "ls"),) if values.get("some_are_missing") else ()
    return (*(command("nats", "stream", "info", name) for name in names), *listed)


def _inspect_dates(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the messages of `values["sequences"]`, which show when they were stored. No stored date can be changed."""
    messages = (command("nats", "stream", "get", subject.name, str(seq)) for seq in values.get("sequences", ()))
    return (*messages, command("nats", "stream", "info", subject.name))


ACTIONS = (
    Action("stream.look_at_consumers", Risk.MANUAL, _inspect_consumers),
    Action("stream.look_at_replicas", Risk.MANUAL, _inspect_replicas),
    Action("stream.look_at_head", Risk.MANUAL, _inspect_head),
    Action("stream.inspect", Risk.MANUAL, _inspect),
    Action("stream.look_at_subjects", Risk.MANUAL, _inspect_subjects),
    Action("stream.look_at_origins", Risk.MANUAL, _inspect_origins),
    Action("stream.look_at_dates", Risk.MANUAL, _inspect_dates),
)
