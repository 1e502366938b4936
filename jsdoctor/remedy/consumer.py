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
