"""Removing a server from the meta group: only one that is gone.

Whether one that is started again joins the group again, under its own name, differs. Seen in clusters of three: 2.12.8
and 2.15.1 take it back 300 s after its removal (raft.go: peerRemoveTimeout), with its old store or an empty one, and
2.12.8 sometimes at once. 2.10.26 did so at once in two of four trials, and in the others not in 340 s nor under another
meta leader. Under another `server_name` and with an empty store it joins within two seconds on all of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from nats import errors

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.operation import Api, NoResponseError, Operation, Standing, StepContext, StepRefusedError, register
from jsdoctor.remedy.preconditions import precondition

_PING = "$SYS.REQ.SERVER.PING.JSZ"
_QUIET_S = 1.0
_NS = 1_000_000_000
_LONGEST_NS = 100_000_000 * _NS
"""Longer than that is no time: 2.10 tells the time since the year 1, and later ones zero, of a peer never heard."""


@precondition("peer_is_gone")
def _peer_is_gone(state: Json, silent_s: Any) -> str:
    """It answers nobody, its leader has flagged it, and has not heard it for that long."""
    name, peer = state["name"], state["peer"]
    if name in state["answering"]:
        return f"{name} answers: it is not gone"
    if not peer.get("offline"):
        return f"the meta leader does not count {name} as offline (yet): after a crash that takes three minutes"
    heard_ns = int(peer.get("active") or 0)
    if not 0 < heard_ns < _LONGEST_NS:
        unknown = f"the meta leader has not heard {name} since it leads, and cannot tell how long it has been silent"
        return f"{unknown}: when you know that it is gone for good, say silent_s=0" if silent_s else ""
    if heard_ns < silent_s * _NS:
        return f"the meta leader heard {name} {heard_ns // _NS} s ago, less than the {silent_s} s that were asked for"
    return ""


@precondition("rest_is_healthy")
def _rest_is_healthy(state: Json, value: Any) -> str:
    """All others are there: a group that lacks more than this one may lose its quorum, or data."""
    del value
    others = [peer for peer in state["replicas"] if peer["name"] != state["name"]]
    lacking = [peer["name"] for peer in others if peer.get("offline") or not peer.get("current")]
    return f"not up to date in the meta group: {', '.join(lacking)}" if lacking else ""


class RemovePeer(Operation):
    """`step.subject` is the server. Takes a login of the system account."""

    name: ClassVar[str] = "server.remove_peer"

    async def look(self, step: Step, api: Api) -> Json:
        """`leader` and `replicas` of the meta group as its leader has them, who is `answering`, and the `peer`."""
        return as_its_leader_has_it(step.subject.name, await everyone(api))

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """No member of the group: there is nothing to remove."""
        if state["peer"] or state["leader"] == step.subject.name:
            return Standing.AS_PLANNED, ""
        return Standing.DONE, f"{step.subject.name} is no member of the meta group"

    async def write(self, run: StepContext, before: Json) -> Json:
        """SERVER.REMOVE."""
        del before
        return await run.api.ask("SERVER.REMOVE", {"peer": run.step.subject.name})

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The group does without it."""
        del step, before
        return f"{state['name']} is still a member of the meta group" if state["peer"] else ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Nothing where it is still a member; else only the server itself can come back."""
        name = run.step.subject.name
        if before.get("peer") and (await self.look(run.step, run.api))["peer"]:
            return
        lost = "; ".join(loss.text for loss in run.step.losses)
        raise StepRefusedError(
            f"{name} was removed: under a new server_name and with an empty store it joins again at once; under its own"
            " name servers from 2.12 on take it back within five minutes, and older ones perhaps never"
            + (f". Given up with it: {lost}" if lost else "")
        )


def as_its_leader_has_it(name: str, replies: list[Json]) -> Json:
    """The meta group by the word of its leader; raises `SilentError` where there is not one that answers.

    On 2.15 all members list their peers: of one that is gone the others do not know when it was last heard.
    """
    metas = {
        str((reply.get("server") or {}).get("name")): (reply.get("data") or {}).get("meta_cluster") or {}
        for reply in replies
    }
    leaders = {meta["leader"] for meta in metas.values() if meta.get("leader")}
    own = [meta for server, meta in metas.items() if meta.get("leader") == server and meta.get("replicas")]
    if len(leaders) != 1 or not own:
        raise NoResponseError("the servers do not agree on one meta leader that answers")
    (meta,) = own
    return {
        "name": name,
        "leader": meta["leader"],
        "replicas": meta["replicas"],
        "answering": sorted(metas),
        "peer": next((peer for peer in meta["replicas"] if peer["name"] == name), {}),
    }


async def everyone(api: Api) -> list[Json]:
    """Every server's JSZ. Ends when none has come for a second."""
    replies: list[Json] = []
    inbox = await api.client.subscribe(api.client.new_inbox(), pending_bytes_limit=0)
    try:
        await api.client.publish(_PING, b"", reply=inbox.subject)
        while True:
            message = await inbox.next_msg(timeout=_QUIET_S if replies else api.timeout_s)
            if message.data:
                replies.append(msgspec.json.decode(message.data))
            elif not replies:
                raise StepRefusedError("nobody answers: it takes a login of the system account")
    except (TimeoutError, errors.TimeoutError):
        if replies:
            return replies
        raise NoResponseError(f"{_PING}: no answer") from None
    except errors.Error as error:
        raise NoResponseError(f"{_PING}: {error}") from None
    finally:
        await inbox.unsubscribe()


register(RemovePeer())
