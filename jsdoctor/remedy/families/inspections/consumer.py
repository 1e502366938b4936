"""Looking at consumers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.family import Action, command


def _inspect(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look at the consumer and its stream: what to do next is for a person to decide."""
    del values
    return (
        command("nats", "consumer", "info", subject.stream, subject.name),
        command("nats", "stream", "info", subject.stream),
    )


def _inspect_others(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The consumer is gone: show its stream and the others. Where a new one starts is for a person to decide."""
    del values
    return (
        command("nats", "consumer", "report", subject.stream),
        command("nats", "stream", "info", subject.stream),
    )


ACTIONS = (
    Action("consumer.inspect", Risk.MANUAL, _inspect),
    Action("consumer.look_for", Risk.MANUAL, _inspect_others),
)
