"""Whether a step helped: the rules that led to it no longer fail, and what an operator suffers from got better.

A rule that falls silent because a limit was moved proves nothing. A step whose action names an improvement is verified
only when that shows in its asset's INFO, read before the step and after it.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum

import msgspec

from jsdoctor.model.plan import Json, StepProof
from jsdoctor.model.wording import counted
from jsdoctor.remedy.replies import date_ns


class ProofResult(Enum):
    """The present outcome of a rule for a subject."""

    GONE = "gone"
    THERE = "still there"
    UNKNOWN = "not to be judged"


class ProofVerdict(msgspec.Struct, frozen=True):
    """The result of one proof, and the message of the rule."""

    finds: ProofResult
    text: str = ""


Examine = Callable[[Sequence[StepProof]], Awaitable[Mapping[StepProof, ProofVerdict]]]
"""Collects fresh evidence and evaluates the rules. Raises the errors of the collection if there is no connection."""


def together(proofs: Sequence[StepProof], verdicts: Mapping[StepProof, ProofVerdict]) -> ProofVerdict:
    """Combine the verdicts of all proofs of a step: THERE if one still fails, else UNKNOWN if one is unknown."""
    stated = [(proof, verdicts.get(proof, ProofVerdict(ProofResult.UNKNOWN, "it was not judged"))) for proof in proofs]
    for finds in (ProofResult.THERE, ProofResult.UNKNOWN):
        texts = [f"{proof.code}: {verdict.text}" for proof, verdict in stated if verdict.finds is finds]
        if texts:
            return ProofVerdict(finds, "; ".join(texts))
    return ProofVerdict(ProofResult.GONE, ", ".join(f"{proof.code} no longer fails" for proof in proofs))


_BETTER = ProofVerdict(ProofResult.GONE)
_MIN_FULL_IN_S = 60
"""A stream that is full again sooner than this did not improve."""


class Improvement(msgspec.Struct, frozen=True):
    """`text` completes "better when"; `look_at` says what a person has to look at if it does not.

    `suffers` says of the state before whether anything had to improve; `judge` compares the states before and
    after.
    """

    name: str
    text: str
    look_at: str
    suffers: Callable[[Json], bool]
    judge: Callable[[Json, Json], ProofVerdict]


def _waiting(info: Json) -> int:
    """Messages that a consumer has not delivered, or has no acknowledgement of."""
    return int(info.get("num_pending") or 0) + int(info.get("num_ack_pending") or 0)


def _moved(before: Json, now: Json, which: str) -> bool:
    """Whether `delivered` or `ack_floor` moved: its sequence, or the time of its last use.

    One missing acknowledgement holds the floor back; a new leader knows no time until it sees the next.
    """
    old, new = before.get(which) or {}, now.get(which) or {}
    later = new.get("last_active") and new["last_active"] != old.get("last_active")
    return int(new.get("consumer_seq") or 0) > int(old.get("consumer_seq") or 0) or bool(later)


def _served(before: Json, now: Json) -> ProofVerdict:
    """Deliveries go on, and so do acknowledgements where the consumer wants any."""
    if not _waiting(now):
        return _BETTER
    wants_acks = (now.get("config") or {}).get("ack_policy") != "none"
    for which, what in (("delivered", "delivered"), ("ack_floor", "acknowledged")):
        if (which == "delivered" or wants_acks) and not _moved(before, now, which):
            waits = f"{counted(_waiting(now), 'message')} {'waits' if _waiting(now) == 1 else 'wait'}"
            return ProofVerdict(ProofResult.THERE, f"nothing was {what} since, and {waits}")
    return _BETTER


def _redelivered(info: Json) -> int:
    return int(info.get("num_redelivered") or 0)


def _delivered_once(before: Json, now: Json) -> ProofVerdict:
    """Better if fewer redelivered messages are unacknowledged than before."""
    if _redelivered(now) < _redelivered(before):
        return _BETTER
    held = counted(_redelivered(now), "message")
    return ProofVerdict(ProofResult.THERE, f"{held} that came more than once are still not acknowledged")


def _used_share(info: Json) -> float:
    """The used part of the limit at which the stream refuses what is published; 0 where it never does.

    A stream that discards the oldest message instead takes everything. Bytes are used up when a message of average size
    does not fit.
    """
    config, state = info.get("config") or {}, info.get("state") or {}
    if config.get("discard") != "new":
        return 0.0
    messages, size = int(state.get("messages") or 0), int(state.get("bytes") or 0)
    most, largest = int(config.get("max_msgs") or 0), int(config.get("max_bytes") or 0)
    average = size / messages if messages else 0.0
    shares = (messages / most if most > 0 else 0.0, (size + average) / largest if largest > 0 else 0.0)
    return max(shares)


def _is_full(info: Json) -> bool:
    return _used_share(info) >= 1


def _full_in_s(before: Json, now: Json) -> float:
    """Seconds until the stream is full, if it goes on growing as it did since the state before."""
    grown = _used_share(now) - _used_share({**before, "config": now.get("config")})
    try:
        elapsed_s = (date_ns(now["ts"]) - date_ns(before["ts"])) / 1e9
    except (KeyError, ValueError):
        return math.inf
    return (1 - _used_share(now)) / grown * elapsed_s if grown > 0 else math.inf


def _last_seq(info: Json) -> int:
    return int((info.get("state") or {}).get("last_seq") or 0)


def _takes_publishes(before: Json, now: Json) -> ProofVerdict:
    """Better if the stream is not full, nor soon, and of one that was full, if messages were stored since."""
    if _is_full(now):
        return ProofVerdict(ProofResult.THERE, "the stream is full again")
    if (left_s := _full_in_s(before, now)) < _MIN_FULL_IN_S:
        return ProofVerdict(ProofResult.THERE, f"the stream takes publishes and is full again in {left_s:.0f} s")
    if _last_seq(now) > _last_seq(before) or not _is_full(before):
        return _BETTER
    return ProofVerdict(ProofResult.UNKNOWN, "the stream has room, and nothing was published to it since")


def _lags_behind(info: Json) -> bool:
    origins = (info.get("mirror"), *(info.get("sources") or ()))
    return any(origin.get("lag") for origin in origins if origin)


def _copied(before: Json, now: Json) -> ProofVerdict:
    """More of the origin is stored than before, or nothing is left to copy."""
    if _last_seq(now) > _last_seq(before) or not _lags_behind(now):
        return _BETTER
    return ProofVerdict(ProofResult.THERE, "nothing was copied since, and the stream lags behind its origin")


SERVED = Improvement(
    "served",
    "deliveries and acknowledgements go on",
    "look at the workers: whether they run, request messages and acknowledge them",
    lambda info: _waiting(info) > 0,
    _served,
)
DELIVERED_ONCE = Improvement(
    "delivered_once",
    "messages that came more than once are acknowledged",
    "look at the workers: whether they acknowledge, and how long they take for a message",
    lambda info: _redelivered(info) > 0,
    _delivered_once,
)
TAKES_PUBLISHES = Improvement(
    "takes_publishes",
    "publishes are stored and the stream does not fill up again",
    "look at what should empty the stream: its consumers, its max_age, or a purge",
    lambda info: _used_share(info) > 0,
    _takes_publishes,
)
COPIES = Improvement(
    "copies",
    "the stream goes on copying from its origin",
    "look at the origin: whether it exists, has a leader and can be reached",
    _lags_behind,
    _copied,
)

IMPROVEMENTS: dict[str, Improvement] = {kind.name: kind for kind in (SERVED, DELIVERED_ONCE, TAKES_PUBLISHES, COPIES)}
