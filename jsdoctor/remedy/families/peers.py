"""Removes a server from the meta group, only if it is gone for good.

Whether a removed server joins the group again under its own name when it is started depends on the version. Observed in
clusters of three: 2.12.8 and 2.15.1 accept it 300 s after its removal (raft.go: peerRemoveTimeout), with its old store
or an empty one, and 2.12.8 sometimes at once. 2.10.26 did so at once in two of four trials, and in the others not in
340 s nor under another meta leader. Under another `server_name` and with an empty store it joins within two seconds on
all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import AssetLoss, Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.server import Accounts
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.typed import decode_plain
from jsdoctor.remedy.api import Api, NoResponseError
from jsdoctor.remedy.family import Action, Family, command
from jsdoctor.remedy.held import Witness, losses
from jsdoctor.remedy.operation import Operation, Standing, StepContext, StepRefusedError
from jsdoctor.remedy.planning import CannotPlanError, Target, number

_SILENT_S = 600
_HEALTHY = Precondition("rest_is_healthy", "all other members of the meta group have caught up")
_PING = "$SYS.REQ.SERVER.PING.JSZ"
_QUIET_S = 1.0
_NS = 1_000_000_000
_MAX_NS = 100_000_000 * _NS
"""Longer durations are invalid: for a peer never seen, 2.10 reports the time since the year 1, later versions zero."""


def _peer_is_gone(state: Json, silent_s: Any) -> str:
    """Why the peer does not count as gone: it responds, is not offline, or was seen too recently; else empty."""
    name, peer = state["name"], state["peer"]
    if name in state["answering"]:
        return f"{name} responds: it is not gone"
    if not peer.get("offline"):
        return f"the meta leader does not count {name} as offline (yet): after a crash that takes three minutes"
    heard_ns = int(peer.get("active") or 0)
    if not 0 < heard_ns < _MAX_NS:
        unknown = f"the meta leader has not seen {name} since it leads: how long it has been silent is not known"
        return f"{unknown}: when you know that it is gone for good, say silent_s=0" if silent_s else ""
    if heard_ns < silent_s * _NS:
        return f"the meta leader saw {name} {heard_ns // _NS} s ago, less than the required {silent_s} s"
    return ""


def _rest_is_healthy(state: Json, value: Any) -> str:
    """All others must be there: a group that lacks more than this one may lose its quorum, or data."""
    del value
    others = [peer for peer in state["replicas"] if peer["name"] != state["name"]]
    lacking = [peer["name"] for peer in others if peer.get("offline") or not peer.get("current")]
    return f"not up to date in the meta group: {', '.join(lacking)}" if lacking else ""


class RemovePeer(Operation):
    """`step.subject` is the server. Takes a login of the system account."""

    name: ClassVar[str] = "server.remove_peer"

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """SERVER.REMOVE."""
        del state
        return (Request("SERVER.REMOVE", {"peer": step.subject.name}),)

    def commands(self, step: Step) -> tuple[str, ...]:
        """The same with the CLI, with a login of the system account."""
        return _remove(step.subject)

    async def read_state(self, step: Step, api: Api) -> Json:
        """`leader` and `replicas` of the meta group by its leader, the servers that are `answering`, and the `peer`."""
        return as_its_leader_has_it(step.subject.name, await everyone(api))

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Already done if it is no member of the group."""
        if state["peer"] or state["leader"] == step.subject.name:
            return Standing.AS_PLANNED, ""
        return Standing.DONE, f"{step.subject.name} is no member of the meta group"

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The group does without it."""
        del step, before
        return f"{state['name']} is still a member of the meta group" if state["peer"] else ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Nothing if it is still a member; otherwise only the server itself can join again."""
        name = run.step.subject.name
        if before.get("peer") and (await self.read_state(run.step, run.api))["peer"]:
            return
        lost = "; ".join(loss.text for loss in run.step.losses)
        raise StepRefusedError(
            f"{name} was removed: under a new server_name and with an empty store it joins again at once; under its own"
            " name servers from 2.12 on take it back within five minutes, and older ones perhaps never"
            + (f". Lost with it: {lost}" if lost else "")
        )


def as_its_leader_has_it(name: str, replies: list[Json]) -> Json:
    """The meta group as its leader reports it; raises `NoResponseError` unless exactly one leader responds.

    On 2.15, all members list their peers; only the leader knows when it last saw a peer that is gone.
    """
    metas = {
        str((reply.get("server") or {}).get("name")): (reply.get("data") or {}).get("meta_cluster") or {}
        for reply in replies
    }
    leaders = {meta["leader"] for meta in metas.values() if meta.get("leader")}
    own = [meta for server, meta in metas.items() if meta.get("leader") == server and meta.get("replicas")]
    if len(leaders) != 1 or not own:
        raise NoResponseError("the servers do not agree on one meta leader that responds")
    (meta,) = own
    return {
        "name": name,
        "leader": meta["leader"],
        "replicas": meta["replicas"],
        "answering": sorted(metas),
        "peer": next((peer for peer in meta["replicas"] if peer["name"] == name), {}),
    }


async def everyone(api: Api) -> list[Json]:
    """JSZ of every server. Ends if no reply has come for a second."""
    replies: list[Json] = []
    inbox = await api.inbox()
    try:
        await api.publish(_PING, b"", reply=inbox.subject)
        while message := await inbox.next(_QUIET_S if replies else api.timeout_s):
            if message.data:
                replies.append(decode_plain(message.data))
            elif not replies:
                raise StepRefusedError("no server responds: it takes a login of the system account")
    finally:
        await inbox.close()
    if not replies:
        raise NoResponseError(f"{_PING}: no response")
    return replies


def _remove(subject: Subject) -> tuple[str, ...]:
    return (command("nats", "server", "cluster", "peer-remove", subject.name, "-f"),)


def _offer(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del values
    return _remove(subject)


def _plan_remove_peer(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Refused if data would be lost, unless the values name each such asset.

    Values: `silent_s`, the minimum time in seconds since it was last seen (ten minutes), 0: it is known to be gone;
    `give_up`, `ACCOUNT/STREAM` or `ACCOUNT/STREAM/CONSUMER` for each asset whose only copy it has, joined by `+`;
    `seen`, earlier snapshots that show what it had; `unseen`, accounts whose assets cannot be shown, joined by `+`.
    """
    name = target.subject.name
    if target.subject.kind != "server":
        raise CannotPlanError("it is for a server that is gone")
    if " " in name or not name:
        raise CannotPlanError("no server knows its name any more: nats server cluster peer-remove takes its id")
    silent_s = number(values, "silent_s") if "silent_s" in values else _SILENT_S
    gone = Precondition(
        "peer_is_gone",
        f"{name} does not respond, and was not seen by the meta leader" + (f" for {silent_s} s" if silent_s else ""),
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
        losses=given_up,
        patience_s=60,
    )
    return (step,)


def _given_up(target: Target, values: Mapping[str, Any]) -> tuple[AssetLoss, ...]:
    """The assets that only this server holds. Raises CannotPlanError unless the values agree to lose each of them."""
    name, series, accounts = target.subject.name, target.evidence.get(SnapshotSeries), target.evidence.get(Accounts)
    if series is None:
        raise CannotPlanError("no stream was seen: what the server alone holds is not known")
    witnesses = tuple(witness for witness in values.get("seen") or () if isinstance(witness, Witness))
    agreed, unseen = _names(values, "give_up"), _names(values, "unseen")
    backups = values.get("backups") or {}
    asset_losses = tuple(
        msgspec.structs.replace(loss, backup=backups.get(loss.subject.name, ""))
        if loss.subject.kind == "stream"
        else loss
        for loss in losses(name, series.last, [witness.snapshot for witness in witnesses])
    )
    if open_ := [loss for loss in asset_losses if _path(loss) not in agreed]:
        listed = "; ".join(loss.text + (f", backup in {loss.backup}" if loss.backup else "") for loss in open_)
        allow = "+".join(_path(loss) for loss in asset_losses)
        raise CannotPlanError(
            f"{name} has the only copy of {listed}. Bring {name} back, or copy its JetStream store first: it is deleted"
            f" when {name} starts again after the removal. To give them up: give_up={allow}"
        )
    known = {account.name for account in accounts.accounts} if accounts is not None else set()
    known |= {stream.account for stream in series.last.streams}
    shown = {account for witness in witnesses for account in witness.shows(name)}
    if dark := sorted(known - shown - unseen - {""}):
        raise CannotPlanError(
            f"this login does not show single replicas on {name} in account {', '.join(dark)}. With a login of each,"
            " run jsdoctor capture -o seen/ACCOUNT.zip, then add seen=seen; to remove it without having seen them, add"
            f" unseen={'+'.join(dark)}"
        )
    return asset_losses


def _names(values: Mapping[str, Any], key: str) -> frozenset[str]:
    return frozenset(filter(None, str(values.get(key) or "").split("+")))


def _path(loss: AssetLoss) -> str:
    subject = loss.subject
    return "/".join(part for part in (subject.account, subject.stream, subject.name) if part)


FAMILY = Family(
    "peers",
    actions=(Action("server.remove_peer", Risk.MANUAL, _offer, _plan_remove_peer),),
    operations=(RemovePeer(),),
    judges={"peer_is_gone": _peer_is_gone, "rest_is_healthy": _rest_is_healthy},
)
