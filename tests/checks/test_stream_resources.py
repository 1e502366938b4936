"""Whether an account and a single server have room for a declared stream."""

from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.checks.declared.refusal import ServerRefusal
from jsdoctor.checks.declared.stream_resources import ResourceLimits
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import DeclaredStream, Manifests, PlannedAction, Tool
from jsdoctor.model.server import UNLIMITED, Account, AccountLimits, Accounts, JetStreamConfig, Servers, Tier
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from tests.checks.test_declared_room import ONE, PLACE, SNAPSHOTS

AT = SNAPSHOTS.last.streams[0].at


def config(name: str = "NEW", **settings: Any) -> StreamConfig:
    return StreamConfig(name=name, subjects=(name.lower(),), **settings)


def held(name: str, account: str = "APP", **settings: Any) -> Stream:
    """A deployed stream."""
    return replace(SNAPSHOTS.last.led_streams().__next__(), account=account, name=name, config=config(name, **settings))


def declared(name: str, planned_action: PlannedAction = PlannedAction.KEPT, **settings: Any) -> DeclaredStream:
    stated = config(name, **settings)
    return DeclaredStream(
        tool=Tool.NACK, what=name, place=PLACE, config=stated, places={}, planned_action=planned_action
    )


def deployed(*streams: Stream) -> SnapshotSeries:
    return replace(SNAPSHOTS, snapshots=(replace(SNAPSHOTS.last, streams=streams),))


def account(tier: str = "", name: str = "APP", **limits: Any) -> Account:
    return Account(name=name, tiers=(Tier(name=tier, limits=AccountLimits(**limits)),), at=AT)


def stated(refusals: Any) -> list[str]:
    assert all(isinstance(refusal, ServerRefusal) for refusal in refusals)
    return [f"{refusal.field}: {refusal.text}" for refusal in refusals]


def refused(
    wanted: StreamConfig,
    limited: Account,
    *streams: Stream,
    current: StreamConfig | None = None,
    manifests: tuple[DeclaredStream, ...] = (),
) -> list[str]:
    """Why an account with these streams has no room."""
    limits = ResourceLimits("APP", Manifests(streams=manifests), deployed(*streams), Accounts((limited,)), None)
    return stated(list(limits.refusals(wanted, current)))


def test_max_bytes_may_be_required() -> None:
    text = "max_bytes: its account wants max_bytes of every stream (error 10113)"
    for most, refusals in ((-1, [text]), (0, [text]), (1, [])):
        assert refused(config(max_bytes=most), account(max_bytes_required=True)) == refusals


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_stream_may_have_a_largest_size(storage: str) -> None:
    name = "memory_max_stream_bytes" if storage == "memory" else "storage_max_stream_bytes"
    text = "max_bytes: max_bytes 1,001 is above 1,000, the account's limit for one stream (error 10122)"
    for most, limit, refusals in ((1_001, 1_000, [text]), (1_000, 1_000, []), (1_000, 0, [])):
        limits: dict[str, Any] = {name: limit}
        assert refused(config(storage=storage, max_bytes=most), account(**limits)) == refusals


def test_the_smallest_limit_is_one() -> None:
    text = "max_bytes: max_bytes 2 is above 1, the account's limit for one stream (error 10122)"
    assert refused(config(max_bytes=2), account(storage_max_stream_bytes=1)) == [text]
    text = "max_consumers: max_consumers 2 is above 1, the account's limit (error 10026)"
    assert refused(config(max_consumers=2), account(max_consumers=1)) == [text]
    text = "name: its account has 1 streams, and may have 1 (error 10027)"
    assert refused(config(), account(max_streams=1), held("A")) == [text]
    assert len(refused(config(max_bytes=2), account(max_storage=1))) == 1


def test_a_stream_may_have_fewer_consumers() -> None:
    text = "max_consumers: max_consumers 11 is above 10, the account's limit (error 10026)"
    assert refused(config(max_consumers=11), account(max_consumers=10)) == [text]
    assert refused(config(max_consumers=10), account(max_consumers=10)) == []
    assert refused(config(max_consumers=11), account(max_consumers=0)) == []


def test_an_account_may_have_so_many_streams() -> None:
    text = "name: its account has 2 streams, and may have 2 (error 10027)"
    two = (held("A"), held("B"), held("C", account="SHOP"))
    assert refused(config(), account(max_streams=2), *two) == [text]
    assert refused(config(), account(max_streams=3), *two) == []
    assert refused(config(), account(max_streams=0), *two) == []
    assert refused(config("A"), account(max_streams=2), *two, current=config("A")) == []
    gone = (declared("A", PlannedAction.DELETED),)
    assert refused(config(), account(max_streams=2), *two, manifests=gone) == []
    assert refused(config(), account(max_streams=2), *two, manifests=(declared("A"),)) == [text]


def test_a_tier_counts_the_streams_with_as_many_replicas() -> None:
    streams = (held("A", num_replicas=3), held("B", num_replicas=1), held("C", num_replicas=1))
    text = "name: its account has 2 streams, and may have 2 (error 10027)"
    assert refused(config(num_replicas=1), account("R1", max_streams=2), *streams) == [text]
    assert refused(config(num_replicas=0), account("R1", max_streams=2), *streams) == []
    assert refused(config(num_replicas=3), account("R3", max_streams=2), *streams) == []
    assert refused(config(num_replicas=3), account("R1", max_streams=1), *streams) == []
    assert refused(config(num_replicas=3), account(max_streams=3), *streams) != []


def test_a_stream_without_max_bytes_reserves_nothing() -> None:
    limited = account(max_storage=1_000)
    assert refused(config(max_bytes=1_000), limited, held("A")) == []
    assert refused(config(max_bytes=1_000), limited, held("A"), manifests=(declared("A", max_bytes=500),)) == []
    snapshots = deployed(held("A"))
    gone = Manifests(streams=(declared("A", PlannedAction.DELETED),))
    limits = ResourceLimits("APP", gone, snapshots, None, server(600, 1_000))
    assert len(list(limits.refusals(config(max_bytes=401), None))) == 1


def test_without_its_account_no_limit_is_known() -> None:
    wanted, two = config(max_consumers=11), Accounts((account(max_consumers=10), account(name="SHOP", max_consumers=5)))

    def reasons(name: str | None, accounts: Accounts | None, snapshots: SnapshotSeries | None) -> list[str]:
        return stated(list(ResourceLimits(name, Manifests(), snapshots, accounts, None).refusals(wanted, None)))

    assert len(reasons("APP", two, deployed())) == 1
    assert reasons("OTHER", two, deployed()) == []
    assert reasons(None, two, deployed()) == []
    assert reasons("", two, deployed()) == []
    assert len(reasons("", Accounts(two.accounts[:1]), deployed())) == 1
    assert reasons("OTHER", Accounts(two.accounts[:1]), deployed()) == []
    assert reasons("APP", two, None) == []
    assert reasons("APP", None, deployed()) == []


def server(reserved: int, limit: int, complete: bool = True, copies: int = 1) -> Servers:
    """A single server, with twice as much memory as storage."""
    [only] = ONE.servers
    assert only.jetstream is not None
    own = JetStreamConfig(max_memory=2 * limit, max_storage=limit)
    stats = replace(only.jetstream, config=own, reserved_storage=reserved, reserved_memory=2 * reserved)
    return replace(ONE, servers=(replace(only, jetstream=stats),) * copies, complete=complete)


def on(servers: Servers | None, most: int, *manifests: DeclaredStream, storage: str = "file") -> list[str]:
    """Why a single server has no room, which holds one stream of 600 bytes in each storage."""
    snapshots = deployed(held("A", max_bytes=600), held("M", max_bytes=600, storage="memory"))
    limits = ResourceLimits("APP", Manifests(streams=manifests), snapshots, None, servers)
    return stated(list(limits.refusals(config(max_bytes=most, storage=storage), None)))


def test_a_single_server_has_to_hold_it() -> None:
    text = "max_bytes: max_bytes 401 does not fit: 600 bytes of 1,000 of {} are reserved (the limit of server n1)"
    assert on(server(600, 1_000), 401) == [f"{text.format('file storage')} (error 10047)"]
    assert on(server(600, 1_000), 400) == []
    text = "max_bytes: max_bytes 801 does not fit: 1,200 bytes of 2,000 of {} are reserved (the limit of server n1)"
    assert on(server(600, 1_000), 801, storage="memory") == [f"{text.format('memory')} (error 10028)"]
    assert on(server(600, 1_000), 800, storage="memory") == []
    assert on(server(600, 1_000), 1_000, declared("A", PlannedAction.DELETED)) == []
    assert on(server(600, 1_000), 1_001, declared("A", PlannedAction.DELETED)) != []
    assert on(server(600, 1_000), 700, declared("A", max_bytes=300)) == []
    assert on(server(600, 1_000), 701, declared("A", max_bytes=300)) != []
    assert on(server(600, 1_000), 401, declared("A", max_bytes=900)) != []
    assert on(server(600, 1_000), 401, declared("M", PlannedAction.DELETED)) != []


@pytest.mark.parametrize(
    ("settings", "fits"),
    [
        ({"max_bytes": 1_000}, True),
        ({"max_bytes": 1_001}, False),
        ({"max_bytes": 100}, True),
        ({"max_bytes": 800, "storage": "memory"}, True),
        ({"max_bytes": 801, "storage": "memory"}, False),
    ],
)
def test_a_single_server_has_to_hold_the_new_one_without_the_old_one(settings: dict[str, Any], fits: bool) -> None:
    """Of 1,000 bytes of files A has 600, of 2,000 bytes of memory others have 1,200."""
    old = config("A", max_bytes=600)
    snapshots = deployed(held("A", max_bytes=600), held("M", max_bytes=600, storage="memory"))
    plan = Manifests(streams=(declared("A", PlannedAction.REPLACED, **settings),))
    limits = ResourceLimits("APP", plan, snapshots, None, server(600, 1_000))
    assert (list(limits.refusals(config("A", **settings), None, old)) == []) is fits


def test_what_goes_to_the_other_storage_is_free() -> None:
    assert on(server(600, 1_000), 1_000, declared("A", PlannedAction.REPLACED, max_bytes=600, storage="memory")) == []
    assert on(server(600, 1_000), 400, declared("A", PlannedAction.REPLACED, max_bytes=600)) == []
    assert on(server(600, 1_000), 401, declared("A", PlannedAction.REPLACED, max_bytes=600)) != []


def test_of_several_servers_or_without_a_count_of_what_is_reserved_nothing_is_known() -> None:
    assert on(None, 401) == []
    assert on(server(600, 1_000, complete=False), 401) == []
    assert on(server(600, 1_000, copies=2), 401) == []
    assert on(server(UNLIMITED, 1_000), 401) == []
    for name, snapshots in ((None, deployed()), ("APP", None)):
        limits = ResourceLimits(name, Manifests(), snapshots, None, server(600, 1_000))
        assert list(limits.refusals(config(max_bytes=401), None)) == []
