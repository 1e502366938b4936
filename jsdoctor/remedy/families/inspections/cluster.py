"""Inspects the members of a cluster and their groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.family import Action, command


def _inspect_members(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show which servers are up and the meta leader's state of its peers. Removing a peer is for a person to decide."""
    del subject, values
    return (command("nats", "server", "list"), command("nats", "server", "report", "jetstream"))


def _inspect_group(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show the Raft group of a stream or consumer, and the servers that should hold it.

    `unanswered`: no server responds for the asset, so `info` of it times out; lists name it as inaccessible.
    """
    report = command("nats", "server", "report", "jetstream")
    words: tuple[str, ...]
    if subject.kind == "consumer":
        words = ("report", subject.stream) if values.get("unanswered") else ("info", subject.stream, subject.name)
        return (command("nats", "consumer", *words), report)
    if subject.kind == "stream":
        words = ("ls",) if values.get("unanswered") else ("info", subject.name)
        return (command("nats", "stream", *words), report)
    return (command("nats", "server", "list"), report)


def _compare_servers(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show the settings that every server reports. Which of them is right is for a person to decide."""
    del subject, values
    return (command("nats", "server", "list"), command("nats", "server", "request", "variables"))


ACTIONS = (
    Action("cluster.inspect_members", Risk.MANUAL, _inspect_members),
    Action("cluster.inspect_group", Risk.MANUAL, _inspect_group),
    Action("cluster.compare_servers", Risk.MANUAL, _compare_servers),
)
