"""Actions that a person decides: their commands read the state and change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.families.inspections import cluster, consumer, server, stream
from jsdoctor.remedy.family import Action, Family


def _nothing(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """No commands: the rule page describes what to do."""
    del subject, values
    return ()


_LOOK = {
    "cluster.inspect_members": "see which servers are missing or offline, and since when",
    "cluster.inspect_group": "see which servers hold it, which of them respond, and which one leads",
    "cluster.compare_servers": "see in which settings the servers differ",
    "consumer.inspect": "see whether applications fetch and acknowledge: waiting pulls, outstanding acknowledgements",
    "consumer.look_for": "see which consumers are left, and whether their owner deleted this one on purpose",
    "server.inspect_health": "see which server is unhealthy, and why",
    "server.inspect_storage": "see what fills the storage, and which of it may go",
    "server.inspect_clock": "see whether the clock is synchronised, by which source, and how far it is off",
    "server.correct_clock": "see whether the clock is synchronised, and correct it before the server leads again",
    "server.inspect_slow": "see which connections are closed as too slow, and from which host",
    "server.inspect_closed": "see which clients are closed for that reason, and from which host",
    "server.inspect_connections": "see which clients connect again and again, and from which host",
    "server.inspect_load": "see which server carries the load, and which clients cause it",
    "server.inspect_api": "see which clients send requests to the API, and how often",
    "server.renew_certificate": "see which certificate the server uses and when it ends; then renew it and reload",
    "server.look_at_sync": "see which streams write most, and decide between speed and safety",
    "server.look_at_account": "see which streams and connections use the limits of the account",
    "server.inspect_pod": "see why Kubernetes ended or did not start the pod",
    "stream.look_at_consumers": "see which subjects have messages that no consumer receives",
    "stream.look_at_replicas": "see which servers hold a replica, and which of them are behind or offline",
    "stream.look_at_head": "see what keeps the first message in the stream",
    "stream.inspect": "see its configuration and its state",
    "stream.look_at_subjects": "see which part of the subjects varies, and which of them may go",
    "stream.look_at_origins": "see whether each origin exists, and how far its copy is behind",
    "stream.look_at_dates": "see when the messages were stored, and by which server",
}
"""What to look for in what the commands of an action show."""

_ACTIONS = (*stream.ACTIONS, *consumer.ACTIONS, *cluster.ACTIONS, *server.ACTIONS)

FAMILY = Family(
    "inspections",
    (Action("none", Risk.MANUAL, _nothing), *(replace(action, look=_LOOK[action.name]) for action in _ACTIONS)),
)
