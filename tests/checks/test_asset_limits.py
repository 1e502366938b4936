"""JSD824: the limit of an account, or of one of its tiers, that is fullest."""

from jsdoctor.checks.server_health.asset_limits import asset_limits
from jsdoctor.model.finding import Finding, Outcome, Severity, passed
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, SequencePair, StreamConfig, StreamState
from jsdoctor.model.server import Account, AccountLimits, Accounts, ConnectedServer, Tier
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from tests.checks.values import NOON, params_of


def tier(name: str = "", streams: int = 0, of: int = -1, consumers: int = 0, of_consumers: int = -1) -> Tier:
    limits = AccountLimits(max_streams=of, max_consumers=of_consumers)
    return Tier(name=name, streams=streams, consumers=consumers, limits=limits)


def judged(*tiers: Tier, streams: tuple[Stream, ...] = (), version: str = "2.14.6") -> list[Finding]:
    account = Account(name="APP", tiers=tiers, at=NOON, source="n1")
    seen = SnapshotSeries((ClusterSnapshot(taken_at=NOON, streams=streams),))
    connected = ConnectedServer(server_name="n1", version=version)
    return list(asset_limits(Accounts((account,)), seen, None, connected, params_of("JSD824")))


def orders(r1: int = 0, r3: int = 0, *, name: str = "ORDERS", seen: bool = True, cluster: str = "C") -> Stream:
    """A stream of three replicas with so many consumers of one and of three."""
    consumers = tuple(
        Consumer(
            account="APP",
            stream=name,
            name=f"c{number}",
            config=ConsumerConfig(durable_name=f"c{number}", num_replicas=1 if number < r1 else 0),
            delivered=SequencePair(),
            ack_floor=SequencePair(),
            at=NOON,
        )
        for number in range(r1 + r3)
    )
    return Stream(
        account="APP",
        name=name,
        config=StreamConfig(name=name, num_replicas=3),
        state=StreamState(consumer_count=r1 + r3),
        cluster=Cluster(name=cluster, leader="n1"),
        answered_by="n1",
        at=NOON,
        consumers=consumers if seen else (),
        consumers_seen=seen,
    )


def test_an_account_without_limits_is_not_judged() -> None:
    assert judged(tier()) == judged(tier(of=0, of_consumers=0)) == []
    for limited in (tier(of=1), tier(of_consumers=1), tier("R1", of_consumers=7)):
        assert judged(tier("R3"), limited) == [passed(Account(name="APP", tiers=(), at=NOON).subject)]


def test_consumers_count_for_each_stream() -> None:
    """Two streams with five consumers each are below a limit of six, which the account has for each of them."""
    whole = tier(consumers=10, of_consumers=6)
    five = (orders(r3=5), orders(r3=5, name="OTHER"))
    (passes,) = judged(whole, streams=five)
    assert passes.outcome is Outcome.PASS
    (near,) = judged(tier(consumers=11, of_consumers=6), streams=(*five[:1], orders(r3=6, name="OTHER")))
    assert near.severity is Severity.ERROR
    assert near.message.startswith("OTHER has 6 of the 6 consumers that the account allows each stream")
    (unseen,) = judged(whole)
    assert unseen.outcome is Outcome.NOT_EVALUATED
    assert unseen.message == "10 of 10 consumers are of streams that were not seen, and each stream may have 6"
    (few,) = judged(tier(consumers=5, of_consumers=6))
    assert few.outcome is Outcome.PASS
    (half_seen,) = judged(tier("R3", consumers=10, of_consumers=6), streams=(orders(r3=10, seen=False),))
    assert half_seen.outcome is Outcome.NOT_EVALUATED


def test_a_cluster_before_2_14_6_counts_the_consumers_of_other_tiers() -> None:
    """Three consumers of three replicas leave no place for one of one replica where two are allowed (#8483)."""
    r1, r3 = tier("R1", of_consumers=2), tier("R3", consumers=3, of_consumers=10)
    (old,) = judged(r1, r3, streams=(orders(r3=3),), version="2.14.5")
    assert old.outcome is Outcome.NOT_EVALUATED
    assert old.message == (
        "ORDERS has 3 consumers and tier R1 allows 2: in clusters before 2.14.6 those of other tiers count against it"
        " as well"
    )
    for streams, version in (
        ((orders(r3=3),), "2.14.6"),
        ((orders(r3=3),), ""),
        ((orders(r3=3, cluster=""),), "2.14.5"),
        ((orders(r3=1),), "2.14.5"),
    ):
        (finding,) = judged(r1, r3, streams=streams, version=version)
        assert finding.outcome is Outcome.PASS, (streams, version)
