"""Remedy actions on the cluster: leaders, peers, the meta group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command


@action("cluster.inspect_members", Risk.MANUAL)
def _inspect_members(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look who is up and what the meta leader thinks of its peers. Removing a peer is for a person to decide."""
    del subject, values
    return (command("nats", "server", "list"), command("nats", "server", "report", "jetstream"))


@action("cluster.inspect_group", Risk.MANUAL)
def _inspect_group(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look at the Raft group of a stream or consumer, and at the servers that should hold it."""
    del values
    report = command("nats", "server", "report", "jetstream")
    if subject.kind == "consumer":
        return (command("nats", "consumer", "info", subject.stream, subject.name), report)
    if subject.kind == "stream":
        return (command("nats", "stream", "info", subject.name), report)
    return (command("nats", "server", "list"), report)


@action("cluster.compare_servers", Risk.MANUAL)
def _compare_servers(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Look at what every server says of its settings. Which of them is right is for a person to decide."""
    del subject, values
    return (command("nats", "server", "list"), command("nats", "server", "request", "variables"))


@action("cluster.balance", Risk.DISRUPTIVE)
def _balance(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Each stream whose leader is moved is without one for a moment. It moves leaders, not data, of the account."""
    del subject, values
    return (command("nats", "server", "report", "jetstream"), command("nats", "stream", "cluster", "balance"))
