"""Removes a server from the meta group, only if it is gone for good, and no asset with it that only it holds.

Whether a removed server joins the group again under its own name when it is started depends on the version. Observed in
clusters of three: 2.12.8 and 2.15.1 accept it 300 s after its removal (raft.go: peerRemoveTimeout), with its old store
or an empty one, and 2.12.8 sometimes at once. 2.10.26 did so at once in two of four trials, and in the others not in
340 s nor under another meta leader. Under another `server_name` and with an empty store it joins within two seconds on
all of them.

The removal moves streams and consumers with a single replica there to another server, empty: on 2.10.26, 2.12.8 and
2.15.1 the stream then has no messages and the consumer no position, while the name, the configuration and the time of
creation stay. The only copy is in the store of the removed server, and is deleted when that server starts with it
again. Assets with more replicas keep what the other replicas have, also if no server is left to take the place.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import AssetLoss, Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.server import Accounts
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from jsdoctor.model.typed import decode_plain
from jsdoctor.remedy.api import Api, NoResponseError
from jsdoctor.remedy.operation import (
    Action,
    CannotPlanError,
    Operation,
    Standing,
    StepContext,
    StepRefusedError,
    Target,
    Values,
    shell_commands,
    stream_of,
    whole_number,
)
from jsdoctor.remedy.preconditions import REST_IS_HEALTHY, peer_is_gone

_DEFAULT_SILENT_S = 600
_PING = "$SYS.REQ.SERVER.PING.JSZ"
_LAST_REPLY_WAIT_S = 1.0


class RemovePeer(Operation):
    """`step.subject` is the server. Takes a login of the system account.

    Values: `silent_s`, the minimum time in seconds since it was last seen (ten minutes), 0: it is known to be gone;
    `give_up`, `ACCOUNT/STREAM` or `ACCOUNT/STREAM/CONSUMER` for each asset whose only copy it has, joined by `+`;
    `seen`, earlier snapshots that show what it had; `unseen`, accounts whose assets cannot be shown, joined by `+`.
    """

    name = "server.remove_peer"
    step_risk = Risk.DESTRUCTIVE
    patience_s = 60

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return shell_commands(subject, "nats server cluster peer-remove {name} -f")

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        """Refused if data would be lost, unless the values name each such asset."""
        name = target.subject.name
        if target.subject.kind != "server":
            raise CannotPlanError("it is for a server that is gone")
        if " " in name or not name:
            raise CannotPlanError("no server knows its name any more: nats server cluster peer-remove takes its id")
        silent_s = whole_number(values, "silent_s") if "silent_s" in values else _DEFAULT_SILENT_S
        effect = (
            f"{name} is no member any more; assets with other replicas keep their data, and each single replica on"
            f" {name} is created again elsewhere, empty; when {name} starts with its old store again, it deletes them"
        )
        conditions = (peer_is_gone(name, silent_s), REST_IS_HEALTHY)
        return (self.step(target, effect=effect, preconditions=conditions, losses=_agreed_losses(target, values)),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        return (Request("SERVER.REMOVE", {"peer": step.subject.name}),)

    async def read_state(self, step: Step, api: Api) -> Json:
        """`leader` and `replicas` of the meta group by its leader, the servers that are `answering`, and the `peer`."""
        return meta_group_by_leader(step.subject.name, await jsz_of_all_servers(api))

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Already done if it is no member of the group."""
        if state["peer"] or state["leader"] == step.subject.name:
            return Standing.AS_PLANNED, ""
        return Standing.DONE, f"{step.subject.name} is no member of the meta group"

    def awaited(self, step: Step, before: Json, state: Json) -> str:
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


def meta_group_by_leader(name: str, replies: list[Json]) -> Json:
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


async def jsz_of_all_servers(api: Api) -> list[Json]:
    """JSZ of every server. Ends if no reply has come for a second."""
    replies: list[Json] = []
    inbox = await api.inbox()
    try:
        await api.publish(_PING, b"", reply=inbox.subject)
        while message := await inbox.next(_LAST_REPLY_WAIT_S if replies else api.timeout_s):
            if message.data:
                replies.append(decode_plain(message.data))
            elif not replies:
                raise StepRefusedError("no server responds: it takes a login of the system account")
    finally:
        await inbox.close()
    if not replies:
        raise NoResponseError(f"{_PING}: no response")
    return replies


def _agreed_losses(target: Target, values: Values) -> tuple[AssetLoss, ...]:
    """The assets that only this server holds. Raises CannotPlanError unless the values agree to lose each of them."""
    name, series, accounts = target.subject.name, target.evidence.get(SnapshotSeries), target.evidence.get(Accounts)
    if series is None:
        raise CannotPlanError("no stream was seen: what the server alone holds is not known")
    witnesses = tuple(witness for witness in values.get("seen") or () if isinstance(witness, Witness))
    agreed, unseen = _names(values, "give_up"), _names(values, "unseen")
    backups = values.get("backups") or {}
    asset_losses = tuple(
        msgspec.structs.replace(loss, backup=backups.get((loss.subject.account, loss.subject.name), ""))
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


def _names(values: Values, key: str) -> frozenset[str]:
    return frozenset(filter(None, str(values.get(key) or "").split("+")))


def _path(loss: AssetLoss) -> str:
    subject = loss.subject
    return "/".join(part for part in (subject.account, subject.stream, subject.name) if part)


class Witness(msgspec.Struct, frozen=True):
    """A snapshot, now or earlier, the accounts that its login saw, and the servers that responded.

    A login of an account (`servers` is None) sees all assets of that account, including those without a response; a
    login of the system account sees the assets of the servers that respond, so it shows a server only while that one
    responds.
    """

    snapshot: ClusterSnapshot
    accounts: frozenset[str]
    servers: frozenset[str] | None = None

    def shows(self, server: str) -> frozenset[str]:
        """The accounts of which it shows every asset on that server."""
        return self.accounts if self.servers is None or server in self.servers else frozenset()


def losses(server: str, now: ClusterSnapshot, earlier: Sequence[ClusterSnapshot]) -> tuple[AssetLoss, ...]:
    """The assets that are lost if that server is removed.

    `earlier` are snapshots of the same deployment, with any login. An asset seen on the server earlier counts unless
    another server has led it since. An asset without a response now counts, wherever it was.
    """
    asset_losses: dict[Subject, AssetLoss] = {}
    for snapshot in sorted((*earlier, now), key=lambda item: item.taken_at):
        for stream in snapshot.streams:
            _update_losses(asset_losses, server, snapshot, stream)
            for consumer in stream.consumers:
                _update_losses(asset_losses, server, snapshot, consumer)
        for silent in snapshot.silent:
            asset_losses.setdefault(silent.subject, AssetLoss(subject=silent.subject))
    # A consumer of a stream that is lost as a whole is no loss of its own.
    alone = [s for s in asset_losses if s.kind != "consumer" or stream_of(s) not in asset_losses]
    return tuple(
        asset_losses[subject]
        for subject in sorted(alone, key=lambda s: (s.account, s.stream or s.name, s.name if s.stream else ""))
    )


def _update_losses(
    losses: dict[Subject, AssetLoss], server: str, snapshot: ClusterSnapshot, asset: Stream | Consumer
) -> None:
    """Record the asset if the snapshot shows its only copy on that server; remove it if another server leads it."""
    cluster = asset.cluster
    alone = cluster is not None and not cluster.replicas and cluster.leader == server
    if alone and isinstance(asset, Stream):
        state = asset.state
        losses[asset.subject] = AssetLoss(
            subject=asset.subject, messages=state.messages, bytes=state.bytes, as_of=snapshot.taken_at
        )
    elif alone and isinstance(asset, Consumer):
        position = asset.delivered.stream_seq
        losses[asset.subject] = AssetLoss(subject=asset.subject, messages=position, as_of=snapshot.taken_at)
    elif asset.from_leader and asset.has_leader:
        losses.pop(asset.subject, None)


ACTIONS: tuple[Action, ...] = (RemovePeer(),)
