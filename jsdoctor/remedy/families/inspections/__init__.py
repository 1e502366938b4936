"""Actions that a person decides: their commands read the state and change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.families.inspections import cluster, consumer, server, stream
from jsdoctor.remedy.family import Action, Family


def _nothing(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """No commands: the rule page describes what to do."""
    del subject, values
    return ()


FAMILY = Family(
    "inspections",
    (Action("none", Risk.MANUAL, _nothing), *stream.ACTIONS, *consumer.ACTIONS, *cluster.ACTIONS, *server.ACTIONS),
)
