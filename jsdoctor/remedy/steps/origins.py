"""Steps for streams whose copying stopped at a message id that came twice (servers before 2.12.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import MANUAL, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.steps.stream import change, config_step

_LEAST_WINDOW_NS = 100_000_000
_MENDED = (2, 12, 8)


@action("stream.unfreeze_sources", Risk.MANUAL)
def _unfreeze_sources(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The shortest window that a server takes: an id that it still knows stops the copying before 2.12.8."""
    del values
    return (command("nats", "stream", "edit", subject.name, "--dupe-window=100ms", "-f"),)


@plans("stream.unfreeze_sources")
def unfreeze_sources(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of a stream with sources: ids are forgotten, and it goes on. A mirror has no window that would help."""
    del values
    config, name = target.config, target.subject.name
    if target.version >= _MENDED:
        raise CannotPlanError("from 2.12.8 on a repeated id stops no copying: the reason is another one")
    if config.get("mirror"):
        look = command("nats", "stream", "info", name)
        step = Step(
            action="stream.unfreeze_sources",
            operation=MANUAL,
            subject=target.subject,
            risk=Risk.MANUAL,
            effect=(
                "a mirror that stopped at a repeated id goes on for good on servers from 2.12.8 on: upgrade the server "
                "that leads it; a restart only takes it past one such message"
            ),
            commands=(look, command("nats", "server", "list")),
        )
        return (step,)
    if not config.get("sources"):
        raise CannotPlanError("it has no sources")
    return config_step(
        target,
        "stream.unfreeze_sources",
        change(target, "duplicate_window", _LEAST_WINDOW_NS),
        risk=Risk.DISRUPTIVE,
        effect=(
            "ids are forgotten after 100 ms: messages whose id came before are copied, and a publisher's late retry is "
            "stored twice"
        ),
    )
