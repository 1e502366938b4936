"""From findings to offers: the commands of each rule's remedy action, written for the finding's subject.

Values are offered as the deployment accepts them in the state that was seen; what it would refuse is not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Offer, Outcome, Subject
from jsdoctor.model.logins import Logins
from jsdoctor.model.plan import Step
from jsdoctor.model.report import Result
from jsdoctor.model.server import UNLIMITED, Accounts, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.remedy.operation import Action, Values

_ASSETS = ("stream", "consumer")
NOTHING = EvidenceSet({}, {})
NO_LEADER_ADVICE = "Bring back a server that holds the stream."


def with_offers(
    results: Iterable[Result],
    actions: Callable[[], Mapping[str, Action]],
    evidence: EvidenceSet = NOTHING,
    logins: Logins | None = None,
) -> tuple[Result, ...]:
    """The same results, failed ones with their rule's remedy attached. Where nothing failed, no action is loaded.

    A check may name another action than its page does (`remedy={"action": ...}`) where the remedy depends on what it
    found; that action is of the same closed set. What the deployment would refuse in the state of the evidence is not
    offered. Each command has the flags of its login, or that login is named; None: neither.
    """
    state = SeenState(evidence)
    offered = (_offer(result, actions, state) for result in results)
    return tuple(offered if logins is None else (_with_login(result, logins) for result in offered))


_HoldsTextT = TypeVar("_HoldsTextT", bound=msgspec.Struct)


def flagged(value: _HoldsTextT, subject: Subject, logins: Logins) -> _HoldsTextT:
    """The same finding, gap or verdict: the commands in its texts lead to the login that can run them."""
    texts = {
        name: getattr(value, name) for name in ("message", "advice", "reason", "how_to_get") if hasattr(value, name)
    }
    changed = {name: new for name, text in texts.items() if (new := logins.flagged(text, subject)) != text}
    return msgspec.structs.replace(value, **changed) if changed else value


def _with_login(result: Result, logins: Logins) -> Result:
    subject, offer = result.finding.subject, result.remedy
    finding = flagged(result.finding, subject, logins)
    if offer is not None and offer.commands:
        commands, needed = _commands(offer.commands, subject, logins)
        offer = msgspec.structs.replace(offer, commands=commands, logins=needed)
    elif finding is result.finding:
        return result
    return msgspec.structs.replace(result, finding=finding, remedy=offer)


def step_with_login(step: Step, logins: Logins) -> Step:
    """The same step, its commands with the flags of the login that can run them, or with that login's name."""
    flags, needed = _commands(step.commands, step.subject, logins)
    return msgspec.structs.replace(step, commands=flags, logins=needed)


def _commands(commands: Iterable[str], subject: Subject, logins: Logins) -> tuple[tuple[str, ...], dict[str, str]]:
    """The commands with the flags of their logins, and by command the login that is missing."""
    by_command = {command: logins.flagged(command, subject) for command in commands}
    needed = {by_command[command]: login for command in by_command if (login := logins.needed(command, subject))}
    return tuple(by_command.values()), needed


def _fits_subject(name: str, subject: Subject) -> bool:
    """Whether the commands fit the subject: for example, logs of clients may concern a stream whose name is unknown."""
    return subject.kind in _ASSETS if name.partition(".")[0] in _ASSETS else True


def _offer(result: Result, actions: Callable[[], Mapping[str, Action]], state: SeenState) -> Result:
    finding = result.finding
    if result.rule.remedy is None or finding.outcome is not Outcome.FAIL:
        return result
    name = finding.remedy.get("action", result.rule.remedy.action)
    action = actions()[name if _fits_subject(name, finding.subject) else "none"]
    values, refusal = state.possible(finding.subject, finding.remedy)
    commands = action.commands(finding.subject, values)
    kept = tuple(command for command in commands if not is_refused(command, refusal))
    if values is not finding.remedy or kept != commands:
        advice = finding.advice if kept == commands else refusal
        finding = msgspec.structs.replace(finding, remedy=dict(values), advice=advice)
    return msgspec.structs.replace(result, finding=finding, remedy=Offer(action.name, action.risk.value, kept))


def is_refused(command: str, refusal: str) -> bool:
    """Whether the deployment refuses a command for that reason. Without a leader, only lists show an asset."""
    words = command.split()
    if not refusal or words[0] != "nats" or words[1] == "server":
        return False
    return words[2] not in ("ls", "report") and (words[2] != "info" or refusal is NO_LEADER_ADVICE)


class SeenState:
    """The state of the deployment according to the evidence."""

    def __init__(self, evidence: EvidenceSet) -> None:
        self._evidence = evidence

    @cached_property
    def _streams(self) -> dict[tuple[str, str], Stream]:
        series = self._evidence.get(SnapshotSeries)
        return {s.key: s for s in series.last.streams} if series is not None else {}

    def possible(self, subject: Subject, values: Values) -> tuple[Values, str]:
        """The values, limits of bytes no larger than there is storage for; and the reason if no change is accepted."""
        name = {"stream": subject.name, "consumer": subject.stream}.get(subject.kind, "")
        stream = self._streams.get((subject.account, name)) if name else None
        return _possible(stream, values, self._evidence) if stream else (values, "")


def _possible(stream: Stream, values: Values, evidence: EvidenceSet) -> tuple[Values, str]:
    if not stream.has_leader:
        return values, NO_LEADER_ADVICE
    if (
        (replicas := values.get("replicas", 1)) > 1
        and (running := _responding_servers(stream, evidence))
        and replicas > running
    ):
        return values, f"{replicas} replicas need as many running servers, and {running} respond: bring one back first"
    if (
        "max_bytes" not in values
        or (max_bytes := min(_byte_limits(stream, evidence), default=UNLIMITED)) >= values["max_bytes"]
    ):
        return values, ""
    if max_bytes <= max(stream.config.max_bytes, stream.state.bytes):
        return values, "there is no storage left that its limit could take: raise that of the account or server first"
    # A new limit leaves half of the storage to other streams, if half is enough.
    half = max_bytes // 2 if stream.config.max_bytes <= 0 and max_bytes // 2 > stream.state.bytes else max_bytes
    return {**values, "max_bytes": half}, ""


def _byte_limits(stream: Stream, evidence: EvidenceSet) -> Iterator[int]:
    """The highest `max_bytes` for which the account has room, and each server that holds the stream."""
    kind, own = "memory" if stream.config.storage == "memory" else "storage", max(stream.config.max_bytes, 0)
    accounts, servers = evidence.get(Accounts), evidence.get(Servers)
    rows = accounts.accounts if accounts is not None else ()
    for tier in (tier for account in rows if account.name == stream.account for tier in account.tiers):
        limit, reserved = getattr(tier.limits, f"max_{kind}"), getattr(tier, f"reserved_{kind}")
        if tier.name in ("", f"R{stream.config.num_replicas}"):
            if 0 < limit < UNLIMITED:
                yield max(limit - reserved, 0) // (1 if tier.name else max(stream.config.num_replicas, 1)) + own
            if (largest := getattr(tier.limits, f"{kind}_max_stream_bytes")) > 0:
                yield largest
    holders = {stream.answered_by, *(replica.name for replica in (stream.cluster.replicas if stream.cluster else ()))}
    for server in servers.servers if servers is not None else ():
        if server.name in holders and server.jetstream and (config := server.jetstream.config):
            limit, reserved = getattr(config, f"max_{kind}"), getattr(server.jetstream, f"reserved_{kind}")
            if 0 < limit < UNLIMITED and reserved < UNLIMITED:
                yield max(limit - reserved, 0) + own


def _responding_servers(stream: Stream, evidence: EvidenceSet) -> int:
    """How many servers of the stream's cluster responded; 0 where that was not seen."""
    servers = evidence.get(Servers)
    cluster = stream.cluster_name
    known = servers.servers if servers is not None and servers.complete else ()
    return sum(server.cluster == cluster and server.jetstream is not None for server in known if server.meta)
