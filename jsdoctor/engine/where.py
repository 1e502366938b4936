"""Where a subject, a stream, a consumer or a message is, by the evidence of a check, without a rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.engine.preflight.judge import not_seen
from jsdoctor.engine.subject_routes import SubjectRoute, SubjectRoutes
from jsdoctor.model.account_mappings import AccountMappings, transformed
from jsdoctor.model.connections import Subscriptions
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import SourceConfig
from jsdoctor.model.logins import NO_LOGINS, Logins
from jsdoctor.model.near_subjects import nearness
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.partial import NotShownError
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.subjects import common_subject, overlaps_any, subjects_overlap
from jsdoctor.model.whereabouts import Whereabout, Whereabouts
from jsdoctor.model.wording import counted, joined, listed, span

_SHOWN = 5
_MAX_AGE_SHARE = 0.9
"""Share of max_age from which on the age of the oldest message shows that max_age removes messages."""
_MESSAGES_OF_ROOM = 2
"""Number of messages of average size: if max_bytes leaves no room for them, it is what removes messages."""


_WITHOUT_LEADER = "its leader did not respond"


def where(evidence: EvidenceSet, *names: str, logins: Logins = NO_LOGINS) -> tuple[Whereabouts, ...]:
    """What was found for each `SUBJECT`, `STREAM`, `STREAM/CONSUMER` or `STREAM#SEQUENCE`.

    A word without a dot is a stream where one has that name, and a subject else. `logins` are those of the run.
    """
    land = Landscape(evidence)
    routes = SubjectRoutes(evidence.get(AccountMappings), land.streams)
    seen = _Seen(land.streams, routes, evidence.get(Subscriptions), logins)
    try:
        unseen = tuple(not_seen(evidence, land, ()))
    except NotShownError as error:
        return tuple(_undecided(asked, error) for asked in names)
    return tuple(_whereabouts(asked, seen, unseen) for asked in names)


class _Seen(NamedTuple):
    """What was collected of a deployment."""

    streams: tuple[Stream, ...]
    routes: SubjectRoutes
    subscriptions: Subscriptions | None
    logins: Logins

    def unreachable_account(self, asset: Stream | Consumer) -> Iterator[str]:
        """A sentence if no login of the run reaches the account of the asset; needs the accounts of all logins."""
        own = [login.accounts for login in self.logins.each if not login.is_system]
        if own and all(own) and not any(asset.subject.account in names for names in own):
            yours = joined(sorted({min(names, key=len) for names in own}))
            yield f"your login is of account {yours}: it does not reach the JetStream of {asset.subject.account}"

    def subscribers(self, subjects: Collection[str], account: str = "") -> str:
        """The connections of an account, or of all, that subscribe to a subject; a phrase if they were not read."""
        if self.subscriptions is None:
            return "connections were not read"
        owner = self.routes.names_of(account) if account else ()
        names = dict.fromkeys(name for each in subjects for name in self.subscriptions.subscribers(each, owner))
        return listed(names, _SHOWN)


def _whereabouts(asked: str, seen: _Seen, unseen: tuple[Gap, ...]) -> Whereabouts:
    try:
        sentence, found = _found(asked, seen)
    except NotShownError as error:
        return _undecided(asked, error)
    if seen.routes.unread and not {"#", "/"} & set(asked):
        reason = f"the mappings, imports and exports of {listed(seen.routes.unread, _SHOWN)} were not read"
        unseen = (*unseen, Gap("mappings", CLUSTER, reason, AccountMappings.unavailable.how_to_get, requested=False))
    return Whereabouts(asked=asked, sentence=sentence, found=tuple(found), unseen=unseen)


def _undecided(asked: str, error: NotShownError) -> Whereabouts:
    gap = Gap("field", error.subject, f"{error.field} is not shown", error.how_to_get)
    return Whereabouts(asked=asked, sentence=f"{asked}: undecided", unseen=(gap,))


Found = tuple[str, list[Whereabout]]


def _found(asked: str, seen: _Seen) -> Found:
    name, _, sequence = asked.partition("#")
    stream, slash, consumer = asked.partition("/")
    if sequence.isascii() and sequence.isdigit():
        return _message(_streams_named(seen, name), name, int(sequence), seen)
    if slash:
        return _consumer(_streams_named(seen, stream), stream, consumer, seen)
    if "." not in asked and (streams := _streams_named(seen, asked)):
        return _of_streams(streams), [_stream(each, seen) for each in streams]
    return _subject(asked, seen)


def _streams_named(seen: _Seen, name: str) -> list[Stream]:
    """The streams of that name: each account and each domain may have one."""
    return [stream for stream in seen.streams if stream.name == name]


def _no_such_stream(name: str, seen: _Seen) -> str:
    return f"No stream that was seen is named {name!r}{did_you_mean(name, {each.name for each in seen.streams})}"


def _of_streams(streams: Sequence[Stream]) -> str:
    if len(streams) == 1:
        return f"{streams[0].subject.label} is {_location(streams[0])}"
    return f"{len(streams)} accounts have a stream of that name"


def _place(asset: Stream | Consumer, seen: _Seen, *facts: str) -> Whereabout:
    cluster = asset.cluster
    return Whereabout(
        subject=asset.subject,
        domain=asset.domain if isinstance(asset, Stream) else "",
        leader=cluster.leader if cluster else "",
        members=cluster.members if cluster else (),
        facts=(*seen.unreachable_account(asset), *facts),
    )


def _stream(stream: Stream, seen: _Seen) -> Whereabout:
    leading = seen.routes.leading_to(stream)
    more = [f"and {counted(len(leading) - _SHOWN, 'more')} that lead to it"] if len(leading) > _SHOWN else []
    return _place(
        stream, seen, *_facts(stream), *leading[:_SHOWN], *more, *_copies(stream, seen), *_readers(stream, (), seen)
    )


def _facts(stream: Stream) -> Iterator[str]:
    config, state = stream.config, stream.state
    kind = "" if config.retention == "limits" else f", {config.retention}"
    yield f"{_location(stream)}; {config.storage}, {counted(config.num_replicas, 'replica')}{kind}"
    holds = f"{counted(state.messages, 'message')}, sequences {state.first_seq:,} to {state.last_seq:,}"
    yield holds if state.messages else f"empty; the last sequence was {state.last_seq:,}"
    if config.subjects:
        yield f"subjects: {listed(config.subjects, _SHOWN)}"
    for origin in stream.config.origins:
        yield f"{'mirror' if config.mirror else 'source'} of {origin.name}{_origin_place(origin)}"


def _copies(stream: Stream, seen: _Seen) -> Iterator[str]:
    """The streams that mirror or source this one."""
    key = (stream.domain, stream.own_account, stream.name)
    for other in seen.streams:
        if any(other.key_of_origin(origin) == key for origin in other.config.origins):
            yield f"{'mirrored' if other.config.mirror else 'sourced'} by {other.subject.label}"


def _readers(stream: Stream, subjects: tuple[str, ...], seen: _Seen) -> Iterator[str]:
    """The consumers of a stream. With `subjects`: those whose filters take them, and the names of the others."""
    taking = [each for each in stream.consumers if not subjects or _filter_takes(each, subjects)]
    if not taking:
        some = " with a filter that takes it" if subjects and stream.consumers else ""
        yield f"no consumer{some}" if stream.consumers_seen else "consumers were not read"
        return
    yield from (f"{'taken' if subjects else 'read'} by {_reader_text(each, stream, seen)}" for each in taking[:_SHOWN])
    if len(taking) > _SHOWN:
        yield f"and by {counted(len(taking) - _SHOWN, 'more consumer')}"
    if subjects and (others := [each.name for each in stream.consumers if each not in taking]):
        yield f"not by {listed(others, _SHOWN)}, whose filters differ"


def _reader_text(consumer: Consumer, stream: Stream, seen: _Seen) -> str:
    kind = "push" if consumer.config.is_push else "pull"
    filters = f" of {listed(consumer.config.filters, 2)}" if consumer.config.filters else ""
    if not consumer.from_leader:
        return f"{consumer.name} ({kind}{filters}): {_WITHOUT_LEADER}, so its backlog is not known"
    waiting = f", {counted(consumer.num_waiting, 'request')} waiting"
    if kind == "push":
        names = seen.subscribers((consumer.config.deliver_subject,), stream.own_account)
        waiting = (
            f", a subscriber is there{f': {names}' if names else ''}" if consumer.push_bound else ", no subscriber"
        )
    backlog = f"{consumer.num_pending:,} pending, {consumer.num_ack_pending:,} unacknowledged"
    return f"{consumer.name} ({kind}{filters}): {backlog}{waiting}"


def _filter_takes(consumer: Consumer, subjects: tuple[str, ...]) -> bool:
    return not consumer.config.filters or any(overlaps_any(each, consumer.config.filters) for each in subjects)


def _consumer(streams: Sequence[Stream], stream: str, name: str, seen: _Seen) -> Found:
    found = [(consumer, each) for each in streams for consumer in each.consumers if consumer.name == name]
    if not streams:
        return _no_such_stream(stream, seen), []
    if not found:
        known = {consumer.name for each in streams for consumer in each.consumers}
        return f"{stream} has no consumer {name!r} that was seen{did_you_mean(name, known)}", []
    places = [
        _place(
            each,
            seen,
            _location(each),
            f"reads {_reader_text(each, stream_of, seen)}",
            f"delivered up to {each.delivered.stream_seq:,}, acknowledged up to {each.ack_floor.stream_seq:,}",
            *(() if each.config.is_push else ("servers do not report which connections fetch from a pull consumer",)),
        )
        for each, stream_of in found
    ]
    return f"{found[0][0].subject.label} is {_location(found[0][0])}", places


def _subject(subject: str, seen: _Seen) -> Found:
    """The streams that store a subject, directly or by mappings and imports; else streams with similar subjects."""
    every = seen.routes.of(subject)
    taken = {stream.subject: [route for route in every if route.stored_subjects(stream)] for stream in seen.streams}
    missed = "".join(
        f"; {text}" for text in _unstored_routes(every, {r for each in taken.values() for r in each})[:_SHOWN]
    )
    found = [stream for stream in seen.streams if taken[stream.subject]]
    if found:
        places = [_storing(stream, taken[stream.subject], seen) for stream in found]
        return f"{subject} is stored by {joined([stream.subject.label for stream in found])}{missed}", places
    near = sorted(
        {
            f"{pattern} of {stream.subject.label}"
            for stream in seen.streams
            for pattern in stream.config.subjects
            if nearness(pattern, subject) is not None
        }
    )
    meant = f"; near: {listed(near, _SHOWN)}" if near else ""
    if "." not in subject:
        meant = did_you_mean(subject, {each.name for each in seen.streams}) or meant
    names = seen.subscribers((subject,)) if seen.subscriptions else ""
    return f"No stream that was seen stores {subject}{missed or meant}{f'; subscribed by {names}' if names else ''}", []


def _storing(stream: Stream, arriving: Sequence[SubjectRoute], seen: _Seen) -> Whereabout:
    """A stream that stores a subject, by which routes, under which subjects, and who reads it there."""
    matching = [each for each in stream.config.subjects if any(subjects_overlap(each, r.subject) for r in arriving)]
    subjects = tuple(dict.fromkeys(subject for route in arriving for subject in route.stored_subjects(stream)))
    steps = [_route_text(route) for route in arriving if route.step]
    change = stream.config.subject_transform
    if change and (src := change.src or ">"):
        subjects = tuple(
            transformed(common_subject(src, s), src, change.dest) if subjects_overlap(src, s) else s for s in subjects
        )
        steps.append(f"stored as {listed(subjects, _SHOWN)} (subject_transform)")
    facts = (f"by {listed(matching, _SHOWN)}", *steps, _location(stream), *_copies(stream, seen))
    names = seen.subscribers([route.subject for route in arriving], stream.own_account)
    besides = [f"subscribed besides: {names}" if seen.subscriptions else names] if names else []
    return _place(stream, seen, *facts, *_readers(stream, subjects, seen), *besides)


def _route_text(route: SubjectRoute) -> str:
    share = "" if route.share == 100 else f"{route.share} % "
    return f"{share}as {route.subject}: {', then '.join(route.steps)}"


def _unstored_routes(routes: Sequence[SubjectRoute], stored: set[SubjectRoute]) -> list[str]:
    """Sentences on the mappings and imports that lead to no stream."""
    used = {each for route in stored for each in route.way}
    lost = [route for route in routes if route.step and not route.is_copy and route not in used]
    last = [route for route in lost if not any(other.origin == route for other in lost)]
    gone = (f"no stream that was seen stores {r.subject}" if r.subject else f"{r.share} % is dropped" for r in last)
    return [f"{', then '.join(route.steps)}, and {text}" for route, text in zip(last, gone, strict=True)]


def _message(streams: Sequence[Stream], name: str, sequence: int, seen: _Seen) -> Found:
    if not streams:
        return _no_such_stream(name, seen), []
    fates = [_message_state(stream, sequence) for stream in streams]
    places = [
        _place(stream, seen, *([fate] if len(streams) > 1 else []), *_progresses(stream, sequence))
        for stream, fate in zip(streams, fates, strict=True)
    ]
    return f"{name}#{sequence}: {fates[0] if len(set(fates)) == 1 else _of_streams(streams)}", places


def _message_state(stream: Stream, sequence: int) -> str:
    """Whether a sequence is stored, gone or not stored yet, as far as the state of the stream and its limits show."""
    state = stream.state
    if not stream.from_leader:
        return f"undecided: {_WITHOUT_LEADER}"
    if sequence > state.last_seq:
        return f"not stored yet: the last sequence is {state.last_seq:,}"
    if sequence < state.first_seq:
        return f"gone: the stream begins at {state.first_seq:,}; {_removed_by(stream)}"
    missing = state.last_seq - state.first_seq + 1 - state.messages
    if missing <= 0:
        return f"stored: nothing is missing between {state.first_seq:,} and {state.last_seq:,}"
    return (
        f"undecided: {counted(missing, 'sequence')} between {state.first_seq:,} and {state.last_seq:,} are gone;"
        f" nats stream get {stream.name} {sequence} decides"
    )


def _removed_by(stream: Stream) -> str:
    """What may have removed the oldest messages of a stream."""
    config, state = stream.config, stream.state
    causes = []
    if config.retention == "workqueue":
        causes.append("acknowledged, as in every work queue")
    if config.retention == "interest":
        causes.append("acknowledged by all consumers, or wanted by none")
    if config.max_age_ns > 0 and state.first_ts is not None:
        age = stream.at - state.first_ts
        if age >= timedelta(microseconds=config.max_age_ns * _MAX_AGE_SHARE / 1_000):
            causes.append(f"expired (max_age {span(config.max_age_ns)})")
    evicts = config.discard != "new"
    if evicts and 0 < config.max_msgs <= state.messages:
        causes.append(f"evicted by max_msgs {config.max_msgs:,}")
    if evicts and 0 < config.max_bytes <= state.bytes + _MESSAGES_OF_ROOM * state.bytes / max(state.messages, 1):
        causes.append(f"evicted by max_bytes {config.max_bytes:,}")
    if config.max_msgs_per_subject > 0 and not config.discard_new_per_subject:
        causes.append(f"replaced by newer ones of its subject (max_msgs_per_subject {config.max_msgs_per_subject:,})")
    if config.allow_msg_ttl:
        causes.append("expired by a TTL of its own")
    if not causes:
        return "purged or deleted: no limit of the stream removes messages now"
    return f"{' or '.join(causes)}, unless somebody purged or deleted it"


def _progresses(stream: Stream, sequence: int) -> Iterator[str]:
    return (_consumer_progress(consumer, sequence) for consumer in stream.consumers[:_SHOWN])


def _consumer_progress(consumer: Consumer, sequence: int) -> str:
    if not consumer.from_leader:
        return f"{consumer.name}: {_WITHOUT_LEADER}"
    if not consumer.delivered.consumer_seq:
        return f"{consumer.name}: has delivered nothing yet"
    if sequence <= consumer.ack_floor.stream_seq:
        return f"{consumer.name}: acknowledged or passed (floor {consumer.ack_floor.stream_seq:,})"
    if sequence <= consumer.delivered.stream_seq:
        return f"{consumer.name}: delivered, if its filter takes it, and perhaps not acknowledged"
    return f"{consumer.name}: not delivered yet"


def _origin_place(origin: SourceConfig) -> str:
    if origin.external is None:
        return ""
    return f" in domain {origin.external.domain}" if origin.external.domain else " of another account"


def _location(asset: Stream | Consumer) -> str:
    """Such as `on n1 (leader), n2, n3 (behind)`."""
    cluster = asset.cluster
    if cluster is None:
        return f"on {asset.answered_by or 'the server of this login'}"
    states = {peer.name or peer.peer: _replica_state(peer.current, peer.offline, peer.lag) for peer in cluster.replicas}
    words = [f"{name}{f' ({state})' if state else ''}" for name, state in states.items()]
    leader = f"{cluster.leader} (leader)" if cluster.leader else "no leader"
    return f"on {', '.join([leader, *words])}"


def _replica_state(current: bool, offline: bool, lag: int) -> str:
    if offline:
        return "offline"
    return "" if current else f"{lag:,} behind" if lag else "behind"
