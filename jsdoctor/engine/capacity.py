"""Space and how fast it fills: what replies of servers show, side by side, without a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from math import fsum, inf
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from jsdoctor.checks.server_health.jetstream_storage_near_limit import of_account, of_server
from jsdoctor.checks.streams.limits import StreamLimitUse, consumer_fill, growth_per_s, refuses_when_full, storage_fills
from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.engine.preflight.judge import gap_of_field, not_seen
from jsdoctor.engine.room import has_room, rooms
from jsdoctor.model.capacity import (
    OLDEST_GO,
    Capacity,
    Due,
    Figure,
    GrowthRate,
    Headroom,
    Space,
    StreamGrowth,
    StreamRoom,
)
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.host import HostFacts
from jsdoctor.model.partial import NotShownError
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Account, Accounts, Server
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.trend import History, ServerTrend, StreamHistory, Trend
from jsdoctor.model.wording import listed

_NEAR = 0.8
"""Share of a limit from which the report explains whether reservations or use lead to refusals."""
_MIN_DIFFERENCE, _MIN_DIFFERENCE_BYTES = 0.02, 1_000_000
"""Use and the sum of streams are read at different times: only a difference above this share and size is reported."""
_NAMED = 3
_NO_STORAGE_CODE = {"file": 10047, "memory": 10028}
"""Error code of a stream that needs more than is left, by kind of storage."""
_SERVER_FULL, _ACCOUNT_FULL = 10023, 10002
"""Error codes of publishes at the limit of a server and of an account."""
_USE_FIGURES = ("reserved", "used", "streams")
_HOST = "--this-host shows it on the host of a server that has a server_name"
_NO_RATE = "run with --samples 2 or more, or with --history DIR or --prometheus URL"


def capacity(evidence: EvidenceSet, wanted: StreamRoom | None = None) -> Capacity:
    """Everything about space; `wanted` are further streams for which room is looked for."""
    return _Survey(evidence).result(wanted)


T = TypeVar("T")
_Grown = tuple[Stream, StreamGrowth]


class _Limit(NamedTuple):
    """A limit, what is used of it, and what happens when it is reached."""

    name: str
    used: int
    limit: int
    then: str
    unit: str = "bytes"


class _Survey:
    """The evidence of one run. `gaps` are what it lacks."""

    def __init__(self, evidence: EvidenceSet) -> None:
        self._land = Landscape(evidence)
        self._all = evidence
        self._evidence = evidence.for_checks()
        self._gaps: list[Gap] = []
        host = self._evidence.get(HostFacts)
        self._processes = host.last.processes if host else ()

    def result(self, wanted: StreamRoom | None) -> Capacity:
        with self._gap_if_not_shown():
            self._gaps += not_seen(self._all, self._land, ())
        accounts = self._evidence.get(Accounts)
        histories = self._histories()
        streams = [grown for stream in self._land.streams for grown in self._growth(stream, histories)]
        spaces: list[Space] = []
        for storage in ("file", "memory"):
            for server in self._land.by_name.values():
                spaces += self._server_space(server, storage, streams)
            for account in accounts.accounts if accounts else ():
                spaces += self._account_space(account, storage, streams)
        headroom = [each for server in self._land.by_name.values() for each in self._headroom(server)]
        found: list[StreamRoom] = []
        with self._gap_if_not_shown():
            found = list(rooms(wanted, self._land, accounts)) if wanted else []
        return Capacity(
            spaces=tuple(space for space in spaces if space.storage == "file" or any(map(space.value, _USE_FIGURES))),
            streams=tuple(growth for _, growth in sorted(streams, key=lambda s: (-s[1].bytes, s[1].subject.label))),
            headroom=(*headroom, *self._most_consumers()),
            room=tuple(found),
            has_room=has_room(found, accounts) if wanted else None,
            unseen=tuple(dict.fromkeys(self._gaps)),
        )

    @contextmanager
    def _gap_if_not_shown(self) -> Iterator[None]:
        """Ends the block without an error where it reads a field that the evidence does not show, and adds a gap."""
        try:
            yield
        except NotShownError as error:
            self._gaps.append(gap_of_field(error))

    def _add_gap(self, subject: Subject, reason: str, how: str) -> None:
        self._gaps.append(Gap("capacity", subject, reason, how, requested=False))

    def _histories(self) -> dict[tuple[str, str], StreamHistory]:
        """The readings of each stream by key: those of several days where there are some, else those of this run."""
        trend, history = self._evidence.get(Trend), self._evidence.get(History)
        if trend is None and history is None and self._land.series is not None:
            self._add_gap(CLUSTER, "growth of streams, which were read once", _NO_RATE)
        of_run = trend.streams() if trend else ()
        return {each.last.key: each for each in (*of_run, *(history.streams() if history else ()))}

    def _growth(self, stream: Stream, histories: Mapping[tuple[str, str], StreamHistory]) -> Iterator[_Grown]:
        if not stream.from_leader:
            return
        config, history = stream.config, histories.get(stream.key)
        with self._gap_if_not_shown():
            growth = StreamGrowth(
                subject=stream.subject,
                bytes=stream.state.bytes,
                copies=self._read(lambda: max(config.num_replicas, 1), None),
                storage=self._read(lambda: config.storage, ""),
            )
            if history is not None:
                growth = replace(
                    growth,
                    rate=_rate(history, "state.bytes"),
                    readings=len(history.readings),
                    span_s=history.elapsed_s,
                    due=tuple(self._dues_of_stream(stream, history)),
                )
            yield stream, growth

    def _dues_of_stream(self, stream: Stream, history: StreamHistory) -> Iterator[Due]:
        """When the stream reaches max_bytes and max_msgs, unless its messages reach max_age before."""
        refuses = self._read(lambda: refuses_when_full(stream), None)
        then = "then it is full" if refuses is None else "then new messages are refused" if refuses else OLDEST_GO
        full: list[Due] = []
        for use in storage_fills(stream):
            limit = _Limit(use.key, use.used, use.limit, then, use.noun)
            rate = _rate(history, use.used_path)
            full += _dues((limit,), [_Grower(rate)] if rate else [], stream.at)
        aged = self._read(lambda: _max_age_due(stream, _rate(history, "state.bytes")), None)
        yield from (due for due in full if aged is None or due.earliest < aged.earliest)
        if aged is not None and not any(due.latest is not None and due.latest < aged.earliest for due in full):
            yield aged

    def _read(self, read: Callable[[], T], otherwise: T) -> T:
        """The result of `read`; where it needs a field that is not shown: `otherwise`, and a gap is added."""
        try:
            return read()
        except NotShownError as error:
            self._gaps.append(gap_of_field(error))
            return otherwise

    def _server_space(self, server: Server, storage: str, streams: Sequence[_Grown]) -> Iterator[Space]:
        stats, is_file = server.jetstream, storage == "file"
        if stats is None or stats.disabled or stats.config is None:
            return
        with self._gap_if_not_shown():
            uses = {use.kind: use for use in of_server(stats) if use.path.endswith("storage" if is_file else "memory")}
            held = [(s, growth) for s, growth in streams if growth.storage == storage and _holds(server.name, s)]
            all_known = all(growth.storage for _, growth in streams)
            copies = [copy for stream, _ in held for copy in stream.replicas if copy.server == server.name]
            stored = sum(copy.state.bytes for copy in copies)
            used, field = uses.get("used"), "storage" if is_file else "memory"
            figures = (
                *((self._disk(server),) if is_file else ()),
                Figure("limit", used.limit if used else None, f"JSZ config.max_{field}"),
                *(
                    Figure(kind, uses[kind].value if kind in uses else None, f"JSZ {path}{field}")
                    for kind, path in (("reserved", "reserved_"), ("used", ""))
                ),
                Figure(
                    "streams",
                    stored if copies or (all_known and not held) else None,
                    "JSZ state.bytes of its copies, summed",
                ),
                *((self._raft_log_size(server.name),) if is_file else ()),
            )
            name = "max_file_store" if is_file else "max_memory_store"
            limits = [_Limit(name, used.value, used.limit, f"then publishes get {_SERVER_FULL}")] if used else []
            if is_file and figures[0].value is not None:
                limits.append(_Limit("its disk", 0, int(figures[0].value), "then it is full"))
            alone = f"is refused ({_NO_STORAGE_CODE[storage]})"
            refused = "is not placed on it (10005 where too few others are left)" if server.meta else alone
            dues = tuple(_dues(limits, _growers(held), server.at))
            space = Space(subject=server.subject, storage=storage, figures=figures, due=dues)
            yield replace(space, words=tuple(_explanations(space, refused, _SERVER_FULL, held)))

    def _account_space(self, account: Account, storage: str, streams: Sequence[_Grown]) -> Iterator[Space]:
        """A row for each tier. The limit of a tier is one for each replica, while its use counts all copies."""
        field = "storage" if storage == "file" else "memory"
        reply = account.source if account.source.startswith("$") else "JSZ account_details"
        for tier in account.tiers:
            with self._gap_if_not_shown():
                copies = tier.copies
                own = [
                    (stream, growth)
                    for stream, growth in streams
                    if stream.account == account.name and growth.storage in {storage, ""}
                    if not tier.name or growth.copies in {copies, None}
                ]
                all_known = all(growth.storage and growth.copies for _, growth in own)
                used = next((use for use in of_account(replace(account, tiers=(tier,))) if use.path == field), None)
                limit = used.limit if used else None
                total = tier.storage if storage == "file" else tier.memory
                then = f"then publishes get {_ACCOUNT_FULL}"
                limits = [_Limit(f"max_{field}", total, limit, then)] if limit else []
                reserved = (
                    sum(max(s.config.max_bytes, 0) * (growth.copies or 0) for s, growth in own) if all_known else None
                )
                stored = sum(growth.bytes * (growth.copies or 0) for _, growth in own) if all_known else None
                space = Space(
                    subject=Subject("account", account=account.name, name=tier.name),
                    storage=storage,
                    figures=(
                        Figure("limit", limit, f"{reply} limits.max_{field}{', of all copies' if copies > 1 else ''}"),
                        Figure("reserved", reserved, "STREAM.INFO config.max_bytes by replicas, summed"),
                        Figure("used", total, f"{reply} {field}, of all copies"),
                        Figure("streams", stored, "STREAM.INFO state.bytes by replicas, summed"),
                    ),
                    due=tuple(_dues(limits, _growers(own if all_known else (), copies=True), account.at)),
                )
                refused = f"of all copies together is refused ({_NO_STORAGE_CODE[storage]})"
                yield replace(space, words=tuple(_explanations(space, refused, _ACCOUNT_FULL, own)))

    def _disk(self, server: Server) -> Figure:
        """Free space of the server's volume. Its process is found by name; among several also by store directory."""
        own = [process for process in self._processes if process.name.partition(" (pid ")[0] == server.name]
        if len(own) > 1 and server.jetstream and server.jetstream.config:
            ending = f"/{server.jetstream.config.store_dir.lstrip('/')}"
            own = [process for process in own if f"{process.store_dir}/jetstream".endswith(ending)]
        volume = own[0].volume if len(own) == 1 else None
        if volume is not None and not volume.problem and volume.total:
            return Figure("disk free", volume.available, "host: available on the volume of its store directory")
        self._add_gap(server.subject, "disk free", _HOST)
        return Figure("disk free", None, _HOST)

    def _raft_log_size(self, name: str) -> Figure:
        """The Raft logs below `$SYS` of its store directory, which no limit counts."""
        groups = self._evidence.get(RaftGroups)
        logs = [member.state.wal.bytes for member in (groups.last if groups else ()) if member.server == name]
        return Figure(
            "$SYS", sum(logs) if groups else None, "RAFTZ wal.bytes, summed: Raft logs, which no limit counts"
        )

    def _headroom(self, server: Server) -> Iterator[Headroom]:
        stats, varz = server.jetstream, server.varz
        trend = self._evidence.get(ServerTrend)
        past = next((h for h in (trend.servers if trend else ()) if h.last.name == server.name), None)
        with self._gap_if_not_shown():
            figures = []
            if stats is not None and not stats.disabled:
                limits = self._read(lambda: varz.jetstream.limits if varz and varz.jetstream else None, None)
                most = limits.max_ha_assets if limits else 0
                figures += [
                    Figure("HA assets", stats.ha_assets, "JSZ ha_assets", "count"),
                    Figure("limit", most or None, "VARZ jetstream.limits.max_ha_assets", "count"),
                    Figure("waiting", stats.api.inflight, "JSZ api.inflight", "count"),
                ]
                first = past.first.jetstream if past and not past.restarted else None
                if past and first is not None:
                    calls = (stats.api.total - first.api.total) / past.elapsed_s
                    figures.append(Figure("API", round(calls, 2), "JSZ api.total, between samples", "per_second"))
            if varz is not None:
                figures += [
                    Figure("memory", varz.mem, "VARZ mem"),
                    Figure("GOMEMLIMIT", varz.gomemlimit or None, "VARZ gomemlimit"),
                ]
            if figures:
                yield Headroom(server.subject, tuple(figures))

    def _most_consumers(self) -> Iterator[Headroom]:
        """The streams with the most consumers, the fullest first where they have limits."""
        rows: list[tuple[float, int, Stream, StreamLimitUse | None]] = []
        for stream in self._land.streams:
            with self._gap_if_not_shown():
                server = self._land.by_name.get(stream.answered_by)
                limits = server.varz.jetstream.limits if server and server.varz and server.varz.jetstream else None
                fill = consumer_fill(stream, limits.default_max_consumers if limits else 0)
                rows.append((fill.share if fill else 0.0, stream.state.consumer_count, stream, fill))
        for _, number, stream, fill in sorted(rows, key=lambda row: row[:2], reverse=True)[:_NAMED]:
            if number:
                path = fill.limit_path if fill else "config.max_consumers"
                yield Headroom(
                    stream.subject,
                    (
                        Figure("consumers", number, "STREAM.INFO state.consumer_count", "count"),
                        Figure("max_consumers", fill.limit if fill else None, f"STREAM.INFO {path}", "count"),
                    ),
                )


def _holds(server: str, stream: Stream) -> bool:
    """Whether a server has a copy, by the members that its leader reports, else by who reported it."""
    members = stream.cluster.members if stream.cluster else ()
    return server in (members or {copy.server for copy in stream.replicas} or {stream.answered_by})


def _explanations(space: Space, refused: str, code: int, held: Iterable[_Grown]) -> Iterator[str]:
    """Sentences: why streams or messages are refused, what reserves most, and how far use and streams differ."""
    name, streams = space.subject.label, {figure.name: figure.value for figure in space.figures}["streams"]
    limit, reserved, used = map(space.value, ("limit", "reserved", "used"))
    if limit and reserved >= _NEAR * limit and reserved > used:
        most = sorted((s for s, _ in held if s.config.max_bytes > 0), key=lambda s: -s.config.max_bytes)
        names = listed([stream.subject.label for stream in most], _NAMED)
        yield (
            f"{name}: max_bytes above {max(limit - reserved, 0):,} {refused} because of reservations, not of use: its"
            f" streams reserve {reserved:,} of {limit:,} bytes by their max_bytes, and {used:,} are used"
            + (f"; most is reserved by {names}" if names else "")
        )
    elif limit and used >= _NEAR * limit:
        yield f"{name}: {used:,} of {limit:,} bytes are used: at the limit publishes get {code}"
    difference = 0 if streams is None else used - streams
    if abs(difference) > max(_MIN_DIFFERENCE * used, _MIN_DIFFERENCE_BYTES):
        unseen = "are of unseen streams, or were" if difference > 0 else "were"
        yield f"{name}: use and streams differ by {abs(difference):,} bytes: these {unseen} written meanwhile"


def _rate(history: StreamHistory, path: str) -> GrowthRate | None:
    """The lowest, mean and highest growth per second between readings; None if all readings are of one moment."""
    readings = [first for first, then in pairwise(history.readings) if first.at < then.at] + [history.last]
    pairs = [growth_per_s(StreamHistory(pair), path) for pair in pairwise(readings)]
    return GrowthRate(min(pairs), growth_per_s(StreamHistory(tuple(readings)), path), max(pairs)) if pairs else None


class _Grower(NamedTuple):
    """What fills a limit: how fast, and after how many bytes or seconds its own limits stop it.

    `held`: how many bytes it can lose.
    """

    rate: GrowthRate
    left: float = inf
    left_s: float = inf
    held: float = inf


def _growers(streams: Iterable[_Grown], copies: bool = False) -> Iterator[_Grower]:
    """The streams whose growth is known; with `copies` at the rate of all copies together, else at that of one."""
    for stream, growth in streams:
        if (rate := growth.rate) is None:
            continue
        number, state = (growth.copies or 0) if copies else 1, stream.state
        size = {"bytes": 1.0, "messages": state.bytes / max(state.messages, 1)}
        left = min(((use.limit - use.used) * size[use.noun] for use in storage_fills(stream)), default=inf)
        total = GrowthRate(rate.low * number, rate.mean * number, rate.high * number)
        yield _Grower(total, max(left, 0.0) * number, _age_left_s(stream), state.bytes * number)


def _age_left_s(stream: Stream) -> float:
    """Seconds until the first message reaches max_age: from then on as much expires as is stored. Else infinite."""
    if stream.config.max_age_ns <= 0 or stream.state.first_ts is None:
        return inf
    left_s = stream.config.max_age_ns / 1e9 - (stream.at - stream.state.first_ts).total_seconds()
    return left_s if left_s > 0 else inf


def _end_s(grower: _Grower, speed: float) -> float:
    """Seconds until it stops at that speed, in bytes per second."""
    if speed > 0:
        return min(grower.left / speed, grower.left_s)
    return grower.held / -speed if speed < 0 else inf


def _reached_s(left: int, growers: Iterable[tuple[_Grower, float]]) -> float | None:
    """Seconds until growers add `left` bytes together; None: never, as their own limits stop them before.

    Each has its speed in bytes per second. One that shrinks stops when it is empty.
    """
    ends = sorted((_end_s(grower, speed), speed) for grower, speed in growers)
    now, grown_by, speed = 0.0, 0.0, fsum(each for _, each in ends)
    for end, own in ends:
        if speed > 0 and grown_by + speed * (end - now) >= left:
            return now + (left - grown_by) / speed
        if end == inf:
            return None
        grown_by, now, speed = grown_by + speed * (end - now), end, speed - own
    return None


def _max_age_due(stream: Stream, rate: GrowthRate | None) -> Due | None:
    """When its first message reaches max_age, and how much it then holds at the mean rate."""
    left_s = _age_left_s(stream)
    if left_s == inf or rate is None or rate.mean <= 0 or (at := _after(stream.at, left_s)) is None:
        return None
    holds = stream.state.bytes + int(rate.mean * left_s)
    then = "then it grows no further"
    return Due(limit="max_age", value=holds, at=stream.at, earliest=at, expected=at, latest=at, then=then)


def _dues(limits: Sequence[_Limit], growers: Iterable[_Grower], at: datetime) -> Iterator[Due]:
    """When each limit that still has room is reached, at the highest, mean and lowest growth."""
    every = list(growers) if limits else []
    for limit in limits:
        left = limit.limit - limit.used
        if left <= 0:
            continue
        earliest, expected, latest = (
            _after(at, _reached_s(left, ((grower, getattr(grower.rate, which)) for grower in every)))
            for which in ("high", "mean", "low")
        )
        if earliest is not None:
            yield Due(
                limit=limit.name,
                value=limit.limit,
                unit=limit.unit,
                at=at,
                earliest=earliest,
                expected=expected,
                latest=latest,
                then=limit.then,
            )


def _after(at: datetime, seconds: float | None) -> datetime | None:
    """The time so many seconds after `at`; None: never, or later than `datetime` can express."""
    try:
        return None if seconds is None else at + timedelta(seconds=seconds)
    except OverflowError:
        return None
