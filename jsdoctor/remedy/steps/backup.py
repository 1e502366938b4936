"""Steps that back a stream up, or restore it from a backup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.preconditions import LED

_SLOW_S = 600


@action("stream.backup", Risk.SAFE)
def _backup(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Into a directory of the stream's name, which must not be there."""
    del values
    return (command("nats", "stream", "backup", subject.name, f"backup-{subject.name}", "--consumers"),)


@action("stream.restore", Risk.MANUAL)
def _restore(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `backup`, a directory. The stream that is there is deleted first: back it up before."""
    directory = values.get("backup")
    if not directory:
        return (command("nats", "stream", "info", subject.name),)
    return (
        command("nats", "stream", "rm", subject.name, "-f"),
        command("nats", "stream", "restore", str(directory)),
    )


@plans("stream.backup")
def backup(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of a stream on disk: servers before 2.15 cannot back up one in memory, and the CLI restores none."""
    del values
    if target.stream is None and not target.config:
        raise CannotPlanError("its stream was not seen, so that no backup of it can be taken first")
    storage = target.stream.config.storage if target.stream else target.config.get("storage")
    if storage == "memory":
        raise CannotPlanError("no backup can be taken of a stream that is kept in memory")
    step = Step(
        action="stream.backup",
        operation="stream.backup",
        subject=target.subject,
        risk=Risk.SAFE,
        effect="the stream is written to files beside the journal, and every message of them compared with it",
        preconditions=(LED,),
        commands=_backup(target.subject, {}),
        requests=(Request(f"STREAM.SNAPSHOT.{target.subject.name}", {"deliver_subject": "_INBOX.…"}),),
        inverse="nothing to take back: the files stay",
        patience_s=_SLOW_S,
    )
    return (step,)


@plans("stream.restore")
def restore(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """From a backup that jsdoctor has verified."""
    directory = str(values.get("backup") or "")
    if not directory:
        raise CannotPlanError("it needs backup, for example backup=/var/backups/ORDERS")
    name = target.subject.name
    step = Step(
        action="stream.restore",
        operation="stream.restore",
        subject=target.subject,
        risk=Risk.DESTRUCTIVE,
        effect=f"stream {name} is deleted and made again from {directory}: what was stored after that backup is lost",
        values={"backup": directory},
        commands=_restore(target.subject, {"backup": directory}),
        requests=(Request(f"STREAM.DELETE.{name}"), Request(f"STREAM.RESTORE.{name}", {"config": {}, "state": {}})),
        inverse="the stream of before is restored from the backup that is taken first, unless messages came since",
        patience_s=_SLOW_S,
    )
    return (step,)
