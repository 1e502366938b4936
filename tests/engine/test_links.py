"""Every link of every rule page: a case in which it holds, and one in which both findings are there and it does not."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from jsdoctor.engine.incidents import incidents
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.jetstream import (
    Cluster,
    ConsumerConfig,
    ExternalStream,
    Peer,
    SequencePair,
    SourceConfig,
    StreamConfig,
    StreamState,
)
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Relation
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from tests.support.ruleset import rules

NOW = datetime(2026, 11, 28, 9, 0, 0, tzinfo=UTC)
RULES = {rule.code: rule for rule in rules()}
LINKS = [(rule.code, edge.code, edge.link) for rule in RULES.values() for edge in rule.explained_by]


def server(name: str) -> Subject:
    return Subject(kind="server", name=name)


def stream(name: str) -> Subject:
    return Subject(kind="stream", name=name, account="APP")


def consumer(of: str, name: str = "worker") -> Subject:
    return Subject(kind="consumer", name=name, account="APP", stream=of)


def held(name: str, leader: str = "n1", domain: str = "", **config: object) -> Stream:
    """A stream on n1, n2 and n3 with one consumer."""
    peers = tuple(Peer(name=peer, current=True) for peer in ("n1", "n2", "n3") if peer != leader)
    cluster = Cluster(name="c", leader=leader, replicas=peers)
    position = SequencePair()
    worker = Consumer(
        account="APP",
        stream=name,
        name="worker",
        config=ConsumerConfig(durable_name="worker"),
        delivered=position,
        ack_floor=position,
        at=NOW,
    )
    settings = StreamConfig(name=name, **config)  # type: ignore[arg-type]
    return Stream(
        account="APP",
        domain=domain,
        name=name,
        config=settings,
        state=StreamState(),
        cluster=cluster,
        has_leader=bool(leader),
        at=NOW,
        consumers=(worker,),
    )


class Pair(NamedTuple):
    """Subjects of the finding and of what may explain it, the streams that were seen, and when each was logged."""

    effect: Subject
    cause: Subject
    streams: tuple[Stream, ...] = ()
    logged: tuple[datetime | None, datetime | None] = (None, None)


ORDERS, OTHER = held("ORDERS"), held("OTHER")
QUEUE = held("ORDERS", retention="workqueue")
COPY = held("COPY", mirror=SourceConfig(name="ORDERS"))
FAR_COPY = held("COPY", mirror=SourceConfig(name="ORDERS", external=ExternalStream(api="$JS.hub.API")))
SITE = replace(held("SITE", domain="site"), cluster=Cluster(name="s", leader="s1", replicas=()))
CLIENT = Subject(kind="client", name="app")
HOUR = timedelta(hours=1)

HOLDS = {
    Relation.SAME: Pair(stream("ORDERS"), stream("ORDERS")),
    Relation.STREAM: Pair(consumer("ORDERS"), stream("ORDERS")),
    Relation.RETAINED: Pair(stream("ORDERS"), consumer("ORDERS"), (QUEUE,)),
    Relation.CONSUMER: Pair(stream("ORDERS"), consumer("ORDERS")),
    Relation.SERVER: Pair(stream("ORDERS"), server("n3"), (held("ORDERS", leader=""),)),
    Relation.MEMBER: Pair(stream("ORDERS"), server("n3"), (ORDERS,)),
    Relation.ORIGIN: Pair(stream("COPY"), stream("ORDERS"), (ORDERS, COPY)),
    Relation.REMOTE: Pair(stream("COPY"), server("n1"), (FAR_COPY,)),
    Relation.ACCOUNT: Pair(Subject(kind="account", name="APP"), stream("ORDERS")),
    Relation.DOMAIN: Pair(server("n1"), server("n3"), (ORDERS, SITE)),
    Relation.MOMENT: Pair(CLIENT, server("n3"), (), (NOW - HOUR, NOW - HOUR)),
}

DOES_NOT: dict[Relation, tuple[Pair, ...]] = {
    Relation.SAME: (Pair(stream("ORDERS"), stream("OTHER")),),
    Relation.STREAM: (Pair(consumer("ORDERS"), stream("OTHER")),),
    Relation.RETAINED: (
        Pair(stream("ORDERS"), consumer("ORDERS"), (ORDERS,)),
        Pair(stream("ORDERS"), consumer("OTHER"), (QUEUE, held("OTHER", retention="workqueue"))),
    ),
    Relation.CONSUMER: (Pair(stream("ORDERS"), consumer("OTHER")),),
    Relation.SERVER: (Pair(stream("ORDERS"), server("n3"), (ORDERS,)), Pair(server("n1"), server("n3"))),
    Relation.MEMBER: (Pair(stream("ORDERS"), server("n9"), (ORDERS,)),),
    Relation.ORIGIN: (Pair(stream("COPY"), stream("OTHER"), (ORDERS, OTHER, COPY)),),
    Relation.REMOTE: (
        Pair(stream("COPY"), Subject(kind="cluster"), (ORDERS, COPY)),
        Pair(stream("COPY"), Subject(kind="cluster"), (FAR_COPY,)),
        Pair(stream("COPY"), server("s1"), (FAR_COPY, SITE)),
        Pair(stream("COPY"), Subject(kind="cluster", name="west"), (held("COPY", mirror=SourceConfig(name="GONE")),)),
    ),
    Relation.ACCOUNT: (
        Pair(Subject(kind="account", name="APP"), Subject(kind="stream", name="ORDERS", account="SHOP")),
    ),
    Relation.DOMAIN: (Pair(server("n1"), server("s1"), (ORDERS, SITE)),),
    Relation.MOMENT: (
        Pair(CLIENT, server("n3"), (), (NOW - HOUR, NOW - HOUR / 2)),
        Pair(CLIENT, server("n3")),
        Pair(CLIENT, server("n3"), (), (NOW - HOUR / 2, None)),
    ),
}


def number_of_incidents(effect: str, cause: str, pair: Pair) -> int:
    snapshot = ClusterSnapshot(taken_at=NOW, streams=pair.streams)
    evidence = EvidenceSet({SnapshotSeries: SnapshotSeries((snapshot,))} if pair.streams else {}, {})

    def failed(code: str, subject: Subject, at: datetime | None) -> Result:
        finding = Finding(subject=subject, message="it fails", severity=Severity.ERROR, first_seen=at, last_seen=at)
        return Result(RULES[code], finding)

    results = [failed(effect, pair.effect, pair.logged[0]), failed(cause, pair.cause, pair.logged[1])]
    return len(incidents(results, evidence, NOW))


def unlinked() -> Iterator[tuple[str, str, Pair]]:
    """Each link with the pairs for which it does not hold; those of another link of the same two rules are left out."""
    for effect, cause, link in LINKS:
        others = {other for *rules_of, other in LINKS if rules_of == [effect, cause]} - {link}
        for pair in DOES_NOT[link]:
            if not any(pair == HOLDS[other] for other in others):
                yield effect, cause, pair


def test_every_kind_of_link_has_both_cases() -> None:
    assert set(HOLDS) == set(DOES_NOT) == set(Relation) == {link for _, _, link in LINKS}


def test_each_holds() -> None:
    assert [
        (effect, cause) for effect, cause, link in LINKS if number_of_incidents(effect, cause, HOLDS[link]) != 1
    ] == []


def test_both_are_there_and_it_does_not_hold() -> None:
    assert [linked for linked in unlinked() if number_of_incidents(*linked) != 2] == []
