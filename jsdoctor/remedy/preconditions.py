"""What must hold right before a step is sent: each judges the state of its asset, and says why it must not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from jsdoctor.checks.declared.deletions import of_change
from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.plan import Change, Json, Precondition
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.typed import convert_to
from jsdoctor.remedy.replies import behind, date_ns, same_moment

LED = Precondition("led", "the asset has a leader")
UNSEALED = Precondition("unsealed", "the stream is not sealed")
PEERS_CURRENT = Precondition("peers_current", "all replicas are up and have caught up")
CLUSTERED = Precondition("clustered", "the asset has other replicas that can lead it")
NO_PUSH_CLIENT = Precondition("no_push_client", "no client is subscribed to it as a push consumer")
LAST_IS_PAST = Precondition("last_is_past", "the last message is not dated in the future")
REST_IS_HEALTHY = Precondition("rest_is_healthy", "all other members of the meta group have caught up")

DATES_DIFFER_NS = 1_000_000_000
"""Dates of messages that differ by less are of clocks that agree."""
_NS = 1_000_000_000
_MAX_NS = 100_000_000 * _NS
"""Longer durations are invalid: for a peer never seen, 2.10 reports the time since the year 1, later versions zero."""


def keeps_all(changes: Iterable[Change]) -> Precondition:
    """For a limit that is lowered: nothing that is stored now would be deleted by it."""
    target = {change.key: change.after for change in changes}
    return Precondition("keeps_all", "no stored message would be deleted", target)


def created_at(kind: str, created: str) -> Precondition:
    """That it is the same stream or consumer: the name alone does not identify it."""
    return Precondition("created_at", f"it is the {kind} that was created at {created}", created)


def peer_is_gone(name: str, silent_s: int) -> Precondition:
    """That the server is gone, and has been for so long; 0: a person knows that it is."""
    silent = f" for {silent_s} s" if silent_s else ""
    return Precondition(
        "peer_is_gone", f"{name} does not respond, and was not seen by the meta leader{silent}", silent_s
    )


def _created_at(info: Json, value: Any) -> str:
    now = info.get("created")
    return "" if not now or same_moment(str(now), str(value)) else f"it was created at {now}, not at {value}"


def _led(info: Json, value: Any) -> str:
    cluster = info.get("cluster")
    return "it has no leader now" if cluster is not None and not cluster.get("leader") else ""


def _peers_current(info: Json, value: Any) -> str:
    lagging = behind((info.get("cluster") or {}).get("replicas"))
    return f"not up to date: {', '.join(lagging)}" if lagging else ""


def _clustered(info: Json, value: Any) -> str:
    return "" if (info.get("cluster") or {}).get("replicas") else "it has no other replica that could lead it"


def _no_push_client(info: Json, value: Any) -> str:
    """To such a client the restarted numbering is a sequence mismatch (client checkForSequenceMismatch)."""
    if not info.get("push_bound"):
        return ""
    return "a client is subscribed to this push consumer, and would report a sequence mismatch: stop it first"


def _last_is_past(info: Json, value: Any) -> str:
    """A server whose clock is still ahead would date every message so: all of the stream would go."""
    if not info["state"].get("messages", 0):
        return ""
    ahead = date_ns(str(info["state"]["last_ts"])) > date_ns(str(info["ts"])) + DATES_DIFFER_NS
    return "its last message is dated in the future, too: set the clock of its leader right first" if ahead else ""


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
    lacking = behind(peer for peer in state["replicas"] if peer["name"] != state["name"])
    return f"not up to date in the meta group: {', '.join(lacking)}" if lacking else ""


_REASONS: dict[str, Callable[[Json, Any], str]] = {
    "created_at": _created_at,
    "led": _led,
    "unsealed": lambda info, _: "the stream is sealed" if (info.get("config") or {}).get("sealed") else "",
    "peers_current": _peers_current,
    "clustered": _clustered,
    "keeps_all": lambda info, value: would_delete({**(info.get("config") or {}), **value}, info),
    "no_push_client": _no_push_client,
    "last_is_past": _last_is_past,
    "peer_is_gone": _peer_is_gone,
    "rest_is_healthy": _rest_is_healthy,
}
"""Each takes what `read_state` of the operation showed and the value of the precondition.

It returns why the step must not be taken, or nothing.
"""


def unmet(preconditions: Iterable[Precondition], state: Json) -> str:
    """The first precondition that does not hold, in words; empty when all do. An unknown one never holds."""
    for known in preconditions:
        if (reason_against := _REASONS.get(known.name)) is None:
            return f"this version does not know the precondition {known.name!r}"
        if reason := reason_against(state, known.value):
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
    shortens_age = config.max_age_ns > 0 and config.max_age_ns != stream.config.max_age_ns
    if stream.state.messages and shortens_age and stream.state.first_ts is None:
        return "how old its messages are is not known, and those older than max_age would be deleted"
    deletions = tuple(of_change(config, stream))
    if not deletions:
        return ""
    would = "may" if all(deletion.unsure for deletion in deletions) else "would"
    return f"messages {would} be deleted: {'; '.join(deletion.says for deletion in deletions)}"
