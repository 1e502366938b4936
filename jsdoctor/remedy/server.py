"""Remedy actions on single servers: mostly steps that a person takes on a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command


@action("server.inspect_health", Risk.MANUAL)
def _inspect_health(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look which servers are unhealthy and what their JetStream does."""
    del subject, values
    return (command("nats", "server", "report", "health"), command("nats", "server", "report", "jetstream"))


@action("server.inspect_storage", Risk.MANUAL)
def _inspect_storage(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look what fills the storage. Which stream may lose messages is for a person to decide."""
    del values
    if subject.kind == "account":
        return (command("nats", "account", "info"), command("nats", "stream", "report"))
    return (command("nats", "server", "report", "jetstream"), command("nats", "stream", "report"))
