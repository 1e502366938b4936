"""What must hold right before a step is sent: each judges the state of its asset, and says why it must not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from jsdoctor.checks.declared.deletions import of_change
from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.plan import Json, Precondition
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.typed import convert_to
from jsdoctor.remedy.replies import same_moment

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


def would_delete(target: Mapping[str, Any], info: Json) -> str:
    """What setting `target` would delete of a stream now, in words; empty when nothing. `info` is from STREAM.INFO."""
    try:
        config = convert_to(target, StreamConfig)
        stream = Stream(
            account="",
            name=config.name,
            config=convert_to(info["config"], StreamConfig),
            state=convert_to(info.get("state") or {}, StreamState),
            at=msgspec.convert(info["ts"], datetime) if info.get("ts") else datetime.max.replace(tzinfo=UTC),
            consumers_seen=False,
        )
    except msgspec.ValidationError as error:
        return f"whether it would delete messages is not known: {error}"
    ages = config.max_age_ns > 0 and config.max_age_ns != stream.config.max_age_ns and not config.mirror
    if stream.state.messages and ages and stream.state.first_ts is None:
        return "how old its messages are is not known, and those older than max_age would be deleted"
    deletions = tuple(of_change(config, stream))
    if not deletions:
        return ""
    sure = "may" if all(deletion.unsure for deletion in deletions) else "would"
    return f"messages {sure} be deleted: {'; '.join(deletion.says for deletion in deletions)}"
