"""Inspects single servers: mostly steps that a person takes on a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.family import Action, command


def _inspect_health(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show which servers are unhealthy and the state of their JetStream."""
    del subject, values
    return (command("nats", "server", "report", "health"), command("nats", "server", "report", "jetstream"))


def _inspect_storage(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show what fills the storage. Which stream may lose messages is for a person to decide."""
    del values
    if subject.kind == "account":
        return (command("nats", "account", "info"), command("nats", "stream", "report"))
    return (command("nats", "server", "report", "jetstream"), command("nats", "stream", "report"))


def _inspect_clock(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show what synchronises the clock of that host. How to correct it is for a person to decide."""
    del subject, values
    return (command("chronyc", "tracking"), command("timedatectl"))


def _correct_clock(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Check the server's host, then move the leaders of `values["streams"]` away, to `values["to"]` if it is given."""
    to = (f"--preferred={values['to']}",) if values.get("to") else ()
    streams = values.get("streams", ())
    moves = [command("nats", "stream", "cluster", "step-down", name, *to) for name in streams]
    return (*_inspect_clock(subject, values), *moves)


def _inspect_slow(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show which connections were closed. A slow route or gateway is in the log only."""
    del subject
    reason = str(values.get("reason", "Slow Consumer (Pending Bytes)"))
    return (_closed_report(reason), command("nats", "server", "report", "routes"))


def _inspect_closed(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show which connections were closed for that reason."""
    del subject
    return (_closed_report(str(values.get("reason", "Authentication Failure"))),)


def _inspect_connections(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show present and recent connections."""
    del subject, values
    report = ("nats", "server", "report", "connections", "--top", "20")
    return (command(*report), command(*report, "--state", "closed"))


def _inspect_load(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show which servers carry the load, and which clients cause it."""
    del subject, values
    report = ("nats", "server", "report")
    return (
        command(*report, "cpu"),
        command(*report, "mem"),
        command(*report, "connections", "--sort", "in-msgs", "--top", "20"),
    )


def _inspect_api(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show which servers handle the JetStream API. The events name the clients that send requests."""
    del subject, values
    return (
        command("nats", "server", "report", "jetstream", "--sort", "api"),
        command("nats", "events", "--js-advisory", "--all"),
    )


def _closed_report(reason: str) -> str:
    words = ("nats", "server", "report", "connections", "--state", "closed", "--top", "20")
    return command(*words, "--closed-reason", reason)


def _renew_certificate(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """A person has to obtain a new certificate. The server loads it with a reload, which its operators can request."""
    del values
    return (command("nats", "server", "list"), command("nats", "server", "info", subject.name))


def _inspect_sync(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Whether writes should be slower or safer is for a person to decide, and is set in each server's file."""
    del subject, values
    return (command("nats", "server", "report", "jetstream"), command("nats", "stream", "report"))


def _inspect_account(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show which streams use the account's limits. Its limits are in its JWT, which its operator signs."""
    del values
    return (
        command("nats", "server", "report", "accounts"),
        command("nats", "server", "report", "connections", f"--account={subject.name}"),
    )


def _inspect_pod(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Show what Kubernetes did with the pod, or with all pods if a finding is about several."""
    inside = ("-n", str(values["namespace"])) if "namespace" in values else ()
    if subject.kind != "server":
        return (command("kubectl", "get", "pods,pdb", "-o", "wide", *inside),)
    return (
        command("kubectl", "describe", "pod", subject.name, *inside),
        command("kubectl", "logs", subject.name, "--previous", *inside),
    )


ACTIONS = (
    Action("server.inspect_health", Risk.MANUAL, _inspect_health),
    Action("server.inspect_storage", Risk.MANUAL, _inspect_storage),
    Action("server.inspect_clock", Risk.MANUAL, _inspect_clock),
    Action("server.correct_clock", Risk.MANUAL, _correct_clock),
    Action("server.inspect_slow", Risk.MANUAL, _inspect_slow),
    Action("server.inspect_closed", Risk.MANUAL, _inspect_closed),
    Action("server.inspect_connections", Risk.MANUAL, _inspect_connections),
    Action("server.inspect_load", Risk.MANUAL, _inspect_load),
    Action("server.inspect_api", Risk.MANUAL, _inspect_api),
    Action("server.renew_certificate", Risk.MANUAL, _renew_certificate),
    Action("server.look_at_sync", Risk.MANUAL, _inspect_sync),
    Action("server.look_at_account", Risk.MANUAL, _inspect_account),
    Action("server.inspect_pod", Risk.MANUAL, _inspect_pod),
)
