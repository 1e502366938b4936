"""Actions for a person alone: commands that look and change nothing; what to do then is for a person to decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.families.looks import cluster, consumer, server, stream
from jsdoctor.remedy.family import Action, Family


def _nothing(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """There is nothing to type: the page tells what to do."""
    del subject, values
    return ()


FAMILY = Family(
    "looks",
    (Action("none", Risk.MANUAL, _nothing), *stream.ACTIONS, *consumer.ACTIONS, *cluster.ACTIONS, *server.ACTIONS),
)
