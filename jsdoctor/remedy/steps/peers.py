"""Steps that take a server out of the meta group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import AssetLoss, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.server import Accounts
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.held import Witness, losses
from jsdoctor.remedy.planning import CannotPlanError, Target, number

_SILENT_S = 600
_HEALTHY = Precondition("rest_is_healthy", "all other members of the meta group have caught up")


@action("server.remove_peer", Risk.MANUAL)
def _remove_peer(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """With a login of the system account."""
    del values
    return (command("nats", "server", "cluster", "peer-remove", subject.name, "-f"),)


@plans("server.remove_peer")
def remove_peer(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Refused where data would go, unless each such asset is named.

    Values: `silent_s`, for how long nobody must have heard it (ten minutes), 0: it is known to be gone; `give_up`,
    `ACCOUNT/STREAM` or `ACCOUNT/STREAM/CONSUMER` for each asset whose only copy it has, joined by `+`; `seen`, earlier
    snapshots that tell what it had; `unseen`, accounts whose assets nobody can show, joined by `+`.
    """
    name = target.subject.name
    if target.subject.kind != "server":
        raise CannotPlanError("it is for a server that is gone")
    if " " in name or not name:
        raise CannotPlanError("no server knows its name any more: nats server cluster peer-remove takes its id")
    silent_s = number(values, "silent_s") if "silent_s" in values else _SILENT_S
    gone = Precondition(
        "peer_is_gone",
        f"{name} answers nobody, and was not heard by the meta leader" + (f" for {silent_s} s" if silent_s else ""),
        silent_s,
    )
    given_up = _given_up(target, values)
    step = Step(
        action="server.remove_peer",
        operation="server.remove_peer",
        subject=target.subject,
        risk=Risk.DESTRUCTIVE,
        effect=(
            f"{name} is no member any more; assets with other replicas keep their data, and each single replica on"
            f" {name} is created again elsewhere, empty; when {name} starts with its old store again, it deletes them"
        ),
        preconditions=(gone, _HEALTHY),
        requests=(Request("SERVER.REMOVE", {"peer": name}),),
        losses=given_up,
        patience_s=60,
    )
    return (step,)


def _given_up(target: Target, values: Mapping[str, Any]) -> tuple[AssetLoss, ...]:
    """What the server alone holds. Raises CannotPlanError where somebody has not agreed to lose it."""
    name, series, accounts = target.subject.name, target.evidence.get(SnapshotSeries), target.evidence.get(Accounts)
    if not isinstance(series, SnapshotSeries):
        raise CannotPlanError("no stream was seen: what the server alone holds is not known")
    witnesses = tuple(one for one in values.get("seen") or () if isinstance(one, Witness))
    agreed, unseen = _names(values, "give_up"), _names(values, "unseen")
    backups = values.get("backups") or {}
    found = tuple(
        msgspec.structs.replace(loss, backup=backups.get(loss.subject.name, ""))
        if loss.subject.kind == "stream"
        else loss
        for loss in losses(name, series.last, [one.snapshot for one in witnesses])
    )
    if open_ := [loss for loss in found if _path(loss) not in agreed]:
        listed = "; ".join(loss.text + (f", backup in {loss.backup}" if loss.backup else "") for loss in open_)
        allow = "+".join(_path(loss) for loss in found)
        raise CannotPlanError(
            f"{name} has the only copy of {listed}. Bring {name} back, or copy its JetStream store first: it is deleted"
            f" when {name} starts again after the removal. To give them up: give_up={allow}"
        )
    known = {account.name for account in accounts.accounts} if isinstance(accounts, Accounts) else set()
    known |= {stream.account for stream in series.last.streams}
    shown = {account for one in witnesses for account in one.shows(name)}
    if dark := sorted(known - shown - unseen - {""}):
        raise CannotPlanError(
            f"this login does not show single replicas on {name} in account {', '.join(dark)}. With a login of each,"
            " run jsdoctor capture -o seen/ACCOUNT.zip, then add seen=seen; to remove it without having seen them, add"
            f" unseen={'+'.join(dark)}"
        )
    return found


def _names(values: Mapping[str, Any], key: str) -> frozenset[str]:
    return frozenset(filter(None, str(values.get(key) or "").split("+")))


def _path(loss: AssetLoss) -> str:
    subject = loss.subject
    return "/".join(part for part in (subject.account, subject.stream, subject.name) if part)
