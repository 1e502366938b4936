"""What rules on sequences say of streams, consumers and logs at the bounds of their words: empty streams, dates
that are missing, copies that expire, refusals that repeat.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from jsdoctor.checks.sequence_mismatch import refusals
from jsdoctor.checks.sequence_mismatch.consumer_ahead import consumer_ahead
from jsdoctor.checks.sequence_mismatch.delivery_gap import delivery_gap_logged
from jsdoctor.checks.sequence_mismatch.expected_ahead import expected_ahead_captured, expected_ahead_logged
from jsdoctor.checks.sequence_mismatch.replica_divergence import Divergence, consumer_divergences, replica_divergence
from jsdoctor.checks.sequence_mismatch.stream_damaged import restored_less_logged, stream_went_back
from jsdoctor.checks.sequence_mismatch.stream_recreated import stream_recreated, stream_recreated_logged
from jsdoctor.checks.sequence_mismatch.wrong_last_sequence import wrong_last_sequence_captured
from jsdoctor.model.finding import Confidence, Finding, Outcome, Severity
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, Peer, SequencePair, StreamConfig, StreamState
from jsdoctor.model.log import Exemplar, LogEvidence, LogTime, Measure, Occurrence, ProcessRun, RestoredFall
from jsdoctor.model.log import LogFile as File
from jsdoctor.model.nats_traffic import (
    ConsumerTraffic,
    Content,
    NatsConnection,
    NatsTraffic,
    Publishing,
    RefusedPublishes,
)
from jsdoctor.model.packets import Capture, Flow, PacketEvidence, SocketAddress, TcpConnection
from jsdoctor.model.server import Health, HealthError, Server, Servers
from jsdoctor.model.snapshot import Consumer, ConsumerReplica, Stream, StreamReplica
from jsdoctor.model.stored import OlderThanStream, StoredMessages, StoredStream
from jsdoctor.model.trend import ConsumerHistory
from tests.checks.snapshots import series, state, texts, two
from tests.checks.values import NOON, params_of
from tests.support.log_cases import log_evidence_of

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NONE = StreamState()
ALONE = Servers((), complete=True)


def stream(held: StreamState = NONE, config: dict[str, Any] | None = None, **fields: Any) -> Stream:
    known: dict[str, Any] = {"account": "APP", "name": "S", "at": NOON, "answered_by": "n1", "created": NOON - 9 * DAY}
    return Stream(state=held, config=StreamConfig(name="S", **(config or {})), **(known | fields))


def consumer(config: dict[str, Any] | None = None, **fields: Any) -> Consumer:
    known: dict[str, Any] = {"account": "APP", "stream": "S", "name": "c", "at": NOON, "answered_by": "n1"}
    places = {"delivered": SequencePair(), "ack_floor": SequencePair()}
    return Consumer(config=ConsumerConfig(**(config or {})), **(known | places | fields))


# Streams that were recreated


def restored(age: timedelta, older: timedelta | None, stored: StoredMessages | None = None, **given: Any) -> list[str]:
    created = NOON - age
    held = state(5, 1, 5, first_ts=created - older) if older is not None else state(0, 6, 5)
    current = series(stream(held, created=created))
    return texts(stream_recreated(current, None, stored, params_of("JSD203", **given)))


def test_a_young_stream_with_old_messages() -> None:
    text = (
        "the stream was made 1d ago and holds what is 5m older than itself: it was restored from a backup,"
        " and clients that went beyond the backup remember sequences that are given out again; or it was deleted and"
        " created again, and the server kept what it held; or it was a mirror; or a server up to 2.12 was restarted,"
        " the stream was changed, and the server was restarted again"
    )
    assert restored(DAY, timedelta(minutes=5)) == [text]
    assert restored(DAY + timedelta(microseconds=1), timedelta(minutes=5)) == ["pass"]
    assert restored(DAY, timedelta(minutes=5) - timedelta(microseconds=1)) == ["pass"]
    assert restored(DAY, None, clock_error="1ns") == ["pass"]


def scan(name: str = "S", older: int = 3, last: int = 5, first: timedelta = DAY + HOUR) -> StoredStream:
    first_ns = int((NOON - first).timestamp()) * 1_000_000_000
    return StoredStream(
        account="APP",
        stream=name,
        at=NOON,
        last_seq=last,
        first_ns=first_ns,
        older=OlderThanStream(older, older, first_ns),
    )


def test_messages_that_were_read_say_more_of_a_restore() -> None:
    assert restored(DAY, HOUR, StoredMessages((scan(),))) == []
    assert len(restored(DAY, HOUR, StoredMessages((scan(older=0),)))) == 1
    assert len(restored(DAY, HOUR, StoredMessages((scan("OTHER"),)))) == 1


ADVISORY = (
    '{"type":"io.nats.jetstream.advisory.v1.stream_action","id":"a","timestamp":"%s","stream":"%s","action":"%s"}\n'
)


def logs(**text: str) -> LogEvidence:
    """Logs in UTC; `n1` is that of a server."""
    names = {"n1": "n1.log", "app": "app.log", "advisories": "advisories.jsonl"}
    evidence = log_evidence_of("JSD203", {"text": {names[key]: value for key, value in text.items()}, "zone": "UTC"})
    results = evidence.get(LogEvidence)
    assert results is not None
    return results


def advisories(*actions: tuple[str, str, str]) -> LogEvidence:
    return logs(advisories="".join(ADVISORY % (f"2026-11-21T16:{at}Z", name, kind) for at, name, kind in actions))


def test_streams_that_advisories_show_as_recreated() -> None:
    results = list(
        stream_recreated_logged(
            advisories(
                ("00:00", "A", "delete"),
                ("01:00", "B", "create"),
                ("02:00", "B", "delete"),
                ("03:00", "C", "delete"),
                ("04:00", "C", "create"),
                ("05:00", "D", "delete"),
                ("05:00", "D", "create"),
            )
        )
    )
    assert [finding.subject.name for finding in results] == ["C", "D"]
    assert results[0].first_seen == datetime(2026, 11, 21, 16, 3, tzinfo=UTC)
    assert results[0].last_seen == datetime(2026, 11, 21, 16, 4, tzinfo=UTC)


# Streams that are damaged


def went_back(before: Stream, now: Stream) -> Finding:
    (finding,) = stream_went_back(two([before], [now]), params_of("JSD204"))
    return finding


@pytest.mark.parametrize("dated", [(True, False), (False, True), (False, False)])
def test_a_stream_that_ends_lower_and_shows_no_date(dated: tuple[bool, bool]) -> None:
    before, now = (NOON - DAY if known else None for known in dated)
    finding = went_back(stream(state(9, 1, 9), created=before, at=NOON - HOUR), stream(state(5, 1, 5), created=now))
    assert finding.outcome is Outcome.NOT_EVALUATED
    assert (finding.message, finding.how_to_get) == (
        "nothing shows whether it is the stream of before",
        "look with a login",
    )


FIXED = {"deny_delete": True, "deny_purge": True}


def moment_of(minute: int) -> LogTime:
    return LogTime(int((NOON + timedelta(minutes=minute)).timestamp()) * 1_000_000, zoned=True)


def line(minute: int, **fields: str) -> Exemplar:
    return Exemplar("n1.log", 1, 0, "text", moment_of(minute), tuple(fields.items()))


def occurrence(signature: str, count: int = 1, minute: int = 0, **fields: str) -> Occurrence:
    us = moment_of(minute).us
    return Occurrence(
        signature=signature,
        logged_by="n1",
        fields=tuple(fields.items()),
        count=count,
        dated=count,
        zoned=True,
        histogram=Histogram.of([(us, us, count)]),
    )


def fewer(
    *occurrences: Occurrence, end: str = "clean", config: dict[str, Any] | None = None, seen: bool = False
) -> Finding:
    evidence = LogEvidence(
        files=(File(path="n1.log", size=1, server_lines=9),),
        found=occurrences,
        runs=(ProcessRun(server="n1", last=moment_of(5), end=end),),
        restored_falls=(
            RestoredFall(
                server="n1", account="APP", stream="S", before=9, after=5, before_line=line(0), after_line=line(10)
            ),
        ),
    )
    (finding,) = restored_less_logged(evidence, series(stream(config=config)) if seen else None)
    return finding


HEAD = "n1 restored 5 messages where it had 9 at the start before (4 fewer): "


@pytest.mark.parametrize(
    ("allowed", "why"),
    [
        ({}, "they were purged or deleted, or are lost"),
        ({"deny_delete": True}, "they were purged or deleted, or are lost"),
        (FIXED, "they are lost"),
    ],
)
def test_fewer_messages_in_a_stream_without_limits(allowed: dict[str, Any], why: str) -> None:
    finding = fewer(seen=True, config={"max_msgs": 0, **allowed})
    assert finding.message == f"{HEAD}it has no limit that explains that: {why}"
    assert (finding.severity, finding.confidence) == (None, Confidence.MEDIUM)


@pytest.mark.parametrize(
    "config",
    [
        *({name: 1} for name in ("max_msgs", "max_bytes", "max_age_ns", "max_msgs_per_subject")),
        {"allow_msg_ttl": True},
        {"retention": "workqueue"},
    ],
)
def test_fewer_messages_in_a_stream_that_removes_them(config: dict[str, Any]) -> None:
    assert fewer(seen=True, config=config).outcome is Outcome.PASS
    assert fewer(seen=True, config=config, end="failed").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("signature", "store", "lost"),
    [
        ("store-block-missing", "S", True),
        ("store-record-corrupt", "S", True),
        ("store-record-corrupt", "OTHER", False),
        ("store-state-outdated", "S", False),
    ],
)
def test_fewer_messages_where_the_server_found_damage(signature: str, store: str, *, lost: bool) -> None:
    finding = fewer(occurrence(signature, store=store))
    assert (finding.outcome is Outcome.FAIL) is lost
    if lost:
        why = "its server found damaged messages of that stream when it started: what it could not read is lost"
        assert finding.message == f"{HEAD}{why}"


def test_damage_on_another_server_explains_nothing() -> None:
    elsewhere = msgspec.structs.replace(occurrence("store-record-corrupt", store="S"), logged_by="n2")
    assert fewer(elsewhere).outcome is Outcome.PASS


# Copies that differ


def peers(*names: str, **fields: Any) -> Cluster:
    return Cluster(leader="n1", replicas=tuple(Peer(name=name, current=True, **fields) for name in names))


def copied(
    lead: StreamState,
    copies: dict[str, StreamState],
    config: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    **fields: Any,
) -> tuple[Stream, Stream]:
    """The stream and the copies in two samples an hour apart."""
    replicas = tuple(StreamReplica(name, held, NOON) for name, held in copies.items())
    known: dict[str, Any] = {"cluster": peers(*copies), "replicas": replicas} | fields
    earlier: dict[str, Any] = known | {"at": NOON - HOUR} | (before or {})
    replicated = {"num_replicas": 1 + len(known["cluster"].replicas)} | (config or {})
    return stream(lead, replicated, **earlier), stream(lead, replicated, **known)


def differing(*pairs: tuple[Stream, Stream], servers: Servers = ALONE, **given: Any) -> list[Finding]:
    trend = two([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    return list(replica_divergence(trend, servers, None, params_of("JSD207", **given)))


LEAD = state(100, 1, 100)


def test_streams_without_copies_are_left_out() -> None:
    alone = (stream(LEAD, at=NOON - HOUR, name="ALONE"), stream(LEAD, name="ALONE"))
    other = copied(LEAD, {"n2": state(90, 1, 100), "n3": LEAD})
    assert [finding.subject.name for finding in differing(alone, other)] == ["S"]


def test_a_stream_that_changed_its_leader_cannot_be_compared() -> None:
    (finding,) = differing(copied(LEAD, {"n2": LEAD, "n3": LEAD}, before={"answered_by": "n9"}))
    assert (finding.message, finding.how_to_get) == (
        "another server led it in an earlier sample, so the copies cannot be compared over time",
        "run again",
    )


def expiring(first: timedelta | None, copys: timedelta | None, max_age: timedelta = HOUR, other: str = "n3") -> bool:
    """Whether a copy that begins later is reported, when the first messages of leader and copy are so old."""

    def dated(age: timedelta | None) -> datetime | None:
        return None if age is None else NOON - age

    lead = state(100, 1, 100, first_ts=dated(first))
    copies = {other: lead, "n2": state(100, 21, 100, first_ts=dated(copys))}
    (finding,) = differing(copied(lead, copies, {"max_age_ns": int(max_age.total_seconds() * 1e9)}))
    return finding.outcome is Outcome.FAIL


def test_copies_expire_when_they_see_fit() -> None:
    minute = timedelta(minutes=1)
    assert not expiring(HOUR + minute, HOUR / 2)
    assert not expiring(HOUR / 2, HOUR + minute)
    assert not expiring(HOUR - minute, HOUR - minute)
    assert expiring(HOUR + 2 * minute, HOUR)
    assert expiring(HOUR / 2, HOUR / 3)
    assert not expiring(None, None)
    assert not expiring(None, HOUR)
    assert expiring(None, None, timedelta(0))


def at_work(*deliveries: int, **fields: Any) -> Consumer:
    lead, *copies = deliveries
    replicas = tuple(
        ConsumerReplica(f"n{number}", SequencePair(count), SequencePair()) for number, count in enumerate(copies, 2)
    )
    cluster = peers(*(copy.server for copy in replicas))
    return consumer(delivered=SequencePair(lead), replicas=replicas, cluster=cluster, **fields)


def test_consumers_of_one_server_and_of_another_leader_are_left_out() -> None:
    def holding(at: datetime, leader: str) -> Stream:
        bare = consumer(name="a", at=at)
        moved = at_work(90, 50, name="b", at=at, answered_by=leader)
        differs = at_work(90, 50, name="c", at=at)
        return stream(NONE, at=at, consumers=(bare, moved, differs))

    trend = two([holding(NOON - HOUR, "n9")], [holding(NOON, "n1")])
    results = list(replica_divergence(trend, ALONE, None, params_of("JSD207")))
    assert [finding.subject.name for finding in results] == ["c"]
    assert results[0].message.startswith("n2 has 50 deliveries, the leader 90, for 1h")


@pytest.mark.parametrize(
    ("health", "busy"),
    [
        (Health(), False),
        (Health(error="stream 'APP > S' is not current"), True),
        (Health(error="stream 'APP > T' is not current"), False),
        (Health(errors=(HealthError(account="APP", stream="S"),)), True),
        (Health(errors=(HealthError(account="OTHER", stream="S"),)), False),
        (Health(errors=(HealthError(account="APP", stream="T"),)), False),
    ],
)
def test_a_server_that_calls_its_copy_not_current_is_catching_up(health: Health, *, busy: bool) -> None:
    servers = Servers((Server(name="n2", at=NOON, health=health),), complete=True)
    (finding,) = differing(copied(LEAD, {"n2": state(90, 1, 90), "n3": LEAD}), servers=servers)
    assert (finding.outcome is Outcome.NOT_EVALUATED) is busy


def test_several_servers_that_catch_up_are_named_in_order() -> None:
    health = Health(error="stream 'APP > S' is not current")
    names = [f"n{number}" for number in range(2, 10)]
    servers = Servers(tuple(Server(name=name, at=NOON, health=health) for name in names), complete=True)
    (finding,) = differing(copied(LEAD, dict.fromkeys(names, state(90, 1, 90))), servers=servers)
    assert finding.message.startswith(f"{', '.join(names)} differs from the leader, but")


def counted(leading: list[int], counts: list[int], lag: int = 0) -> list[Divergence]:
    readings = tuple(
        msgspec.structs.replace(at_work(lead, count), cluster=peers("n2", lag=lag))
        for lead, count in zip(leading, counts, strict=True)
    )
    results = consumer_divergences(ConsumerHistory(readings, ()))
    assert results is not None
    return list(results)


def test_what_is_under_way_counts_from_the_first_reading_to_the_last() -> None:
    assert counted([20, 20, 22], [17, 17, 19]) == []
    assert counted([20, 22, 22], [17, 19, 19]) == []
    assert counted([20, 20, 21], [10, 10, 11]) == [Divergence("n2", "delivered.consumer_seq", 11, 21)]


def test_the_newest_report_of_what_is_under_way_counts() -> None:
    late, current = (msgspec.structs.replace(at_work(20, 17), cluster=peers("n2", lag=lag)) for lag in (5, 0))
    for last, results in ((late, 0), (current, 1)):
        history = ConsumerHistory((late, current if last is late else late, last), ())
        assert len(list(consumer_divergences(history) or ())) == results


# Consumers ahead of their stream


@pytest.mark.parametrize(("start", "ahead"), [(101, False), (100, True)])
def test_a_consumer_that_waits_for_a_message_to_come(start: int, *, ahead: bool) -> None:
    waiting = consumer({"opt_start_seq": start}, delivered=SequencePair(0, 150))
    trend = two([stream(LEAD, consumers=(waiting,), at=NOON - HOUR)], [stream(LEAD, consumers=(waiting,))])
    (finding,) = consumer_ahead(trend, None, None)
    assert (finding.outcome is Outcome.FAIL) is ahead


# What logs and captures show of clients


def numbered(signature: str, count: int, actual: tuple[int, int] | None, *lines: str, **fields: Any) -> Occurrence:
    measures = () if actual is None else (Measure("actual", count, *actual),)
    exemplars = tuple(line(0, actual=text) for text in lines)
    return msgspec.structs.replace(occurrence(signature, count), measures=measures, exemplars=exemplars, **fields)


WRONG = "publish-wrong-last-sequence"


def clients(*occurrences: Occurrence) -> LogEvidence:
    return LogEvidence(files=(File(path="app.log", size=1, client_lines=9),), found=occurrences)


def test_sequences_that_are_named_again_and_again() -> None:
    def repeated(*occurrences: Occurrence) -> set[int]:
        return refusals.repeated(occurrences, 3)

    assert repeated(numbered(WRONG, 3, (7, 7))) == {7}
    assert repeated(numbered(WRONG, 2, (7, 7))) == set()
    assert repeated(numbered(WRONG, 2, (7, 7)), numbered(WRONG, 3, None), numbered(WRONG, 3, (8, 8))) == {8}
    assert repeated(numbered(WRONG, 9, (5, 9), "5", "5", "5", "9")) == {5}
    assert repeated(numbered(WRONG, 9, (0, 9), "0", "0", "0")) == {0}
    assert repeated(numbered(WRONG, 9, (5, 9), "5", "5", "9")) == set()
    assert repeated(numbered(WRONG, 9, (5, 9), "5", "5")) == set()
    unnamed = msgspec.structs.replace(numbered(WRONG, 9, (5, 9)), exemplars=(line(0), line(0), line(0)))
    assert repeated(unnamed) == set()


def test_which_publishes_expected_more_than_there_was() -> None:
    def expecting(expected: int, actual: int) -> Occurrence:
        shown = line(0, expected=str(expected), actual=str(actual))
        measures = (Measure("actual", 1, actual, actual), Measure("expected", 1, expected, expected))
        return msgspec.structs.replace(occurrence(WRONG), measures=measures, exemplars=(shown,))

    for expected, ahead in ((8, True), (7, False), (6, False)):
        item = expecting(expected, 7)
        assert (refusals.some_ahead(item), refusals.all_ahead(item)) == (ahead, ahead)
    assert not refusals.all_ahead(occurrence(WRONG))
    some = numbered(WRONG, 3, (0, 5))
    assert (refusals.some_ahead(some), refusals.all_ahead(some)) == (True, False)


def test_refusals_in_logs_that_expect_too_much() -> None:
    results = list(expected_ahead_logged(clients(numbered(WRONG, 4, (0, 9), "0", "0", "0")), params_of("JSD202")))
    assert [(f.severity, f.measured) for f in results] == [(None, 0)]
    assert "4 times by n1" in results[0].message
    assert " (not all of these), because" in results[0].message
    at = moment_of(0).at
    assert (results[0].first_seen, results[0].last_seen) == (at, at)
    (other,) = expected_ahead_logged(clients(numbered(WRONG, 4, (0, 9), "0", "7", "0")), params_of("JSD202"))
    assert other.severity is Severity.INFO


def gap(signature: str, *behind_by: str, count: int = 3) -> Occurrence:
    return msgspec.structs.replace(
        occurrence(signature, count), exemplars=tuple(line(0, behind=text) for text in behind_by)
    )


@pytest.mark.parametrize(
    ("behind_by", "recreated"),
    [
        (("-3",), True),
        (("18446744073709551613",), True),
        (("9223372036854775807",), True),
        (("922337203685477580",), False),
        (("3",), False),
        (("3", "-3"), True),
    ],
)
def test_gaps_below_zero_show_a_recreated_consumer(behind_by: tuple[str, ...], *, recreated: bool) -> None:
    results = clients(gap("consumer-sequence-mismatch", *behind_by))
    (text,) = texts(delivery_gap_logged(results, params_of("JSD209")))
    assert ("the consumer was deleted and created again under its client" in text) is recreated


def test_ordered_consumers_that_reset_once() -> None:
    (finding,) = delivery_gap_logged(clients(occurrence("ordered-consumer-reset-rust")), params_of("JSD209", resets=1))
    assert finding.severity is None
    mismatch = clients(occurrence("consumer-sequence-mismatch"))
    (finding,) = delivery_gap_logged(mismatch, params_of("JSD209", resets=1))
    assert finding.severity is Severity.INFO


SECOND = 1_000_000_000
START = int(NOON.timestamp()) * SECOND


def seen(
    *publishing: Publishing, consumers: tuple[ConsumerTraffic, ...] = (), lossy: Flow | None = None, twice: bool = False
) -> PacketEvidence:
    """Connections from ports 40001 on, in one capture. `lossy`: the last of them, to the server."""
    clean = Flow(distinct_packets=100)
    server = SocketAddress("10.0.0.1", 4222)
    connections = tuple(
        TcpConnection(
            capture=0,
            number=number,
            client=SocketAddress("10.0.0.9", 40000 + number),
            server=server,
            first_ns=START,
            last_ns=START + SECOND,
            to_server=lossy if number == len(publishing) and lossy else clean,
            to_client=clean,
            captured_twice=twice,
        )
        for number, _ in enumerate(publishing, 1)
    )
    talks = tuple(
        NatsConnection(number=number, content=Content.NATS, publishing=item, gapless=True)
        for number, item in enumerate(publishing, 1)
    )
    traffic = (NatsTraffic(capture=0, connections=talks, consumers=consumers),)
    captures = (Capture(name="a.pcap", packets=100, tcp=100),)
    return PacketEvidence(captures=captures, connections=connections, nats=traffic)


def refused(count: int, **fields: Any) -> Publishing:
    known: dict[str, Any] = {"err_code": 10071, "description": "wrong last sequence", "stream": "S", "count": count}
    times = {"first_ns": START, "last_ns": START + SECOND}
    return Publishing(acks=9, refusals=(RefusedPublishes(**(known | times | fields)),))


def test_the_last_publish_that_expected_too_much_is_quoted() -> None:
    def at(second: int) -> dict[str, int]:
        return {"first_ns": START + second * SECOND, "last_ns": START + second * SECOND}

    first = refused(2, ahead=2, expected=99, actual=6, **at(1))
    later = refused(1, ahead=1, expected=50, actual=7, **at(9))
    for order in ((first, later), (later, first)):
        (finding,) = expected_ahead_captured(seen(*order), params_of("JSD202"))
        assert "has not reached, 50 where it has 7: it was recreated" in finding.message
        assert finding.first_seen == NOON + timedelta(seconds=1)
        assert finding.last_seen == NOON + timedelta(seconds=9)
    equal = refused(1, ahead=1, expected=7, actual=7)
    (finding,) = expected_ahead_captured(seen(equal), params_of("JSD202"))
    assert "has not reached: it was recreated" in finding.message


def wrong(*publishing: Publishing, **fields: Any) -> Finding:
    (finding,) = wrong_last_sequence_captured(seen(*publishing, **fields), params_of("JSD201"))
    return finding


@pytest.mark.parametrize("signature", ["consumer-sequence-mismatch", "ordered-consumer-reset-python"])
def test_an_application_with_a_server_inside_has_one_log(signature: str) -> None:
    """What a client logs counts, also while the server of the same process starts."""
    evidence = LogEvidence(
        files=(File(path="n1.log", size=1, server_lines=9, client_lines=9),),
        found=(occurrence(signature, 10),),
        runs=(ProcessRun(server="n1", started=moment_of(0), ready=moment_of(1)),),
    )
    (finding,) = delivery_gap_logged(evidence, params_of("JSD209"))
    assert (finding.severity, finding.measured) == (None, 10)
