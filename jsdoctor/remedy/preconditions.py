"""Preconditions of steps of several families: each judges an asset's INFO reply and returns why a step must not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jsdoctor.model.plan import Json, Precondition
from jsdoctor.remedy.loss import would_delete
from jsdoctor.remedy.moment import same_moment

LED = Precondition("led", "the asset has a leader")
UNSEALED = Precondition("unsealed", "the stream is not sealed")
PEERS_CURRENT = Precondition("peers_current", "all replicas are up and have caught up")
CLUSTERED = Precondition("clustered", "the asset has other replicas that can lead it")


def keeps_all(target: Json) -> Precondition:
    """For a limit that is lowered: nothing that is stored now would be deleted by it."""
    return Precondition("keeps_all", "no stored message would be deleted", target)


def created_at(kind: str, created: str) -> Precondition:
    """That it is the same stream or consumer: the name alone does not identify it."""
    return Precondition("created_at", f"it is the {kind} that was created at {created}", created)


def _created_at(info: Json, value: Any) -> str:
    now = info.get("created")
    return "" if not now or same_moment(str(now), str(value)) else f"it was created at {now}, not at {value}"


def _led(info: Json, value: Any) -> str:
    del value
    cluster = info.get("cluster")
    return "it has no leader now" if cluster is not None and not cluster.get("leader") else ""


def _unsealed(info: Json, value: Any) -> str:
    del value
    return "the stream is sealed" if (info.get("config") or {}).get("sealed") else ""


def _peers_current(info: Json, value: Any) -> str:
    del value
    lagging = [
        str(peer.get("name"))
        for peer in (info.get("cluster") or {}).get("replicas") or ()
        if peer.get("offline") or not peer.get("current")
    ]
    return f"not up to date: {', '.join(lagging)}" if lagging else ""


def _clustered(info: Json, value: Any) -> str:
    del value
    return "" if (info.get("cluster") or {}).get("replicas") else "it has no other replica that could lead it"


def _keeps_all(info: Json, value: Any) -> str:
    return would_delete({**(info.get("config") or {}), **value}, info)


Judge = Callable[[Json, Any], str]
"""Takes what the operation's `read_state` showed and the value of the precondition.

Returns why the step must not be taken, or nothing.
"""

JUDGES: dict[str, Judge] = {
    "created_at": _created_at,
    "led": _led,
    "unsealed": _unsealed,
    "peers_current": _peers_current,
    "clustered": _clustered,
    "keeps_all": _keeps_all,
}


def unmet(preconditions: Iterable[Precondition], state: Json, judges: Mapping[str, Judge]) -> str:
    """The first precondition that does not hold, in words; empty when all do. An unknown one never holds."""
    for precondition in preconditions:
        judge = judges.get(precondition.name)
        reason = (
            judge(state, precondition.value)
            if judge
            else f"this version does not know the precondition {precondition.name!r}"
        )
        if reason:
            return reason
    return ""
